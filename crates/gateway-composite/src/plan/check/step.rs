//! What a step may be (C-32 to C-35).

use std::{collections::HashMap, time::Duration};

use gateway_domain::JsonKind;

use super::{bounds, findings::Findings, names, on_error, question};
use crate::definition::{ErrorAction, ForEachStep, Place, Problem, Step, StepKind, shown};

/// How long an id may be: it stands in every result, record and log line.
const MAX_ID: usize = 64;

/// How long a question may be open (C-65).
const LONGEST_QUESTION: Duration = Duration::from_secs(10 * 60);

/// How many items of a loop may be worked on at once (C-61).
const MAX_PARALLEL: u32 = 50;

/// How many items a loop may have (C-60).
const MAX_ITERATIONS: u32 = 1000;

/// Looks at each step by itself.
pub(super) fn check(steps: &[Step], findings: &mut Findings<'_>) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        let place = Place::step(&step.id, at);
        let id = match seen.insert(&step.id, at) {
            Some(earlier) if !step.id.is_empty() => {
                Some(format!("is the id of step #{} as well; give each step its own", earlier + 1))
            }
            _ => id(&step.id),
        };
        let id = id.map(|message| place.member("id").problem(message));
        for problem in id.into_iter().chain(members(&place, step)) {
            findings.add(problem);
        }
    }
}

fn members(place: &Place, step: &Step) -> Vec<Problem> {
    let mut found = match &step.kind {
        StepKind::Tool(call) => tool(place, &call.tool).into_iter().collect(),
        StepKind::Elicitation(written) => question::check(place, written),
        StepKind::ForEach(written) => for_each(place, written),
    };
    found.extend(condition(place, step.condition.as_deref()));
    found.extend(match unrepeatable(&step.kind) {
        Some(why) if step.on_error.action == ErrorAction::Retry => {
            vec![place.member("onError").member("action").problem(why)]
        }
        _ => on_error::check(place, &step.on_error),
    });
    found.extend(timeout(place, step));
    found
}

/// Why a step of this kind is not tried again as a whole.
fn unrepeatable(kind: &StepKind) -> Option<&'static str> {
    match kind {
        StepKind::Tool(_) => None,
        StepKind::Elicitation(_) => Some(
            "is `retry`, but a question is not asked again; what a refusal does is said by `onDecline` and \
             `onCancel`",
        ),
        StepKind::ForEach(_) => Some(
            "is `retry`, but a loop is not run again; move it to `step.onError`, which counts for each item",
        ),
    }
}

fn id(id: &str) -> Option<String> {
    if id.is_empty() {
        return Some("is required; others refer to the step by it".to_owned());
    }
    if id.len() > MAX_ID {
        return Some(format!("has {} characters, but may have {MAX_ID}", id.chars().count()));
    }
    (!names::is_step_id(id)).then(|| {
        format!(
            "is `{}`, but must consist of letters, digits, `_` and `-`, and begin with a letter or `_`",
            shown(id)
        )
    })
}

fn tool(place: &Place, tool: &str) -> Option<Problem> {
    let place = place.member("tool");
    if tool.is_empty() {
        return Some(place.problem("is required; write it as `downstream__tool` or `downstream.tool`"));
    }
    (!names::is_tool_name(tool)).then(|| {
        place.problem(format!(
            "is `{}`, but must consist of letters, digits, `.`, `_` and `-`, and begin with a letter or a digit",
            shown(tool)
        ))
    })
}

/// A condition without any expression comes to the same always; it had better be an answer.
fn condition(place: &Place, condition: Option<&str>) -> Option<Problem> {
    let condition = condition?;
    let is_constant = !condition.contains("{{");
    let is_answer = matches!(condition, "true" | "True" | "TRUE" | "false" | "False" | "FALSE");
    (is_constant && !is_answer).then(|| {
        place
            .member("condition")
            .problem("has no expression and is neither true nor false; write `{{ … }}` around it")
    })
}

fn timeout(place: &Place, step: &Step) -> Option<Problem> {
    let place = place.member("timeout");
    let is_question = matches!(step.kind, StepKind::Elicitation(_));
    match step.timeout {
        Some(given) if is_question && given > LONGEST_QUESTION => Some(place.problem(format!(
            "is {}, but a question may be open for at most {}",
            humantime::format_duration(given),
            humantime::format_duration(LONGEST_QUESTION)
        ))),
        given => bounds::time(&place, given),
    }
}

fn for_each(place: &Place, written: &ForEachStep) -> Vec<Problem> {
    let inner = place.member("step");
    let problems = [
        collection(written).map(|message| place.member("collection").problem(message)),
        item_var(&written.item_var).map(|message| place.member("itemVar").problem(message)),
        bounds::count(&place.member("maxParallel"), written.max_parallel.unwrap_or(0), MAX_PARALLEL),
        bounds::count(&place.member("maxIterations"), written.max_iterations.unwrap_or(0), MAX_ITERATIONS),
        tool(&inner, &written.step.call.tool),
        condition(&inner, written.step.condition.as_deref()),
    ];
    let mut problems: Vec<_> = problems.into_iter().flatten().collect();
    problems.extend(on_error::check(&inner, &written.step.on_error));
    problems.extend(bounds::time(&inner.member("timeout"), written.step.timeout));
    problems
}

fn collection(written: &ForEachStep) -> Option<&'static str> {
    let collection = &written.collection;
    match collection.kind() {
        JsonKind::String if collection.to_text().is_some_and(|text| text.trim().is_empty()) => {
            Some("is required; write a template that comes to a list")
        }
        JsonKind::String | JsonKind::Array => None,
        _ => Some("must be a template that comes to a list, or a list"),
    }
}

fn item_var(name: &str) -> Option<String> {
    if name == "index" {
        return Some("must not be `index`, which is the number of the item".to_owned());
    }
    (!names::is_identifier(name)).then(|| {
        format!(
            "is `{}`, but must consist of letters, digits and `_`, and not begin with a digit",
            shown(name)
        )
    })
}
