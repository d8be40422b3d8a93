use super::{beside_a_step, check, load, steps, workflow};

fn named(name: &str) -> String {
    format!(r#"{{"name": "{name}", "description": "d", "steps": [{{"id": "a", "tool": "shop__stock"}}]}}"#)
}

#[test]
fn a_name_is_short_and_plain() {
    for name in ["Restock", "re stock", "-restock", "restock_"] {
        let said = format!(
            "`name` is `{name}`, but must consist of `a` to `z`, `0` to `9`, `_` and `-`, and neither begin nor end \
             with the latter two"
        );
        check(&[(named(name), &said)]);
    }
    check(&[
        (named(""), "`name` is required; clients call the tool by it"),
        (
            named("shop__restock"),
            "`name` is `shop__restock`; `__` separates downstreams from their tools and must not stand in it",
        ),
        (named(&"a".repeat(65)), "`name` has 65 characters, but may have 64"),
    ]);
}

#[test]
fn a_description_and_at_least_one_step_are_required() {
    let blank = r#"{"name": "w", "description": " ", "steps": [{"id": "a", "tool": "shop__stock"}]}"#;
    check(&[
        (blank.to_owned(), "`description` is required; say what the workflow does, as models will read it"),
        (workflow(r#""steps": []"#), "`steps` must have at least one step"),
        (workflow(r#""timeout": "1m""#), "`steps` must have at least one step"),
    ]);
}

#[test]
fn there_are_at_most_100_steps() {
    let many: Vec<_> = (0..101).map(|n| format!(r#"{{"id": "s{n}", "tool": "shop__stock"}}"#)).collect();
    check(&[(
        steps(&many.join(",")),
        "`steps` has 101 steps, but may have 100; let a loop do what is done again and again",
    )]);
    assert!(load(&steps(&many[..100].join(","))).is_ok());
}

#[test]
fn parameters_are_a_schema_of_an_object() {
    check(&[
        (
            beside_a_step(r#""parameters": {"properties": {}}"#),
            "`parameters.type` must be the string `object`",
        ),
        (
            beside_a_step(r#""parameters": {"type": ["object"]}"#),
            "`parameters.type` must be the string `object`",
        ),
        (
            beside_a_step(r#""parameters": {"type": "object", "required": "shop"}"#),
            "`parameters` must be a valid JSON Schema: `required`: value is not of type \"array\"",
        ),
    ]);
}

#[test]
fn a_time_is_at_most_a_day() {
    check(&[(beside_a_step(r#""timeout": "25h""#), "`timeout` is 1day 1h, but may be at most 24h")]);
}

#[test]
fn there_are_at_most_1000_expressions() {
    // As many in each step as the arguments of one call may have.
    let full = |at: usize| {
        format!(r#"{{"id": "s{at}", "tool": "t", "arguments": {{"x": "{}"}}}}"#, "{{ 1 }}".repeat(200))
    };
    let all = |last: &str| steps(&format!("{}{last}", (0..5).map(full).collect::<Vec<_>>().join(", ")));
    let one_more = |brace: &str| {
        all(&format!(r#", {{"id": "b", "tool": "t", "arguments": {{"x": ["{brace}{brace} 1 }}}}"]}}}}"#))
    };
    let said = "step `b`: `arguments` brings the workflow to 1001 expressions, but it may have 1000 in all; let a \
                loop do what is done again and again, or split the workflow";
    check(&[(one_more("{"), said), (one_more(r"\u007b"), said)]);
    assert!(load(&all("")).is_ok());
}
