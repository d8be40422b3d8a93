use Decision::{Allowed, Denied, DeniedByDefault as Default};

use super::*;

const ACTS: [Act; 3] = [Act::Read, Act::Subscribe, Act::Complete];

#[track_caller]
fn check(allow: &[&str], deny: &[&str], uri: &str, expected: Decision) {
    let policy = Policy::new(&config(vec![client("desk", allow, deny)], Vec::new())).unwrap();
    for act in ACTS {
        let decided = Wish::new(act, uri, Some("files")).decided(&policy, &Caller::client("desk"));
        assert_eq!(decided, expected, "{act:?} {uri}, allow {allow:?}, deny {deny:?}");
    }
}

#[test]
fn no_spelling_of_a_resource_gets_out_of_what_is_allowed() {
    let public = |uri: &str, expected| check(&["file:///pub/*"], &[], uri, expected);
    public("file:///pub/b", Allowed);
    public("file:///pub/a/../b", Allowed);
    public("file:///pub/%62", Allowed);
    public("file:///pub/a%20b", Allowed);
    public("file:///priv/b", Default);
    for evasion in [
        "file:///pub/../priv/b.txt",
        "file:///pub/%2e%2e/priv/b.txt",
        "file:///pub/%2E./priv/b.txt",
        "file:///pub/x/../../priv/b.txt",
        "file:///pub//../priv/b.txt",
        "file:///pub/..%2fpriv/b.txt",
        "file:///pub/..%5Cpriv/b.txt",
        "file:///pub/..\\priv/b.txt",
        "file:///pub/%%32%65%%32%65/priv/b.txt",
        "file:///pub/..",
    ] {
        public(evasion, Default);
    }
    check(&["/pub/*"], &[], "/pub/../priv", Default);
    check(&["file:///home/.*"], &[], "file:///home/x", Default);
    check(&["file:///home/.*"], &[], "file:///home/.profile", Allowed);
    // To be read like something is not to be it.
    check(&["x:/a%2Fb"], &[], "x:/a%2Fb", Allowed);
    check(&["x:/a%2Fb"], &[], "x:/a/b", Default);
    check(&["file://h/share/*"], &[], "file://h/share/a", Allowed);
    check(&["file://h/share/*"], &[], "file:///share/a", Default);
}

#[test]
fn the_name_of_a_tool_has_one_spelling() {
    let policy = Policy::new(&config(vec![client("desk", &["files__*"], &["b"])], Vec::new())).unwrap();
    for act in [Act::Call, Act::Get] {
        let decided =
            Wish::new(act, "files__a/../b", Some("files")).decided(&policy, &Caller::client("desk"));
        assert_eq!(decided, Allowed, "{act:?}");
    }
}

#[test]
fn every_spelling_of_a_resource_is_denied() {
    for evasion in [
        "file:///priv/b",
        "FILE:///priv/b",
        "file:///%70riv/b",
        "file:////priv/b",
        "file:///./priv/b",
        "file://localhost/priv/b",
        "file:/priv/b",
        "file:///x/../priv/b",
        "file:///x/..%2Fpriv/b",
        "file://h/priv/b",
        "file:///priv/b#f",
    ] {
        check(&["*"], &["file:///priv/*"], evasion, Denied);
        check(&["*"], &["FILE://localhost/./%70riv/*"], evasion, Denied);
    }
    for evasion in ["db://secret", "DB://secret", "db://%73ecret", "db://x/../secret", "db:///secret"] {
        check(&["*"], &["db://secret"], evasion, Denied);
    }
    check(&["*"], &["x:/a%2Fb"], "x:/a/b", Denied);
    check(&["*"], &["db://secret"], "db://public", Allowed);
    check(&["*"], &["file:///priv/*"], "file:///pub/b", Allowed);
    // What nobody can read.
    let deep = (0..20).fold("%61".to_owned(), |it, _| it.replacen('6', "%36", 1));
    check(&["*"], &[], &format!("x:{deep}"), Denied);
}

#[test]
fn patterns_are_about_resources_however_they_are_spelled() {
    for pattern in ["FILE:///pub/*", "file:/pub/*", "file:///x/../pub/*", "file://localhost/%70ub/*"] {
        check(&[pattern], &[], "file:///pub/a", Allowed);
        check(&[pattern], &[], "file:///pub/../priv/a", Default);
    }
    for pattern in ["mem:*", "m*", "mem:Notes/*", "*Notes/a", "mem:Notes/a"] {
        check(&[pattern], &[], "mem:Notes/a", if pattern == "*Notes/a" { Default } else { Allowed });
    }
    check(&["db://{table}/*"], &[], "db://{table}/{row}", Allowed);
}

#[test]
fn names_of_tools_and_prompts_are_no_uris() {
    let policy =
        Policy::new(&config(vec![client("desk", &["a__x/../y", "a__%41"], &[])], Vec::new())).unwrap();
    for (act, name) in [(Act::Call, "a__x/../y"), (Act::Get, "a__%41"), (Act::Call, "a__%41")] {
        let wish = Wish::new(act, name, Some("a"));
        assert_eq!(wish.decided(&policy, &Caller::client("desk")), Allowed, "{act:?} {name}");
    }
}
