use super::{bare_step, beside_a_step, load, step, steps};

#[track_caller]
fn passes(definition: &str) {
    if let Err(errors) = load(definition) {
        panic!("{errors} of {definition}");
    }
}

#[test]
fn a_definition_with_everything_in_it_is_read() {
    let workflow = load(EVERYTHING).expect("valid");
    assert_eq!(workflow.definition().steps.len(), 3);
    assert!(workflow.asks());
    let tools: Vec<_> = workflow.tools().map(|(step, tool)| (&**step, &**tool)).collect();
    assert_eq!(tools, [("stock", "shop__stock"), ("order", "shop.order")]);
}

#[test]
fn a_workflow_without_questions_asks_nothing() {
    assert!(!load(&step(r#""timeout": "1s""#)).expect("valid").asks());
}

#[test]
fn what_a_bound_allows_passes() {
    for definition in [
        step(r#""timeout": "0s""#),
        step(r#""timeout": "1h30m""#),
        step(r#""timeout": "24h""#),
        step(r#""dependsOn": []"#),
        step(r#""condition": "FALSE""#),
        step(
            r#""onError": {"action": "retry", "retryCount": 10, "retryDelay": "100ms", "retryUnsafe": true}"#,
        ),
        step(r#""onError": {}"#),
        bare_step(r#""tool": "shop.stock""#),
        bare_step(r#""tool": "7zip""#),
        bare_step(
            r#""type": "forEach", "collection": [], "maxParallel": 0, "maxIterations": 0,
               "onError": {"action": "continue"}, "step": {"id": "inner", "tool": "t"}"#,
        ),
        bare_step(
            r#""type": "forEach", "collection": ["{{ params.a }}", 2], "maxParallel": 50, "maxIterations": 1000,
               "step": {"type": "tool", "tool": "t", "onError": {"action": "retry", "retryCount": 1}}"#,
        ),
        bare_step(
            r#""type": "elicitation", "message": "Sure?", "timeout": "10m", "onDecline": "skip_remaining",
               "onError": {"action": "continue"},
               "schema": {"type": "object", "required": ["a"], "additionalProperties": false, "properties": {
                 "a": {"type": "string", "minLength": 1, "maxLength": 9, "format": "email", "default": "a@b.c"},
                 "b": {"type": "integer", "minimum": 0, "maximum": 9, "default": 3},
                 "c": {"type": "boolean", "title": "C", "description": "c", "default": true},
                 "d": {"type": "string", "enum": ["x", "y"], "enumNames": ["X", "Y"]},
                 "e": {"type": "string", "oneOf": [{"const": "x", "title": "X"}]},
                 "f": {"type": "array", "items": {"type": "string", "enum": ["x"]}, "minItems": 1, "maxItems": 2},
                 "g": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}, "default": ["x"]}}}"#,
        ),
        bare_step(r#""type": "elicitation", "message": "Sure?", "schema": {"type": "object"}"#),
        steps(
            r#"{"id": "my-step", "tool": "t"},
               {"id": "b", "tool": "t", "dependsOn": ["my-step", "my-step"]},
               {"id": "c", "tool": "t", "dependsOn": ["b"],
                "arguments": {"x": "{{ steps['my-step'].output.n + steps.b.output.n }}"}}"#,
        ),
        beside_a_step(r#""parameters": {"type": "object"}, "metadata": {"anything": [1, {"at": "all"}]}"#),
        beside_a_step(
            r#""output": {"properties": {
                 "n": {"type": "integer", "description": "d", "value": "{{ steps.a.output.n }}", "default": 1.0},
                 "o": {"type": "object", "description": "d", "default": {}, "properties": {
                   "m": {"type": "array", "description": "d", "value": "{{ steps.a.output.m }}"}}}},
               "required": ["n"]}"#,
        ),
    ] {
        passes(&definition);
    }
}

#[test]
fn steps_may_stand_before_those_that_they_depend_on() {
    passes(&steps(
        r#"{"id": "b", "tool": "t", "dependsOn": ["a"], "arguments": {"x": "{{ steps.a.output }}"}},
           {"id": "a", "tool": "t"}"#,
    ));
}

#[test]
fn what_the_documentation_shows_passes() {
    let page = include_str!("../../../../../docs/workflows.md");
    let examples: Vec<_> =
        page.split("```json\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0)).collect();
    assert!(!examples.is_empty());
    examples.into_iter().for_each(passes);
}

pub(super) const EVERYTHING: &str = r#"{
  "name": "restock", "description": "Orders what is missing.",
  "parameters": {"type": "object", "properties": {"shop": {"type": "string"}}, "required": ["shop"]},
  "vars": {"currency": "EUR", "label": "{{ params.shop }} {{ workflow.id }}"},
  "timeout": "1h 30m",
  "steps": [
    {"id": "stock", "tool": "shop__stock", "arguments": {"shop": "{{ params.shop }}"}, "timeout": "30s",
     "onError": {"action": "retry", "retryCount": 2, "retryDelay": "500ms"}},
    {"id": "order", "type": "forEach", "dependsOn": ["stock"], "collection": "{{ steps.stock.output.missing }}",
     "condition": "{{ steps.stock.output.missing | length > 0 }}", "defaultResults": {"completed": 0},
     "itemVar": "article", "maxParallel": 5, "maxIterations": 50,
     "step": {"type": "tool", "tool": "shop.order", "arguments": {"article": "{{ forEach.article.id }}"}}},
    {"id": "confirm", "type": "elicitation", "dependsOn": ["order"], "message": "Pay in {{ vars.currency }}?",
     "schema": {"type": "object", "properties": {"yes": {"type": "boolean"}}},
     "onDecline": {"action": "skip_remaining"}, "onCancel": "continue"}
  ],
  "output": {"properties": {"count": {"type": "integer", "description": "How many were ordered.",
     "value": "{{ steps.order.output.completed }}"}}, "required": ["count"]},
  "annotations": {"title": "Restock", "readOnlyHint": false},
  "metadata": {"team": "shop"}
}"#;
