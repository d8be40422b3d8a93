//! The rules that a definition has to keep (C-29 to C-41): each row breaks exactly one of them.

mod content;
mod form;
mod head;
mod laws;
mod outputs;
mod questions;
mod references;
mod steps;
mod together;
mod valid;

use gateway_composite::{DefinitionErrors, Workflow};
use gateway_domain::RawObject;

fn load(text: &str) -> Result<Workflow, DefinitionErrors> {
    let definition = RawObject::parse(text.to_owned()).expect("an object");
    Workflow::load(&definition, None)
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
    assert_eq!(errors.iter().count(), 1);
    let error = errors.iter().next().expect("one");
    assert_eq!(error.step.as_deref(), Some("a"));
    assert_eq!(error.field, "arguments.query[1]");
    assert_eq!(error.message, "is not a template that can be used");
    assert!(error.cause.as_deref().is_some_and(|cause| cause.starts_with("`1 +` is no expression")));
}
