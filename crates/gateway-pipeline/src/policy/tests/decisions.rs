use Decision::{Allowed, Denied, DeniedByDefault as Default};
use Effect::{Allow, Deny};

use super::*;

#[track_caller]
fn check(config: &PolicyConfig, caller: &Caller, wish: &Wish, expected: Decision) {
    let policy = Policy::new(config).unwrap();
    assert_eq!(wish.decided(&policy, caller), expected, "{caller:?} {wish:?} {config:#?}");
}

/// Of one rule, for one caller.
#[track_caller]
fn check_rule(rule: Rule, caller: &Caller, wish: &Wish, applies: bool) {
    let expected = match (applies, rule.effect) {
        (false, _) => Default,
        (true, Allow) => Allowed,
        (true, Deny) => Denied,
    };
    check(&config(Vec::new(), vec![rule]), caller, wish, expected);
}

#[test]
fn without_rules_the_default_decides() {
    let open = PolicyConfig { default: Allow, ..PolicyConfig::default() };
    for caller in [Caller::anonymous(), Caller::client("desk"), user("i", "s", &[], "{}")] {
        check(&PolicyConfig::default(), &caller, &Wish::tool("files__read"), Default);
        check(&open, &caller, &Wish::tool("files__read"), Allowed);
    }
}

#[test]
fn a_client_may_do_what_its_lists_say_and_deny_wins() {
    let desk = |allow: &[&str], deny: &[&str], name: &str, expected| {
        let config = config(vec![client("desk", allow, deny), client("other", &["*"], &[])], Vec::new());
        check(&config, &Caller::client("desk"), &Wish::tool(name), expected);
    };
    desk(&[], &[], "files__read", Default);
    desk(&["files__read"], &[], "files__read", Allowed);
    desk(&["files__read"], &[], "files__read_all", Default);
    desk(&["files__read"], &[], "Files__read", Default);
    desk(&["files__*"], &[], "files__read", Allowed);
    desk(&["files__*"], &[], "files2__read", Default);
    desk(&["files__r??d"], &[], "files__read", Allowed);
    desk(&["files__r??d"], &[], "files__red", Default);
    desk(&["f?les__r*"], &[], "files__read", Allowed);
    desk(&["f?les__r*"], &[], "files__write", Default);
    desk(&["*les__*"], &[], "files__read", Allowed);
    desk(&["*__read"], &[], "web__read", Allowed);
    desk(&["*__read"], &[], "web__write", Default);
    desk(&["*"], &["files__write"], "files__write", Denied);
    desk(&["*"], &["files__write"], "files__read", Allowed);
    desk(&["files__write"], &["*write"], "files__write", Denied);
    desk(&[], &["files__*"], "files__read", Denied);
    desk(&["a.b__x"], &[], "axb__x", Default);
    desk(&["other__x", "files__*"], &[], "files__read", Allowed);
}

