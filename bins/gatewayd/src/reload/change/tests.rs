use super::*;
use crate::config::{self, Environment, Request};

/// A configuration as it stands in a file.
fn config(text: &str) -> Config {
    config_with(text, &[])
}

fn config_with(text: &str, variables: &[(&str, &str)]) -> Config {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gateway.toml"), text).unwrap();
    let request = Request { folder: folder.path().to_owned(), ..Request::default() };
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let environment: Environment = variables.collect();
    match config::load(&request, &environment).outcome {
        Ok(loaded) => loaded.config,
        Err(problems) => panic!("refused: {problems}"),
    }
}

/// What is to be done, one word and name each.
fn changes(old: &Config, new: &Config) -> String {
    let changes = Changes::between(old, new);
    let kept = changes.kept;
    let mut all: Vec<_> = changes
        .into_all()
        .map(|change| {
            let word = match &change {
                Change::Start(_) => "start",
                Change::Relist(_) => "relist",
                Change::Stop(_) => "stop",
                Change::Remove(_) => "remove",
            };
            format!("{word} {}", change.name())
        })
        .collect();
    all.push(format!("keep {kept}"));
    all.join(", ")
}

const KEPT: &str = "[downstreams.kept]\ncommand = [\"k\"]\n";

/// A downstream `d` as it was and as it becomes, beside one that stays.
#[track_caller]
fn check(before: &str, after: &str, expected: &str) {
    let text = |d: &str| if d.is_empty() { KEPT.to_owned() } else { format!("{KEPT}[downstreams.d]\n{d}") };
    let (old, new) = (config(&text(before)), config(&text(after)));
    assert_eq!(changes(&old, &new), expected, "from {before:?} to {after:?}");
    assert_eq!(changes(&new, &new), format!("keep {}", new.downstreams.len()), "the same");
}

#[test]
fn each_difference_does_no_more_than_it_must() {
    let d = "command = [\"x\"]\n";
    let with = |more: &str| format!("{d}{more}");
    check(d, d, "keep 2");
    check("", d, "start d, keep 1");
    check(d, "", "remove d, keep 1");
    check(d, "command = [\"x\", \"y\"]", "start d, keep 1");
    check(d, "url = \"https://x.example\"", "start d, keep 1");
    for concerns_sessions in [
        "env = { A = \"b\" }",
        "inherit_env = [\"A\"]",
        "cwd = \"/\"",
        "sharing = \"shared\"",
        "pool = { max = 1 }",
        "call_timeout = \"1s\"",
        "max_call_time = \"1s\"",
        "probe_timeout = \"1s\"",
        "list_timeout = \"1s\"",
        "startup_timeout = \"1s\"",
        "terminate = \"1s\"",
        "protocol = \"2025-11-25\"",
        "max_message_bytes = 2048",
        "supervision = { failures = 1 }",
        "health = { interval = \"1s\" }",
        "restarts = { limit = 1 }",
    ] {
        check(d, &with(concerns_sessions), "start d, keep 1");
    }
    for concerns_lists in [
        "tools = { deny = [\"a\"] }",
        "tools = { workflows = [\"a\"] }",
        "required = true",
        "public_tool_list = false",
    ] {
        check(d, &with(concerns_lists), "relist d, keep 1");
    }
    check(d, &with("enabled = false"), "stop d, keep 1");
    check(&with("enabled = false"), d, "start d, keep 1");
    check(&with("enabled = false"), "", "remove d, keep 1");
    check("", &with("enabled = false"), "relist d, keep 1");
    check(&with("enabled = false"), &with("enabled = false\ncwd = \"/\""), "relist d, keep 1");
    check(d, &with("enabled = false\ncwd = \"/\""), "stop d, keep 1");
}

#[test]
fn whatever_is_different_about_an_api_starts_it_anew() {
    let d = "openapi = \"/a.yaml\"\nbase_url = \"https://a.example\"\n";
    check(d, d, "keep 2");
    check(d, "command = [\"x\"]", "start d, keep 1");
    for other in [
        "read_only = false",
        "include = [\"/a\"]",
        "exclude = [\"/a\"]",
        "headers = { A = \"b\" }",
        "auth = { a = \"b\" }",
        "overrides = { a = { name = \"b\" } }",
        "rate_limit = { per_second = 1 }",
        "max_concurrent = 1",
        "max_response_bytes = 1",
        "max_schema_bytes = 1024",
        "output_schemas = false",
        "references = [\"https://a.example\"]",
        "connect_timeout = \"1s\"",
        "call_timeout = \"1s\"",
    ] {
        check(d, &format!("{d}{other}"), "start d, keep 1");
    }
    check(d, "openapi = \"/b.yaml\"\nbase_url = \"https://a.example\"", "start d, keep 1");
    check(d, "openapi = \"/a.yaml\"\nbase_url = \"https://b.example\"", "start d, keep 1");
    check(d, &format!("{d}tools = {{ deny = [\"a\"] }}"), "relist d, keep 1");
}

#[test]
fn a_secret_with_another_value_is_a_difference() {
    let text = format!("{KEPT}[downstreams.d]\ncommand = [\"x\"]\nenv = {{ A = {{ env = \"TOKEN\" }} }}\n");
    let (old, new) = (config_with(&text, &[("TOKEN", "1")]), config_with(&text, &[("TOKEN", "2")]));
    assert_eq!(changes(&old, &new), "start d, keep 1");
}

