use proptest::{prelude::*, sample::select};

use super::*;
use crate::ir::Method;

fn operation(id: &str, method: Method, path: &str, tags: &[&str]) -> Operation {
    Operation { tags: tags.iter().map(|&tag| tag.to_owned()).collect(), ..Operation::new(id, method, path) }
}

#[track_caller]
fn check_path(glob: &str, path: &str, expected: bool) {
    assert_eq!(PathGlob::new(glob).matches(path), expected, "{glob} on {path}");
}

#[test]
fn a_glob_that_ends_in_a_star_segment_is_recursive() {
    for (path, expected) in [
        ("/admin", true),
        ("/admin/", true),
        ("/admin/users", true),
        ("/admin/users/1", true),
        ("/administrator", false),
        ("/administrator/x", false),
        ("/x/admin", false),
        ("/Admin", false),
        ("/", false),
    ] {
        check_path("/admin/*", path, expected);
    }
    for path in ["/", "/a", "/a/b/c"] {
        check_path("/*", path, true);
    }
    check_path("/v?/admin/*", "/v1/admin/users/1", true);
    check_path("/*/admin/*", "/v1/admin", true);
    check_path("/*/admin/*", "/v1/x/admin", false);
    check_path("/users/{id}/*", "/users/{id}/repos/{repo}", true);
}

#[test]
fn in_other_globs_a_star_does_not_cross_a_slash() {
    for (glob, path, expected) in [
        ("/pets", "/pets", true),
        ("/pets", "/pets/", false),
        ("/pets*", "/pets-of-mine", true),
        ("/pets*", "/pets/1", false),
        ("/*/pets", "/v1/pets", true),
        ("/*/pets", "/v1/x/pets", false),
        ("/**/pets", "/v1/x/pets", true),
        ("/pets/{id}", "/pets/{id}", true),
        ("/pets/[!a]*", "/pets/bcd", true),
        ("/pets/[!a]*", "/pets/abc", false),
        ("/p?ts", "/pats", true),
        ("/p?ts", "/p/ts", false),
        ("", "", true),
    ] {
        check_path(glob, path, expected);
    }
}

#[test]
fn a_glob_that_cannot_be_understood_never_matches_and_says_so() {
    for glob in ["/a[", "/a[/*", "/***", "/a**b"] {
        let matcher = Matcher::path(glob);
        check_path(glob, glob, false);
        check_path(glob, "/a", false);
        let error = matcher.check().unwrap_err().to_string();
        assert!(error.starts_with(&format!("path `{glob}` matches nothing: ")), "{error}");
    }
}

#[track_caller]
fn check(matcher: Matcher, expected: bool) {
    let operation = operation("repos_get", Method::Patch, "/repos/{id}", &["repos", "beta"]);
    assert_eq!(matcher.matches(&operation), expected, "{matcher}");
}

#[test]
fn matchers_tell_operations_apart() {
    check(Matcher::tag("repos"), true);
    check(Matcher::tag("Repos"), false);
    check(Matcher::tag("repo"), false);
    check(Matcher::path("/repos/*"), true);
    check(Matcher::path("/repo/*"), false);
    check(Matcher::method("PATCH"), true);
    check(Matcher::method("patch"), true);
    check(Matcher::method("PAT"), false);
    check(Matcher::operation("repos_get"), true);
    check(Matcher::operation("repos/get"), true);
    check(Matcher::operation(" repos/get "), true);
    check(Matcher::operation("repos_ge"), false);
    check(Matcher::operation("Repos_get"), false);
    check(Matcher::predicate("beta ones", |operation| operation.tags.len() > 1), true);
}

#[test]
fn a_matcher_that_can_match_nothing_is_found() {
    let curation = Curation {
        include: vec![Matcher::path("/a"), Matcher::method("FETCH"), Matcher::tag("")],
        exclude: vec![
            Matcher::path("pets/*"),
            Matcher::operation("x"),
            Matcher::operation("pets_*"),
            Matcher::tag("pet?"),
            Matcher::tag("[a]"),
        ],
        ..Curation::default()
    };
    let errors: Vec<_> = curation.check().unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "method `FETCH` matches nothing: the methods are GET, POST, PUT, PATCH, DELETE, HEAD",
            "tag `` matches nothing: it is empty",
            "path `pets/*` matches nothing: paths begin with `/`",
            "operation `pets_*` matches nothing: globs are for paths; here the whole name is needed",
            "tag `pet?` matches nothing: globs are for paths; here the whole name is needed",
            "tag `[a]` matches nothing: globs are for paths; here the whole name is needed",
        ]
    );
    assert_eq!(Curation::default().check(), Ok(()));
}

