use super::*;

fn small() -> Limits {
    Limits { document_bytes: 1 << 20, nodes: 10_000, ..Limits::default() }
}

#[track_caller]
fn check(text: &str, expected: Result<&str, &str>) {
    let parsed = parse(text.to_owned().into(), "x", &small()).map_err(|error| error.to_string());
    match (&parsed, expected) {
        (Ok(json), Ok(text)) => assert_eq!(json.as_str(), text),
        (Err(error), Err(part)) => assert!(error.contains(part), "{error} has no {part}"),
        other => panic!("for {text:?}: {other:?}"),
    }
}

#[test]
fn json_stays_as_it_is() {
    check(r#"{"a": 1.0,"b":[1e400, 9007199254740993]}"#, Ok(r#"{"a": 1.0,"b":[1e400, 9007199254740993]}"#));
    check("\u{feff} {\"a\":1}", Ok(r#"{"a":1}"#));
    check("{\"a\":1,}", Err("byte 7"));
    check(&format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200)), Err("more than 128 levels"));
}

#[test]
fn scalars_are_what_the_core_schema_says() {
    for (scalar, json) in [
        ("1", "1"),
        ("-0", "-0"),
        ("1.10", "1.10"),
        ("9007199254740993", "9007199254740993"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1e400", "1e400"),
        ("+1", "1"),
        (".5", "0.5"),
        ("-.5e3", "-0.5e3"),
        ("5.", "5.0"),
        ("0x1F", "31"),
        ("0o17", "15"),
        ("007", "\"007\""),
        ("1_000", "\"1_000\""),
        ("1e", "\"1e\""),
        (".", "\".\""),
        ("1.2.3", "\"1.2.3\""),
        (".inf", "\".inf\""),
        (".nan", "\".nan\""),
        ("true", "true"),
        ("True", "true"),
        ("yes", "\"yes\""),
        ("on", "\"on\""),
        ("No", "\"No\""),
        ("~", "null"),
        ("", "null"),
        ("null", "null"),
        ("2020-01-02", "\"2020-01-02\""),
        ("2020-01-02T03:04:05Z", "\"2020-01-02T03:04:05Z\""),
        ("12:30", "\"12:30\""),
        ("'1'", "\"1\""),
        ("\"a\\tb\"", "\"a\\tb\""),
        ("!!str 1", "\"1\""),
        ("! 1", "\"1\""),
        ("!!int 1", "1"),
        ("|\n  a\n  b", "\"a\\nb\\n\""),
        (">\n  a\n  b", "\"a b\\n\""),
    ] {
        check(&format!("a: {scalar}\n"), Ok(&format!(r#"{{"a":{json}}}"#)));
    }
}

#[test]
fn keys_are_texts() {
    check("200: {x: 1}\ntrue: 2\n1.0: 3\n", Ok(r#"{"200":{"x":1},"true":2,"1.0":3}"#));
    check("? [a]\n: 1\n", Err("a key is not a text"));
    check("a: 1\nb: 2\na: 3\n", Err("line 3: the key \"a\" stands twice"));
}

#[test]
fn aliases_are_replaced_and_mappings_merged() {
    check("a: &x [1, {b: c}]\nd: *x\n", Ok(r#"{"a":[1,{"b":"c"}],"d":[1,{"b":"c"}]}"#));
    check("a: &k name\n*k : 1\n", Ok(r#"{"a":"name","name":1}"#));
    check("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\n", Ok(r#"{"a":{"p":1,"q":2},"b":{"q":3,"p":1}}"#));
    check(
        "a: &x {p: 1}\nb: &y {q: 2}\nc: {<<: [*x, *y]}\n",
        Ok(r#"{"a":{"p":1},"b":{"q":2},"c":{"p":1,"q":2}}"#),
    );
    check("a: {\"<<\": 1}\n", Ok(r#"{"a":{"<<":1}}"#));
    check("a: {<<: 1}\n", Err("not a mapping"));
    check("a: &x [*x]\n", Err("within what it stands for"));
    check("a: *x\n", Err("line 1"));
}

#[test]
fn what_is_no_document_is_refused_with_its_line() {
    check("a: [1\nb: 2\n", Err("line 2"));
    check("{a: 1, b: [x, 2]}\n", Ok(r#"{"a":1,"b":["x",2]}"#));
    check("{a: 1,\n\"a\": 2}", Err("as YAML, not valid YAML in line 2: the key \"a\" stands twice"));
    check("{\"a\": 1,\n\"b\"", Err("as JSON, "));
    check("a: 1\n---\nb: 2\n", Err("more than one document"));
    check("", Err("empty"));
    check("a: \"\\ud800\"\n", Err("line 1"));
}

#[test]
fn an_alias_bomb_is_defused() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..30 {
        let below = format!("*a{},", level - 1).repeat(9);
        bomb += &format!("a{level}: &a{level} [{below}]\n");
    }
    check(&bomb, Err("bytes with its aliases replaced"));
}

#[test]
fn values_levels_and_bytes_are_bounded() {
    check(&format!("a: [{}1]\n", "1,".repeat(20_000)), Err("more than 10000 values"));
    check(&"[".repeat(100_000), Err("line 1"));
    check(&"- ".repeat(100_000), Err("line 1"));
    check(&format!("a: {}", "x".repeat(2 << 20)), Err("more than 1048576 bytes"));
}
