use super::*;

fn schema(text: &str) -> Schema {
    Schema::compile(&object(text), Formats::Noted).unwrap()
}

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

#[track_caller]
fn check(schema_text: &str, value: &str, expected: Result<(), &str>) {
    let found = schema(schema_text).check(&RawJson::parse(value.to_owned()).unwrap());
    assert_eq!(found, expected.map_err(str::to_owned), "for {value} by {schema_text}");
}

#[test]
fn problems_are_told_with_their_place_and_without_the_value() {
    let schema = r#"{"type":"object","required":["q"],"additionalProperties":false,
        "properties":{"q":{"type":"string","maxLength":3},"n":{"minimum":1},"in":{"items":{"properties":{"k":{"type":"integer"}}}}}}"#;
    for (value, expected) in [
        (r#"{"q":"a"}"#, Ok(())),
        (r#"{"q":"a","n":1e400}"#, Ok(())),
        (r#"{"q":"secret"}"#, Err("`q`: value is longer than 3 characters")),
        (r#"{"q":"a","n":-1e400}"#, Err("`n`: value is less than the minimum of 1")),
        ("{}", Err("\"q\" is a required property")),
        (r#"{"q":"a","in":[{},{"k":"secret"}]}"#, Err("`in[1].k`: value is not of type \"integer\"")),
        (r#"{"q":"a","x":0}"#, Err("Additional properties are not allowed ('x' was unexpected)")),
        (r#"{"q":"a","in":{"k":1,"k":2}}"#, Err("member \"k\" stands twice")),
    ] {
        check(schema, value, expected);
    }
}

#[test]
fn at_most_three_problems_are_told() {
    let found = schema(r#"{"items":{"type":"integer"}}"#)
        .check(&RawJson::parse(r#"["a","b","c","d","e"]"#).unwrap())
        .unwrap_err();
    assert_eq!(found.matches("`[").count(), 3, "{found}");
    assert!(found.ends_with("; and more"), "{found}");
}

#[test]
fn problems_are_cut() {
    let name = "x".repeat(10_000);
    let found = schema(r#"{"additionalProperties":false}"#)
        .check(&RawJson::parse(format!(r#"{{"{name}":1}}"#)).unwrap())
        .unwrap_err();
    assert!(found.chars().count() <= PROBLEM_CHARS + 1, "{found}");
}

#[test]
fn large_integers_are_integers() {
    for value in ["9007199254740993", "18446744073709551615", "1180591620717411303424", "1.0"] {
        check(r#"{"type":"integer"}"#, value, Ok(()));
    }
    check(r#"{"const":9007199254740993}"#, "9007199254740992", Err("9007199254740993 was expected"));
}

#[test]
fn formats_are_not_asserted_and_patterns_are_linear() {
    check(r#"{"format":"email"}"#, "\"nobody\"", Ok(()));
    check(
        r#"{"pattern":"^(a+)+$"}"#,
        &format!("\"{}b\"", "a".repeat(50_000)),
        Err("value does not match \"^(a+)+$\""),
    );
}

#[test]
fn what_is_no_schema_is_refused() {
    for text in [
        r#"{"type":"text"}"#,
        r#"{"properties":[]}"#,
        r#"{"pattern":"("}"#,
        r#"{"pattern":"(?=a)"}"#,
        r#"{"pattern":"((a{1000}){1000}){1000}"}"#,
        r##"{"$ref":"#/$defs/none"}"##,
        r#"{"$ref":"https://example.com/schema.json"}"#,
        r#"{"properties":{"a":{"type":"string","type":"integer"}}}"#,
    ] {
        let reason = Schema::compile(&object(text), Formats::Noted).unwrap_err();
        assert!(!reason.is_empty() && reason.chars().count() <= PROBLEM_CHARS + 1, "{text}: {reason}");
    }
}

#[test]
fn defaults_stand_in_for_missing_members_and_given_ones_keep_their_bytes() {
    let schema = schema(
        r#"{"properties":{"limit":{"default":10},"list":{"default":[1.50]},"q":{"type":"string"},
            "in":{"properties":{"x":{"default":1}}},"n":{"default":null}}}"#,
    );
    for (given, expected) in [
        ("{}", r#"{"limit":10,"list":[1.50],"n":null}"#),
        (r#"{ "limit" : null , "n":1.0 }"#, r#"{ "limit" : null , "n":1.0,"list":[1.50] }"#),
        (r#"{"l\u0069mit":1,"list":[],"n":0,"in":{}}"#, r#"{"l\u0069mit":1,"list":[],"n":0,"in":{}}"#),
    ] {
        assert_eq!(schema.complete(&object(given)).as_str(), expected, "for {given}");
    }
}

#[test]
fn formats_of_forms_are_asserted_and_those_of_arguments_are_not() {
    for (format, fits, other) in [
        ("email", "ada@example.org", "ada"),
        ("uri", "https://example.org/a", "not a uri"),
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-02-28T12:00:00Z", "2026-02-28"),
    ] {
        let schema = object(&format!(r#"{{"type":"string","format":"{format}"}}"#));
        let is_valid =
            |formats, text| Schema::compile(&schema, formats).unwrap().check(&RawJson::string(text)).is_ok();
        assert!(is_valid(Formats::Asserted, fits), "{fits} as {format}");
        assert!(!is_valid(Formats::Asserted, other), "{other} as {format}");
        assert!(is_valid(Formats::Noted, other), "{other} as {format}");
    }
}
