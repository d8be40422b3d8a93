mod bounds;
mod documented;
mod laws;
mod references;
mod tree;
mod values;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use gateway_domain::{RawJson, RawObject};

use super::{Context, ForEachScope, Scope, StepScope, Template, WorkflowScope};
use crate::{
    error::TemplateError,
    state::{RunStatus, StepStatus},
};

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

fn step(status: StepStatus, output: &str) -> StepScope {
    StepScope { status, output: object(output), content: None, error: None }
}

/// A scope with these parameters and the steps that the examples of `docs/workflow-expressions.md` speak of.
fn scope(params: &str) -> Scope {
    let fetch = StepScope {
        content: Some(json(r#"[{"type":"text","text":"hi"}]"#)),
        ..step(
            StepStatus::Completed,
            r#"{"items":[{"id":1,"name":"ant","on":true},{"id":2,"name":"bee","on":false}],"total":2,"text":"{\"ok\": true}"}"#,
        )
    };
    let lookup = StepScope { error: Some("no such host".to_owned()), ..step(StepStatus::Failed, "{}") };
    let steps = BTreeMap::from([("fetch".into(), Arc::new(fetch)), ("look-up".into(), Arc::new(lookup))]);
    Scope {
        params: object(params),
        vars: object(r#"{"base":"north"}"#),
        steps: Arc::new(steps),
        workflow: WorkflowScope {
            id: "6f1c".into(),
            elapsed: Duration::from_millis(1500),
            step_count: 2,
            status: RunStatus::Running,
            start_time: "2026-01-02T03:04:05Z".into(),
        },
    }
}

/// The same in a loop.
fn context(params: &str) -> Context {
    Context::new(&scope(params)).with_item(&item())
}

fn item() -> ForEachScope {
    ForEachScope { item_var: "item".into(), item: json(r#"{"id": 7}"#), index: 3 }
}

fn value(template: &str, params: &str) -> Result<RawJson, TemplateError> {
    Template::compile(template).unwrap_or_else(|error| panic!("{template}: {error}")).value(&context(params))
}

#[track_caller]
fn check(template: &str, params: &str, expected: &str) {
    match value(template, params) {
        Ok(value) => assert_eq!(value.as_str(), expected, "for {template} with {params}"),
        Err(error) => panic!("{template} with {params}: {error}"),
    }
}

#[track_caller]
fn check_error(template: &str, params: &str, expected: &str) {
    let found = Template::compile(template).and_then(|template| template.value(&context(params)));
    match found {
        Ok(value) => panic!("{template} with {params} came to {value}"),
        Err(error) => assert!(error.reason.contains(expected), "{template} with {params}: {error}"),
    }
}
