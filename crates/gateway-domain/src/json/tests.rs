use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, expected: Result<&str, JsonError>) {
    let parsed = RawJson::parse(text.to_owned());
    assert_eq!(parsed.as_ref().map(RawJson::as_str), expected.as_ref().copied(), "for {text:?}");
}

#[test]
fn values_are_kept_byte_for_byte() {
    for text in [
        "{}",
        "[]",
        "0",
        "-0",
        "1.0",
        "1e400",
        "9007199254740993",
        "-12.50E+7",
        "\"\\ud800\"",
        "\"\u{2028}é\"",
        r#"{"b":1,"a":{"b":[1,2,{"c":null}]},"":true}"#,
        r#"[[],[[]],{},{"a":{}},false]"#,
        r#"{"a" : 1 , "b":[ 1 ] }"#,
    ] {
        check(text, Ok(text));
    }
}

#[test]
fn line_breaks_between_tokens_go_and_nothing_else() {
    check("\n {\"a b\": \"c \\\" d\\\\\",\r\n\t\"n\": 1.0 }\n", Ok(r#"{"a b":"c \" d\\","n":1.0}"#));
    check("  1  ", Ok("1"));
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    for (text, at) in [
        ("", 0),
        ("{", 1),
        ("{\"a\"}", 4),
        ("{\"a\":1,}", 7),
        ("[1,]", 3),
        ("[1}", 2),
        ("{\"a\":1]", 6),
        ("01", 1),
        ("1.", 2),
        ("+1", 0),
        ("1e", 2),
        (".5", 0),
        ("tru", 0),
        ("nul", 0),
        ("\"a", 1),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 2),
        ("\"\u{1}\"", 1),
        ("\u{feff}{}", 0),
        ("{} {}", 3),
        ("{a:1}", 1),
        ("'a'", 0),
        ("NaN", 0),
    ] {
        check(text, Err(JsonError::Syntax { at }));
    }
    assert_eq!(RawJson::parse(&b"\"\xff\""[..]), Err(JsonError::Utf8 { at: 1 }));
}

#[test]
fn depth_is_bounded_without_recursion() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(RawJson::parse(nested(DEPTH_LIMIT)).is_ok());
    check(&nested(DEPTH_LIMIT + 1), Err(JsonError::Depth { at: DEPTH_LIMIT, limit: DEPTH_LIMIT }));
    check(&"[".repeat(100_000), Err(JsonError::Depth { at: DEPTH_LIMIT, limit: DEPTH_LIMIT }));
    let mixed = "{\"a\":[".repeat(64) + &"]}".repeat(64);
    assert!(RawJson::parse(mixed).is_ok());
}

