use gateway_composite::WorkflowDefinition;
use gateway_domain::RawObject;

use super::{bare_step, beside_a_step, check, step, workflow};

#[test]
fn an_unknown_member_is_refused_with_the_nearest_known_one() {
    check(&[
        (beside_a_step(r#""descripton": "x""#), "`descripton` is not known; did you mean `description`?"),
        (
            beside_a_step(r#""tags": []"#),
            "`tags` is not known; there are `name`, `description`, `parameters`, `vars`, `steps`, \
             `timeout`, `output`, `annotations`, `metadata`",
        ),
        (
            beside_a_step(r#""failureMode": "abort""#),
            "`failureMode` is not known; what a failure does is said by `onError` of each step",
        ),
        (step(r#""depends_on": []"#), "step `a`: `depends_on` is not known; did you mean `dependsOn`?"),
        (
            step(r#""colour": "red""#),
            "step `a`: `colour` is not known; there are `id`, `type`, `condition`, `dependsOn`, `onError`, \
             `timeout`, `defaultResults`, `tool`, `arguments`",
        ),
        (
            step(r#""onError": {"maxRetries": 3}"#),
            "step `a`: `onError.maxRetries` is not known; did you mean `retryCount`?",
        ),
        (
            beside_a_step(r#""annotations": {"readOnly": true}"#),
            "`annotations.readOnly` is not known; did you mean `readOnlyHint`?",
        ),
        (
            beside_a_step(r#""output": {"property": {}}"#),
            "`output.property` is not known; did you mean `properties`?",
        ),
    ]);
}

#[test]
fn a_member_of_another_type_of_step_is_refused() {
    check(&[
        (
            step(r#""message": "Sure?", "type": "tool""#),
            "step `a`: `message` belongs to steps of type `elicitation`; this one is of type `tool`",
        ),
        (
            step(r#""collection": []"#),
            "step `a`: `collection` belongs to steps of type `forEach`; this one is of type `tool`, the \
             default",
        ),
        (
            step(
                r#""type": "elicitation", "message": "Sure?", "schema": {"type": "object", "properties": {}}"#,
            ),
            "step `a`: `tool` belongs to steps of type `tool`; this one is of type `elicitation`",
        ),
        (
            bare_step(r#""type": "forEach", "collection": [], "tool": "t", "step": {"tool": "t"}"#),
            "step `a`: `tool` belongs to steps of type `tool`; this one is of type `forEach`",
        ),
        (
            bare_step(r#""type": "forEach", "collection": [], "step": {"tool": "t", "dependsOn": []}"#),
            "step `a`: `step.dependsOn` belongs to the loop itself, not to its inner step; move it there",
        ),
        (
            bare_step(r#""type": "forEach", "collection": [], "step": {"tool": "t", "message": "Sure?"}"#),
            "step `a`: `step.message` is not known; there are `id`, `type`, `tool`, `arguments`, \
             `condition`, `onError`, `timeout`, `defaultResults`",
        ),
    ]);
}

#[test]
fn a_type_is_one_of_three() {
    check(&[
        (
            step(r#""message": "Sure?""#),
            "step `a`: `type` is required, since the step has `tool` and `message`; write `tool` or \
             `elicitation`, and only the members of that type",
        ),
        (
            step(r#""type": "conditional""#),
            "step `a`: `type` is `conditional`, which no longer exists; use `condition` of the step that \
             depends on it",
        ),
        (step(r#""type": "foreach""#), "step `a`: `type` is `foreach`; did you mean `forEach`?"),
        (
            step(r#""type": "script""#),
            "step `a`: `type` is `script`, but must be one of `tool`, `elicitation`, `forEach`",
        ),
        (step(r#""type": 1"#), "step `a`: `type` must be one of `tool`, `elicitation`, `forEach`"),
        (
            bare_step(r#""type": "forEach", "collection": [], "step": {"type": "elicitation", "tool": "t"}"#),
            "step `a`: `step.type` must be `tool`; a loop's inner step can be nothing else",
        ),
    ]);
}

#[test]
fn a_member_that_stands_twice_is_refused() {
    check(&[
        (step(r#""tool": "shop__order""#), "`steps[0]` has `tool` twice; remove one"),
        (
            step(r#""onError": {"action": "abort", "action": "continue"}"#),
            "step `a`: `onError` has `action` twice; remove one",
        ),
        (
            step(r#""arguments": {"where": [{"id": 1, "id": 2}]}"#),
            "step `a`: `arguments.where[0]` has `id` twice; remove one",
        ),
        (
            step(r#""defaultResults": {"n": 1, "n": 2}"#),
            "step `a`: `defaultResults` has `n` twice; remove one",
        ),
    ]);
}

#[test]
fn a_value_of_the_wrong_type_is_refused() {
    check(&[
        (workflow(r#""steps": {}"#), "`steps` is an object, but must be a list"),
        (workflow(r#""steps": ["a"]"#), "`steps[0]` is a text, but must be an object"),
        (beside_a_step(r#""parameters": []"#), "`parameters` is a list, but must be an object"),
        (
            beside_a_step(r#""annotations": {"readOnlyHint": "yes"}"#),
            "`annotations.readOnlyHint` is a text, but must be true or false, without quotes",
        ),
        (
            step(r#""condition": true"#),
            "step `a`: `condition` is true or false, but must be a text; write it in quotes",
        ),
        (step(r#""dependsOn": "b""#), "step `a`: `dependsOn` is a text, but must be a list"),
        (
            step(r#""dependsOn": [1]"#),
            "step `a`: `dependsOn[0]` is a number, but must be a text; write it in quotes",
        ),
        (step(r#""arguments": null"#), "step `a`: `arguments` is nothing, but must be an object"),
        (
            step(r#""onError": "continue""#),
            "step `a`: `onError` is a text, but must be an object like `{action: continue}`",
        ),
        (
            step(r#""onError": {"action": "ignore"}"#),
            "step `a`: `onError.action` is `ignore`, but must be one of `abort`, `continue`, `retry`",
        ),
        (
            step(r#""onError": {"action": "retry", "retryCount": "3"}"#),
            "step `a`: `onError.retryCount` is a text, but must be a whole number, without quotes",
        ),
        (
            step(r#""onError": {"action": "retry", "retryCount": 1.5}"#),
            "step `a`: `onError.retryCount` must be a whole number",
        ),
        (
            step(r#""onError": {"action": "retry", "retryCount": -1}"#),
            "step `a`: `onError.retryCount` must not be negative",
        ),
    ]);
}

#[test]
fn a_time_is_a_text_with_a_unit() {
    check(&[
        (beside_a_step(r#""timeout": "-5s""#), "`timeout` is `-5s`; a time must not be negative"),
        (
            beside_a_step(r#""timeout": "soon""#),
            "`timeout` is `soon`, which is no time; write one like `30s`, `250ms` or `1h 30m`",
        ),
        (
            step(r#""timeout": 30"#),
            "step `a`: `timeout` needs a unit; write `30s` for seconds, `30ms` for milliseconds",
        ),
        (step(r#""timeout": 0.5"#), "step `a`: `timeout` must be a time like `30s` or `1h 30m`"),
        (
            step(r#""timeout": true"#),
            "step `a`: `timeout` is true or false, but must be a time like `30s` or `1h 30m`",
        ),
        (
            step(r#""onError": {"action": "retry", "retryCount": 1, "retryDelay": "1x"}"#),
            "step `a`: `onError.retryDelay` is `1x`, which is no time; write one like `30s`, `250ms` or `1h \
             30m`",
        ),
    ]);
}

#[test]
fn a_name_that_stands_twice_must_be_the_same() {
    let definition = RawObject::parse(beside_a_step(r#""timeout": "1m""#)).expect("an object");
    let named = |name| WorkflowDefinition::read(&definition, name).map(|read| read.name.to_string());
    assert_eq!(named(None).as_deref(), Ok("restock"));
    assert_eq!(named(Some("restock")).as_deref(), Ok("restock"));
    let said = named(Some("refill")).expect_err("two names").to_string();
    assert_eq!(said, "`name` is `restock`, but the workflow stands under `refill`; leave it out here");
}

#[test]
fn times_are_written_with_units_in_a_row() {
    for (text, seconds) in [
        ("30s", 30.0),
        ("250ms", 0.25),
        ("1h 30m", 5400.0),
        ("1h30m", 5400.0),
        ("1h30m0s", 5400.0),
        ("2min", 120.0),
        ("0s", 0.0),
    ] {
        let definition =
            RawObject::parse(beside_a_step(&format!(r#""timeout": "{text}""#))).expect("an object");
        let read = WorkflowDefinition::read(&definition, None).expect("valid");
        assert_eq!(read.timeout.map(|time| time.as_secs_f64()), Some(seconds), "{text}");
    }
}
