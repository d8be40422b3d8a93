//! All that is wrong is said at once, in the order of the file, and nothing that only follows from something else.

use super::{load, steps, workflow};

/// Says exactly this, problem by problem.
#[track_caller]
fn says(definition: &str, said: &[&str]) {
    let errors = load(definition).expect_err("broken");
    let heard: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(heard, said, "of {definition}");
}

/// The same of the fields only.
#[track_caller]
fn names(definition: &str, fields: &[&str]) {
    let errors = load(definition).expect_err("broken");
    let heard: Vec<_> = errors
        .iter()
        .map(|error| match &error.step {
            Some(step) => format!("{step}: {}", error.field),
            None => error.field.clone(),
        })
        .collect();
    assert_eq!(heard, fields, "{errors} of {definition}");
}

#[test]
fn several_broken_rules_are_told_together() {
    let definition = r#"{"name": "Restock", "steps": [
        {"id": "a", "tool": "no tool", "onError": {"action": "retry"}},
        {"id": "b", "tool": "shop__order", "dependsOn": ["x"], "arguments": {"n": "{{ steps.a.output.n }}"}}
    ], "output": {"properties": {}, "required": ["n"]}}"#;
    says(
        definition,
        &[
            "`description` is required; say what the workflow does, as models will read it",
            "`name` is `Restock`, but must consist of `a` to `z`, `0` to `9`, `_` and `-`, and neither begin nor end \
             with the latter two",
            "step `a`: `tool` is `no tool`, but must consist of letters, digits, `.`, `_` and `-`, and begin with a \
             letter or a digit",
            "step `a`: `onError.retryCount` must be at least 1 with `action: retry`",
            "step `b`: `dependsOn[0]` must name a step of this workflow; there is no step `x`; there are `a`, `b`",
            "step `b`: `arguments.n` refers to step `a`, which need not be done before; add `a` to `dependsOn`",
            "`output.properties` must have at least one property",
            "`output.required[0]` names `n`, but there is no such property",
        ],
    );
}

#[test]
fn problems_of_form_and_broken_rules_are_told_together_in_the_order_of_the_file() {
    for (definition, fields) in [
        (
            r#"{"output": {"properties": {"n": {"type": "int", "value": "{{ 1 + }}"}}},
                "timeout": 5,
                "steps": [
                  {"timeout": "x", "tool": "no tool", "id": "a", "arguments": {"x": "{{ 1 + }}"}, "colour": 1},
                  {"tool": "t", "type": "loop", "condition": "yes"},
                  {"id": "c", "type": "forEach", "collection": "", "maxParallel": 51, "step":
                    {"condition": "yes", "tool": 7, "arguments": {"x": "{{ 1 + }}"}, "timeout": "2days"}}
                ],
                "descripton": "d", "name": "Restock"}"#,
            &[
                "output.properties.n.description",
                "output.properties.n.type",
                "output.properties.n.value",
                "timeout",
                "a: timeout",
                "a: tool",
                "a: arguments.x",
                "a: colour",
                "#2: id",
                "#2: type",
                "#2: condition",
                "c: collection",
                "c: maxParallel",
                "c: step.condition",
                "c: step.tool",
                "c: step.arguments.x",
                "c: step.timeout",
                "descripton",
                "name",
            ][..],
        ),
        (r#"{"name": 1, "steps": 2}"#, &["description", "name", "steps"]),
        ("{}", &["name", "description", "steps"]),
    ] {
        names(definition, fields);
    }
}

/// A step that others depend on, with these members; and what refers to it in every way.
fn referred_to(members: &str) -> String {
    workflow(&format!(
        r#""vars": {{"currency": "EUR"}},
           "steps": [{members},
             {{"id": "b", "tool": "t", "dependsOn": ["a"], "arguments": {{"x": "{{{{ steps.a.output.n }}}}"}}}}],
           "output": {{"properties": {{"n": {{"type": "integer", "description": "d",
             "value": "{{{{ steps.a.output.n }}}}"}}}}, "required": ["n"]}}"#
    ))
}