#[test]
fn members_that_stand_twice_are_refused_however_they_are_spelled() {
    let twice = |text: &str| RawObject::parse(text.to_owned()).map(|_| ());
    let duplicate = |name: &str| Err(JsonError::Duplicate { name: name.into() });
    assert_eq!(twice(r#"{"a":1,"a":2}"#), duplicate("a"));
    assert_eq!(twice(r#"{"id":1,"\u0069d":2}"#), duplicate("id"));
    assert_eq!(twice(r#"{"a":1,"A":2}"#), Ok(()));
    assert_eq!(twice(r#"{"a":{"b":1,"b":2}}"#), Ok(()), "inner objects are not ours to judge");
    let many: String = (0..40).map(|n| format!("\"k{n}\":0,")).collect();
    assert_eq!(twice(&format!("{{{many}\"k7\":1}}")), duplicate("k7"));
}

#[test]
fn members_are_found_by_their_decoded_names() {
    let object = RawObject::parse(r#"{"n\u0061me": "x" ,"other":[1],"t":true}"#).unwrap();
    assert_eq!(object.get_text("name").as_deref(), Some("x"));
    assert_eq!(object.get("other").unwrap().elements(1).unwrap()[0].to_integer(), Some(1));
    assert_eq!(object.get("t").unwrap().to_bool(), Some(true));
    assert!(object.get("Name").is_none());
    assert_eq!(object.len(), 3);
}

#[test]
fn too_many_members_are_refused() {
    let object = |members: usize| {
        let text: Vec<_> = (0..members).map(|n| format!("\"k{n}\":0")).collect();
        let bytes = bytes::Bytes::from(format!("{{{}}}", text.join(",")));
        RawObject::read_message(bytes, |bytes, scanner| {
            RawObject::scan(bytes, scanner, 64, |_, _| Ok::<_, JsonError>(()))
        })
    };
    assert!(object(64).is_ok());
    assert_eq!(object(65).unwrap_err(), JsonError::Members { limit: 64 });
}

#[test]
fn arrays_are_split_into_elements_up_to_a_limit() {
    let array = RawJson::parse(r#"[1, {"a":[2]} ,"x"]"#).unwrap();
    let texts: Vec<_> = array.elements(3).unwrap().iter().map(|e| e.as_str().to_owned()).collect();
    assert_eq!(texts, ["1", r#"{"a":[2]}"#, "\"x\""]);
    assert!(array.elements(2).is_none());
    assert!(RawJson::parse("{}").unwrap().elements(9).is_none());
}

#[track_caller]
fn check_edit(text: &str, edit: impl Fn(ObjectEdit<'_>) -> ObjectEdit<'_>, expected: &str) {
    let object = RawObject::parse(text.to_owned()).unwrap();
    assert_eq!(edit(object.edit()).finish().as_str(), expected, "for {text}");
}

#[test]
fn edits_touch_only_the_members_they_name() {
    check_edit(r#"{"a": 1.0 , "b":2}"#, |e| e, r#"{"a": 1.0 , "b":2}"#);
    check_edit(r#"{"a": 1.0 , "b":2}"#, |e| e.set("b", "3"), r#"{"a": 1.0 , "b":3}"#);
    check_edit(r#"{"a":1,"b":2,"c":3}"#, |e| e.remove("a"), r#"{"b":2,"c":3}"#);
    check_edit(r#"{"a":1,"b":2,"c":3}"#, |e| e.remove("b"), r#"{"a":1,"c":3}"#);
    check_edit(r#"{"a":1,"b":2,"c":3}"#, |e| e.remove("c"), r#"{"a":1,"b":2}"#);
    check_edit(r#"{"a":1,"b":2,"c":3}"#, |e| e.remove("a").remove("b"), r#"{"c":3}"#);
    check_edit(r#"{"a":1,"b":2,"c":3}"#, |e| e.remove("b").remove("c"), r#"{"a":1}"#);
    check_edit(r#"{"a":1,"b":2,"c":3}"#, |e| e.remove("a").remove("b").remove("c"), "{}");
    check_edit(r#"{"a":1,"b":2}"#, |e| e.remove("a").set("d", "4"), r#"{"b":2,"d":4}"#);
    check_edit(r#"{"a":1}"#, |e| e.remove("a").set("d", "4"), r#"{"d":4}"#);
    check_edit(r#"{"a":1}"#, |e| e.remove("a").set("a", "4"), r#"{"a":4}"#);
    check_edit("{}", |e| e.set("x\"", "[]").set("y", "1").set("y", "2"), r#"{"x\"":[],"y":2}"#);
    check_edit("{ }", |e| e.set("x", "1"), r#"{"x":1 }"#);
}

/// Texts of JSON values, with white space and odd but legal spellings.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
        "\"([ a-zA-Z0-9é\u{2028}]|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-f]{4}){0,12}\"",
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|v| format!("[{}]", v.join(" , "))),
            prop::collection::vec(("[a-f]{1,3}", inner), 0..6).prop_map(|members| {
                let mut seen = std::collections::HashSet::new();
                let unique = members.into_iter().filter(|(name, _)| seen.insert(name.clone()));
                let members: Vec<_> = unique.map(|(name, value)| format!("\"{name}\" :{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn valid_json_is_accepted_and_kept(text in json()) {
        let parsed = RawJson::parse(text.clone()).unwrap();
        prop_assert_eq!(parsed.as_str(), text.as_str());
    }

    #[test]
    fn the_scanner_agrees_with_serde_json(text in "[\\[\\]{}:,\"0-9eE.+\\-a-d tru\\\\]{0,24}") {
        let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
        prop_assert_eq!(RawJson::parse(text).is_ok(), theirs);
    }

    #[test]
    fn no_bytes_make_the_scanner_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = RawJson::parse(bytes.clone());
        let _ = RawObject::parse(bytes);
    }

    #[test]
    fn setting_one_member_keeps_all_other_bytes(value in json(), before in json(), after in json()) {
        let text = format!(r#"{{ "before" : {before} ,"x":{value}, "after":{after} }}"#);
        let object = RawObject::parse(text).unwrap();
        let edited = object.edit().set("x", "0").finish();
        let expected = format!(r#"{{ "before" : {before} ,"x":0, "after":{after} }}"#);
        prop_assert_eq!(edited.as_str(), expected.as_str());
        let cut = RawObject::try_from(object.edit().remove("x").finish()).unwrap();
        let kept = ["before", "after"].map(|name| cut.get(name).unwrap().as_str().to_owned());
        prop_assert_eq!(kept, [before, after]);
        prop_assert_eq!(cut.len(), 2);
    }

    #[test]
    fn any_text_becomes_a_string_that_reads_back(text in any::<String>()) {
        let string = RawJson::string(&text);
        prop_assert!(RawJson::parse(string.clone().into_bytes()).is_ok());
        prop_assert_eq!(string.to_text().unwrap(), text.as_str());
    }
}

#[test]
fn levels_are_counted_outside_of_texts() {
    for (text, levels) in
        [("7", 0), (r#""[{""#, 0), ("{}", 1), (r#"{"a":[{"b":1},[]]}"#, 3), (r#"{"a":"\"[[[","b\\":[]}"#, 2)]
    {
        assert_eq!(RawJson::parse(text).unwrap().depth(), levels, "{text}");
    }
}
