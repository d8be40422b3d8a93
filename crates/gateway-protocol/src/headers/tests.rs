use proptest::prelude::*;

use super::*;

fn annotated(name: &str, path: &[&str], kind: ParamKind) -> ParamHeader {
    ParamHeader { name: name.into(), path: path.iter().map(|p| (*p).to_owned()).collect(), kind }
}

#[test]
fn values_are_written_plain_only_where_that_is_unambiguous() {
    for (value, written) in [
        ("lyon", "lyon"),
        ("two words", "two words"),
        ("", ""),
        (" padded", "=?base64?IHBhZGRlZA==?="),
        ("tab\there", "=?base64?dGFiCWhlcmU=?="),
        ("café", "=?base64?Y2Fmw6k=?="),
        ("a\r\nb", "=?base64?YQ0KYg==?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
    ] {
        assert_eq!(encode(value), written);
        assert_eq!(decode(written.as_bytes()).as_deref(), Some(value));
    }
    assert_eq!(decode(b"  x\ty ").as_deref(), Some("x\ty"));
    for malformed in [&b"=?base64?%%?="[..], b"=?base64?/w==?=", b"\xff", b"a\x01"] {
        assert_eq!(decode(malformed), None);
    }
    assert_eq!(decode(b"=?BASE64?eA==?=").as_deref(), Some("=?BASE64?eA==?="), "markers are exact");
}

#[test]
fn routing_headers_must_repeat_the_body() {
    let params = Params { object: RawObject::parse(r#"{"name":"a__b"}"#).unwrap(), meta: None };
    let check = |method: Field<'static>, name: Field<'static>| {
        let field = |header: &str| if header == METHOD { method } else { name };
        check_routing("tools/call", &params, field).map_err(|error| error.to_string())
    };
    let call = Field::Once(b"tools/call");
    assert_eq!(check(call, Field::Once(b" a__b ")), Ok(()));
    assert_eq!(check(call, Field::Once(b"=?base64?YV9fYg==?=")), Ok(()));
    for (method, name, error) in [
        (Field::Absent, Field::Once(&b"a__b"[..]), "header Mcp-Method is missing"),
        (Field::Once(b"Tools/call"), Field::Once(b"a__b"), "header Mcp-Method differs from the body"),
        // Only names and arguments have this form.
        (
            Field::Once(b"=?base64?dG9vbHMvY2FsbA==?="),
            Field::Once(b"a__b"),
            "header Mcp-Method differs from the body",
        ),
        (call, Field::Absent, "header Mcp-Name is missing"),
        (call, Field::Once(b"a__c"), "header Mcp-Name differs from the body"),
        (call, Field::Repeated, "header Mcp-Name stands more than once"),
        (call, Field::Once(b"=?base64?!?="), "header Mcp-Name is malformed"),
    ] {
        assert_eq!(check(method, name), Err(error.to_owned()));
    }
    let unnamed = check_routing("tools/list", &params, |_| Field::Once(b"tools/list"));
    assert_eq!(unnamed, Ok(()));
}

#[test]
fn mirrored_arguments_are_compared_by_type() {
    let check = |kind, arguments: &str, field: Field<'static>| {
        let arguments = RawObject::parse(arguments.to_owned()).unwrap();
        check_params(&[annotated("X", &["a", "b"], kind)], Some(&arguments), |_| field).is_ok()
    };
    use ParamKind::{Boolean, Integer, String};
    for (kind, arguments, field, good) in [
        (String, r#"{"a":{"b":"x"}}"#, Field::Once(&b"x"[..]), true),
        (String, r#"{"a":{"b":"x"}}"#, Field::Once(b"X"), false),
        (String, r#"{"a":{"b":"x"}}"#, Field::Absent, false),
        (String, r#"{"a":{"b":null}}"#, Field::Absent, true),
        (String, r#"{"a":{"b":null}}"#, Field::Once(b"null"), false),
        (String, r#"{"a":1}"#, Field::Absent, true),
        (String, "{}", Field::Once(b""), false),
        (String, r#"{"a":{"b":7}}"#, Field::Once(b"7"), false),
        (Integer, r#"{"a":{"b":42}}"#, Field::Once(b"42"), true),
        (Integer, r#"{"a":{"b":42}}"#, Field::Once(b"42.0"), true),
        (Integer, r#"{"a":{"b":4.2e1}}"#, Field::Once(b"42"), true),
        (Integer, r#"{"a":{"b":42}}"#, Field::Once(b"43"), false),
        (Integer, r#"{"a":{"b":9007199254740992}}"#, Field::Once(b"9007199254740992"), false),
        (Boolean, r#"{"a":{"b":true}}"#, Field::Once(b"true"), true),
        (Boolean, r#"{"a":{"b":true}}"#, Field::Once(b"True"), false),
    ] {
        assert_eq!(check(kind, arguments, field), good, "{arguments} with {field:?}");
    }
}

#[test]
fn outgoing_calls_mirror_what_is_there() {
    let arguments = RawObject::parse(r#"{"site":"café","n":42.0,"on":false,"skip":null}"#).unwrap();
    let annotated = [
        annotated("Site", &["site"], ParamKind::String),
        annotated("N", &["n"], ParamKind::Integer),
        annotated("On", &["on"], ParamKind::Boolean),
        annotated("Skip", &["skip"], ParamKind::String),
    ];
    let written = params(&annotated, Some(&arguments));
    let expected =
        [("Mcp-Param-Site", "=?base64?Y2Fmw6k=?="), ("Mcp-Param-N", "42"), ("Mcp-Param-On", "false")];
    assert_eq!(written, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

proptest! {
    #[test]
    fn every_text_survives_a_header(text in any::<String>()) {
        let written = encode(&text);
        prop_assert!(written.bytes().all(|byte| (0x20..=0x7e).contains(&byte)));
        prop_assert_eq!(decode(written.as_bytes()), Some(text));
    }
}
