use gateway_domain::RawJson;

use super::{Checker, is_sound};

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

#[track_caller]
fn verdict(schema: &str, value: &str) -> String {
    Checker::new(raw(schema)).check(&raw(value)).err().unwrap_or_default()
}

#[test]
fn what_is_wrong_is_said_by_place_and_demand() {
    let rows = [
        (r#"{"properties":{"limit":{"type":"integer"}}}"#, r#"{"limit":"ten"}"#, "`limit` must be integer"),
        (r#"{"properties":{"a":{"type":["string","null"]}}}"#, r#"{"a":1}"#, "`a` must be null or string"),
        (r#"{"required":["id"]}"#, "{}", "`id` is missing"),
        (
            r#"{"properties":{"body":{"properties":{"items":{"items":{"required":["id"]}}}}}}"#,
            r#"{"body":{"items":[{"id":1},{}]}}"#,
            "`body.items[1].id` is missing",
        ),
        (r#"{"properties":{"a":{"enum":["x","y"]}}}"#, r#"{"a":"z"}"#, r#"`a` must be one of ["x","y"]"#),
        (r#"{"properties":{"a":{"minimum":3}}}"#, r#"{"a":2}"#, "`a` must be at least 3"),
        (r#"{"properties":{"a":{"exclusiveMaximum":3}}}"#, r#"{"a":3}"#, "`a` must be less than 3"),
        (r#"{"properties":{"a":{"maxLength":1}}}"#, r#"{"a":"xx"}"#, "`a` must have at most 1 characters"),
        (r#"{"properties":{"a":{"pattern":"^b$"}}}"#, r#"{"a":"x"}"#, "`a` must match the pattern ^b$"),
        (r#"{"properties":{"a":false}}"#, r#"{"a":"x"}"#, "`a` must not be given"),
        (
            r#"{"properties":{"a":{"anyOf":[{"type":"null"}]}}}"#,
            r#"{"a":1}"#,
            "`a` matches none of the alternatives",
        ),
        (r#"{"type":"array"}"#, "{}", "the value must be array"),
    ];
    for (schema, value, expected) in rows {
        assert_eq!(verdict(schema, value), expected, "{schema} {value}");
    }
}

#[test]
fn an_explanation_is_bounded_and_does_not_repeat_what_was_given() {
    let properties: Vec<String> = (0..100).map(|n| format!(r#""p{n}":{{"type":"integer"}}"#)).collect();
    let secret = "s3cret".repeat(1000);
    let values: Vec<String> = (0..100).map(|n| format!(r#""p{n}":"{secret}""#)).collect();
    let schema = format!(r#"{{"properties":{{{}}}}}"#, properties.join(","));
    let text = verdict(&schema, &format!("{{{}}}", values.join(",")));
    assert_eq!(text.matches(';').count(), 4);
    assert!(!text.contains("s3cret"), "{text}");
    let long = "n".repeat(100_000);
    let text = verdict(r#"{"additionalProperties":false}"#, &format!(r#"{{"{long}":1}}"#));
    assert!(text.chars().count() <= 301, "{}", text.len());
}

#[test]
fn numbers_of_any_size_are_numbers() {
    let integer = r#"{"type":"integer"}"#;
    let rows = [
        (integer, "9007199254740993", true),
        (integer, "18446744073709551615", true),
        (integer, "123456789012345678901234567890", true),
        (integer, "1e400", true),
        (integer, "-1e400", true),
        (integer, "1.0", true),
        (integer, "1.5", false),
        (r#"{"type":"number"}"#, "1E+999", true),
        (r#"{"type":"number"}"#, "1e-999", true),
        (r#"{"maximum":10}"#, "1e400", false),
        (r#"{"minimum":10}"#, "-1e400", false),
        (r#"{"properties":{"a\"1e400":{"type":"integer"}}}"#, r#"{"a\"1e400":1e400,"b":"1e400"}"#, true),
        (r#"{"properties":{"b":{"const":"-1e400"}}}"#, r#"{"a":[-1e400,2],"b":"-1e400"}"#, true),
        (r#"{"const":9007199254740993}"#, "9007199254740992", false),
    ];
    for (schema, value, expected) in rows {
        assert_eq!(verdict(schema, value).is_empty(), expected, "{schema} {value}");
    }
}

#[test]
fn a_pattern_that_needs_backtracking_matches_everything_and_the_rest_is_still_checked() {
    let schema =
        r#"{"properties":{"a":{"pattern":"^(?=x)(a+)+$"},"b":{"pattern":"^b$"},"c":{"type":"null"}}}"#;
    assert_eq!(verdict(schema, r#"{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}"#), "");
    assert_eq!(verdict(schema, r#"{"b":"x"}"#), "`b` must match the pattern ^b$");
    assert_eq!(verdict(schema, r#"{"c":1}"#), "`c` must be null");
    for (keywords, value) in [
        (r#""not":{"pattern":"(?=x)"}"#, "1"),
        (r#""if":{"pattern":"(?=x)"},"then":false"#, "1"),
        (r#""oneOf":[{"pattern":"(?=x)"},{"type":"integer"}]"#, "1"),
    ] {
        assert_eq!(verdict(&format!("{{{keywords}}}"), value), "", "{keywords}");
    }
    let large = r#"{"properties":{"a":{"pattern":"^(?:[a-z]{1000}){1000}$"},"c":{"type":"null"}}}"#;
    assert_eq!(verdict(large, r#"{"a":"x","c":1}"#), "`c` must be null");
    let properties = r#"{"patternProperties":{"(?=x)":{"type":"null"},"^y$":{"type":"null"}},"additionalProperties":false}"#;
    assert_eq!(verdict(properties, r#"{"x":1}"#), "");
    assert_eq!(verdict(properties, r#"{"y":1}"#), "`y` must be null");
}

#[test]
fn nested_repetition_costs_no_more_than_its_length() {
    let schema = r#"{"pattern":"^(([a-z])+.)+[A-Z]([a-z])+$"}"#;
    let value = format!("\"{}\"", "a".repeat(50_000));
    assert_ne!(verdict(schema, &value), "");
}

#[test]
fn cycles_and_doublings_of_references_come_to_an_end() {
    let cycle = r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"},{"type":"object"}]}}}"##;
    assert_eq!(verdict(cycle, "{}"), "");
    assert_ne!(verdict(cycle, "1"), "");
    // The validator would look 2^40 times: such a schema is not used.
    let chain: Vec<String> = (0..40)
        .map(|n| {
            format!(r##""d{n}":{{"allOf":[{{"$ref":"#/$defs/d{0}"}},{{"$ref":"#/$defs/d{0}"}}]}}"##, n + 1)
        })
        .collect();
    let doubling =
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d40":{{"type":"object"}}}}}}"##, chain.join(","));
    assert_eq!(verdict(&doubling, "1"), "");
    let tree = r##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"n":{"anyOf":[{"$ref":"#/$defs/n"},{"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}]}}}}}"##;
    let deep = format!("{}1{}", r#"{"n":"#.repeat(100), "}".repeat(100));
    assert_eq!(verdict(tree, &deep), "the value is not what the schema says");
    assert_ne!(verdict(tree, r#"{"n":{"n":1}}"#), "the value is not what the schema says");
}

#[test]
fn a_long_chain_of_references_does_not_exhaust_the_stack() {
    for (length, expected) in [(150, "the value must be null"), (10_000, "")] {
        let chain: Vec<String> =
            (0..length).map(|n| format!(r##""d{n}":{{"$ref":"#/$defs/d{}"}}"##, n + 1)).collect();
        let schema = format!(
            r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d{length}":{{"type":"null"}}}}}}"##,
            chain.join(",")
        );
        assert_eq!(verdict(&schema, "1"), expected);
    }
}

#[test]
fn what_would_exhaust_the_stack_is_not_explained_or_not_checked() {
    let nested = |n: usize, inner: &str| format!("{}{inner}{}", r#"{"allOf":["#.repeat(n), "]}".repeat(n));
    let generic = "the value is not what the schema says";
    let rows =
        [(4, 0, 120, "`n"), (30, 0, 120, generic), (95, 0, 120, ""), (20, 50, 30, ""), (2, 30, 30, generic)];
    for (chain, inline, depth, expected) in rows {
        let link = |n| nested(inline, &format!(r##"{{"$ref":"#/$defs/d{}"}}"##, n + 1));
        let links: Vec<_> = (0..chain).map(|n| format!(r#""d{n}":{}"#, link(n))).collect();
        let schema = format!(
            r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d{chain}":{{"type":"object","properties":{{"n":{{"$ref":"#/$defs/d0"}}}}}}}}}}"##,
            links.join(",")
        );
        let value = format!("{}1{}", r#"{"n":"#.repeat(depth), "}".repeat(depth));
        let check = move || verdict(&schema, &value);
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(check).unwrap();
        let verdict = thread.join().unwrap();
        assert!(verdict.starts_with(expected), "{chain} {inline} {depth}: {verdict}");
        assert!(!expected.is_empty() || verdict.is_empty(), "{chain} {inline} {depth}: {verdict}");
    }
}

#[test]
fn the_work_of_a_check_is_bounded() {
    let alternatives = vec![r#"{"type":"null"}"#; 4000].join(",");
    let schema = format!(r#"{{"items":{{"anyOf":[{alternatives}]}}}}"#);
    let value = |items: usize| format!("[{}]", vec!["1"; items].join(","));
    assert_ne!(verdict(&schema, &value(10)), "");
    assert_eq!(verdict(&schema, &value(50_000)), "");
}

#[test]
fn values_that_cannot_be_read_are_told_apart() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for (value, expected) in [
        (deep.as_str(), "the value is nested too deeply"),
        (r#""\ud800""#, "the value holds half a surrogate pair"),
    ] {
        match RawJson::parse(value.to_owned()) {
            Ok(value) => assert_eq!(Checker::new(raw("{}")).check(&value).unwrap_err(), expected),
            Err(error) => assert!(value == deep, "{error:?}"),
        }
    }
}

#[test]
fn a_schema_that_cannot_be_compiled_allows_everything() {
    for schema in
        [r#"{"type":"wrong"}"#, r##"{"$ref":"#/$defs/gone"}"##, r#"{"$ref":"http://localhost:1/x"}"#]
    {
        assert_eq!(verdict(schema, "1"), "", "{schema}");
    }
}

#[test]
fn sound_schemas_are_valid_and_refer_to_definitions_only() {
    let rows = [
        ("true", true),
        ("{}", true),
        (r##"{"$ref":"#/$defs/a.b-c_D"}"##, true),
        (r##"{"properties":{"$ref":{"type":"string"},"$id":{}}}"##, true),
        (r##"{"enum":[{"$ref":"elsewhere"}],"default":{"$id":1}}"##, true),
        (r#"{"maximum":1e400}"#, true),
        ("1", false),
        (r#"{"type":"file"}"#, false),
        (r#"{"required":true}"#, false),
        (r##"{"items":{"$ref":"#/components/schemas/a"}}"##, false),
        (r##"{"allOf":[{"$ref":"#/$defs/a/properties/b"}]}"##, false),
        (r#"{"properties":{"a":{"$id":"http://elsewhere/"}}}"#, false),
        (r##"{"$dynamicRef":"#a"}"##, false),
    ];
    for (schema, expected) in rows {
        assert_eq!(is_sound(&raw(schema)), expected, "{schema}");
    }
}