#[test]
fn the_switch_is_asked_first_then_includes_then_excludes() {
    let curation = Curation {
        read_only: true,
        include: vec![Matcher::tag("pets"), Matcher::operation("health")],
        exclude: vec![Matcher::tag("admin"), Matcher::path("/pets/secret")],
    };
    for (operation, expected) in [
        (operation("list", Method::Get, "/pets", &["pets"]), "taken"),
        (operation("health", Method::Head, "/health", &[]), "taken"),
        (operation("add", Method::Post, "/pets", &["pets"]), "not read-only: POST"),
        (operation("drop", Method::Delete, "/x", &["admin"]), "not read-only: DELETE"),
        (operation("x", Method::Get, "/x", &["admin"]), "matches no include"),
        (operation("y", Method::Get, "/pets/y", &["pets", "admin"]), "excluded by tag `admin`"),
        (operation("z", Method::Get, "/pets/secret", &["pets"]), "excluded by path `/pets/secret`"),
    ] {
        assert_eq!(curation.decide(&operation).to_string(), expected, "for {}", operation.id);
    }
    let post = operation("add", Method::Post, "/pets", &[]);
    assert!(!Curation::default().decide(&post).is_taken(), "read-only unless opted out");
    assert!(Curation::all().decide(&post).is_taken());
}

#[test]
fn what_is_left_out_is_skipped_with_its_reason() {
    let mut listing: Listing =
        vec![operation("b", Method::Get, "/b", &[]), operation("a", Method::Put, "/a", &[])].into();
    listing.title = Some("Shop".into());
    let curated = Curation::default().apply(listing);
    assert_eq!(curated.title.as_deref(), Some("Shop"));
    assert_eq!(curated.operations.len(), 1);
    let reason = "not read-only: PUT".into();
    let skipped = Skipped { method: "PUT".into(), path: "/a".into(), id: Some("a".into()), reason };
    assert_eq!(curated.skipped, [skipped]);
}

fn matcher() -> impl Strategy<Value = Matcher> {
    prop_oneof![
        "[a-c]".prop_map(Matcher::tag),
        "(/[a-c*?]{1,2}){1,3}".prop_map(Matcher::path),
        select(vec!["get", "POST", "Head", "nope"]).prop_map(Matcher::method),
        "[a-c]{1,2}".prop_map(Matcher::operation),
    ]
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let one = (
        "[a-c]{1,2}",
        select(Method::ALL.to_vec()),
        "(/[a-c]{1,2}){1,3}",
        prop::collection::vec("[a-c]", 0..3),
    );
    let one = one.prop_map(|(id, method, path, tags)| Operation { tags, ..Operation::new(id, method, path) });
    prop::collection::vec(one, 0..12)
}

fn curation() -> impl Strategy<Value = Curation> {
    let list = || prop::collection::vec(matcher(), 0..3);
    (any::<bool>(), list(), list()).prop_map(|(read_only, include, exclude)| Curation {
        read_only,
        include,
        exclude,
    })
}

fn taken(curation: &Curation, operations: &[Operation]) -> Vec<bool> {
    operations.iter().map(|operation| curation.decide(operation).is_taken()).collect()
}

proptest! {
    #[test]
    fn order_is_preserved_and_nothing_is_lost(curation in curation(), operations in operations()) {
        let curated = curation.apply(operations.clone().into());
        let kept: Vec<_> =
            operations.iter().filter(|operation| curation.decide(operation).is_taken()).cloned().collect();
        prop_assert_eq!(curated.operations.len() + curated.skipped.len(), operations.len());
        prop_assert_eq!(curated.operations, kept);
    }

    #[test]
    fn what_is_excluded_or_writes_is_never_taken(curation in curation(), operations in operations()) {
        for operation in curation.apply(operations.into()).operations {
            prop_assert!(!curation.exclude.iter().any(|matcher| matcher.matches(&operation)));
            prop_assert!(!curation.read_only || operation.is_read_only());
            prop_assert!(curation.include.is_empty() || curation.include.iter().any(|m| m.matches(&operation)));
        }
    }

    #[test]
    fn another_exclude_never_adds_and_another_include_never_removes(
        curation in curation(), operations in operations(), more in matcher(),
    ) {
        let before = taken(&curation, &operations);
        let mut excluding = curation.clone();
        excluding.exclude.push(more.clone());
        let after = taken(&excluding, &operations);
        prop_assert!(before.iter().zip(&after).all(|(before, after)| *before || !after));
        if !curation.include.is_empty() {
            let mut including = curation;
            including.include.push(more);
            let after = taken(&including, &operations);
            prop_assert!(before.iter().zip(&after).all(|(before, after)| !before || *after));
        }
    }

    #[test]
    fn no_glob_makes_it_panic(glob in "[/*?\\[\\]!a-c{}é-]{0,12}", path in "[/a-cé{}]{0,12}") {
        let matcher = Matcher::path(glob);
        let _ = matcher.matches(&Operation::new("x", Method::Get, path));
        let _ = matcher.check();
    }
}
