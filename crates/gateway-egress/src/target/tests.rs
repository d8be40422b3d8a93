use super::*;

fn why(error: &EgressError) -> &'static str {
    match error {
        EgressError::Refused { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn urls_are_read_strictly() {
    let check = |url: &str, expected: Result<&str, &str>| {
        let read = read_url(url).and_then(|uri| Target::of(&uri)).map(|target| target.authority());
        let read = read.as_deref().map_err(why);
        assert_eq!(read, expected, "for {url:?}");
    };
    check("https://a.example/x?y", Ok("a.example:443"));
    check("http://a.example", Ok("a.example:80"));
    check("HTTPS://A.Example:8443/", Ok("a.example:8443"));
    check("https://a.example./", Ok("a.example.:443"));
    check("https://a_b-c.example/", Ok("a_b-c.example:443"));
    check("https://8.8.8.8/", Ok("8.8.8.8:443"));
    check("https://[2606:4700:0::1]:1/", Ok("[2606:4700::1]:1"));
    check("https://a.example/#", Err("a URL with a fragment"));
    check("https://a.example/x#y", Err("a URL with a fragment"));
    check("https://u@a.example/", Err("a URL with user information"));
    check("https://u:p@a.example/", Err("a URL with user information"));
    check("https://@a.example/", Err("a URL with user information"));
    check("file:///etc/passwd", Err("no valid URL"));
    check("file://a.example/", Err("neither http nor https"));
    check("gopher://a.example/", Err("neither http nor https"));
    check("ftp://a.example/", Err("neither http nor https"));
    check("ws://a.example/", Err("neither http nor https"));
    check("/x", Err("neither http nor https"));
    check("a.example:443", Err("neither http nor https"));
    check("*", Err("neither http nor https"));
    check("https:/a.example", Err("no valid URL"));
    check("https://", Err("no valid URL"));
    check("", Err("no valid URL"));
    check("https://a b/", Err("no valid URL"));
    check("https://.example/", Err("a host that is neither a name nor an address"));
    check("https://a%2eexample/", Err("no valid URL"));
    check("https://127.0.0.1%00.example/", Err("no valid URL"));
    check("https://a..example/", Err("a host that is neither a name nor an address"));
    check("https://a!b/", Err("a host that is neither a name nor an address"));
    check("https://:443/", Err("a host that is neither a name nor an address"));
    check("https://[fe80::1%25eth0]/", Err("no address"));
    check("https://[a.example]/", Err("no address"));
    check("https://[v1.x]/", Err("no address"));
    check("https://a.example:/", Err("a port that is none"));
    check("https://a.example:99999/", Err("a port that is none"));
}

#[test]
fn numbers_that_are_no_addresses_are_odd() {
    for (host, expected) in [
        ("127.1", true),
        ("0x7f.1", true),
        ("127.0.0.0x1", true),
        ("0X7F000001", true),
        ("0x", true),
        ("2130706433", true),
        ("017700000001", true),
        ("0177.0.0.1", true),
        ("127.0.0.1.", true),
        ("127.0.0.01", true),
        ("1.2.3.4.5", true),
        ("127.0.0.1", false),
        ("a1", false),
        ("1.example", false),
        ("0x7f.example", false),
        ("0xyz", false),
        ("example.", false),
        ("[::1]", false),
    ] {
        assert_eq!(Host::read(host).unwrap().is_odd(), expected, "{host}");
    }
}

fn named(urls: &[&str]) -> Authorities {
    let mut authorities = Authorities::default();
    urls.iter().for_each(|url| authorities.add(url).unwrap());
    authorities
}

#[test]
fn who_names_it_decides_what_it_may_be() {
    use Named::{ByDocument, ByOperator};
    let check = |url: &str, by: Named, operators: &[&str], address: &str, expected: Result<bool, &str>| {
        let rules = Target::of(&url.parse().unwrap()).unwrap().rules(by, &named(operators));
        let made = rules.as_ref().map(|rules| rules.admit(address.parse().unwrap())).map_err(why);
        assert_eq!(made, expected, "{url} at {address}, {by:?}, named {operators:?}");
    };
    check("https://a.example/", ByDocument, &[], "8.8.8.8", Ok(true));
    check("https://a.example/", ByDocument, &[], "10.0.0.1", Ok(false));
    check("https://a.example/", ByDocument, &[], "127.0.0.1", Ok(false));
    check("https://a.example/", ByDocument, &["https://b.example/"], "10.0.0.1", Ok(false));
    check("https://a.example/", ByDocument, &["https://a.example:8443/"], "10.0.0.1", Ok(false));
    check("https://a.example/", ByDocument, &["https://a.example./"], "10.0.0.1", Ok(false));
    check("https://a.example/", ByDocument, &["https://A.example/x"], "10.0.0.1", Ok(true));
    check("https://a.example/", ByDocument, &["https://a.example/"], "169.254.169.254", Ok(false));
    check("https://a.example/", ByDocument, &["http://a.example:443/"], "10.0.0.1", Ok(true));
    check("http://a.example/", ByDocument, &[], "8.8.8.8", Err("not https"));
    check("http://localhost/", ByDocument, &[], "127.0.0.1", Err("not https"));
    check("http://localhost/", ByDocument, &["http://localhost/"], "127.0.0.1", Ok(true));
    check("http://localhost/", ByDocument, &["http://localhost/"], "::1", Ok(true));
    check("http://localhost/", ByDocument, &["http://localhost/"], "10.0.0.1", Ok(false));
    check("http://localhost/", ByDocument, &["http://localhost/"], "8.8.8.8", Ok(false));
    check("https://127.1/", ByDocument, &[], "127.0.0.1", Err("an address that is not written as one"));
    check(
        "https://127.1/",
        ByDocument,
        &["https://127.1"],
        "127.0.0.1",
        Err("an address that is not written as one"),
    );
    check("https://169.254.169.254/", ByDocument, &[], "169.254.169.254", Ok(false));
    check("https://169.254.169.254/", ByDocument, &["https://169.254.169.254"], "169.254.169.254", Ok(true));
    check("http://127.1/", ByOperator, &[], "127.0.0.1", Ok(true));
    check("http://a.example/", ByOperator, &[], "10.0.0.1", Ok(true));
    check("http://a.example/", ByOperator, &[], "8.8.8.8", Ok(true));
    check("http://a.example/", ByOperator, &[], "::1", Ok(true));
    check("http://a.example/", ByOperator, &[], "169.254.169.254", Ok(false));
    check("http://a.example/", ByOperator, &[], "fe80::1", Ok(false));
    check("http://2852039166/", ByOperator, &[], "169.254.169.254", Ok(false));
    check("http://169.254.169.254/", ByOperator, &[], "169.254.169.254", Ok(true));
    check("http://[fe80::1]/", ByOperator, &[], "fe80::1", Ok(true));
}

#[test]
fn authorities_are_those_of_urls() {
    assert_eq!(why(&Authorities::default().add("file://x").unwrap_err()), "neither http nor https");
    assert_eq!(named(&["https://A.example/x"]), named(&["https://a.example:443"]));
    assert_ne!(named(&["https://a.example"]), named(&["http://a.example"]));
}
