use super::{bare_step, check, step, steps};

fn each(members: &str) -> String {
    bare_step(&format!(
        r#""type": "forEach", "collection": "{{{{ params.all }}}}", "step": {{"tool": "shop__order"}}, {members}"#
    ))
}

fn inner(members: &str) -> String {
    bare_step(&format!(
        r#""type": "forEach", "collection": "{{{{ params.all }}}}", "step": {{"tool": "shop__order", {members}}}"#
    ))
}

#[test]
fn an_id_is_there_plain_and_unique() {
    check(&[
        (steps(r#"{"tool": "shop__stock"}"#), "step `#1`: `id` is required; others refer to the step by it"),
        (
            steps(r#"{"id": "1st", "tool": "shop__stock"}"#),
            "step `1st`: `id` is `1st`, but must consist of letters, digits, `_` and `-`, and begin with a \
             letter or `_`",
        ),
        (
            steps(r#"{"id": "-a", "tool": "shop__stock"}"#),
            "step `-a`: `id` is `-a`, but must consist of letters, digits, `_` and `-`, and begin with a \
             letter or `_`",
        ),
        (
            steps(r#"{"id": "a b", "tool": "shop__stock"}"#),
            "step `a b`: `id` is `a b`, but must consist of letters, digits, `_` and `-`, and begin with a \
             letter or `_`",
        ),
        (
            steps(&format!(r#"{{"id": "{}", "tool": "t"}}"#, "a".repeat(65))),
            &format!("step `{}…`: `id` has 65 characters, but may have 64", "a".repeat(64)),
        ),
        (
            steps(r#"{"id": "a", "tool": "t"}, {"id": "b", "tool": "t"}, {"id": "a", "tool": "t"}"#),
            "step `a`: `id` is the id of step #1 as well; give each step its own",
        ),
    ]);
}

#[test]
fn a_dependency_is_another_step_and_never_goes_in_a_circle() {
    check(&[
        (
            steps(r#"{"id": "fetch", "tool": "t"}, {"id": "b", "tool": "t", "dependsOn": ["fetsh"]}"#),
            "step `b`: `dependsOn[0]` must name a step of this workflow; there is no step `fetsh`; did you mean `fetch`?",
        ),
        (
            step(r#""dependsOn": ["elsewhere"]"#),
            "step `a`: `dependsOn[0]` must name a step of this workflow; there is no step `elsewhere`; there are `a`",
        ),
        (step(r#""dependsOn": ["a"]"#), "step `a`: `dependsOn[0]` names the step itself; remove it"),
        (
            steps(
                r#"{"id": "a", "tool": "t"}, {"id": "b", "tool": "t", "dependsOn": ["a", "d"]},
                   {"id": "c", "tool": "t", "dependsOn": ["b"]}, {"id": "d", "tool": "t", "dependsOn": ["c"]},
                   {"id": "e", "tool": "t", "dependsOn": ["d"]}"#,
            ),
            "step `b`: `dependsOn` goes in a circle, `b` -> `d` -> `c` -> `b`; remove one of these",
        ),
    ]);
}

#[test]
fn a_tool_is_named() {
    check(&[
        (
            bare_step(r#""type": "tool""#),
            "step `a`: `tool` is required; write it as `downstream__tool` or `downstream.tool`",
        ),
        (
            bare_step(r#""tool": "shop stock""#),
            "step `a`: `tool` is `shop stock`, but must consist of letters, digits, `.`, `_` and `-`, and \
             begin with a letter or a digit",
        ),
        (
            bare_step(r#""tool": ".stock""#),
            "step `a`: `tool` is `.stock`, but must consist of letters, digits, `.`, `_` and `-`, and begin \
             with a letter or a digit",
        ),
        (
            bare_step(r#""type": "forEach", "collection": [], "step": {}"#),
            "step `a`: `step.tool` is required; write it as `downstream__tool` or `downstream.tool`",
        ),
        (
            bare_step(r#""type": "forEach", "collection": [], "step": {"tool": "shop/stock"}"#),
            "step `a`: `step.tool` is `shop/stock`, but must consist of letters, digits, `.`, `_` and `-`, \
             and begin with a letter or a digit",
        ),
    ]);
}

#[test]
fn a_loop_has_a_collection_an_inner_step_and_bounds() {
    check(&[
        (
            bare_step(r#""type": "forEach", "step": {"tool": "t"}"#),
            "step `a`: `collection` is required; write a template that comes to a list",
        ),
        (
            bare_step(r#""type": "forEach", "collection": {}, "step": {"tool": "t"}"#),
            "step `a`: `collection` must be a template that comes to a list, or a list",
        ),
        (bare_step(r#""type": "forEach", "collection": []"#), "step `a`: `step` is required"),
        (
            each(r#""itemVar": "index""#),
            "step `a`: `itemVar` must not be `index`, which is the number of the item",
        ),
        (
            each(r#""itemVar": "the-item""#),
            "step `a`: `itemVar` is `the-item`, but must consist of letters, digits and `_`, and not begin \
             with a digit",
        ),
        (each(r#""maxParallel": 51"#), "step `a`: `maxParallel` is 51, but may be at most 50"),
        (each(r#""maxParallel": -1"#), "step `a`: `maxParallel` must not be negative"),
        (each(r#""maxIterations": 1001"#), "step `a`: `maxIterations` is 1001, but may be at most 1000"),
        (
            each(r#""maxIterations": 99999999999"#),
            "step `a`: `maxIterations` is too large; it may be at most 1000",
        ),
    ]);
}

#[test]
fn a_template_that_does_not_parse_is_refused_wherever_it_stands() {
    check(&[
        (
            step(r#""arguments": {"query": ["{{ params. }}"]}"#),
            "step `a`: `arguments.query[0]` is not a template that can be used: `params.` is no expression: \
             unexpected end of input, expected identifier or integer",
        ),
        (
            step(r#""condition": "{{ params.a = 1 }}""#),
            "step `a`: `condition` is not a template that can be used: `params.a = 1` is no expression: \
             unexpected input after expression",
        ),
        (
            inner(r#""arguments": {"id": "{{ forEach.item"}"#),
            "step `a`: `step.arguments.id` is not a template that can be used: `{{` is not closed in `{{ \
             forEach.item`; as text it is written `{{ '{{' }}`",
        ),
        (
            inner(r#""condition": "{{ nothing( }}""#),
            "step `a`: `step.condition` is not a template that can be used: `{{` is not closed in `{{ \
             nothing( }}`; as text it is written `{{ '{{' }}`",
        ),
    ]);
}

#[test]
fn a_condition_without_an_expression_is_true_or_false() {
    check(&[
        (
            step(r#""condition": "params.a == 1""#),
            "step `a`: `condition` has no expression and is neither true nor false; write `{{ … }}` around \
             it",
        ),
        (
            inner(r#""condition": "yes""#),
            "step `a`: `step.condition` has no expression and is neither true nor false; write `{{ … }}` \
             around it",
        ),
    ]);
}

#[test]
fn retries_are_bounded_and_go_with_retry_only() {
    check(&[
        (
            step(r#""onError": {"action": "retry"}"#),
            "step `a`: `onError.retryCount` must be at least 1 with `action: retry`",
        ),
        (
            step(r#""onError": {"action": "retry", "retryCount": 11}"#),
            "step `a`: `onError.retryCount` is 11, but may be at most 10",
        ),
        (
            step(r#""onError": {"action": "retry", "retryCount": 1, "retryDelay": "2days"}"#),
            "step `a`: `onError.retryDelay` is 2days, but may be at most 24h",
        ),
        (
            step(r#""onError": {"retryCount": 2}"#),
            "step `a`: `onError.retryCount` has no effect without `action: retry`; add that, or remove it",
        ),
        (
            step(r#""onError": {"action": "continue", "retryDelay": "1s"}"#),
            "step `a`: `onError.retryDelay` has no effect without `action: retry`; add that, or remove it",
        ),
        (
            step(r#""onError": {"action": "abort", "retryUnsafe": true}"#),
            "step `a`: `onError.retryUnsafe` has no effect without `action: retry`; add that, or remove it",
        ),
        (
            inner(r#""onError": {"action": "retry", "retryCount": 0}"#),
            "step `a`: `step.onError.retryCount` must be at least 1 with `action: retry`",
        ),
    ]);
}

#[test]
fn only_calls_are_tried_again() {
    check(&[
        (
            each(r#""onError": {"action": "retry", "retryCount": 1}"#),
            "step `a`: `onError.action` is `retry`, but a loop is not run again; move it to `step.onError`, which \
             counts for each item",
        ),
        (
            bare_step(
                r#""type": "elicitation", "message": "Sure?", "schema": {"type": "object"},
                   "onError": {"action": "retry"}"#,
            ),
            "step `a`: `onError.action` is `retry`, but a question is not asked again; what a refusal does is said \
             by `onDecline` and `onCancel`",
        ),
    ]);
}

#[test]
fn a_step_takes_at_most_a_day() {
    check(&[
        (step(r#""timeout": "2days""#), "step `a`: `timeout` is 2days, but may be at most 24h"),
        (inner(r#""timeout": "2days""#), "step `a`: `step.timeout` is 2days, but may be at most 24h"),
    ]);
}