#[test]
fn nothing_follows_from_a_step_that_cannot_be_read() {
    for (step, field) in [
        ("7", "steps[0]"),
        (r#"{"id": "a", "id": "a", "tool": "t"}"#, "steps[0]"),
        (r#"{"id": 1, "tool": "t"}"#, "#1: id"),
        (r#"{"ID": "a", "tool": "t"}"#, "#1: ID"),
        (r#"{"id": "a", "tool": 1}"#, "a: tool"),
        (r#"{"id": "a", "tol": "t"}"#, "a: tol"),
        (r#"{"id": "a", "type": "call", "tool": "no tool"}"#, "a: type"),
        (r#"{"id": "a", "type": "forEach", "collection": []}"#, "a: step"),
        (r#"{"id": "a", "type": "forEach", "collection": [], "step": 7}"#, "a: step"),
        (
            r#"{"id": "a", "type": "forEach", "collection": {"a": {"b": 1, "b": 2}}, "step": {"tool": "t"}}"#,
            "a: collection.a",
        ),
        (r#"{"id": "a", "tool": "t", "condition": "true", "defaultResults": 7}"#, "a: defaultResults"),
        (r#"{"id": "a", "tool": "t", "onError": {"action": "retyr", "retryCount": 2}}"#, "a: onError.action"),
    ] {
        names(&referred_to(step), &[field]);
    }
}

#[test]
fn nothing_follows_from_what_is_referred_to_and_cannot_be_read() {
    let beside = |members: &str, argument: &str| {
        workflow(&format!(
            r#"{members}, "steps": [{{"id": "a", "tool": "t", "arguments": {{"x": "{{{{ {argument} }}}}"}}}}]"#
        ))
    };
    let waiting = |needs: &str| {
        steps(&format!(
            r#"{{"id": "a", "tool": "t"}}, {{"id": "b", "tool": "t", "dependsOn": {needs}}},
               {{"id": "c", "tool": "t", "dependsOn": ["b"], "arguments": {{"x": "{{{{ steps.a.output.n }}}}"}}}}"#
        ))
    };
    let article = r#"{"id": "a", "type": "forEach", "collection": [], "itemVar": 7,
        "step": {"tool": "t", "arguments": {"x": "{{ forEach.article }}"}}}"#;
    for (definition, field) in [
        (steps(article), "a: itemVar"),
        (waiting(r#""a""#), "b: dependsOn"),
        (waiting("[1]"), "b: dependsOn[0]"),
        (beside(r#""vars": 7"#, "vars.x"), "vars"),
        (beside(r#""vars": {"x": {"a": 1, "a": 2}}"#, "vars.x"), "vars.x"),
        (beside(r#""varz": {"x": 1}"#, "vars.x"), "varz"),
        (beside(r#""parameters": 7"#, "params.x"), "parameters"),
    ] {
        names(&definition, &[field]);
    }
}

#[test]
fn nothing_follows_from_an_output_that_cannot_be_read() {
    let output = |output: &str| {
        workflow(&format!(
            r#""steps": [{{"id": "a", "tool": "t", "condition": "true"}}], "output": {{{output}, "required": ["n"]}}"#
        ))
    };
    for (properties, field) in [
        ("7", "output.properties"),
        (r#"{"n": 7}"#, "output.properties.n"),
        (
            r#"{"n": {"type": "int", "description": "d", "value": "1", "default": 7}}"#,
            "output.properties.n.type",
        ),
        (
            r#"{"n": {"description": "d", "properties": {"m": {"type": "string", "description": "d", "value": "x"}}}}"#,
            "output.properties.n.type",
        ),
        (
            r#"{"n": {"type": "object", "description": "d", "value": "{{ steps.a.output.n }}",
                "default": {"a": 1, "a": 2}}}"#,
            "output.properties.n.default",
        ),
    ] {
        names(&output(&format!(r#""properties": {properties}"#)), &[field]);
    }
    let value = r#""output": {"properties": {"n": {"type": "integer", "description": "d",
        "value": "{{ steps.a.output.n }}"}}}"#;
    names(&workflow(&format!(r#""steps": {{}}, {value}"#)), &["steps"]);
}

#[test]
fn the_head_and_the_first_100_of_too_many_steps_are_judged() {
    let many = |first: &str| {
        let more =
            (1..101).map(|n| format!(r#"{{"id": "s{n}", "tool": "t"}}"#)).collect::<Vec<_>>().join(",");
        workflow(&format!(r#""steps": [{first}, {more}], "timeout": "25h""#))
    };
    for (first, fields) in [
        (r#"{"id": "a", "tool": "no tool"}"#, &["steps", "a: tool", "timeout"][..]),
        // Of what is only known by the steps beyond, nothing is said.
        (
            r#"{"id": "a", "tool": "t", "dependsOn": ["s100"],
                "arguments": {"x": "{{ steps.s100.output.n ~ steps.s1.output.n }}"}}"#,
            &["steps", "timeout"],
        ),
    ] {
        names(&many(first), fields);
    }
}
