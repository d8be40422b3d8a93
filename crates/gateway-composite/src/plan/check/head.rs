//! What stands above the steps (C-29 to C-31).

use gateway_domain::RawObject;

use super::{bounds, findings::Findings, names::is_workflow_name};
use crate::definition::{Place, Problem, WorkflowDefinition, shown};

/// How many steps there may be (C-29).
pub(super) const MAX_STEPS: usize = 100;

/// How long a name may be (C-30).
const MAX_NAME: usize = 64;

pub(super) fn check(definition: &WorkflowDefinition, findings: &mut Findings<'_>) {
    let top = Place::default();
    let problems = [
        name(&definition.name).map(|message| top.member("name").problem(message)),
        description(&definition.description).map(|message| top.member("description").problem(message)),
        definition.parameters.as_ref().and_then(|schema| parameters(&top.member("parameters"), schema)),
        steps(definition.steps.len()).map(|message| top.member("steps").problem(message)),
        bounds::time(&top.member("timeout"), definition.timeout),
    ];
    for problem in problems.into_iter().flatten() {
        findings.add(problem);
    }
}

fn name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is required; clients call the tool by it".to_owned());
    }
    let shown = shown(name);
    if name.len() > MAX_NAME {
        Some(format!("has {} characters, but may have {MAX_NAME}", name.chars().count()))
    } else if !is_workflow_name(name) {
        Some(format!(
            "is `{shown}`, but must consist of `a` to `z`, `0` to `9`, `_` and `-`, and neither begin nor end with \
             the latter two"
        ))
    } else if name.contains(gateway_domain::NAMESPACE_SEPARATOR) {
        Some(format!("is `{shown}`; `__` separates downstreams from their tools and must not stand in it"))
    } else {
        None
    }
}

fn description(text: &str) -> Option<String> {
    text.trim()
        .is_empty()
        .then(|| "is required; say what the workflow does, as models will read it".to_owned())
}

fn parameters(place: &Place, schema: &RawObject) -> Option<Problem> {
    let is_object = schema.get("type").is_some_and(|kind| kind.to_text().as_deref() == Some("object"));
    (!is_object).then(|| place.member("type").problem("must be the string `object`"))
}

fn steps(count: usize) -> Option<String> {
    match count {
        0 => Some("must have at least one step".to_owned()),
        1..=MAX_STEPS => None,
        _ => Some(format!(
            "has {count} steps, but may have {MAX_STEPS}; let a loop do what is done again and again"
        )),
    }
}
