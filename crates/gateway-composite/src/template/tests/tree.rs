use super::*;
use crate::template::Tree;

#[track_caller]
fn expand(tree: &str, schema: Option<&str>, expected: &str) {
    let params = r#"{"n":5,"list":[1.50],"text":"7","raw":{"limit":"3","tags":["1","x"]}}"#;
    let expanded =
        Tree::compile(&json(tree)).unwrap().expand(&context(params), schema.map(object).as_ref(), 10_000);
    assert_eq!(expanded.unwrap().as_str(), expected, "for {tree}");
}

#[test]
fn every_string_is_a_template_and_the_rest_keeps_its_bytes() {
    expand(
        r#"{ "a" : "{{ params.n }}", "b":[ 1.0 , "x{{ params.n }}" ], "c":{"d" : 1e400}, "{{ k }}":"{{ params.list }}"}"#,
        None,
        r#"{"a":5,"b":[1.0,"x5"],"c":{"d" : 1e400},"{{ k }}":[1.50]}"#,
    );
    expand(r#""{{ params.list }}""#, None, "[1.50]");
    expand(r#"{"a":"}} and { }","b\u0061":[ ]}"#, None, r#"{"a":"}} and { }","b\u0061":[ ]}"#);
}

#[test]
fn texts_become_the_scalars_that_the_tool_wants() {
    let schema = r#"{"properties":{"limit":{"type":"integer"},"ratio":{"type":["number","null"]},"on":{"type":"boolean"},
        "name":{"type":"string"},"either":{"type":["integer","string"]},"any":{},
        "tags":{"type":"array","items":{"type":"integer"}},"in":{"properties":{"limit":{"type":"integer"},"tags":{"items":{"type":"number"}}}}}}"#;
    for (before, after) in [
        (r#"{"limit":"{{ params.text }}"}"#, r#"{"limit":7}"#),
        (r#"{"limit":"9007199254740993"}"#, r#"{"limit":9007199254740993}"#),
        (r#"{"limit":"7.5"}"#, r#"{"limit":"7.5"}"#),
        (r#"{"limit":" 7"}"#, r#"{"limit":" 7"}"#),
        (r#"{"limit":"007"}"#, r#"{"limit":"007"}"#),
        (r#"{"limit":"seven"}"#, r#"{"limit":"seven"}"#),
        (r#"{"limit":"true"}"#, r#"{"limit":"true"}"#),
        (r#"{"ratio":"7.50"}"#, r#"{"ratio":7.50}"#),
        (r#"{"ratio":"null"}"#, r#"{"ratio":"null"}"#),
        (r#"{"on":"true"}"#, r#"{"on":true}"#),
        (r#"{"on":"yes"}"#, r#"{"on":"yes"}"#),
        (
            r#"{"name":"7","either":"7","any":"7","other":"7"}"#,
            r#"{"name":"7","either":"7","any":"7","other":"7"}"#,
        ),
        (r#"{"tags":["1","x","2"]}"#, r#"{"tags":[1,"x",2]}"#),
        (r#"{"in":"{{ params.raw }}"}"#, r#"{"in":{"limit":3,"tags":[1,"x"]}}"#),
    ] {
        expand(before, Some(schema), after);
    }
}

#[test]
fn every_template_that_does_not_compile_is_told_with_its_place() {
    let errors =
        Tree::compile(&json(r#"{"a":"{{ 1 + }}","b":["x","{{"],"c":"{{ 1 }}","d":{"e":"{% if %}"}}"#));
    let places: Vec<_> = errors.unwrap_err().into_iter().map(|error| error.place).collect();
    assert_eq!(places, ["a", "b[1]", "d.e"]);
}

#[test]
fn a_template_that_fails_is_told_with_its_place() {
    let tree = Tree::compile(&json(r#"{"query":["{{ params.missing }}"]}"#)).unwrap();
    let error = tree.expand(&context("{}"), None, 1000).unwrap_err();
    assert_eq!((error.place.as_str(), error.is_missing), ("query[0]", true), "{error}");
}

#[test]
fn the_limit_holds_for_all_templates_together() {
    let tree = Tree::compile(&json(r#"["{{ params.x }}","{{ params.x }}"]"#)).unwrap();
    let params = format!(r#"{{"x":"{}"}}"#, "x".repeat(100));
    assert_eq!(tree.expand(&context(&params), None, 207).unwrap().as_bytes().len(), 207);
    let error = tree.expand(&context(&params), None, 206).unwrap_err();
    assert!(error.reason.contains("more than 206 bytes"), "{error}");
}

#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| json(&("[".repeat(levels) + "\"{{ params }}\"" + &"]".repeat(levels)));
    assert!(Tree::compile(&nested(100)).is_ok());
    assert!(Tree::compile(&nested(101)).is_err());
    let deep = format!("{{\"a\":{}}}", "[".repeat(60) + &"]".repeat(60));
    let error = Tree::compile(&nested(100)).unwrap().expand(&context(&deep), None, 1000).unwrap_err();
    assert!(error.reason.contains("nested deeper"), "{error}");
}

#[test]
fn references_have_the_places_of_their_templates() {
    let tree =
        Tree::compile(&json(r#"{"a":["{{ params.x }}"],"b":{"c":"{{ vars.y }} {{ steps.z }}"}}"#)).unwrap();
    let found: Vec<_> = tree
        .references()
        .into_iter()
        .map(|(place, found)| format!("{place}={}", found.path.join(".")))
        .collect();
    assert_eq!(found, ["a[0]=params.x", "b.c=vars.y", "b.c=steps.z"]);
}
