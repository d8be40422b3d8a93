use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;

use super::*;
use crate::engine::ClientError;

const JSON: &str = "application/json";

fn response(status: u16, content_type: &str, body: impl Into<Bytes>) -> Response {
    let body = body.into();
    Response {
        status: StatusCode::from_u16(status).unwrap(),
        content_type: Some(content_type.to_owned()).filter(|text| !text.is_empty()),
        total: Some(body.len() as u64),
        body,
        retry_after: None,
    }
}

fn presenter() -> Presenter {
    Presenter { shape: None, max_bytes: 200, fields: Fields::default(), output: None, uri: "api:op".into() }
}

#[track_caller]
fn check(presenter: &Presenter, response: Response, expected: &str) {
    let shown = format!("{response:?}");
    assert_eq!(presenter.answer(response).as_str(), expected, "for {shown}");
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, RawJson::string(text))
}

fn failed(said: &str) -> String {
    format!(r#"{{"content":[{}],"isError":true}}"#, text(said))
}

#[test]
fn a_success_is_its_body_and_everything_else_is_an_error_with_its_status() {
    for (status, said) in [(200, "hi"), (201, "hi"), (204, ""), (206, "hi"), (299, "hi")] {
        let expected = format!(r#"{{"content":[{}]}}"#, text(said));
        check(&presenter(), response(status, "text/plain", said), &expected);
    }
    for (status, said) in [
        (101, ""),
        (300, "hi"),
        (302, "<a>moved</a>"),
        (304, ""),
        (400, "hi"),
        (404, ""),
        (418, "hi"),
        (500, "hi"),
        (999, "hi"),
    ] {
        check(&presenter(), response(status, "text/plain", said), &failed(&format!("HTTP {status}\n{said}")));
    }
}

#[test]
fn json_is_structured_too_as_it_came() {
    for (content_type, body, structured) in [
        (JSON, r#"{"n":9007199254740993,"e":1e400,"z":-0}"#, r#"{"n":9007199254740993,"e":1e400,"z":-0}"#),
        ("application/vnd.api+json", "[1.0]", "[1.0]"),
        (JSON, "null", "null"),
        (JSON, "\n{\n \"a\": 1\n}\n", r#"{"a":1}"#),
        ("", r#"{"a":1}"#, r#"{"a":1}"#),
    ] {
        let expected = format!(r#"{{"content":[{}],"structuredContent":{structured}}}"#, text(body));
        check(&presenter(), response(200, content_type, body), &expected);
    }
    for (content_type, body) in [(JSON, "{"), (JSON, ""), ("text/plain", "{}"), ("", "7")] {
        let expected = format!(r#"{{"content":[{}]}}"#, text(body));
        check(&presenter(), response(200, content_type, body), &expected);
    }
    let problem = r#"{"type":"about:blank","status":409}"#;
    check(
        &presenter(),
        response(409, "application/problem+json", problem),
        &failed(&format!("HTTP 409\n{problem}")),
    );
}

#[test]
fn json_as_deep_as_can_be_is_text_only() {
    let depth = gateway_domain::DEPTH_LIMIT;
    let (deep, deeper) = (
        format!("{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1)),
        "[".repeat(depth) + &"]".repeat(depth),
    );
    let presenter = Presenter { max_bytes: 0, ..presenter() };
    let expected = format!(r#"{{"content":[{}],"structuredContent":{deep}}}"#, text(&deep));
    check(&presenter, response(200, JSON, deep), &expected);
    check(&presenter, response(200, JSON, deeper.clone()), &format!(r#"{{"content":[{}]}}"#, text(&deeper)));
}

#[test]
fn what_is_too_long_is_cut_within_the_limit_and_no_longer_structured() {
    let body = format!(r#"["{}"]"#, "é".repeat(200));
    for total in [Some(404), Some(5000), None] {
        let mut response = response(200, JSON, body.clone());
        response.body.truncate(200);
        response.total = total;
        let result = presenter().answer(response);
        assert!(!result.contains("structuredContent"));
        let block =
            RawObject::try_from(result.get("content").unwrap().elements(1).unwrap().remove(0)).unwrap();
        let said = block.get_text("text").unwrap();
        let (shown, notice) = said.split_once('\n').unwrap();
        assert!(said.len() <= 200 && body.starts_with(shown) && shown.len() > 140, "{said}");
        match total {
            Some(total) => assert_eq!(notice, format!("[cut: {} of {total} bytes shown]", shown.len())),
            None => assert_eq!(notice, format!("[cut: {} bytes shown, there is more]", shown.len())),
        }
    }
}

#[test]
fn what_is_no_text_is_the_block_that_it_is() {
    for (status, content_type, body, blocks) in [
        (200, "image/png", "\u{1}", r#"{"type":"image","data":"AQ==","mimeType":"image/png"}"#),
        (200, "audio/ogg; codecs=opus", "\u{1}", r#"{"type":"audio","data":"AQ==","mimeType":"audio/ogg"}"#),
        (
            200,
            "application/zip",
            "PK\u{3}",
            r#"{"type":"resource","resource":{"uri":"api:op","mimeType":"application/zip","blob":"UEsD"}}"#,
        ),
        (200, "image/png", "", r#"{"type":"text","text":""}"#),
    ] {
        check(&presenter(), response(status, content_type, body), &format!(r#"{{"content":[{blocks}]}}"#));
    }
    let blocks =
        r#"{"type":"text","text":"HTTP 404\n"},{"type":"image","data":"AQ==","mimeType":"image/png"}"#;
    check(
        &presenter(),
        response(404, "image/png", "\u{1}"),
        &format!(r#"{{"content":[{blocks}],"isError":true}}"#),
    );
    let large = response(200, "image/png", vec![0; 151]);
    check(
        &presenter(),
        large,
        &format!(r#"{{"content":[{}]}}"#, text("[151 bytes of image/png, not shown]")),
    );
    for (total, line) in [(Some(1_200_000), "1200000"), (None, "more than 151")] {
        let cut = Response { total, ..response(200, "image/png", vec![0; 151]) };
        let line = format!("[{line} bytes of image/png, not shown]");
        check(&presenter(), cut, &format!(r#"{{"content":[{}]}}"#, text(&line)));
    }
}

#[test]
fn an_answer_that_clients_would_reject_says_what_is_wrong() {
    let schema =
        RawJson::parse(r#"{"type":"object","required":["id"],"properties":{"id":{"maximum":10}}}"#).unwrap();
    let presenter = Presenter { output: Some(Checker::new(schema)), ..presenter() };
    let good = r#"{"id":1}"#;
    let expected = format!(r#"{{"content":[{}],"structuredContent":{good}}}"#, text(good));
    check(&presenter, response(200, JSON, good), &expected);
    let begin = "but the answer does not match the documented schema: ";
    for (status, content_type, body, reason) in [
        (204, "", "", "it is empty"),
        (200, "text/html", "<p>", "it is not JSON"),
        (200, JSON, "{", "it is not JSON"),
        (200, JSON, r#"{"id":1e400}"#, "`id` must be at most 10"),
    ] {
        check(
            &presenter,
            response(status, content_type, body),
            &failed(&format!("The call succeeded (HTTP {status}), {begin}{reason}\n{body}")),
        );
    }
    let mut cut = response(200, JSON, "[1,2");
    cut.total = Some(1000);
    let result = presenter.answer(cut).as_str().to_owned();
    assert!(
        result.contains("it is too long to be shown whole\\n[1,2\\n[cut: ")
            && result.ends_with(r#""isError":true}"#),
        "{result}"
    );
    // What is no success has nothing to match.
    check(&presenter, response(404, JSON, "{}"), &failed("HTTP 404\n{}"));
}

#[test]
fn fields_that_are_not_wanted_do_not_come_through_in_any_form() {
    let presenter = Presenter { fields: Fields::new(&[vec!["id".into()]]), ..presenter() };
    let kept = r#"{"id":1.0}"#;
    let expected = format!(r#"{{"content":[{}],"structuredContent":{kept}}}"#, text(kept));
    check(&presenter, response(200, JSON, r#"{"secret":"s","id":1.0}"#), &expected);
    let refused = failed(
        "The call succeeded (HTTP 200), but the answer is not shown: it is not JSON whose members can be chosen",
    );
    let mut cut = response(200, JSON, r#"{"secret":"s","id":1}"#);
    cut.total = None;
    check(&presenter, cut, &refused);
    check(&presenter, response(200, JSON, r#"{"secret":"s","#), &refused);
    check(&presenter, response(200, JSON, r#"{"id":1,"id":"s"}"#), &refused);
    check(&presenter, response(200, "text/html", "s"), &refused);
    check(&presenter, response(200, "", &b"\x1f\x8b"[..]), &refused);
    check(&presenter, response(204, "", ""), &format!(r#"{{"content":[{}]}}"#, text("")));
    check(&presenter, response(400, JSON, r#"{"why":"s"}"#), &failed("HTTP 400\n{\"why\":\"s\"}"));
    assert_eq!(presenter.keep(), MAX_BODY_BYTES);
}

#[test]
fn an_embedders_shape_makes_all_the_text() {
    let shape: ShapeFunc = Arc::new(|response| format!("{}: {}", response.status, "x".repeat(300)));
    let presenter = Presenter { shape: Some(shape), ..presenter() };
    for (status, flag) in [(200, ""), (404, r#","isError":true"#)] {
        let result = presenter.answer(response(status, "image/png", "\u{1}"));
        assert!(
            result.as_str().contains(&format!("{status} "))
                && result.as_str().ends_with(&format!("]{flag}}}"))
        );
        assert!(result.as_str().contains("[cut: ") && result.as_str().len() < 300);
    }
}

#[test]
fn a_shape_replaces_the_value_too_and_its_numbers_are_those_of_its_text() {
    let shape: ShapeFunc = Arc::new(|response| "x".repeat(response.body.len()));
    let presenter = Presenter { shape: Some(shape), max_bytes: 100, ..presenter() };
    assert_eq!(presenter.keep(), MAX_BODY_BYTES, "it is given the whole");
    check(&presenter, response(200, JSON, "{}"), &format!(r#"{{"content":[{}]}}"#, text("xx")));
    let long = format!("{}\n[cut: 70 of 150 bytes shown]", "x".repeat(70));
    check(&presenter, response(200, JSON, vec![b' '; 150]), &format!(r#"{{"content":[{}]}}"#, text(&long)));
    let cut = Response { total: Some(9000), ..response(200, JSON, "[1") };
    let shown = "xx\n[cut: 2 bytes shown, there is more]";
    check(&presenter, cut, &format!(r#"{{"content":[{}]}}"#, text(shown)));
}

#[test]
fn a_call_without_an_answer_is_an_error_that_begins_in_a_fixed_way() {
    let refused = ClientError { reason: "connection refused".into(), is_unsent: true };
    let result = presenter().refusal(&CallError::Upstream(refused));
    assert_eq!(result.as_str(), failed("upstream call failed: connection refused"));
}
