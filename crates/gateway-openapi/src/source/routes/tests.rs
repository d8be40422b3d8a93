use proptest::prelude::*;

use super::*;

/// A pattern, and the path it becomes or why it does not.
#[track_caller]
fn check(pattern: &str, expected: Result<&str, &str>) {
    let read = pattern::read(pattern);
    assert_eq!(
        read.as_ref().map(|(path, _)| path.as_str()).map_err(String::as_str),
        expected,
        "for {pattern}"
    );
}

#[test]
fn placeholders_of_any_router_become_braces() {
    for (pattern, path) in [
        ("/", "/"),
        ("/users", "/users"),
        ("/users/", "/users/"),
        ("/users/{id}", "/users/{id}"),
        ("/users/{id}/repos/{repo}", "/users/{id}/repos/{repo}"),
        ("/files/{*rest}", "/files/{rest}"),
        ("/files/{name}.{ext}", "/files/{name}.{ext}"),
        ("/jobs/{id}:cancel", "/jobs/{id}:cancel"),
        ("/things:batch", "/things:batch"),
        ("/users/:id", "/users/{id}"),
        ("/users/:id/repos/:repo", "/users/{id}/repos/{repo}"),
        ("/flights/:from-:to", "/flights/{from}-{to}"),
        ("/files/:name.json", "/files/{name}.json"),
        ("/users/:id?", "/users/{id}"),
        ("/files/*x", "/files/{x}"),
        ("/files/*", "/files/{wildcard}"),
        ("/a/*/b/*", "/a/{wildcard}/b/{wildcard_2}"),
        ("/a/{*}", "/a/{wildcard}"),
        ("/users/{id:[0-9]{3}}/x", "/users/{id}/x"),
        ("/paths/{p:a/b}/x", "/paths/{p}/x"),
        ("/files/{rest...}", "/files/{rest}"),
        ("/users/{$}", "/users/"),
    ] {
        check(pattern, Ok(path));
    }
}

#[test]
fn what_is_no_path_says_why() {
    for (pattern, reason) in [
        ("", "the pattern does not begin with `/`"),
        ("users", "the pattern does not begin with `/`"),
        ("/{}", "a placeholder has no name"),
        ("/:", "a placeholder has no name"),
        ("/{id", "a brace has no partner"),
        ("/id}", "a brace has no partner"),
        ("/{{id}}", "it has braces that are no placeholder"),
        ("/a?b", "it is more than a path"),
        ("/{a b}", "\"a b\" is not the name of a placeholder"),
        ("/:id{", "it has braces that are no placeholder"),
        ("/:id/{id}", "the placeholder \"id\" stands twice"),
    ] {
        check(pattern, Err(reason));
    }
}

#[tokio::test]
async fn a_table_becomes_operations_in_order_with_required_strings() {
    let table = vec![
        ("post", "/b"),
        ("GET", "/b"),
        ("HEAD", "/b"),
        ("use", "/"),
        ("echo_route_not_found", "/*"),
        ("GET", "/a/:id"),
    ];
    let source = Routes::new(table).with_name("router").with_bodies(|id| {
        assert!(["get_a_id", "get_b", "post_b", "head_b"].contains(&id));
        (id == "post_b").then(|| RawJson::parse(r#"{"type":"array"}"#).unwrap())
    });
    let listing = source.load().await.unwrap();
    let seen: Vec<_> = listing.operations.iter().map(|o| (o.method, o.path.as_str())).collect();
    assert_eq!(
        seen,
        [(Method::Get, "/a/{id}"), (Method::Get, "/b"), (Method::Post, "/b"), (Method::Head, "/b")]
    );
    let param = &listing.operations[0].params[0];
    assert_eq!((param.name.as_str(), param.location, param.required), ("id", Location::Path, true));
    assert_eq!(param.schema.as_ref().unwrap().as_str(), r#"{"type":"string"}"#);
    let body = listing.operations[2].body.as_ref().unwrap();
    assert!(body.required && body.schema.as_ref().unwrap().as_str() == r#"{"type":"array"}"#);
    assert!(listing.operations[1].body.is_none());
    let skipped: Vec<_> = listing.skipped.iter().map(|s| s.method.as_str()).collect();
    assert_eq!(skipped, ["USE", "ECHO_ROUTE_NOT_FOUND"]);
    assert_eq!(source.name(), "router");
}

#[tokio::test]
async fn what_a_route_says_of_itself_is_kept() {
    let route = Route {
        id: Some("list-users".into()),
        summary: Some("All users".into()),
        tags: vec!["users".into()],
        ..Route::new("GET", "/users")
    };
    let listing = Routes::new([route]).load().await.unwrap();
    let operation = &listing.operations[0];
    assert_eq!(operation.id, "list_users");
    assert_eq!(
        (operation.summary.as_deref(), operation.tags.as_slice()),
        (Some("All users"), &["users".to_owned()][..])
    );
}

proptest! {
    #[test]
    fn each_placeholder_of_a_path_is_a_parameter(pattern in "/[a-c:*{}./?$-]{0,16}") {
        if let Ok((path, names)) = pattern::read(&pattern) {
            let braced: Vec<_> = path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap().to_owned()).collect();
            prop_assert_eq!(&braced, &names);
            // What was read reads as itself.
            let again = pattern::read(&path);
            prop_assert_eq!(again, Ok((path, names)));
        }
    }
}
