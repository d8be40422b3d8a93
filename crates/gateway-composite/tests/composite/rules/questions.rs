use super::{bare_step, check};

fn question(members: &str) -> String {
    bare_step(&format!(r#""type": "elicitation", {members}"#))
}

fn asking(schema: &str) -> String {
    question(&format!(r#""message": "Sure?", "schema": {schema}"#))
}

fn field(field: &str) -> String {
    asking(&format!(r#"{{"type": "object", "properties": {{"f": {field}}}}}"#))
}

#[test]
fn a_question_has_a_message_a_schema_and_known_handlers() {
    let schema = r#""schema": {"type": "object", "properties": {}}"#;
    check(&[
        (question(schema), "step `a`: `message` is required; say what the user is asked for"),
        (
            question(&format!(r#""message": "{{{{ params. }}}}", {schema}"#)),
            "step `a`: `message` is not a template that can be used: `params.` is no expression: unexpected \
             end of input, expected identifier or integer",
        ),
        (
            question(r#""message": "Sure?""#),
            "step `a`: `schema` is required; it says what fields the form has",
        ),
        (
            question(&format!(r#""message": "Sure?", "onDecline": "stop", {schema}"#)),
            "step `a`: `onDecline` is `stop`, but must be one of `abort`, `continue`, `skip_remaining`",
        ),
        (
            question(&format!(r#""message": "Sure?", "onCancel": {{}}, {schema}"#)),
            "step `a`: `onCancel.action` is required",
        ),
        (
            question(&format!(r#""message": "Sure?", "timeout": "11m", {schema}"#)),
            "step `a`: `timeout` is 11m, but a question may be open for at most 10m",
        ),
    ]);
}

#[test]
fn a_form_is_one_flat_object() {
    check(&[
        (
            asking(r#"{"properties": {}}"#),
            "step `a`: `schema.type` must be `object`; its properties are the form's fields",
        ),
        (
            asking(r#"{"type": "object", "properties": []}"#),
            "step `a`: `schema` must be a valid JSON Schema: `properties`: value is not of type \"object\"",
        ),
        (
            asking(r#"{"type": "object", "properties": {}, "oneOf": [true]}"#),
            "step `a`: `schema.oneOf` is nothing that a form can show; write one of `$schema`, `type`, \
             `title`, `description`, `properties`, `required`, `additionalProperties`",
        ),
        (
            asking(r#"{"type": "object", "properties": {}, "required": "yes"}"#),
            "step `a`: `schema` must be a valid JSON Schema: `required`: value is not of type \"array\"",
        ),
        (
            field(r#"{"type": "boolean", "default": "yes"}"#),
            "step `a`: `schema.properties.f.default` must fit the field itself: value is not of type \
             \"boolean\"",
        ),
        (
            asking(r#"{"type": "object", "properties": {}, "required": ["yes"]}"#),
            "step `a`: `schema.required[0]` names `yes`, but there is no such property",
        ),
    ]);
}

#[test]
fn a_field_of_a_form_is_a_plain_value_or_a_choice() {
    check(&[
        (field("true"), "step `a`: `schema.properties.f` must be a schema, which is an object"),
        (
            field("{}"),
            "step `a`: `schema.properties.f.type` must be `string`, `number`, `integer`, `boolean`, or \
             `array` for several choices: forms are flat",
        ),
        (
            field(r#"{"type": "object", "properties": {}}"#),
            "step `a`: `schema.properties.f.type` must be `string`, `number`, `integer`, `boolean`, or \
             `array` for several choices: forms are flat",
        ),
        (
            field(r#"{"type": "string", "pattern": "a+"}"#),
            "step `a`: `schema.properties.f.pattern` is nothing that a form can show; write one of `type`, \
             `title`, `description`, `default`, `minLength`, `maxLength`, `format`, `enum`, `enumNames`, \
             `oneOf`",
        ),
        (
            field(r#"{"type": "string", "format": "ipv4"}"#),
            "step `a`: `schema.properties.f.format` must be one of `email`, `uri`, `date`, `date-time`",
        ),
        (
            field(r#"{"type": "string", "enum": [1]}"#),
            "step `a`: `schema.properties.f.enum` must be a list of at least one text",
        ),
        (
            field(r#"{"type": "string", "oneOf": [{"const": "a"}]}"#),
            "step `a`: `schema.properties.f.oneOf` must be a list of at least one choice, each with the \
             texts `const` and `title`",
        ),
        (
            field(r#"{"type": "array"}"#),
            "step `a`: `schema.properties.f.items` is required; it says what the choices are",
        ),
        (
            field(r#"{"type": "array", "items": {"type": "string"}}"#),
            "step `a`: `schema.properties.f.items` must be an object with `enum`, or with `anyOf` for \
             choices with titles",
        ),
        (
            field(r#"{"type": "array", "items": {"anyOf": [{}]}}"#),
            "step `a`: `schema.properties.f.items.anyOf` must be a list of at least one choice, each with \
             the texts `const` and `title`",
        ),
    ]);
}

#[test]
fn a_form_is_small() {
    let deep = format!(r#"{{"type": "boolean", "default": {}{}}}"#, "[".repeat(8), "]".repeat(8));
    let long = format!(r#"{{"type": "boolean", "title": "{}"}}"#, "a".repeat(100 * 1024));
    check(&[
        (field(&deep), "step `a`: `schema` has 11 levels, but may have 10"),
        (field(&long), "step `a`: `schema` has 102473 bytes, but may have 102400"),
    ]);
}
