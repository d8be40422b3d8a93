use http::HeaderValue;

use super::*;

const LOCAL: &str = "127.0.0.1:8080";
const OPEN: &str = "0.0.0.0:8080";
const ONE: &str = "192.0.2.7:8080";

#[track_caller]
fn check(bound: &str, host: &[&str], origin: &[&str], expected: Result<(), Refused>) {
    let guard = Guard::new(
        &["gw.example".to_owned(), "named.example:9000".to_owned()],
        &["https://app.example", "http://dev.example:3000", "http://plain.example"].map(str::to_owned),
    )
    .unwrap();
    let mut headers = HeaderMap::new();
    for value in host {
        headers.append(header::HOST, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    for value in origin {
        headers.append(header::ORIGIN, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let checked =
        guard.check(bound.parse().unwrap(), Version::HTTP_11, &Uri::from_static("/mcp"), &headers, false);
    let checked = checked.map(|_| ());
    assert_eq!(checked, expected, "bound to {bound}, Host {host:?}, Origin {origin:?}");
}

#[test]
fn hosts_under_which_the_server_is_known() {
    for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "127.9.9.9", "gw.example:5"] {
        check(LOCAL, &[host], &[], Ok(()));
    }
    for host in
        ["evil.example", "localhost.evil.example", "192.0.2.1", "named.example:9001", "127.0.0.1.nip.io"]
    {
        check(LOCAL, &[host], &[], Err(Refused::Host));
    }
    for host in ["192.0.2.1:8080", "localhost:8080", "[2001:db8::1]", "gw.example", "named.example:9000"] {
        check(OPEN, &[host], &[], Ok(()));
    }
    check(OPEN, &["evil.example"], &[], Err(Refused::Host));
    check(ONE, &["192.0.2.7"], &[], Ok(()));
    check(ONE, &["192.0.2.8"], &[], Err(Refused::Host));
    check(ONE, &["localhost"], &[], Err(Refused::Host));
}

#[test]
fn hosts_that_are_none() {
    for host in [
        "",
        "a b",
        "localhost/x",
        "localhost?x",
        "localhost#x",
        "user@localhost",
        "localhost:",
        "localhost:x",
        "localhost:99999",
        "localhost:+80",
        "[::1",
        "[::1]8080",
        "::1",
        "loc%61lhost",
        ":80",
        "[localhost]",
    ] {
        check(LOCAL, &[host], &[], Err(Refused::Malformed));
    }
    check(LOCAL, &[], &[], Err(Refused::Malformed));
    check(LOCAL, &["localhost", "localhost"], &[], Err(Refused::Malformed));
}

#[test]
fn origins_are_compared_by_scheme_host_and_port() {
    for origin in [
        "http://localhost:5173",
        "https://127.0.0.1",
        "http://[::1]:3000",
        "https://app.example",
        "https://app.example:443",
        "HTTPS://APP.example",
        "http://dev.example:3000",
        "http://plain.example",
        "http://plain.example:80",
    ] {
        check(LOCAL, &["localhost"], &[origin], Ok(()));
    }
    for origin in [
        "null",
        "",
        "https://evil.example",
        "http://app.example",
        "https://app.example:444",
        "https://app.example.evil.example",
        "http://localhost.evil.example",
        "http://dev.example",
        "https://app.example/",
        "https://app.example@evil.example",
        "file://",
        "ftp://localhost",
        "localhost",
    ] {
        check(LOCAL, &["localhost"], &[origin], Err(Refused::Origin));
    }
    check(LOCAL, &["localhost"], &["https://app.example", "https://app.example"], Err(Refused::Origin));
    check(OPEN, &["localhost"], &["http://localhost:5173"], Err(Refused::Origin));
    check(OPEN, &["localhost"], &["https://app.example"], Ok(()));
}

#[test]
fn a_target_in_absolute_form_must_agree_with_the_host() {
    let (bound, guard) = (LOCAL.parse().unwrap(), Guard::default());
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_static("localhost:8080"));
    let check = |uri: &'static str| {
        guard.check(bound, Version::HTTP_11, &Uri::from_static(uri), &headers, false).map(|_| ())
    };
    assert_eq!(check("http://localhost:8080/mcp"), Ok(()));
    assert_eq!(check("http://evil.example/mcp"), Err(Refused::Malformed));
}

#[test]
fn only_in_http_2_a_target_is_a_host_by_itself() {
    let (bound, guard) = (LOCAL.parse().unwrap(), Guard::default());
    let none = HeaderMap::new();
    for (version, uri, expected) in [
        (Version::HTTP_2, "http://localhost:8080/mcp", Ok(())),
        (Version::HTTP_2, "http://evil.example/mcp", Err(Refused::Host)),
        (Version::HTTP_2, "/mcp", Err(Refused::Malformed)),
        (Version::HTTP_11, "http://localhost:8080/mcp", Err(Refused::Malformed)),
    ] {
        let checked = guard.check(bound, version, &Uri::from_static(uri), &none, false).map(|_| ());
        assert_eq!(checked, expected, "{version:?} {uri}");
    }
}

#[test]
fn entries_that_cannot_match_are_refused_at_start() {
    for entry in ["http://x", "a/b", ""] {
        assert!(matches!(Guard::new(&[entry.to_owned()], &[]), Err(BindError::Host { .. })), "{entry}");
    }
    for entry in
        ["null", "*", "app.example", "https://app.example/path", "://app.example", "a b://app.example"]
    {
        let guard = Guard::new(&[], &[entry.to_owned()]);
        assert!(matches!(guard, Err(BindError::Origin { .. })), "{entry}");
    }
}

#[test]
fn the_origin_of_our_own_pages_may_send_to_those_pages_only() {
    let guard = Guard::new(&[], &[]).unwrap().with_pages_at(Some("https://gw.example")).unwrap();
    let bound = OPEN.parse().unwrap();
    for (origin, of_pages, expected) in [
        ("https://gw.example", true, Ok(())),
        ("https://gw.example:443", true, Ok(())),
        ("https://gw.example", false, Err(Refused::Origin)),
        ("http://gw.example", true, Err(Refused::Origin)),
        ("https://evil.example", true, Err(Refused::Origin)),
        ("null", true, Err(Refused::Origin)),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        let uri = Uri::from_static("/connect/files");
        let checked = guard.check(bound, Version::HTTP_11, &uri, &headers, of_pages).map(|_| ());
        assert_eq!(checked, expected, "{origin} {of_pages}");
    }
    assert!(matches!(Guard::default().with_pages_at(Some("gw.example")), Err(BindError::Origin { .. })));
    assert!(Guard::default().with_pages_at(None).is_ok());
}
