use super::*;
use crate::source::SourceError;

#[track_caller]
fn check(document: &str, expected: &str) {
    let error = read(document.to_owned().into(), "x.json", &Limits::default()).unwrap_err();
    assert!(matches!(error, SourceError::Invalid { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("x.json ") && text.ends_with(expected), "{text} does not end with {expected}");
}

#[test]
fn what_is_no_openapi_is_refused_with_what_was_found() {
    check("[]", "it is a list");
    check("hello", "it is a text");
    check("{}", "it has neither \"openapi\" nor \"swagger\"");
    check(r#"{"swagger":"1.2"}"#, "/swagger: \"1.2\" is no version that is read; 2.0 is");
    check(r#"{"openapi":"2.0"}"#, "/openapi: \"2.0\" is no version that is read; 3.0, 3.1 and 3.2 are");
    check(r#"{"openapi":"4.0.0"}"#, "are");
    check(r#"{"openapi":{}}"#, "are");
    check(r#"{"openapi":"3.0.0","openapi":"3.1.0"}"#, "it has a member twice");
    check(r#"{"openapi":"3.0.0"}"#, "/info is missing");
    check(r#"{"openapi":"3.0.0","info":[]}"#, "/info is a list");
    check(r#"{"openapi":"3.0.0","info":{"title":1}}"#, "/info/title is a number");
    check(r#"{"openapi":"3.0.0","info":{}}"#, "/paths is missing");
    check(r#"{"openapi":"3.1.0","info":{}}"#, "/paths, /components and /webhooks are missing");
    check(r#"{"openapi":"3.0.0","info":{},"paths":[]}"#, "/paths is a list");
    check(
        r#"{"openapi":"3.0.0","info":{},"paths":{"/a":{},"/a":{}}}"#,
        "/paths has a member twice, or too many",
    );
    check(
        r#"{"openapi":"3.0.0","info":{},"paths":{},"components":{"schemas":"x"}}"#,
        "/components/schemas is a text",
    );
    check(r#"{"openapi":"3.0.0","info":{},"paths":{},"security":{}}"#, "/security is an object");
}

#[test]
fn every_version_in_both_languages_is_read() {
    for version in ["3.0.0", "3.0.4", "3.1.0", "3.1.1", "3.2.0"] {
        let listing = listing(&document(version, r#""/a":{"get":{}}"#, ""));
        assert_eq!(listing.operations.len(), 1, "{version}");
    }
    // Numbers where texts are meant, and a key with nothing behind it.
    let yaml = "openapi: 3.1\ninfo:\n  title: A\n  version: 1.10\npaths:\n  /a:\n    get:\n      responses:\n        200: {}\ncomponents:\n";
    let listing = listing(yaml);
    assert_eq!(listing.version.as_deref(), Some("1.10"));
    assert_eq!(listing.title.as_deref(), Some("A"));
    assert_eq!(listing.operations.len(), 1);
}

#[test]
fn a_document_may_have_no_paths_from_3_1_on() {
    let listing = listing(r#"{"openapi":"3.1.0","info":{"title":"T"},"webhooks":{"x":{"post":{}}}}"#);
    assert_eq!(listing.operations, [], "webhooks are what the API calls");
    assert_eq!(listing.skipped, []);
}

#[test]
fn operations_are_sorted_by_path_and_method_and_others_are_skipped() {
    let paths = r#"
        "/b": {"head":{}, "delete":{}, "get":{}, "options":{"operationId":"o"}, "post":{}, "trace":{}},
        "x-more": {"get":{}},
        "/a": {"patch":{}, "put":{}, "query":{"operationId":"q"}, "additionalOperations":{"COPY":{"operationId":"c"}}, "x-no":{}}
    "#;
    let listing = listing(&document("3.2.0", paths, ""));
    let found: Vec<_> = listing.operations.iter().map(|o| format!("{} {}", o.method, o.path)).collect();
    assert_eq!(found, ["PUT /a", "PATCH /a", "GET /b", "POST /b", "DELETE /b", "HEAD /b"]);
    let skipped: Vec<_> =
        listing.skipped.iter().map(|s| format!("{} {} {:?}: {}", s.method, s.path, s.id, s.reason)).collect();
    assert_eq!(
        skipped,
        [
            "QUERY /a Some(\"q\"): the method QUERY is not offered",
            "COPY /a Some(\"c\"): the method COPY is not offered",
            "OPTIONS /b Some(\"o\"): the method OPTIONS is not offered",
            "TRACE /b None: the method TRACE is not offered",
        ]
    );
}

#[test]
fn a_fault_in_one_operation_skips_only_that() {
    let paths = r##"
        "/a": {"get": [], "post": {"parameters": {}}, "put": {"parameters":[{"in":"query"}]}, "patch":{"operationId":"fine"}},
        "/b": 7,
        "/c": {"$ref":"#/nowhere"},
        "d": {"get":{}},
        "/e/{x": {"get":{}}
    "##;
    let listing = listing(&document("3.0.0", paths, ""));
    assert_eq!(listing.operations.iter().map(|o| o.id.as_str()).collect::<Vec<_>>(), ["fine"]);
    let skipped: Vec<_> =
        listing.skipped.iter().map(|s| format!("{} {}: {}", s.method, s.path, s.reason)).collect();
    assert_eq!(
        skipped,
        [
            "GET /a: a list stands where an object should",
            "POST /a: its parameters are not a list of at most 256",
            "PUT /a: a parameter has no name",
            "* /b: a number stands where an object should",
            "* /c: the reference \"#/nowhere\" leads to nothing",
            "GET /e/{x: the braces in its path do not match",
            "GET d: its path does not begin with /",
        ]
    );
}

#[test]
fn what_is_not_used_may_be_of_any_kind() {
    for odd in [
        r#""servers":{}"#,
        r#""tags":"s""#,
        r#""webhooks":[]"#,
        r#""externalDocs":7"#,
        r#""servers":null,"webhooks":{"a":1,"a":2}"#,
    ] {
        let text =
            format!(r#"{{"openapi":"3.0.0","info":{{"title":"T"}},{odd},"paths":{{"/a":{{"get":{{}}}}}}}}"#);
        assert_eq!(only(&text).path, "/a", "{odd}");
    }
}

#[test]
fn servers_are_ignored_wherever_they_stand() {
    let servers = r#""servers":[{"url":"http://169.254.169.254/latest"}]"#;
    let text = format!(
        r#"{{"openapi":"3.0.0","info":{{"title":"T"}},{servers},"paths":{{"/a":{{{servers},"get":{{{servers}}}}}}}}}"#
    );
    let operation = only(&text);
    assert_eq!(operation.path, "/a");
    assert!(!format!("{operation:?}").contains("169.254"));
}