#[test]
fn a_child_that_inherits_everything_is_started_without_what_has_become_a_secret() {
    let text = format!("{KEPT}[downstreams.d]\ncommand = [\"x\"]\ninherit_env = true\n");
    let other = format!("{text}[clients.desk]\nkey = {{ env = \"DESK\" }}\n");
    let (old, new) = (config(&text), config_with(&other, &[("DESK", "0123456789abcdef")]));
    assert_eq!(changes(&old, &new), "start d, keep 1");
}

#[test]
fn workflows_are_told_apart_by_what_is_written_not_where() {
    let check = |before: &str, after: &str, expected: [&[&str]; 3]| {
        let [old, new] = [before, after].map(|text| config(&format!("{text}\n{KEPT}")).workflows);
        let changes = WorkflowChanges::between(&old, &new);
        assert_eq!(
            [changes.added, changes.changed, changes.removed].map(|names| names.join(" ")),
            expected.map(|names| names.join(" ")),
            "from {before:?} to {after:?}"
        );
        assert_eq!(
            WorkflowChanges::between(&old, &new).is_empty(),
            expected.iter().all(|names| names.is_empty())
        );
    };
    let (a, b) = ("[workflows.a]\ndescription = \"x\"\n", "[workflows.b]\ndescription = \"x\"\n");
    check("", "", [&[], &[], &[]]);
    check("", &format!("{a}{b}"), [&["a", "b"], &[], &[]]);
    check(&format!("{a}{b}"), b, [&[], &[], &["a"]]);
    check(&format!("{a}{b}"), &format!("{b}{a}"), [&[], &[], &[]]);
    check(&format!("{a}{b}"), &format!("{a}{}", b.replace('x', "y")), [&[], &["b"], &[]]);
    check(a, b, [&["b"], &[], &["a"]]);
}

#[test]
fn keys_that_need_a_restart_keep_their_value_and_are_named() {
    let old = config(KEPT);
    // Over HTTP, over stdio, and what the HTTP face takes on.
    let rows: &[(&str, [&[&str]; 3])] = &[
        ("listen = \"127.0.0.1:1\"", [&["listen"], &[], &[]]),
        ("admin = { listen = \"127.0.0.1:1\" }", [&["admin.listen"], &[], &[]]),
        ("log = { level = \"debug\" }", [&["log"], &["log"], &[]]),
        ("names = { max_length = 32 }", [&["names"], &["names"], &[]]),
        ("lists = { page_size = 5 }", [&["lists"], &["lists"], &[]]),
        ("runs = { max = 5 }", [&["runs"], &["runs"], &[]]),
        ("workflows = { w = {} }", [&[], &[], &[]]),
        ("limits = { sessions = 5 }", [&[], &["limits"], &["limits"]]),
        ("shutdown_grace = \"1s\"", [&[], &["shutdown_grace"], &["shutdown_grace"]]),
        ("allowed_hosts = [\"a\"]", [&[], &[], &["allowed_hosts"]]),
        ("allowed_origins = [\"https://a\"]", [&[], &[], &["allowed_origins"]]),
        ("allow_unauthenticated = true", [&[], &[], &["allow_unauthenticated"]]),
        ("http2 = true", [&[], &[], &["http2"]]),
        ("cancel_on_disconnect = true", [&[], &[], &["cancel_on_disconnect"]]),
        ("clients = { a = { key = \"0123456789abcdef\" } }", [&[], &[], &["clients"]]),
        ("reload = { watch = false }", [&[], &[], &[]]),
        ("redaction = { values = { a = \"0123456789\" } }", [&[], &[], &[]]),
    ];
    for (text, [over_http, over_stdio, live]) in rows {
        let new = config(&format!("{text}\n{KEPT}"));
        for (face, expected) in [(Face::Http, over_http), (Face::Stdio, over_stdio)] {
            let (keys, kept) = needs_restart(face, &old, new.clone());
            assert_eq!(keys, *expected, "{text} with {face:?}");
            assert_eq!(kept == old, !expected.is_empty(), "{text} with {face:?}");
            assert_eq!(needs_restart(face, &kept, new.clone()).0, keys, "it is said again: {text}");
            if face == Face::Http {
                assert_eq!(edge_keys(&old, &kept), *live, "{text}");
            }
        }
    }
}

#[test]
fn another_secret_is_something_else_to_redact() {
    let old = config(KEPT);
    let values = config(&format!("redaction = {{ values = {{ a = \"0123456789\" }} }}\n{KEPT}"));
    let mut secrets = old.clone();
    secrets.secrets.push(("a".to_owned(), "0123456789".into()));
    for (new, is_so) in [(&old, false), (&values, true), (&secrets, true)] {
        assert_eq!(redaction(&old, new), is_so);
    }
}

#[test]
fn where_users_are_sent_to_concerns_the_downstreams_that_send_them() {
    let text = |url: &str| {
        let auth = |mode| format!("auth = {{ type = \"oauth\", mode = \"{mode}\" }}");
        format!(
            "{url}\n{KEPT}[downstreams.own]\nurl = \"https://o.example\"\n{}\n[downstreams.shared]\nurl = \"https://s.example\"\n{}",
            auth("per_user"),
            auth("gateway")
        )
    };
    let public = |host| text(&format!("public_url = \"https://{host}.example\""));
    for (before, after) in [(public("one"), public("two")), (text(""), public("one"))] {
        assert_eq!(changes(&config(&before), &config(&after)), "start own, keep 2");
        assert_eq!(changes(&config(&after), &config(&after)), "keep 3");
    }
}
