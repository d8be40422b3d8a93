use proptest::prelude::*;

use super::*;

#[track_caller]
fn fails(text: &str, expected: &str) {
    let error = Message::parse(Bytes::from(text.to_owned())).unwrap_err();
    assert!(error.to_string().contains(expected), "{text}: {error}");
}

fn request(text: &str) -> Request {
    match Message::parse(Bytes::from(text.to_owned())) {
        Ok(Message::Request(request)) => request,
        other => panic!("not a request: {other:?}"),
    }
}

#[test]
fn requests_notifications_and_responses_are_told_apart() {
    let call =
        request(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"_meta":{"progressToken":"t"}}}"#);
    assert_eq!(call.params.meta.unwrap().get_text("progressToken").as_deref(), Some("t"));
    let parse = |text: &'static str| Message::parse(Bytes::from(text)).unwrap();
    assert!(matches!(parse(r#"{"jsonrpc":"2.0","method":"n"}"#), Message::Notification(_)));
    let answer = parse(r#"{"jsonrpc":"2.0","id":"x","result":{"v":1.0}}"#);
    let Message::Response(Response { id: Some(id), answer: Answer::Result(result) }) = answer else {
        panic!()
    };
    assert_eq!((id.as_str(), result.as_str()), ("\"x\"", r#"{"v":1.0}"#));
    let error = parse(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#);
    let Message::Response(Response { id: None, answer: Answer::Error(error) }) = error else { panic!() };
    assert_eq!((error.code, error.message().as_str()), (-1, "no"));
}

#[test]
fn what_is_not_one_message_is_refused() {
    for (text, reason) in [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("42", "neither an object nor an array"),
        ("[]", "empty array"),
        (r#"[{"jsonrpc":"2.0","method":"n"}]"#, "an array, which this revision does not have"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, "`jsonrpc` is not"),
        (r#"{"id":1,"method":"m"}"#, "`jsonrpc` is not"),
        (r#"{"JSONRPC":"2.0","id":1,"method":"m"}"#, "`jsonrpc` is not"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "`id` is not"),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#, "`id` is not"),
        (r#"{"jsonrpc":"2.0","id":1e3,"method":"m"}"#, "`id` is not"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, "`id` is not"),
        (r#"{"jsonrpc":"2.0","id":1,"Method":"m"}"#, "neither `method`"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "`method` is not a string"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, "`params` is not an object"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#, "`params` is not an object"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, "both a request and a response"),
        (r#"{"jsonrpc":"2.0","id":1,"result":[]}"#, "`result` is not an object"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}}"#, "both a result and an error"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}"#, "`error` is not"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, "\"id\" stands twice"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":1,"n\u0061me":2}}"#,
            "\"name\" stands twice",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"a":1,"a":2}}}"#, "\"a\" stands twice"),
    ] {
        fails(text, reason);
    }
    fails(&format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"m"}}"#, "x".repeat(255)), "`id` is not");
    fails(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "m".repeat(129)), "`method` is not");
    let crowd: String = (0..65).map(|n| format!("\"k{n}\":0,")).collect();
    fails(&format!(r#"{{{crowd}"jsonrpc":"2.0","id":1,"method":"m"}}"#), "more than 64 members");
    fails(
        &format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{}1{}}}}}"#,
            "[".repeat(127),
            "]".repeat(127)
        ),
        "nested deeper",
    );
}

#[test]
fn errors_carry_the_id_that_could_be_read() {
    let id = |text: &'static str| Message::parse(Bytes::from(text)).unwrap_err().id;
    assert_eq!(id(r#"{"jsonrpc":"1.0","id":"q","method":"m"}"#).unwrap().as_str(), "\"q\"");
    assert_eq!(id(r#"{"jsonrpc":"2.0","id":[],"method":"m"}"#), None);
}

#[test]
fn the_elements_of_an_array_fail_one_by_one() {
    let text = r#"[{"jsonrpc":"2.0","id":1,"method":"m"},7,{"jsonrpc":"2.0","method":"n"},[]]"#;
    let Ok(Incoming::Batch(elements)) = Incoming::parse(Bytes::from(text)) else { panic!() };
    assert_eq!(elements.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true, false]);
    let many = format!("[{}]", vec!["1"; 51].join(","));
    assert!(Incoming::parse(many.into()).is_err());
}

#[test]
fn a_pretty_printed_message_becomes_a_single_line() {
    let text = "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 1,\n  \"result\": {\n    \"text\": \"a b\"\n  }\n}\n";
    let Ok(Message::Response(response)) = Message::parse(Bytes::from(text)) else { panic!() };
    let Answer::Result(result) = response.answer else { panic!() };
    assert_eq!(result.as_str(), r#"{"text":"a b"}"#);
}

proptest! {
    #[test]
    fn ids_keep_their_json_type_and_text(number in any::<i64>(), text in "[a-z0-9]{0,40}") {
        for id in [number.to_string(), format!("\"{text}\""), format!("\"{number}\"")] {
            let call = request(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#));
            prop_assert_eq!(call.id.as_str(), id.as_str());
        }
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        drop(Incoming::parse(bytes.into()));
    }
}
