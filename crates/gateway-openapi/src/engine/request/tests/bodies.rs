use super::{BodyFormat, CallError, Extras, ParamFormat, Style, content, object, request, sending, styled};
use crate::ir::Field;

fn field(name: &str, media_type: Option<&str>, is_file: bool, format: Option<ParamFormat>) -> Field {
    Field { name: name.into(), media_type: media_type.map(Into::into), is_file, format }
}

fn sent(media_type: &str, format: BodyFormat, value: &str) -> Result<(String, String), CallError> {
    let request = request(&sending(media_type, format), &object(&[("body", value)]), &Extras::default())?;
    let content_type = request.headers().get("content-type").map_or("", |value| value.to_str().unwrap());
    Ok((content_type.to_owned(), String::from_utf8_lossy(request.body()).into_owned()))
}

#[test]
fn json_is_the_bytes_that_were_given() {
    for value in [r#"{ "b":1.0, "a":1e400, "n":9007199254740993 }"#, "[]", "null", r#""\u0061""#] {
        let sent = sent("application/problem+json", BodyFormat::Json, value).unwrap();
        assert_eq!(sent, ("application/problem+json".to_owned(), value.to_owned()));
    }
}

#[test]
fn forms_are_written_field_by_field() {
    let media_type = "application/x-www-form-urlencoded";
    let fields = vec![
        field("deep", None, false, Some(styled(Style::DeepObject, true))),
        field("flat", None, false, Some(styled(Style::Form, false))),
        field("json", Some("application/json"), false, None),
        field("doc", None, false, Some(content("application/json"))),
    ];
    let value = r#"{"z":"a b&c=ü+","list":[1,2],"object":{"a":1},"none":null,"deep":{"a":{"b":[true]}},
        "flat":["x","y"],"json":[1,"2"],"doc":"s"}"#;
    let expected = concat!(
        "z=a%20b%26c%3D%C3%BC%2B&list=1&list=2&object=%7B%22a%22%3A1%7D&deep%5Ba%5D%5Bb%5D%5B0%5D=true&flat=x,y&",
        "json=%5B1%2C%222%22%5D&doc=%22s%22"
    );
    let sent_form = sent(media_type, BodyFormat::Form(fields), value).unwrap();
    assert_eq!(sent_form, (media_type.to_owned(), expected.to_owned()));
    assert!(matches!(sent(media_type, BodyFormat::Form(vec![]), "[1]"), Err(CallError::Encoding { .. })));
}

