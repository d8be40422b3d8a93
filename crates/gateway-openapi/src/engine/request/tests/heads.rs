use http::{HeaderName, HeaderValue};

use super::{
    BaseUrl, Extras, Location, Param, build, inputs, object, operation, param, request, sending, styled,
};
use crate::{
    engine::CallError,
    ir::{BodyFormat, Style},
};

fn pair(name: &'static str, value: &'static str) -> (HeaderName, HeaderValue) {
    (HeaderName::from_static(name), HeaderValue::from_static(value))
}

fn lines(request: &http::Request<bytes::Bytes>) -> Vec<String> {
    let mut lines: Vec<_> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_request_says_who_asks_and_what_for() {
    let request = request(&operation("/", vec![]), &object(&[]), &Extras::default()).unwrap();
    let agent = format!("user-agent: gatewayd/{}", env!("CARGO_PKG_VERSION"));
    let accept = "accept: application/json, */*;q=0.8";
    assert_eq!(lines(&request), [accept, "content-length: 0", &agent]);
    assert_eq!(request.method(), http::Method::POST);
    assert!(request.body().is_empty());
}

#[test]
fn static_headers_go_over_arguments_and_those_of_the_call_over_both() {
    let operation =
        operation("/", vec![Param::new("X-A", Location::Header), Param::new("X-B", Location::Header)]);
    let extras = Extras {
        headers: vec![
            pair("x-b", "static"),
            pair("x-c", "static"),
            pair("x-d", "one"),
            pair("x-d", "two"),
            pair("accept", "text/csv"),
            pair("transfer-encoding", "chunked"),
        ],
        ..Extras::default()
    };
    let mut per_call = vec![pair("x-c", "call"), pair("authorization", "Bearer caller")];
    per_call.extend(
        ["host", "content-length", "content-encoding", "connection", "te", "proxy-authorization", "upgrade"]
            .map(|name| pair(name, "7")),
    );
    let base = BaseUrl::parse("http://api.test").unwrap();
    let arguments = object(&[("X-A", r#""argument""#), ("X-B", r#""argument""#)]);
    let request = build(&base, &operation, &inputs(&operation), &arguments, &extras, &per_call).unwrap();
    let lines = lines(&request);
    let expected = [
        "accept: text/csv",
        "authorization: Bearer caller",
        "content-length: 0",
        "x-a: argument",
        "x-b: static",
        "x-c: call",
        "x-d: one",
        "x-d: two",
    ];
    assert_eq!(lines.iter().filter(|line| !line.starts_with("user-agent")).collect::<Vec<_>>(), expected);
}

#[test]
fn cookies_are_one_line_with_the_operators_first() {
    let operation = operation(
        "/",
        vec![Param::new("a b", Location::Cookie), param("c", Location::Cookie, styled(Style::Cookie, true))],
    );
    let extras = Extras {
        headers: vec![pair("cookie", "static=1")],
        cookies: vec![("key".into(), "a=b==; ü".into())],
        ..Extras::default()
    };
    let arguments = object(&[("a b", r#""; x=y""#), ("c", "[1,2]")]);
    let request = request(&operation, &arguments, &extras).unwrap();
    let cookies: Vec<_> = request.headers().get_all("cookie").iter().collect();
    assert_eq!(cookies, ["static=1; key=a=b==%3B%20%C3%BC; a%20b=%3B%20x%3Dy; c=1; c=2"]);
}

#[test]
fn the_type_of_the_body_is_what_the_operation_says() {
    let operation = sending("application/merge-patch+json", BodyFormat::Json);
    let extras = Extras { headers: vec![pair("content-type", "text/plain")], ..Extras::default() };
    let request = request(&operation, &object(&[("body", r#"{ "a" : 1.0 }"#)]), &extras).unwrap();
    assert_eq!(request.headers()["content-type"], "application/merge-patch+json");
    assert_eq!(request.body(), r#"{ "a" : 1.0 }"#);
}

#[test]
fn what_cannot_stand_in_a_header_is_refused() {
    let operation = operation("/", vec![Param::new("X-A", Location::Header)]);
    let long = format!("\"{}\"", "x".repeat(9000));
    for value in
        [r#""a\r\nX-B: c""#, r#""a\nb""#, r#""a\u0000""#, r#"" a""#, r#""a\t""#, r#""\u007f""#, &long]
    {
        let refused = request(&operation, &object(&[("X-A", value)]), &Extras::default());
        assert!(matches!(refused, Err(CallError::Arguments { .. })), "{value:.20}");
    }
    let request = request(&operation, &object(&[("X-A", r#""a\tb ü""#)]), &Extras::default()).unwrap();
    assert_eq!(request.headers()["x-a"].as_bytes(), "a\tb ü".as_bytes());
}

#[test]
fn too_many_headers_are_refused() {
    let params: Vec<_> = (0..40).map(|n| Param::new(format!("x-{n}"), Location::Header)).collect();
    let value = format!("\"{}\"", "x".repeat(8000));
    let names: Vec<_> = (0..40).map(|n| format!("x-{n}")).collect();
    let arguments: Vec<_> = names.iter().map(|name| (name.as_str(), value.as_str())).collect();
    let refused = request(&operation("/", params), &object(&arguments), &Extras::default());
    assert!(matches!(refused, Err(CallError::Arguments { .. })));
}
