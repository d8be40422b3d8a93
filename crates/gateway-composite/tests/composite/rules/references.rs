use super::{check, load, workflow};

/// A workflow with a parameter, a variable, a step `first`, and a step `next` that depends on it and has these members.
fn next(members: &str) -> String {
    beside("", members)
}

fn beside(members_of_first: &str, members: &str) -> String {
    workflow(&format!(
        r#""parameters": {{"type": "object", "properties": {{"shop": {{"type": "string"}}}}}},
           "vars": {{"currency": "EUR"}},
           "steps": [
             {{"id": "first", "tool": "shop__stock"{members_of_first}}},
             {{"id": "next", "dependsOn": ["first"], {members}}},
             {{"id": "my-last", "tool": "shop__stock"}}
           ]"#
    ))
}

fn argument(expression: &str) -> String {
    next(&format!(r#""tool": "shop__order", "arguments": {{"x": "{{{{ {expression} }}}}"}}"#))
}

#[test]
fn an_expression_refers_to_what_there_is() {
    check(&[
        (
            argument("params.shopp"),
            "step `next`: `arguments.x` refers to `params.shopp`, but `parameters` declares no `shopp`; did you mean `shop`?",
        ),
        (
            argument("params.colour"),
            "step `next`: `arguments.x` refers to `params.colour`, but `parameters` declares no `colour`; there are `shop`",
        ),
        (
            argument("vars.curency"),
            "step `next`: `arguments.x` refers to `vars.curency`, but `vars` has no `curency`; did you mean `currency`?",
        ),
        (
            argument("workflow.name"),
            "step `next`: `arguments.x` refers to `workflow.name`, but `workflow` has no `name`; there are `id`, `duration_ms`, `step_count`, `status`, `start_time`",
        ),
        (
            argument("param.shop"),
            "step `next`: `arguments.x` refers to `param`, but there is no such name; did you mean `params`?",
        ),
        (
            argument("shop"),
            "step `next`: `arguments.x` refers to `shop`, but there is no such name; did you mean `params.shop`?",
        ),
        (
            argument("currency"),
            "step `next`: `arguments.x` refers to `currency`, but there is no such name; did you mean `vars.currency`?",
        ),
        (
            argument("first.output"),
            "step `next`: `arguments.x` refers to `first`, but there is no such name; did you mean `steps.first`?",
        ),
        (
            argument("env.HOME"),
            "step `next`: `arguments.x` refers to `env`, but there is no such name; there are `params`, `vars`, `steps`, `workflow`, `forEach`",
        ),
        (
            argument("forEach.item"),
            "step `next`: `arguments.x` refers to `forEach`, which is only there within the inner step of a loop",
        ),
    ]);
}

#[test]
fn a_step_refers_to_steps_that_are_done_before() {
    check(&[
        (
            argument("steps.frist.output"),
            "step `next`: `arguments.x` refers to a step, but there is no step `frist`; did you mean `first`?",
        ),
        (
            argument("steps['elsewhere'].output"),
            "step `next`: `arguments.x` refers to a step, but there is no step `elsewhere`; there are `first`, `next`, `my-last`",
        ),
        (
            argument("steps.next.output"),
            "step `next`: `arguments.x` refers to `steps.next.output`, which the step itself only has when it has ended; remove that",
        ),
        (
            argument("steps['my-last'].output"),
            "step `next`: `arguments.x` refers to step `my-last`, which need not be done before; add `my-last` to `dependsOn`",
        ),
        (
            argument("steps.my.output"),
            "step `next`: `arguments.x` refers to step `my`, but there is no such step; `-` is a minus, so write `steps[\"my-last\"]`",
        ),
        (
            argument("steps[params.shop].output"),
            "step `next`: `arguments.x` refers to `steps` as a whole; name the step, as in `steps.fetch.output`",
        ),
        (
            argument("steps.first.outputs"),
            "step `next`: `arguments.x` refers to `steps.first.outputs`, but a step has no `outputs`; did you mean `output`?",
        ),
    ]);
}

#[test]
fn a_loop_has_its_item_and_its_index() {
    let each = |argument: &str| {
        next(&format!(
            r#""type": "forEach", "collection": [1], "itemVar": "article",
               "step": {{"tool": "shop__order", "arguments": {{"x": "{{{{ {argument} }}}}"}}}}"#
        ))
    };
    check(&[
        (
            each("forEach.item"),
            "step `next`: `step.arguments.x` refers to `forEach.item`, but `forEach` has no `item`; there are `article`, `index`",
        ),
        (
            next(r#""type": "forEach", "collection": "{{ forEach.item }}", "step": {"tool": "t"}"#),
            "step `next`: `collection` refers to `forEach`, which is only there within the inner step of a loop",
        ),
    ]);
    assert!(load(&each("forEach.article.id ~ forEach.index")).is_ok());
}

#[test]
fn variables_refer_to_parameters_and_to_the_run_only() {
    let vars = |value: &str| {
        workflow(&format!(
            r#""vars": {{"a": "1", "b": ["{{{{ {value} }}}}"]}}, "steps": [{{"id": "first", "tool": "shop__stock"}}]"#
        ))
    };
    check(&[
        (vars("vars.a"), "`vars.b[0]` refers to `vars`, but vars can only refer to `params` and `workflow`"),
        (
            vars("steps.first.output"),
            "`vars.b[0]` refers to `steps`, but vars can only refer to `params` and `workflow`",
        ),
        (
            vars("forEach.index"),
            "`vars.b[0]` refers to `forEach`, but vars can only refer to `params` and `workflow`",
        ),
    ]);
    assert!(load(&vars("params.a ~ workflow.id")).is_ok());
}

/// That step `first` lacks a default result, and for whom.
fn lacks(missing: &str, why: &str, place: &str) -> String {
    format!(
        "step `first`: `defaultResults` must have `{missing}`, since {why} and `{place}` of step `next` refers to that; or write `| default(…)` there"
    )
}

#[test]
fn a_step_that_may_be_skipped_has_defaults_for_what_others_refer_to() {
    let skipped = r#", "condition": "{{ params.shop == 'a' }}""#;
    let forgiven = r#", "onError": {"action": "continue"}"#;
    let partly = r#", "condition": "true", "defaultResults": {"n": 1, "deep": {"a": [0]}}"#;
    let call = |members: &str| format!(r#""tool": "shop__order", {members}"#);
    let plain = call(r#""arguments": {"x": "{{ steps.first.output.items }}"}"#);
    check(&[
        (beside(skipped, &plain), &lacks("items", "the step may be skipped", "arguments.x")),
        (beside(forgiven, &plain), &lacks("items", "the step's failure is forgiven", "arguments.x")),
        (
            beside(skipped, &call(r#""arguments": {"x": "{{ steps.first.output.items[0] | default(0) }}"}"#)),
            &lacks("items", "the step may be skipped", "arguments.x"),
        ),
        (beside(partly, &plain), &lacks("items", "the step may be skipped", "arguments.x")),
        (
            beside(partly, &call(r#""arguments": {"x": "{{ steps.first.output.deep.b }}"}"#)),
            &lacks("deep.b", "the step may be skipped", "arguments.x"),
        ),
        (
            beside(partly, &call(r#""arguments": {"x": "{{ steps.first.output.deep.a[1] }}"}"#)),
            &lacks("deep.a.1", "the step may be skipped", "arguments.x"),
        ),
    ]);
}

#[test]
fn defaults_are_demanded_wherever_a_step_is_referred_to() {
    let skipped = r#", "condition": "{{ params.shop == 'a' }}""#;
    let call = |members: &str| format!(r#""tool": "shop__order", {members}"#);
    check(&[
        (
            beside(
                skipped,
                &call(r#""arguments": {"x": [{"y": "{{ steps['first']['output']['items'] }}"}]}"#),
            ),
            &lacks("items", "the step may be skipped", "arguments.x[0].y"),
        ),
        (
            beside(skipped, &call(r#""condition": "{{ steps.first.output.items | length > 0 }}""#)),
            &lacks("items", "the step may be skipped", "condition"),
        ),
        (
            beside(
                skipped,
                r#""type": "forEach", "collection": "{{ steps.first.output.items }}", "step": {"tool": "t"}"#,
            ),
            &lacks("items", "the step may be skipped", "collection"),
        ),
        (
            beside(
                skipped,
                r#""type": "forEach", "collection": [1],
                   "step": {"tool": "t", "arguments": {"x": "{{ steps.first.output.items }}"}}"#,
            ),
            &lacks("items", "the step may be skipped", "step.arguments.x"),
        ),
        (
            beside(
                skipped,
                r#""type": "elicitation", "message": "{{ steps.first.output.items }}",
                   "schema": {"type": "object", "properties": {}}"#,
            ),
            &lacks("items", "the step may be skipped", "message"),
        ),
    ]);
}

#[test]
fn a_step_that_is_skipped_with_defaults_may_be_referred_to() {
    let first = r#", "condition": "true", "defaultResults": {"deep": {"a": [0]}}"#;
    for expression in [
        "steps.first.output",
        "steps.first.output.deep.a",
        "steps.first.output.deep.a[0]",
        "steps.first.output.deep.a[params.at]",
        "steps.first.output.items | default([])",
        "steps.first.output.items is defined",
        "steps.first.status",
    ] {
        let next = format!(r#""tool": "shop__order", "arguments": {{"x": "{{{{ {expression} }}}}"}}"#);
        let definition = beside(first, &next).replace(r#""shop": {"#, r#""at": {}, "shop": {"#);
        assert!(load(&definition).is_ok(), "{expression}");
    }
}

#[test]
fn an_item_that_may_be_skipped_has_defaults_as_well() {
    let each = |members: &str| {
        workflow(&format!(
            r#""steps": [
             {{"id": "all", "type": "forEach", "collection": [1], "step": {{"tool": "shop__order", {members}}}}},
             {{"id": "next", "tool": "t", "dependsOn": ["all"],
               "arguments": {{"x": "{{{{ steps.all.output.iterations[0].output.id }}}}"}}}}
           ]"#
        ))
    };
    check(&[
        (
            each(r#""condition": "{{ forEach.index > 0 }}""#),
            "step `all`: `step.defaultResults` must have `id`, since an item may be skipped and `arguments.x` of step `next` refers to that; or write `| default(…)` there",
        ),
        (
            each(r#""onError": {"action": "continue"}"#),
            "step `all`: `step.defaultResults` must have `id`, since an item's failure is forgiven and `arguments.x` of step `next` refers to that; or write `| default(…)` there",
        ),
    ]);
    assert!(load(&each(r#""onError": {"action": "continue"}, "defaultResults": {"id": 0}"#)).is_ok());
}

#[test]
fn the_output_needs_defaults_for_steps_that_may_not_run() {
    let output = |handler: &str, default: &str| {
        workflow(&format!(
            r#""steps": [
             {{"id": "ask", "type": "elicitation", "message": "Sure?",
               "schema": {{"type": "object", "properties": {{}}}}, "onDecline": {{"action": "{handler}"}}}},
             {{"id": "order", "tool": "shop__order", "dependsOn": ["ask"]}}
           ],
           "output": {{"properties": {{"id": {{"type": "string", "description": "d",
             "value": "{{{{ steps.order.output.id }}}}"{default}}}}}}}"#
        ))
    };
    check(&[(
        output("skip_remaining", ""),
        "step `order`: `defaultResults` must have `id`, since step `ask` may skip it and `output.properties.id.value` refers to that; or write `| default(…)` there",
    )]);
    assert!(load(&output("skip_remaining", r#", "default": "none""#)).is_ok());
    assert!(load(&output("abort", "")).is_ok());
}
