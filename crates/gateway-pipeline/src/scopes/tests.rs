use gateway_domain::{Grants, RawObject};

use super::*;

fn user(scopes: &[&str]) -> Caller {
    let scopes = scopes.iter().map(|scope| (*scope).into()).collect();
    Caller::user("i", "s", Grants { scopes, claims: RawObject::empty() })
}

fn required(methods: &[&str], names: &[&str], scopes: &[&str]) -> Required {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Required { methods: own(methods), names: own(names), scopes: own(scopes) }
}

#[test]
fn whatever_something_is_called_it_needs_its_scopes() {
    #[track_caller]
    fn check(pattern: &str, act: Act, names: &[&str], is_needed: bool) {
        let rules = RequiredScopes::new(&[required(&[], &[pattern], &["s"])]);
        let expected = is_needed.then(|| vec!["s".to_owned()]);
        assert_eq!(rules.missing(&user(&[]), act, names), expected, "{pattern}: {names:?}");
        assert_eq!(rules.missing(&user(&["s"]), act, names), None, "{pattern}: {names:?}");
    }
    check("files__write*", Act::Call, &["files__write_all"], true);
    check("files__write*", Act::Call, &["files__read"], false);
    check("files__write", Act::Call, &["files__alias", "files__write"], true);
    check("*", Act::Call, &["x"], true);
    check("db://secret", Act::Read, &["DB://%73ecret"], true);
    check("DB://x/../secret/*", Act::Read, &["db://secret/a"], true);
    check("file:///priv/*", Act::Read, &["file:///pub/..%2Fpriv/b"], true);
    check("file:///priv/*", Act::Read, &["file:///pub/b"], false);
    check("y:1", Act::Read, &["x:1"], false);
    // What nobody can read.
    let deep = (0..20).fold("%61".to_owned(), |it, _| it.replacen('6', "%36", 1));
    check("y:1", Act::Read, &[&format!("x:{deep}")], true);
}

#[test]
fn all_scopes_of_all_rules_are_told_if_one_is_missing() {
    let rules = RequiredScopes::new(&[
        required(&["tools/call"], &[], &["mcp", "call"]),
        required(&["resources/*"], &["x__*"], &["read"]),
        required(&[], &["x__t"], &["call", "t"]),
    ]);
    for (held, act, names, missing) in [
        (&[][..], Act::Call, &["x__t"][..], &["mcp", "call", "t"][..]),
        (&["mcp", "call"], Act::Call, &["x__t"], &["mcp", "call", "t"]),
        (&["mcp", "call"], Act::Call, &["x__u"], &[]),
        (&["mcp", "call", "t"], Act::Call, &["x__t"], &[]),
        (&[], Act::Read, &["y", "x__y"], &["read"]),
        (&[], Act::Subscribe, &["x__t"], &["read", "call", "t"]),
        (&[], Act::Get, &["x__p"], &[]),
        (&[], Act::Call, &[], &["mcp", "call"]),
    ] {
        let expected =
            (!missing.is_empty()).then(|| missing.iter().map(|scope| (*scope).to_owned()).collect());
        assert_eq!(rules.missing(&user(held), act, names), expected, "{held:?} {act:?} {names:?}");
    }
    for other in [Caller::anonymous(), Caller::client("c")] {
        assert_eq!(rules.missing(&other, Act::Call, &["x__t"]), None, "has none and needs none");
    }
    let clone = rules.clone();
    rules.replace(&[]);
    assert_eq!(clone.missing(&user(&[]), Act::Call, &["x__t"]), None);
}
