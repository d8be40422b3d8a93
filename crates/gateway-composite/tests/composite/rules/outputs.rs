use super::{beside_a_step, check};

fn property(members: &str) -> String {
    beside_a_step(&format!(r#""output": {{"properties": {{"n": {{{members}}}}}}}"#))
}

#[test]
fn an_output_has_properties_and_knows_what_is_required() {
    check(&[
        (beside_a_step(r#""output": {}"#), "`output.properties` must have at least one property"),
        (
            beside_a_step(
                r#""output": {"properties": {"count": {"type": "integer", "description": "d", "value": "1"}},
                   "required": ["counts"]}"#,
            ),
            "`output.required[0]` names `counts`, but there is no such property; did you mean `count`?",
        ),
    ]);
}

#[test]
fn a_property_has_a_type_a_description_and_one_source() {
    check(&[
        (property(r#""description": "d", "value": "1""#), "`output.properties.n.type` is required"),
        (
            property(r#""type": "int", "description": "d", "value": "1""#),
            "`output.properties.n.type` is `int`, but must be one of `string`, `integer`, `number`, \
             `boolean`, `object`, `array`",
        ),
        (
            property(r#""type": "integer", "value": "1""#),
            "`output.properties.n.description` is required; say what it is, as models will read it",
        ),
        (
            property(r#""type": "integer", "description": "d""#),
            "`output.properties.n.value` is required, or `properties` for an object of several members",
        ),
        (
            property(r#""type": "object", "description": "d", "value": "1", "properties": {}"#),
            "`output.properties.n.properties` must not stand beside `value`; keep one of both",
        ),
        (
            property(r#""type": "integer", "description": "d", "value": 1"#),
            "`output.properties.n.value` is a number, but must be a text; write it in quotes",
        ),
        (
            property(r#""type": "integer", "description": "d", "value": "{{ 1 + }}""#),
            "`output.properties.n.value` is not a template that can be used: `1 +` is no expression: \
             unexpected end of input, expected expression",
        ),
        (
            property(
                r#""type": "array", "description": "d",
                   "properties": {"m": {"type": "string", "description": "d", "value": "x"}}"#,
            ),
            "`output.properties.n.properties` only goes with `type: object`",
        ),
        (
            property(r#""type": "object", "description": "d", "properties": {}"#),
            "`output.properties.n.properties` must have at least one property",
        ),
    ]);
}

#[test]
fn a_default_has_the_type_of_its_property() {
    let rows = [
        ("string", "1"),
        ("integer", "1.5"),
        ("number", "\"1\""),
        ("boolean", "null"),
        ("object", "[]"),
        ("array", "{}"),
    ];
    for (kind, default) in rows {
        let members = format!(r#""type": "{kind}", "description": "d", "value": "x", "default": {default}"#);
        let said = format!("`output.properties.n.default` must be of type `{kind}`");
        check(&[(property(&members), &said)]);
    }
}

#[test]
fn properties_stand_at_most_10_levels_deep() {
    let nested = |levels: usize| {
        let leaf = r#"{"type": "string", "description": "d", "value": "x"}"#.to_owned();
        (1..levels).fold(leaf, |inner, _| {
            format!(r#"{{"type": "object", "description": "d", "properties": {{"m": {inner}}}}}"#)
        })
    };
    let output =
        |levels| beside_a_step(&format!(r#""output": {{"properties": {{"m": {}}}}}"#, nested(levels)));
    assert!(super::load(&output(10)).is_ok());
    check(&[(
        output(11),
        "`output.properties.m.properties.m.properties.m.properties.m.properties.m.properties.m.properties.m.properties.m.properties.m.properties.m.properties` stands 11 levels deep, but may stand 10",
    )]);
}
