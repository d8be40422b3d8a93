use Effect::{Allow, Deny};

use super::*;

#[track_caller]
fn check(config: &PolicyConfig, expected: bool) {
    let policy = Policy::new(config).unwrap();
    let files = DownstreamName::parse("files").unwrap();
    assert_eq!(policy.may_use(&Caller::client("desk"), &files), expected, "{config:#?}");
}

#[test]
fn a_downstream_may_be_used_if_a_pattern_could_be_about_something_of_it() {
    for (pattern, expected) in [
        ("files__*", true),
        ("files__read", true),
        ("files__r*x", true),
        ("f*", true),
        ("f?les__*", true),
        ("f*__*", true),
        ("*__read", true),
        ("*", true),
        ("?*", true),
        // It may have such a resource, or method.
        ("file:///pub/*", true),
        ("db://a__b", true),
        ("x/y", true),
        ("we*", true),
        ("web__*", false),
        ("web__a/b", false),
        ("files2__*", false),
        ("files", false),
        ("web__read", false),
        ("w_*", false),
        ("deploy", false),
    ] {
        check(&config(vec![client("desk", &[pattern], &[])], Vec::new()), expected);
        check(&config(Vec::new(), vec![rule(Allow, Who::default(), names(&[pattern]))]), expected);
        let open = config(vec![client("desk", &[pattern], &[])], Vec::new());
        check(&PolicyConfig { default: Allow, ..open }, true);
    }
    check(&config(Vec::new(), Vec::new()), false);
    check(&config(vec![client("desk", &[], &[]), client("other", &["*"], &[])], Vec::new()), false);
}

#[test]
fn conditions_on_downstreams_and_ways_count() {
    let of = |downstream: &str, list: Option<&[&str]>| What {
        downstreams: Some(texts(&[downstream])),
        names: list.map(texts),
        ..What::default()
    };
    let allows =
        |what: What, through| config(Vec::new(), vec![Rule { through, ..rule(Allow, Who::default(), what) }]);
    check(&allows(of("files", None), None), true);
    check(&allows(of("fi*", None), Some(Through::Caller)), true);
    check(&allows(of("files", None), Some(Through::Composites)), false);
    check(&allows(of("web", None), None), false);
    check(&allows(of("files", Some(&["web__x"])), None), false);
    check(&allows(What { read_only: Some(true), ..What::default() }, None), true);
}

#[test]
fn what_is_denied_as_a_whole_cannot_be_used() {
    let denied = |deny: &[&str]| config(vec![client("desk", &["*"], deny)], Vec::new());
    for (pattern, expected) in [
        ("files__*", false),
        ("f*__*", false),
        ("*", false),
        ("web__*", true),
        ("files__read", true),
        ("files__r*", true),
        // Resources are not called like that.
        ("files*", true),
    ] {
        check(&denied(&[pattern]), expected);
        check(&PolicyConfig { default: Allow, ..denied(&[pattern]) }, expected);
    }
    let rule_of = |what: What, through| {
        config(vec![client("desk", &["*"], &[])], vec![Rule { through, ..rule(Deny, Who::default(), what) }])
    };
    let some = |list: &[&str]| Some(texts(list));
    check(&rule_of(What::default(), None), false);
    check(&rule_of(What::default(), Some(Through::Caller)), false);
    check(&rule_of(What::default(), Some(Through::Composites)), true);
    check(&rule_of(What { downstreams: some(&["files"]), ..What::default() }, None), false);
    check(&rule_of(What { downstreams: some(&["web"]), ..What::default() }, None), true);
    check(&rule_of(What { methods: some(&["tools/call"]), ..What::default() }, None), true);
    check(&rule_of(What { read_only: Some(false), ..What::default() }, None), true);
    check(&rule_of(What { destructive: Some(true), ..What::default() }, None), true);
}
