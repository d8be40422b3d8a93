//! The rules that a definition has to keep (C-29 to C-41): each row breaks exactly one of them.

mod form;
mod head;
mod laws;
mod outputs;
mod questions;
mod references;
mod steps;
mod valid;

use gateway_composite::{DefinitionErrors, Workflow, WorkflowDefinition};
use gateway_domain::RawObject;

fn load(text: &str) -> Result<Workflow, DefinitionErrors> {
    let definition = RawObject::parse(text.to_owned()).expect("an object");
    Workflow::compile(WorkflowDefinition::read(&definition, None)?)
}

/// Says of each definition exactly this, and nothing else.
#[track_caller]
fn check(rows: &[(String, &str)]) {
    for (definition, said) in rows {
        match load(definition) {
            Ok(_) => panic!("nothing is said of {definition}"),
            Err(errors) => assert_eq!(errors.to_string(), *said, "of {definition}"),
        }
    }
}

/// A workflow of these steps.
fn steps(steps: &str) -> String {
    workflow(&format!(r#""steps": [{steps}]"#))
}

/// A workflow of one step, which calls a tool and has these members, too.
fn step(members: &str) -> String {
    steps(&format!(r#"{{"id": "a", "tool": "shop__stock", {members}}}"#))
}

/// A workflow of one step that has these members.
fn bare_step(members: &str) -> String {
    steps(&format!(r#"{{"id": "a", {members}}}"#))
}

/// A workflow with these members beside its name and its description.
fn workflow(members: &str) -> String {
    format!(r#"{{"name": "restock", "description": "Orders what is missing.", {members}}}"#)
}

/// A workflow with these members and one step.
fn beside_a_step(members: &str) -> String {
    workflow(&format!(r#""steps": [{{"id": "a", "tool": "shop__stock"}}], {members}"#))
}

#[test]
fn a_problem_says_where_it_is_what_it_is_and_why() {
    let errors = load(&step(r#""arguments": {"query": ["", "{{ 1 + }}"]}"#)).expect_err("broken");
    let [error] = &*errors.0 else { panic!("{errors}") };
    assert_eq!(error.step.as_deref(), Some("a"));
    assert_eq!(error.field, "arguments.query[1]");
    assert_eq!(error.message, "is not a template that can be used");
    assert!(error.cause.as_deref().is_some_and(|cause| cause.starts_with("`1 +` is no expression")));
}

#[test]
fn several_problems_are_reported_together_in_the_order_of_the_file() {
    let definition = r#"{"name": "Restock", "steps": [
        {"id": "a", "tool": "no tool", "onError": {"action": "retry"}},
        {"id": "b", "tool": "shop__order", "dependsOn": ["x"], "arguments": {"n": "{{ steps.a.output.n }}"}}
    ], "output": {"properties": {}, "required": ["n"]}}"#;
    let errors = load(definition).expect_err("broken");
    let said: Vec<_> = errors.0.iter().map(ToString::to_string).collect();
    assert_eq!(said, SEVERAL);
}

#[test]
fn several_problems_of_form_are_reported_together_in_the_order_of_the_file() {
    let definition = r#"{"timeout": 5, "steps": [
        {"timeout": "x", "tool": 1, "id": "a"},
        {"tool": "t", "type": "loop"}
    ], "descripton": "d", "name": true}"#;
    let errors = load(definition).expect_err("broken");
    let fields: Vec<_> = errors.0.iter().map(|error| (error.step.as_deref(), &*error.field)).collect();
    let expected = [
        (None, "timeout"),
        (Some("a"), "timeout"),
        (Some("a"), "tool"),
        (Some("#2"), "type"),
        (None, "descripton"),
        (None, "name"),
    ];
    assert_eq!(fields, expected);
}

const SEVERAL: &[&str] = &[
    "`name` is `Restock`, but must consist of `a` to `z`, `0` to `9`, `_` and `-`, and neither begin nor end with \
     the latter two",
    "`description` is required; say what the workflow does, as models will read it",
    "step `a`: `tool` is `no tool`, but must consist of letters, digits, `.`, `_` and `-`, and begin with a letter or \
     a digit",
    "step `a`: `onError.retryCount` must be at least 1 with `action: retry`",
    "step `b`: `dependsOn[0]` names step `x`, which there is none of",
    "step `b`: `arguments.n` refers to step `a`, which need not be done before; add `a` to `dependsOn`",
    "`output.properties` must have at least one property",
    "`output.required[0]` names `n`, which is none of the properties",
];
