use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, expected: Result<&str, &str>) {
    let parsed = parse(text).map(|url| url.to_string());
    assert_eq!(parsed.as_ref().map(String::as_str).map_err(|reason| *reason), expected, "for {text}");
}

#[test]
fn urls_are_brought_to_one_form() {
    for (text, url) in [
        ("http://api.example", "http://api.example/"),
        ("HTTP://API.Example:80/a", "http://api.example/a"),
        ("https://api.example:443/a/./b/../c?x=1#frag", "https://api.example/a/c?x=1"),
        ("https://api.example:8443/a/..", "https://api.example:8443/"),
        ("http://api.example/../../a", "http://api.example/a"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("http://api.example/a/", "http://api.example/a/"),
        ("http://api.example/a%20b", "http://api.example/a%20b"),
    ] {
        check(text, Ok(url));
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_no_url() {
    let (encoded, user) =
        ("its path holds encoded dots, slashes or backslashes", "a URL may not hold a user name or password");
    for (text, reason) in [
        ("ftp://api.example/a", "neither http nor https"),
        ("file:///etc/passwd", "not a URL"),
        ("/a/b", "neither http nor https"),
        ("http://", "not a URL"),
        ("http://user:pass@api.example/", user),
        ("http://good.example@evil.example/", user),
        ("http://api.example:port/", "its port is not a number"),
        ("http://api.example/a/%2e%2e/b", encoded),
        ("http://api.example/a/.%2E/b", encoded),
        ("http://api.example/a%2fb", encoded),
        ("http://api.example/a%252fb", encoded),
        ("http://api.example/..;/b", encoded),
        ("http://api.example/a b", "not a URL"),
        ("http://api.example/a\r\nHost: x", "not a URL"),
    ] {
        check(text, Err(reason));
    }
    assert!(parse("http://api.example/a\\..\\b").is_err());
    assert!(parse("http://good.example\\@evil.example/").is_err());
}

#[test]
fn relative_references_are_joined_to_the_document() {
    let base = parse("https://api.example:8443/v1/openapi.yaml?key=1").unwrap();
    for (reference, url) in [
        ("pets.yaml", "https://api.example:8443/v1/pets.yaml"),
        ("./pets.yaml", "https://api.example:8443/v1/pets.yaml"),
        ("../pets.yaml", "https://api.example:8443/pets.yaml"),
        ("../../../pets.yaml", "https://api.example:8443/pets.yaml"),
        ("/pets.yaml", "https://api.example:8443/pets.yaml"),
        ("?v=2", "https://api.example:8443/v1/openapi.yaml?v=2"),
        ("//other.example/x", "https://other.example/x"),
        ("", "https://api.example:8443/v1/openapi.yaml?key=1"),
    ] {
        assert_eq!(join(&base, reference).unwrap().to_string(), url, "for {reference}");
    }
}

proptest! {
    #[test]
    fn the_form_is_one_and_no_reference_leaves_the_host_unseen(reference in "[a-z./?#%2eE:@\\\\;-]{0,24}") {
        let base = parse("https://api.example/v1/doc").unwrap();
        if let Ok(url) = join(&base, &reference) {
            prop_assert!(!url.path().split('/').any(|segment| matches!(segment, "." | "..")));
            prop_assert!(reference.starts_with("//") || url.authority() == base.authority());
            prop_assert_eq!(parse(&url.to_string()).map(|again| again.to_string()), Ok(url.to_string()));
        }
    }
}