#[test]
fn a_list_is_its_clients_alone() {
    let config = config(vec![client("desk", &["*"], &[])], Vec::new());
    for (caller, expected) in [
        (Caller::client("desk"), Allowed),
        (Caller::client("Desk"), Default),
        (Caller::client(""), Default),
        (Caller::anonymous(), Default),
        (user("desk", "desk", &["desk"], r#"{"client":"desk"}"#), Default),
    ] {
        check(&config, &caller, &Wish::tool("files__read"), expected);
    }
}

#[test]
fn a_denial_wins_over_an_open_default_and_over_every_allowance() {
    let deny = rule(Deny, Who::default(), names(&["files__*"]));
    let mut config = config(vec![client("desk", &["files__read"], &[])], vec![deny]);
    config.default = Allow;
    let desk = Caller::client("desk");
    check(&config, &desk, &Wish::tool("files__read"), Denied);
    check(&config, &desk, &Wish::tool("web__get"), Allowed);
    check(&config, &Caller::anonymous(), &Wish::tool("files__read"), Denied);
}

#[test]
fn lists_and_rules_about_a_client_come_together() {
    let also = rule(Allow, Who { clients: Some(texts(&["d*"])), ..Who::default() }, names(&["web__get"]));
    let config = config(vec![client("desk", &["files__read"], &[])], vec![also]);
    for (caller, name, expected) in [
        ("desk", "files__read", Allowed),
        ("desk", "web__get", Allowed),
        ("dock", "web__get", Allowed),
        ("dock", "files__read", Default),
        ("lamp", "web__get", Default),
    ] {
        check(&config, &Caller::client(caller), &Wish::tool(name), expected);
    }
}

#[test]
fn rules_are_about_the_callers_they_name() {
    let some = |list: &[&str]| Some(texts(list));
    let ann = user(
        "https://a",
        "ann",
        &["read", "list"],
        r#"{"groups":["ops","dev"],"n":7,"admin":true,"x":null,"team":"blue","realm":{"a/b":{"roles":["chief"]}}}"#,
    );
    let is = |who: Who, caller: &Caller, applies| {
        check_rule(rule(Allow, who.clone(), What::default()), caller, &Wish::tool("f__t"), applies);
        check_rule(rule(Deny, who, What::default()), caller, &Wish::tool("f__t"), applies);
    };
    let clients = || Who { clients: some(&["desk", "lap*"]), ..Who::default() };
    is(clients(), &Caller::client("desk"), true);
    is(clients(), &Caller::client("laptop"), true);
    is(clients(), &Caller::client("phone"), false);
    is(clients(), &Caller::anonymous(), false);
    is(clients(), &user("desk", "desk", &[], "{}"), false);
    let issuers = |issuer: &str| Who { issuers: some(&[issuer]), ..Who::default() };
    is(issuers("https://a"), &ann, true);
    is(issuers("https://?"), &ann, true);
    is(issuers("https://a/"), &ann, false);
    is(issuers("*"), &Caller::client("desk"), false);
    is(issuers("*"), &Caller::anonymous(), false);
    let subjects = |issuer: &str, subject: &str| Who { subjects: some(&[subject]), ..issuers(issuer) };
    is(subjects("https://a", "an?"), &ann, true);
    is(subjects("https://b", "ann"), &ann, false);
    is(subjects("https://a", "bob"), &ann, false);
    let scopes = |scopes: &[&str]| Who { scopes: some(scopes), ..Who::default() };
    is(scopes(&["list"]), &ann, true);
    is(scopes(&["list", "read"]), &ann, true);
    is(scopes(&["list", "write"]), &ann, false);
    is(scopes(&["l*"]), &ann, false);
    is(scopes(&["list"]), &Caller::client("list"), false);
    is(claims(&[("groups", &["ops"])]), &ann, true);
    is(claims(&[("groups", &["sales", "dev"])]), &ann, true);
    is(claims(&[("groups", &["sales"])]), &ann, false);
    is(claims(&[("groups", &["ops"]), ("team", &["blue"])]), &ann, true);
    is(claims(&[("groups", &["ops"]), ("team", &["red"])]), &ann, false);
    is(claims(&[("n", &["7"]), ("admin", &["true"])]), &ann, true);
    is(claims(&[("n", &["7.0"])]), &ann, false);
    is(claims(&[("x", &["null", ""])]), &ann, false);
    is(claims(&[("realm", &["chief"])]), &ann, false);
    is(claims(&[("gone", &["ops"])]), &ann, false);
    is(claims(&[("/realm/a~1b/roles", &["chief"])]), &ann, true);
    is(claims(&[("/realm/a~0b/roles", &["chief"])]), &ann, false);
    is(claims(&[("/team", &["blue"])]), &ann, true);
    is(claims(&[("/team/blue", &["blue"])]), &ann, false);
    is(claims(&[("groups", &["ops"])]), &Caller::client("ops"), false);
    is(Who::default(), &Caller::anonymous(), true);
}

#[test]
fn rules_are_about_what_they_name() {
    let some = |list: &[&str]| Some(texts(list));
    let is = |what: What, wish: &Wish, applies| {
        check_rule(rule(Allow, Who::default(), what.clone()), &Caller::anonymous(), wish, applies);
        check_rule(rule(Deny, Who::default(), what), &Caller::anonymous(), wish, applies);
    };
    let downstreams = |list: &[&str]| What { downstreams: some(list), ..What::default() };
    let resource = Wish::new(Act::Read, "file:///a", Some("files"));
    let workflow = Wish::new(Act::Call, "deploy", None);
    is(downstreams(&["files"]), &Wish::tool("files__read"), true);
    is(downstreams(&["file?"]), &resource, true);
    is(downstreams(&["web"]), &Wish::tool("files__read"), false);
    is(downstreams(&["*"]), &workflow, false);
    is(names(&["deploy"]), &workflow, true);
    let methods = |list: &[&str]| What { methods: some(list), ..What::default() };
    let acts = [Act::Call, Act::Get, Act::Read, Act::Subscribe, Act::Complete, Act::Other];
    for act in acts {
        let wish = Wish::new(act, "x", Some("files"));
        is(methods(&[act.method()]), &wish, true);
        is(methods(&["*"]), &wish, true);
        for other in acts.into_iter().filter(|other| *other != act) {
            is(methods(&[other.method()]), &wish, false);
        }
    }
    is(methods(&["resources/*"]), &Wish::new(Act::Subscribe, "x", None), true);
    is(methods(&["resources/*"]), &Wish::new(Act::Call, "x", None), false);
    // All conditions of a rule hold at once.
    is(What { names: some(&["*__read"]), ..downstreams(&["files"]) }, &Wish::tool("files__read"), true);
    is(What { names: some(&["*__read"]), ..downstreams(&["files"]) }, &Wish::tool("web__read"), false);
    is(What { names: some(&["*__read"]), ..downstreams(&["files"]) }, &Wish::tool("files__write"), false);
    is(
        What { names: some(&["files__read"]), ..methods(&["prompts/get"]) },
        &Wish::tool("files__read"),
        false,
    );
}

#[test]
fn annotations_of_tools_can_be_asked_for() {
    let is = |read_only: Option<bool>, destructive: Option<bool>, wish: &Wish, applies| {
        let what = What { read_only, destructive, ..What::default() };
        check_rule(rule(Allow, Who::default(), what.clone()), &Caller::anonymous(), wish, applies);
        check_rule(rule(Deny, Who::default(), what), &Caller::anonymous(), wish, applies);
    };
    // Annotations, whether it only reads, whether it destroys.
    for (annotations, reads, destroys) in [
        (r#"{"readOnlyHint":true}"#, true, false),
        (r#"{"readOnlyHint":true,"destructiveHint":true}"#, true, false),
        (r#"{"readOnlyHint":false}"#, false, true),
        (r#"{"readOnlyHint":false,"destructiveHint":false}"#, false, false),
        (r#"{"destructiveHint":false}"#, false, false),
        (r#"{"destructiveHint":true}"#, false, true),
        (r#"{"readOnlyHint":"true"}"#, false, true),
        (r#"{"readonlyhint":true}"#, false, true),
        ("{}", false, true),
        ("[true]", false, true),
    ] {
        let wish = Wish::annotated("files__x", annotations);
        for wanted in [true, false] {
            is(Some(wanted), None, &wish, wanted == reads);
            is(None, Some(wanted), &wish, wanted == destroys);
        }
        is(Some(reads), Some(destroys), &wish, true);
        is(Some(reads), Some(!destroys), &wish, false);
    }
    is(Some(false), Some(true), &Wish::tool("files__x"), true);
    // Only tools of downstreams have any.
    for wish in [
        Wish::new(Act::Read, "file:///a", Some("files")),
        Wish::new(Act::Get, "files__p", Some("files")),
        Wish::new(Act::Call, "deploy", None),
        Wish { downstream: None, ..Wish::annotated("files__x", r#"{"readOnlyHint":true}"#) },
    ] {
        for wanted in [true, false] {
            is(Some(wanted), None, &wish, false);
            is(None, Some(wanted), &wish, false);
        }
    }
}

#[test]
fn of_a_tool_whose_definition_is_not_known_the_worst_is_true() {
    let unknown = Wish { tool: None, ..Wish::tool("files__x") };
    for wanted in [true, false] {
        let what = What { read_only: Some(wanted), ..What::default() };
        check_rule(rule(Allow, Who::default(), what.clone()), &Caller::anonymous(), &unknown, false);
        check_rule(rule(Deny, Who::default(), what), &Caller::anonymous(), &unknown, true);
    }
}

#[test]
fn a_tool_can_be_kept_for_steps_of_workflows() {
    for (effect, decided) in [(Allow, Allowed), (Deny, Denied)] {
        let through = Rule {
            through: Some(Through::Composites),
            ..rule(effect, Who { clients: Some(texts(&["desk"])), ..Who::default() }, names(&["db__drop"]))
        };
        let config = config(Vec::new(), vec![through]);
        let desk = Caller::client("desk");
        check(&config, &desk, &Wish::tool("db__drop"), Default);
        check(&config, &desk, &Wish::tool("db__drop").in_workflow(), decided);
        // Nobody gains anything by a composition (requirements §7 item 10).
        check(&config, &Caller::client("lamp"), &Wish::tool("db__drop").in_workflow(), Default);
        check(&config, &desk, &Wish::tool("db__list").in_workflow(), Default);
    }
}

#[test]
fn what_steps_of_workflows_call_can_be_kept_from_callers() {
    for (effect, decided) in [(Allow, Allowed), (Deny, Denied)] {
        let direct =
            Rule { through: Some(Through::Caller), ..rule(effect, Who::default(), names(&["db__drop"])) };
        let config = config(Vec::new(), vec![direct]);
        let desk = Caller::client("desk");
        check(&config, &desk, &Wish::tool("db__drop"), decided);
        check(&config, &desk, &Wish::tool("db__drop").in_workflow(), Default);
    }
}

#[test]
fn a_pattern_for_all_of_a_downstream_is_about_its_resources_too() {
    let of = |act, name, downstream| Wish::new(act, name, Some(downstream));
    let uri = "file:///a";
    for (pattern, wish, allowed, denied) in [
        ("files__*", of(Act::Read, uri, "files"), Allowed, Denied),
        ("files__*", of(Act::Subscribe, uri, "files"), Allowed, Denied),
        ("files__*", of(Act::Complete, uri, "files"), Allowed, Denied),
        ("files__*", of(Act::Get, "files__p", "files"), Allowed, Denied),
        ("files__*", of(Act::Complete, "files__p", "files"), Allowed, Denied),
        // Methods that nobody knows are not what is thought of in allowing.
        ("files__*", of(Act::Other, "x/y", "files"), Default, Denied),
        ("files__*", of(Act::Read, uri, "web"), Default, Default),
        ("files__*", of(Act::Call, "odd", "files"), Default, Default),
        ("files__*", of(Act::Get, "odd", "files"), Default, Default),
        ("files__*", Wish::new(Act::Read, uri, None), Default, Default),
        ("f*__*", of(Act::Read, uri, "files"), Allowed, Denied),
        ("f*__*", of(Act::Read, uri, "web"), Default, Default),
        ("files__r*", of(Act::Read, uri, "files"), Default, Default),
        ("files__", of(Act::Read, uri, "files"), Default, Default),
        ("file:///*", of(Act::Read, uri, "files"), Allowed, Denied),
        ("file:///a", of(Act::Read, uri, "web"), Allowed, Denied),
        ("*", of(Act::Other, "x/y", "files"), Allowed, Denied),
    ] {
        let desk = Caller::client("desk");
        check(&config(vec![client("desk", &[pattern], &[])], Vec::new()), &desk, &wish, allowed);
        check(&config(vec![client("desk", &[], &[pattern])], Vec::new()), &desk, &wish, denied);
    }
}

#[test]
fn a_wildcard_does_not_admit_tools_that_are_not_pinned() {
    let desk = Caller::client("desk");
    let pinned =
        |config: PolicyConfig| PolicyConfig { pinned: Some(["files__read".into()].into()), ..config };
    let listed = |allow: &[&str]| pinned(config(vec![client("desk", allow, &[])], Vec::new()));
    let ruled = |what: What| pinned(config(Vec::new(), vec![rule(Allow, Who::default(), what)]));
    let new = Wish::tool("files__wipe");
    for wildcard in ["*", "files__*", "files__????", "*wipe", "*read"] {
        check(&listed(&[wildcard]), &desk, &new, Default);
        check(&ruled(names(&[wildcard])), &desk, &new, Default);
    }
    check(&listed(&["files__*"]), &desk, &Wish::tool("files__read"), Allowed);
    check(&listed(&["files__wipe"]), &desk, &new, Allowed);
    check(&listed(&["*", "files__wipe"]), &desk, &new, Allowed);
    check(&ruled(names(&["files__wipe"])), &desk, &new, Allowed);
    // A rule that names no tool names all.
    let files = What { downstreams: Some(texts(&["files"])), ..What::default() };
    check(&ruled(files.clone()), &desk, &new, Default);
    check(&ruled(files), &desk, &Wish::tool("files__read"), Allowed);
    // What is denied need not be pinned, and what is no tool of a downstream is not.
    check(
        &pinned(config(vec![client("desk", &["files__wipe"], &["files__*"])], Vec::new())),
        &desk,
        &new,
        Denied,
    );
    for other in [
        Wish::new(Act::Call, "deploy", None),
        Wish::new(Act::Get, "files__p", Some("files")),
        Wish::new(Act::Read, "file:///a", Some("files")),
    ] {
        check(&listed(&["*"]), &desk, &other, Allowed);
    }
    // P-53
    check(&PolicyConfig { default: Allow, ..listed(&[]) }, &desk, &new, Allowed);
    // Nothing at all may be pinned.
    check(
        &PolicyConfig { pinned: Some([].into()), ..listed(&["*"]) },
        &desk,
        &Wish::tool("files__read"),
        Default,
    );
}

#[test]
fn pins_are_there_before_anybody_has_asked_for_a_list() {
    // P-W2: the first thing that is ever decided is a call.
    let config = PolicyConfig {
        pinned: Some(["files__read".into()].into()),
        ..config(vec![client("desk", &["files__*"], &[])], Vec::new())
    };
    check(&config, &Caller::client("desk"), &Wish::tool("files__read"), Allowed);
}
