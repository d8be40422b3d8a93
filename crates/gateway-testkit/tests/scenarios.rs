//! The program `scenarios` can be started; what it finds is for `.ci/life`, which has a gateway.

#![expect(clippy::expect_used, reason = "a test stops where its set-up fails")]

use std::{
    path::PathBuf,
    process::{Command, Output},
};

/// Where failed scenarios leave their files.
fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("testkit-scenarios-{}", std::process::id()))
}

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scenarios"));
    command.args(args).env("TMPDIR", folder()).output().expect("it runs")
}

#[test]
fn arguments_that_make_no_sense_are_refused_with_a_hint() {
    let rows: [(&[&str], &str); 5] = [
        (&["--only", "sotrm"], "there are: isolation clients"),
        (&["--scale", "0"], "--scale: 0"),
        (&["--seconds"], "--seconds needs a value"),
        (&["--fast", "1"], "unknown switch --fast"),
        (&["--gatewayd", "/nowhere/gatewayd"], "/nowhere/gatewayd is not there"),
    ];
    for (args, hint) in rows {
        let output = run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(said.contains(hint), "{args:?}: {said}");
    }
}

/// A program that does not listen fails the scenario; it is not taken for a passed one.
#[test]
fn a_gateway_that_does_not_start_is_a_failure() {
    std::fs::create_dir_all(folder()).unwrap();
    let output = run(&["--gatewayd", "/bin/false", "--only", "clients"]);
    std::fs::remove_dir_all(folder()).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("FAILED clients: ") && said.contains("does not listen"), "{said}");
}
