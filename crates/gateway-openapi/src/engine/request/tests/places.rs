use std::collections::{BTreeMap, BTreeSet};

use super::{BaseUrl, build, inputs, object, operation, param, raw, request, styled};
use crate::{
    engine::{Argument, CallError, Extras, Inputs, Reserved},
    ir::{Location, Param, ParamFormat, Style},
};

#[test]
fn base_urls() {
    let rows = [
        ("http://api.test", Some("http://api.test")),
        ("HTTPS://API.test:8443/v1///", Some("https://api.test:8443/v1")),
        ("http://[::1]:80/a/b%20c", Some("http://[::1]:80/a/b%20c")),
        ("http://127.0.0.1/", Some("http://127.0.0.1")),
        ("ftp://api.test", None),
        ("//api.test", None),
        ("api.test/v1", None),
        ("http://", None),
        ("http:///v1", None),
        ("http://user:pass@api.test", None),
        ("http://api.test@evil.test", None),
        ("http://api.test/?a=b", None),
        ("http://api.test#a", None),
        ("http://api.test/v1/../v2", None),
        ("http://api.test/%2e%2e/", None),
        ("http://api.test/a//b", None),
        ("http://api.test/a b", None),
        ("http://api.test\\evil.test", None),
        ("http://api.test:0", None),
        ("http://api.test:99999", None),
        ("http://api.test:", None),
        ("http://[::1", None),
        ("http://[::1]x", None),
        ("http://äpi.test", None),
        ("http://api.test/\r\n", None),
    ];
    for (text, expected) in rows {
        let base = BaseUrl::parse(text).ok().map(|base| base.to_string());
        assert_eq!(base.as_deref(), expected, "{text}");
    }
}

fn path(template: &str, values: &[(&str, &str)]) -> Result<String, CallError> {
    let params = values.iter().map(|(name, _)| Param::new(*name, Location::Path)).collect();
    let request = request(&operation(template, params), &object(values), &Extras::default())?;
    Ok(request.uri().to_string())
}

