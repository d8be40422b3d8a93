//! Documents that mean harm (security.md T16).

use super::*;
use crate::source::SourceError;

fn too_large(document: String, limits: Limits) -> (&'static str, usize) {
    match read(document.into(), "x", &limits).unwrap_err() {
        SourceError::TooLarge { what, limit, .. } => (what, limit),
        error => panic!("{error}"),
    }
}

#[test]
fn operations_and_bytes_are_bounded() {
    let paths: Vec<_> = (0..200).map(|n| format!(r#""/a{n}":{{"get":{{}},"options":{{}}}}"#)).collect();
    let text = document("3.0.3", &paths.join(","), "");
    let limits = Limits { operations: 300, ..Limits::default() };
    assert_eq!(too_large(text.clone(), limits), ("operations", 300));
    let limits = Limits { document_bytes: 1000, ..Limits::default() };
    assert_eq!(too_large(text, limits), ("bytes", 1000));
}

/// A few bytes of reference to a large thing, many times.
#[test]
fn what_is_shared_is_not_multiplied() {
    let long = "x".repeat(8_000);
    let schema = format!(r#"{{"type":"object","properties":{{"{long}":{{}}}}}}"#);
    let parameter = format!(r#""P":{{"name":"p","in":"query","description":"{long}","schema":{schema}}}"#);
    let operation = r##"{"get":{"parameters":[{"$ref":"#/components/parameters/P"}]}}"##;
    let paths: Vec<_> = (0..2_000).map(|n| format!(r#""/a{n}":{operation}"#)).collect();
    let text = document("3.0.3", &paths.join(","), &format!(r#""parameters":{{{parameter}}}"#));
    let limits = Limits { result_bytes: 8 << 20, ..Limits::default() };
    assert_eq!(too_large(text.clone(), limits), ("bytes of schemas and texts", 8 << 20));
    let listing = read(text.into(), "x", &Limits::default()).unwrap();
    let schemas: std::collections::HashSet<_> =
        listing.operations.iter().map(|o| o.params[0].schema.as_ref().unwrap().as_bytes().as_ptr()).collect();
    assert_eq!(schemas.len(), 1, "the schema is there once");
}

#[test]
fn schemas_within_schemas_count_each_time_they_are_written() {
    let mut deep = r#"{"type":"string"}"#.to_owned();
    for _ in 0..40 {
        deep = format!(r#"{{"items":{deep},"title":"{}"}}"#, "x".repeat(4_000));
    }
    let references: Vec<_> =
        (0..40).map(|n| format!(r##"{{"$ref":"#/components/schemas/A{}"}}"##, "/items".repeat(n))).collect();
    let body = format!(
        r#""/a":{{"post":{{"requestBody":{{"content":{{"application/json":{{"schema":{{"anyOf":[{}]}}}}}}}}}}}}"#,
        references.join(",")
    );
    let text = document("3.0.3", &body, &format!(r#""schemas":{{"A":{deep}}}"#));
    let limits = Limits { result_bytes: 1 << 20, ..Limits::default() };
    assert_eq!(too_large(text, limits).0, "bytes of schemas and texts");
}

#[test]
fn references_that_go_in_circles_skip_what_needs_them() {
    let paths = r##"
        "/a":{"get":{"parameters":[{"$ref":"#/components/parameters/A"}]}},
        "/b":{"post":{"requestBody":{"$ref":"#/components/requestBodies/A"}}},
        "/c":{"$ref":"#/paths/~1c"},
        "/d":{"$ref":"#/paths/~1e"},
        "/e":{"$ref":"#/paths/~1d"},
        "/f":{"get":{"responses":{"200":{"$ref":"#/components/responses/A"}}}}
    "##;
    let itself = |section: &str| format!(r##""{section}":{{"A":{{"$ref":"#/components/{section}/A"}}}}"##);
    let components = ["parameters", "requestBodies", "responses"].map(itself).join(",");
    let listing = listing(&document("3.0.3", paths, &components));
    assert_eq!(listing.operations.len(), 1, "an operation needs no schema of what it answers");
    assert_eq!(listing.skipped.len(), 5);
    assert!(listing.skipped.iter().all(|s| s.reason.contains("leads in a circle")), "{:?}", listing.skipped);
}

#[test]
fn other_documents_are_never_looked_for() {
    for reference in [
        "other.yaml",
        "./other.json#/a",
        "file:///etc/passwd",
        "https://x.test/a#/b",
        "//x.test/a",
        "/etc/passwd",
    ] {
        let paths = format!(
            r#""/a":{{"get":{{"parameters":[{{"name":"p","in":"query","schema":{{"$ref":"{reference}"}}}}]}}}},
               "/b":{{"$ref":"{reference}"}},
               "/c":{{"get":{{"responses":{{"200":{{"content":{{"application/json":{{"schema":{{"$ref":"{reference}"}}}}}}}}}}}}}}"#
        );
        let listing = listing(&document("3.1.0", &paths, ""));
        assert_eq!(listing.operations.len(), 1, "{reference}");
        assert_eq!(listing.operations[0].output, None);
        assert_eq!(listing.skipped.len(), 2);
        for skipped in listing.skipped {
            assert!(skipped.reason.contains("another document, which is not allowed"), "{}", skipped.reason);
        }
    }
}

#[test]
fn operations_of_one_id_are_all_there() {
    let paths = r#""/a":{"get":{"operationId":"x"}},"/b":{"get":{"operationId":"x"}}"#;
    let listing = listing(&document("3.0.3", paths, ""));
    assert_eq!(listing.operations.iter().map(|o| o.id.as_str()).collect::<Vec<_>>(), ["x", "x"]);
}

#[test]
fn ten_megabytes_of_schemas_are_read() {
    let schema = |n: usize| {
        let next = format!(r##"{{"$ref":"#/components/schemas/S{}"}}"##, n + 1);
        let text = "x".repeat(5_000);
        format!(r#""S{n}":{{"properties":{{"a":{next}}},"description":"{text}"}}"#)
    };
    let schemas: Vec<_> = (0..2_100).map(schema).chain([r#""S2100":{}"#.to_owned()]).collect();
    let body = r##"{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S0"}}}}"##;
    let paths = format!(r#""/a":{{"post":{{"requestBody":{body}}}}}"#);
    let text = document("3.0.3", &paths, &format!(r#""schemas":{{{}}}"#, schemas.join(",")));
    assert!(text.len() > 10_000_000);
    assert_eq!(only(&text).definitions.len(), 2_101);
}
