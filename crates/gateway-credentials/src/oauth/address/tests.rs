use super::*;

fn at(text: &str) -> Address {
    Address::parse(text).unwrap()
}

#[test]
fn only_plain_web_addresses_are_read() {
    let rows = [
        ("https://a.example/x", true),
        ("http://127.0.0.1:8080/x?y=1", true),
        ("https://[::1]/", true),
        ("https://user@a.example/", false),
        ("https://user:pw@a.example/", false),
        ("https://a.example/#part", false),
        ("https://a.example/ x", false),
        ("https://a.example/\u{7f}", false),
        ("https://a.example/\u{85}", false),
        ("https://a.example\\@b.example/", false),
        ("ftp://a.example/", false),
        ("javascript:alert(1)", false),
        ("file:///etc/passwd", false),
        ("/path", false),
        ("a.example", false),
        ("", false),
    ];
    for (text, good) in rows {
        assert_eq!(Address::parse(text).is_ok(), good, "{text}");
    }
}

#[test]
fn an_address_is_named_in_one_way() {
    let rows = [
        ("https://A.Example/", "https://a.example", "https://a.example"),
        ("https://a.example:443/Mcp", "https://a.example", "https://a.example/Mcp"),
        ("http://a.example:80/x/", "http://a.example", "http://a.example/x/"),
        ("http://a.example:443/x?y=1", "http://a.example:443", "http://a.example:443/x"),
        ("https://a.example:80", "https://a.example:80", "https://a.example:80"),
    ];
    for (text, origin, canonical) in rows {
        assert_eq!(
            (at(text).origin().as_str(), at(text).canonical().as_str()),
            (origin, canonical),
            "{text}"
        );
    }
}

#[test]
fn a_resource_covers_what_is_below_it_on_its_origin() {
    let rows = [
        ("https://a.example", "https://a.example/mcp", true),
        ("https://a.example/", "https://a.example/mcp", true),
        ("https://a.example/mcp", "https://A.example:443/mcp", true),
        ("https://a.example/mcp/", "https://a.example/mcp", true),
        ("https://a.example/mcp", "https://a.example/mcp/one", true),
        ("https://a.example/mcp", "https://a.example/mcp2", false),
        ("https://a.example/mcp/one", "https://a.example/mcp", false),
        ("https://a.example/mcp?x", "https://a.example/mcp", false),
        ("http://a.example/mcp", "https://a.example/mcp", false),
        ("https://evil.example/mcp", "https://a.example/mcp", false),
        ("https://a.example:444/mcp", "https://a.example/mcp", false),
    ];
    for (resource, server, covers) in rows {
        assert_eq!(at(resource).covers(&at(server)), covers, "{resource} over {server}");
    }
}

#[test]
fn loopback_is_told_by_the_host() {
    let rows = [
        ("http://localhost:1/", true),
        ("http://127.9.9.9/", true),
        ("http://[::1]/", true),
        ("http://localhost.example/", false),
        ("http://10.0.0.1/", false),
    ];
    for (text, loopback) in rows {
        assert_eq!(at(text).is_loopback(), loopback, "{text}");
    }
}

#[test]
fn parameters_join_a_query_that_is_there() {
    assert_eq!(at("https://a/x").with_query("b=1"), "https://a/x?b=1");
    assert_eq!(at("https://a/x?a=0").with_query("b=1"), "https://a/x?a=0&b=1");
    assert!(at("https://a/x?a=0").has_query() && !at("https://a/x").has_query());
    assert!(at("https://a/x").is_https() && !at("http://a/x").is_https());
    assert_eq!((at("https://a/x").port(), at("http://a:8/x").port()), (443, 8));
}
