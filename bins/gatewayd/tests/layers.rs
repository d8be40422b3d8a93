//! Design §3 is law: which crate of the workspace may depend on which, and which may not know a library.
#![expect(clippy::disallowed_types, reason = "cargo's own output, read in a test")]
#![expect(clippy::expect_used, reason = "a test that cannot run has failed")]

use std::{collections::BTreeSet, process::Command};

use serde_json::Value;

/// Each crate with what it may depend on inside the workspace: the layers drawn below it. Anything that
/// is not in this table, crates included, fails.
const ALLOWED: [(&str, &[&str]); 16] = [
    ("gateway-domain", &[]),
    ("gateway-protocol", &["gateway-domain"]),
    ("gateway-aggregate", &["gateway-domain"]),
    ("gateway-transport-stdio", &["gateway-protocol", "gateway-domain"]),
    // Outgoing connections, for all that make some.
    ("gateway-egress", &["gateway-domain"]),
    ("gateway-auth", &["gateway-egress", "gateway-domain"]),
    ("gateway-credentials", &["gateway-egress", "gateway-domain"]),
    ("gateway-transport-http", &["gateway-egress", "gateway-protocol", "gateway-domain"]),
    ("gateway-openapi", &["gateway-egress", "gateway-domain"]),
    ("gateway-registry", &["gateway-protocol", "gateway-domain"]),
    ("gateway-catalog", &["gateway-registry", "gateway-aggregate", "gateway-protocol", "gateway-domain"]),
    // A dispatcher around any dispatcher: of the layers below it knows the ports, and how cursors are read.
    ("gateway-composite", &["gateway-aggregate", "gateway-domain"]),
    // Stages around any dispatcher.
    ("gateway-pipeline", &["gateway-domain"]),
    ("gateway-server", &["gateway-protocol", "gateway-domain"]),
    (
        "gatewayd",
        &[
            "gateway-server",
            "gateway-pipeline",
            "gateway-auth",
            "gateway-credentials",
            "gateway-egress",
            "gateway-composite",
            "gateway-catalog",
            "gateway-registry",
            "gateway-aggregate",
            "gateway-transport-stdio",
            "gateway-transport-http",
            "gateway-openapi",
            "gateway-protocol",
            "gateway-domain",
        ],
    ),
    // Fake peers for tests; knows nothing of what it tests.
    ("gateway-testkit", &[]),
];

/// Libraries that a crate must not depend on (design §3, "must not know").
const FORBIDDEN: [(&str, &[&str]); 6] = [
    ("gateway-domain", &["tokio", "hyper", "http", "figment", "tracing", "serde"]),
    ("gateway-protocol", &["tokio", "hyper", "http", "figment"]),
    ("gateway-aggregate", &["tokio", "hyper", "http", "figment", "tracing"]),
    ("gateway-registry", &["hyper", "http", "figment"]),
    ("gateway-composite", &["hyper", "http", "figment"]),
    ("gateway-pipeline", &["hyper", "http", "figment"]),
];

/// Only the composition root has these.
const ROOT_ONLY: [&str; 2] = ["anyhow", "figment"];

struct Package {
    name: String,
    /// Normal and build dependencies.
    needs: BTreeSet<String>,
    /// Dependencies of its tests.
    tests_need: BTreeSet<String>,
}

fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("packages").iter().map(package).collect()
}

fn package(package: &Value) -> Package {
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let dependencies = package["dependencies"].as_array().expect("dependencies");
    let of_kind = |dev: bool| {
        dependencies.iter().filter(|dependency| (dependency["kind"] == "dev") == dev).map(name).collect()
    };
    Package { name: name(package), needs: of_kind(false), tests_need: of_kind(true) }
}

#[test]
fn no_crate_reaches_around_its_layer() {
    let packages = packages();
    let known: BTreeSet<_> = packages.iter().map(|package| package.name.as_str()).collect();
    let listed: BTreeSet<_> = ALLOWED.iter().map(|(name, _)| *name).collect();
    assert_eq!(known, listed, "crates of the workspace and crates of this table");
    for package in &packages {
        let (_, allowed) = ALLOWED.iter().find(|(name, _)| *name == package.name).expect("compared above");
        for inner in package.needs.iter().filter(|needed| known.contains(needed.as_str())) {
            assert!(
                allowed.contains(&inner.as_str()),
                "{} may not depend on {inner} (design §3)",
                package.name
            );
        }
        for inner in package.tests_need.iter().filter(|needed| known.contains(needed.as_str())) {
            let fine = allowed.contains(&inner.as_str()) || inner == "gateway-testkit";
            assert!(fine, "the tests of {} may not depend on {inner} (design §3)", package.name);
        }
    }
}

#[test]
fn libraries_stay_in_the_layer_that_owns_them() {
    for package in packages() {
        let forbidden =
            FORBIDDEN.iter().filter(|(name, _)| *name == package.name).flat_map(|(_, libraries)| *libraries);
        for library in forbidden {
            assert!(!package.needs.contains(*library), "{} may not know {library} (design §3)", package.name);
        }
        if package.name != "gatewayd" {
            for library in ROOT_ONLY {
                assert!(
                    !package.needs.contains(library),
                    "only gatewayd may use {library}, not {}",
                    package.name
                );
            }
        }
        assert!(!package.needs.contains("gateway-testkit"), "{} ships the testkit", package.name);
    }
}
