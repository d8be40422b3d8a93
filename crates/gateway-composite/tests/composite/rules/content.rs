use super::{check, load, workflow};

/// A workflow that asks `q` and then does this.
fn asks(handlers: &str, next: &str) -> String {
    workflow(&format!(
        r#""steps": [
          {{"id": "q", "type": "elicitation", "message": "Which?", {handlers}
            "schema": {{"type": "object", "required": ["nm"], "properties": {{
              "nm": {{"type": "string"}}, "no": {{"type": "string"}}, "de": {{"type": "string", "default": "d"}}}}}}}},
          {{"id": "n", "dependsOn": ["q"], {next}}}]"#
    ))
}

fn argument(expression: &str) -> String {
    format!(r#""tool": "t", "arguments": {{"x": "{{{{ {expression} }}}}"}}"#)
}

const DECLINED: &str = r#""onDecline": "continue","#;
const DISMISSED: &str = r#""onCancel": "continue","#;
const SKIPPED: &str = r#""onDecline": "skip_remaining","#;

#[test]
fn what_is_given_may_be_missing_if_a_question_is_declined_and_the_workflow_goes_on() {
    let said = "step `n`: `arguments.x` refers to `steps.q.output.content.nm`, but question `q` may be declined or \
                dismissed, and then has no `content`; write `(steps.q.output.content | default({})).nm | default(…)`, \
                or give this step the condition `{{ steps.q.output.action == 'accept' }}`";
    let late = said.replace(
        "; write",
        "; the `default` behind `nm` does not help, since nothing can be looked up in what is missing; write",
    );
    let whole = "step `n`: `arguments.x` refers to `steps.q.output.content`, but question `q` may be declined or \
                 dismissed, and then has no `content`; write `steps.q.output.content | default({})`, or give this \
                 step the condition `{{ steps.q.output.action == 'accept' }}`";
    check(&[
        (asks(DECLINED, &argument("steps.q.output.content.nm")), said),
        (asks(DISMISSED, &argument("steps['q'].output.content.nm")), said),
        (asks(DECLINED, &argument("steps.q.output.content.nm | default('x')")), &late),
        (asks(DECLINED, &argument("steps.q.output.content")), whole),
        (asks(DECLINED, &argument("steps.q.status == 'completed' and steps.q.output.content.nm")), said),
    ]);
}

#[test]
fn the_output_needs_what_is_given_also_if_the_rest_is_skipped() {
    let output = |default: &str| {
        let output = format!(
            r#""output": {{"properties": {{"x": {{"type": "string", "description": "d"{default},
               "value": "{{{{ steps.q.output.content.nm }}}}"}}}}}}"#
        );
        asks(SKIPPED, r#""tool": "t""#).replacen(r#""steps""#, &format!(r#"{output}, "steps""#), 1)
    };
    check(&[(
        output(""),
        "`output.properties.x.value` refers to `steps.q.output.content.nm`, but question `q` may be declined or \
         dismissed, and then has no `content`; write `(steps.q.output.content | default({})).nm | default(…)`, or \
         give the property a `default`",
    )]);
    assert!(load(&output(r#", "default": "none""#)).is_ok());
}

#[test]
fn a_field_that_the_form_does_not_insist_on_needs_a_default() {
    check(&[
        (
            asks("", &argument("steps.q.output.content.no")),
            "step `n`: `arguments.x` refers to `steps.q.output.content.no`, which the user may leave out; write \
             `| default(…)` behind it, or give the field a `default` in the form or put it in `required`",
        ),
        (
            asks("", &argument("steps.q.output.content.nmm")),
            "step `n`: `arguments.x` refers to `steps.q.output.content.nmm`, but the form has no field `nmm`; did \
             you mean `nm`?",
        ),
    ]);
}

#[test]
fn what_is_tested_or_has_a_default_passes() {
    let on_accept =
        |next: &str| format!(r#""condition": "{{{{ steps.q.output.action == 'accept' }}}}", {next}"#);
    let each = r#""type": "forEach", "collection": [1], "step": {"tool": "t",
        "condition": "{{ steps.q.output.action == 'accept' }}", "arguments": {"x": "{{ steps.q.output.content.nm }}"}}"#;
    for definition in [
        asks("", &argument("steps.q.output.content.nm ~ steps.q.output.content.de")),
        asks("", &argument("steps.q.output.content.no | default('x')")),
        asks("", &argument("steps.q.output.content.no is defined and steps.q.output.content.no")),
        asks(SKIPPED, &argument("steps.q.output.content.nm")),
        asks(DECLINED, &argument("(steps.q.output.content | default({})).nm | default('x')")),
        asks(DECLINED, &argument("steps.q.output.action == 'accept' and steps.q.output.content.nm")),
        asks(DECLINED, &argument("steps.q.output.content.nm if steps.q.output.content is defined else 'x'")),
        asks(DECLINED, &argument("'x' if steps.q.output.action != 'accept' else steps.q.output.content.nm")),
        asks(DECLINED, &on_accept(&argument("steps.q.output.content.nm"))),
        asks(DECLINED, each),
    ] {
        if let Err(errors) = load(&definition) {
            panic!("{errors} of {definition}");
        }
    }
}