/// The body with the boundary as `BOUNDARY`.
fn multipart(fields: Vec<Field>, value: &str) -> Result<String, CallError> {
    let (content_type, body) = sent("multipart/form-data", BodyFormat::Multipart(fields), value)?;
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    assert!(boundary.len() > 30 && boundary.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
    Ok(body.replace(boundary, "BOUNDARY"))
}

#[test]
fn parts_are_text_json_and_files() {
    let fields = vec![
        field("file", Some("image/png, image/*"), true, None),
        field("files", Some("text/csv"), true, None),
        field("note", Some("text/markdown"), false, None),
        field("meta", Some("application/json"), false, None),
    ];
    let value = concat!(
        r#"{"plain":"a\r\nb","number":1.0,"list":["x","y"],"object":{"a":[1]},"none":null,"note":"c","meta":[1,2],"#,
        r#""file":"aGVsbG8","files":[{"data":"Pj8_","filename":"a\"b\r\nc.csv","mediaType":"text/plain"},"Pj8/"]}"#
    );
    let part = |head: &str, content: &str| {
        format!("--BOUNDARY\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
    };
    let expected = [
        part("name=\"plain\"", "a\r\nb"),
        part("name=\"number\"", "1.0"),
        part("name=\"list\"", "x"),
        part("name=\"list\"", "y"),
        part("name=\"object\"\r\nContent-Type: application/json", r#"{"a":[1]}"#),
        part("name=\"note\"\r\nContent-Type: text/markdown", "c"),
        part("name=\"meta\"\r\nContent-Type: application/json", "[1,2]"),
        part("name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream", "hello"),
        part("name=\"files\"; filename=\"a%22b%0D%0Ac.csv\"\r\nContent-Type: text/plain", ">??"),
        part("name=\"files\"; filename=\"files\"\r\nContent-Type: text/csv", ">??"),
        "--BOUNDARY--\r\n".to_owned(),
    ];
    assert_eq!(multipart(fields, value).unwrap(), expected.concat());
}

#[test]
fn a_list_is_one_part_where_its_style_says_so() {
    for (style, explode, expected) in [
        (Style::Form, false, &["x,y|z"][..]),
        (Style::SpaceDelimited, false, &["x y|z"]),
        (Style::PipeDelimited, false, &[]),
        (Style::Form, true, &["x", "y|z"]),
        (Style::PipeDelimited, true, &["x", "y|z"]),
    ] {
        let fields = vec![field("a", Some("text/plain"), false, Some(styled(style, explode)))];
        let sent = multipart(fields, r#"{"a":["x",null,"y|z"]}"#);
        let parts = sent.as_ref().map(|body| body.split("\r\n\r\n").skip(1)).into_iter().flatten();
        let parts: Vec<_> = parts.filter_map(|part| part.split("\r\n").next()).collect();
        assert_eq!(parts, expected, "{style:?} {sent:?}");
    }
    let files = vec![field("f", None, true, Some(styled(Style::Form, false)))];
    let sent = multipart(files, r#"{"f":["aGVsbG8=","aGVsbG8="]}"#).unwrap();
    assert_eq!(sent.matches("hello").count(), 2);
}

#[test]
fn names_and_types_of_parts_cannot_add_headers() {
    let files = || vec![field("f", None, true, None)];
    let injected = multipart(vec![], r#"{"a\"; filename=\"x\r\nX-B: c\r\n\r\n":"v"}"#).unwrap();
    assert_eq!(
        injected.lines().nth(1),
        Some("Content-Disposition: form-data; name=\"a%22; filename=%22x%0D%0AX-B: c%0D%0A%0D%0A\"")
    );
    for wrong in [
        r#"{"f":{"data":"","mediaType":"text/plain\r\nX-B: c"}}"#,
        r#"{"f":{"data":"","mediaType":"nonsense"}}"#,
        r#"{"f":{"data":1}}"#,
        r#"{"f":"not base64!"}"#,
        r#"{"f":7}"#,
        "[]",
    ] {
        assert!(matches!(multipart(files(), wrong), Err(CallError::Encoding { .. })), "{wrong}");
    }
}

#[test]
fn boundaries_are_never_the_same() {
    let boundary = || sent("multipart/form-data", BodyFormat::Multipart(vec![]), "{}").unwrap().0;
    assert_ne!(boundary(), boundary());
}

#[test]
fn text_and_binary_are_strings() {
    let rows = [
        (BodyFormat::Text, r#""a\u00fc\n""#, Some("aü\n")),
        (BodyFormat::Text, "1.0", Some("1.0")),
        (BodyFormat::Text, "{}", None),
        (BodyFormat::Binary, r#""aGVsbG8=""#, Some("hello")),
        (BodyFormat::Binary, r#""aGVsbG8""#, Some("hello")),
        (BodyFormat::Binary, r#""%%%""#, None),
        (BodyFormat::Binary, "5", None),
    ];
    for (format, value, expected) in rows {
        let body = sent("application/x", format, value).ok().map(|(_, body)| body);
        assert_eq!(body.as_deref(), expected, "{value}");
    }
    assert_eq!(sent("text/plain", BodyFormat::Text, "null").unwrap(), (String::new(), String::new()));
}

#[test]
fn a_body_is_sent_only_if_it_is_declared_and_given() {
    let mut operation = sending("application/json", BodyFormat::Json);
    let none = request(&operation, &object(&[]), &Extras::default()).unwrap();
    assert!(none.body().is_empty() && !none.headers().contains_key("content-type"));
    operation.body.as_mut().unwrap().required = true;
    let refused = request(&operation, &object(&[]), &Extras::default());
    assert_eq!(refused.unwrap_err(), CallError::Arguments { reason: "missing: body".into() });
    let null = object(&[("body", "null")]);
    assert_eq!(request(&operation, &null, &Extras::default()).unwrap().body(), "null");
    for format in
        [BodyFormat::Form(vec![]), BodyFormat::Multipart(vec![]), BodyFormat::Text, BodyFormat::Binary]
    {
        operation.body.as_mut().unwrap().format = format;
        let refused = request(&operation, &null, &Extras::default());
        assert!(matches!(refused, Err(CallError::Arguments { .. })), "{refused:?}");
    }
    operation.body = None;
    let none = request(&operation, &object(&[("body", "1")]), &Extras::default()).unwrap();
    assert!(none.body().is_empty());
}

#[test]
fn a_media_type_that_is_none_makes_no_request() {
    let refused = sent("text/plain\r\nX-A: b", BodyFormat::Text, r#""a""#);
    assert!(matches!(refused, Err(CallError::Encoding { .. })));
}