#[test]
fn paths_are_those_of_the_operation() {
    let rows = [
        ("/", "http://api.test/v1/"),
        ("/a/b/", "http://api.test/v1/a/b/"),
        ("/a//b", "http://api.test/v1/a//b"),
        ("a", "http://api.test/v1/a"),
        ("/a b/ü/%20/%zz", "http://api.test/v1/a%20b/%C3%BC/%20/%25zz"),
        ("/a:b@c/$d", "http://api.test/v1/a:b@c/$d"),
        ("/{id}", "http://api.test/v1/x%2Fy"),
        ("/{id}/{id}", "http://api.test/v1/x%2Fy/x%2Fy"),
        ("/a.{id}.json/b", "http://api.test/v1/a.x%2Fy.json/b"),
        ("/{open", "http://api.test/v1/%7Bopen"),
        ("/a?acl&list-type=2#part", "http://api.test/v1/a?acl&list-type=2"),
        ("/%2{id}", "http://api.test/v1/%252x%2Fy"),
    ];
    for (template, expected) in rows {
        assert_eq!(path(template, &[("id", r#""x/y""#)]).as_deref(), Ok(expected), "{template}");
    }
    for template in ["/{unknown}", "/../a", "/a/./b", "/%2e%2e/a", "/a/%252e%252e"] {
        let refused = path(template, &[("id", r#""x""#)]);
        assert!(matches!(refused, Err(CallError::Request { .. })), "{template}: {refused:?}");
    }
}

/// A request line with `//evil.test/x` leads some servers and proxies to another host.
#[test]
fn a_path_does_not_begin_like_a_server() {
    for (base, path, is_refused) in [
        ("http://api.test", "//evil.test/x", true),
        ("http://api.test/", "//", true),
        ("http://api.test", "/a//b", false),
        ("http://api.test/v1", "//evil.test/x", false),
    ] {
        let operation = operation(path, vec![]);
        let base = BaseUrl::parse(base).unwrap();
        let built = build(&base, &operation, &inputs(&operation), &object(&[]), &Extras::default(), &[]);
        assert_eq!(matches!(built, Err(CallError::Request { .. })), is_refused, "{base} {path}");
    }
}

#[test]
fn a_placeholder_beside_text_cannot_make_a_dot_segment() {
    for (template, value) in [("/.{id}", "."), ("/{id}.", "."), ("/%2{id}", "e./.."), ("/.%2{id}", "E")] {
        let refused = path(template, &[("id", raw_string(value).as_str())]);
        assert!(matches!(refused, Err(CallError::Arguments { .. })), "{template} {value}");
    }
    assert!(path("/{a}{b}", &[("a", r#"".""#), ("b", r#"".""#)]).is_err());
    assert!(path("/{a}{b}", &[("a", r#""%2""#), ("b", r#""e.""#)]).is_err());
}

fn raw_string(text: &str) -> String {
    gateway_domain::RawJson::string(text).as_str().to_owned()
}

#[test]
fn a_missing_argument_makes_no_request() {
    let mut query = Param::new("q", Location::Query);
    query.required = true;
    let operation = operation("/{id}", vec![Param::new("id", Location::Path), query]);
    for (arguments, name) in [(object(&[("q", "1")]), "id"), (object(&[("id", "1")]), "q")] {
        let refused = request(&operation, &arguments, &Extras::default());
        assert_eq!(refused.unwrap_err(), CallError::Arguments { reason: format!("missing: {name}") });
    }
}

#[test]
fn the_query_is_sorted_by_name_and_stable_within_one() {
    let form = || styled(Style::Form, true);
    let params = vec![
        param("b", Location::Query, form()),
        param("ä", Location::Query, form()),
        param("a", Location::Query, form()),
    ];
    let operation = operation("/?m=0&a=9", params);
    let extras = Extras { query: vec![("api_key".into(), "s/e&c".into())], ..Extras::default() };
    let arguments = object(&[("ä", "4"), ("b", "[3,1,2]"), ("a", "7"), ("unknown", "1")]);
    let request = request(&operation, &arguments, &extras).unwrap();
    assert_eq!(request.uri().query(), Some("a=9&a=7&api_key=s%2Fe%26c&b=3&b=1&b=2&m=0&%C3%A4=4"));
}

#[test]
fn an_object_cannot_become_a_credential_or_another_parameter() {
    let free = |name: &str, format: ParamFormat, location| param(name, location, format);
    let form = || styled(Style::Form, true);
    let operation = operation(
        "/?fixed=1",
        vec![
            free("q", form(), Location::Query),
            free("c", form(), Location::Cookie),
            free("d", styled(Style::Cookie, true), Location::Cookie),
            param("limit", Location::Query, form()),
            param("theme", Location::Cookie, form()),
        ],
    );
    let reserved = Reserved {
        query: BTreeSet::from(["token".to_owned()]),
        cookies: BTreeSet::from(["session".to_owned()]),
        ..Reserved::default()
    };
    let inputs = Inputs::new(&operation, &reserved, &BTreeMap::new(), 1024);
    let extras = Extras {
        query: vec![("api_key".into(), "s".into())],
        cookies: vec![("sid".into(), "s".into())],
        headers: vec![(http::header::COOKIE, http::HeaderValue::from_static("first=1; second = 2;"))],
    };
    let base = BaseUrl::parse("http://api.test").unwrap();
    let build =
        |name: &str, value: &str| build(&base, &operation, &inputs, &object(&[(name, value)]), &extras, &[]);
    for member in ["api_key", "API_KEY", "api_key[]", "token", "limit", "fixed", "limit[0]"] {
        let refused = build("q", &format!(r#"{{"{member}":"x"}}"#));
        assert!(matches!(refused, Err(CallError::Arguments { .. })), "{member}");
    }
    let taken = "must not have a member that is called like another cookie";
    let rows = ["session", "sid", "theme", "first", "second"].map(|member| (member, taken));
    let nameless = [("", "must not have a member without a name: no cookie is without")];
    for (member, reason) in rows.into_iter().chain(nameless) {
        for value in [format!(r#"{{"{member}":"x"}}"#), format!(r#"{{"a":"x","{member}":"y"}}"#)] {
            for name in ["c", "d"] {
                let reason = format!("`{name}` {reason}");
                assert_eq!(build(name, &value).unwrap_err(), CallError::Arguments { reason }, "{value}");
            }
        }
    }
    assert_eq!(
        build("q", r#"{"q":1,"other":2}"#).unwrap().uri().query(),
        Some("api_key=s&fixed=1&other=2&q=1")
    );
}

#[test]
fn a_deep_object_cannot_become_another_parameter() {
    let operation = operation(
        "/?filter[fixed]=1",
        vec![
            param("filter", Location::Query, styled(Style::DeepObject, true)),
            Param::new("filter[tenant]", Location::Query),
            Param::new("filter[a][b]", Location::Query),
        ],
    );
    let build = |value: &str| request(&operation, &object(&[("filter", value)]), &Extras::default());
    for value in [
        r#"{"tenant":1}"#,
        r#"{"TENANT":1}"#,
        r#"{"x":1,"tenant":{"y":1}}"#,
        r#"{"tenant":[1]}"#,
        r#"{"fixed":1}"#,
        r#"{"a":1}"#,
        r#"{"a":{"b":1}}"#,
    ] {
        assert!(matches!(build(value), Err(CallError::Arguments { .. })), "{value}");
    }
    let sent = build(r#"{"tenants":1,"a":{"c":2}}"#).unwrap();
    let sent = sent.uri().query().unwrap().replace("%5B", "[").replace("%5D", "]");
    assert_eq!(sent, "filter[a][c]=2&filter[fixed]=1&filter[tenants]=1");
    let secret = Extras { query: vec![("filter[key]".into(), "s".into())], ..Extras::default() };
    let refused = request(&operation, &object(&[("filter", r#"{"key":1}"#)]), &secret);
    assert!(matches!(refused, Err(CallError::Arguments { .. })));
}

#[test]
fn what_the_operator_gives_is_sent_whatever_the_caller_says() {
    let operation = operation(
        "/{id}",
        vec![
            Param::new("id", Location::Path),
            Param::new("a", Location::Query),
            Param::new("b", Location::Query),
        ],
    );
    let arguments = BTreeMap::from([
        ("id".to_owned(), Argument::Fixed(raw(r#""me""#))),
        ("a".to_owned(), Argument::Fixed(raw("[1,2]"))),
        ("b".to_owned(), Argument::Hidden),
    ]);
    let inputs = Inputs::new(&operation, &Reserved::default(), &arguments, 1024);
    let base = BaseUrl::parse("http://api.test").unwrap();
    let given = object(&[("id", r#""you""#), ("a", "3"), ("b", "4")]);
    let request = build(&base, &operation, &inputs, &given, &Extras::default(), &[]).unwrap();
    assert_eq!(request.uri().to_string(), "http://api.test/me?a=1&a=2");
}

#[test]
fn a_renamed_argument_goes_where_it_belongs() {
    let operation =
        operation("/{id}", vec![Param::new("id", Location::Query), Param::new("id", Location::Path)]);
    let arguments = object(&[("id", r#""path""#), ("id_in_query", r#""query""#)]);
    let request = request(&operation, &arguments, &Extras::default()).unwrap();
    assert_eq!(request.uri().to_string(), "http://api.test/v1/path?id=query");
}

#[test]
fn a_url_that_is_too_long_makes_no_request() {
    let long = raw_string(&"/".repeat(30_000));
    assert!(matches!(path("/x{id}", &[("id", &long)]), Err(CallError::Arguments { .. })));
}
