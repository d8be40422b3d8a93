use std::sync::Arc;

use gateway_domain::{DownstreamName, DownstreamState, DownstreamStatus, NAMESPACE_SEPARATOR, View};

use super::{
    availability::{Hidden, Outlook},
    offered::Offered,
};
use crate::{
    definition::{ErrorAction, OnError, nearest},
    plan::{Act, PlannedStep, Workflow},
    tools::{find, is_repeatable, split},
};

/// A workflow for one caller (C-W23).
#[derive(Debug, Clone)]
pub struct WorkflowStatus {
    /// Its name.
    pub name: Arc<str>,
    /// Why the caller is not shown it; `None`: it is.
    pub hidden: Option<Remark>,
    /// What the author may want to know (C-W13).
    pub remarks: Vec<Remark>,
}

/// One sentence about a workflow, and the step that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The step's id.
    pub step: Option<Arc<str>>,
    /// The sentence.
    pub text: String,
}

/// A workflow as a caller sees it.
pub(super) fn of(workflow: &Workflow, offered: &Offered, outlook: &Outlook<'_>) -> WorkflowStatus {
    let hidden = outlook.of(workflow).err().map(|hidden| {
        offered.warn(&workflow.definition().name, &hidden);
        told(&hidden, offered, outlook)
    });
    let remarks = workflow.steps.iter().flat_map(|step| remarks(workflow, step, outlook)).collect();
    WorkflowStatus { name: workflow.definition().name.clone(), hidden, remarks }
}

/// Why it is hidden, in a sentence. If tools of several steps are missing, it is about the first of them.
fn told(hidden: &Hidden, offered: &Offered, outlook: &Outlook<'_>) -> Remark {
    match hidden {
        Hidden::Missing(missing) => {
            let each = missing.iter().map(|(step, tool)| {
                format!("step `{step}` calls `{tool}`, but {}", why_missing(tool, offered, outlook))
            });
            let step = missing.first().map(|(step, _)| step.clone());
            Remark { step, text: each.collect::<Vec<_>>().join("; ") }
        }
        Hidden::Withheld => {
            Remark { step: None, text: "the rules do not allow the caller to call it".to_owned() }
        }
        Hidden::Contradiction(sentence) => Remark {
            step: None,
            text: format!(
                "its annotations say that it is safer than its tools are: {sentence}; leave those hints out"
            ),
        },
        Hidden::Conflict => Remark {
            step: None,
            text: "a tool that the caller is shown has its name, and keeps it; give the workflow another"
                .to_owned(),
        },
    }
}

fn why_missing(written: &str, offered: &Offered, outlook: &Outlook<'_>) -> String {
    if offered.definitions.contains(written) {
        return "that is a workflow, and workflows cannot call workflows; write its steps here instead"
            .to_owned();
    }
    let Some((name, _)) = split(written).or_else(|| written.split_once(NAMESPACE_SEPARATOR)) else {
        return "that names no tool; write `downstream__tool` or `downstream.tool`".to_owned();
    };
    let status = outlook.directory.downstreams().into_iter().find(|status| status.name.as_str() == name);
    match status {
        Some(DownstreamStatus { state: DownstreamState::Starting, .. }) => {
            format!("downstream `{name}` is still starting")
        }
        Some(DownstreamStatus { state: DownstreamState::Disabled, .. }) => {
            format!("downstream `{name}` is disabled")
        }
        None if !has_view(outlook, name) => {
            format!("there is no downstream `{name}`{}", meant(outlook, name))
        }
        _ => format!(
            "downstream `{name}` does not offer it to this caller; check its name, and `tools` of `{name}` (`deny`, \
             `allow`, `workflows`)"
        ),
    }
}

/// The downstream that may have been meant, as the end of a sentence.
fn meant(outlook: &Outlook<'_>, name: &str) -> String {
    let downstreams = outlook.directory.downstreams();
    let names: Vec<_> = downstreams.iter().map(|status| status.name.as_str()).collect();
    nearest(name, &names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

fn has_view(outlook: &Outlook<'_>, name: &str) -> bool {
    DownstreamName::parse(name).is_ok_and(|name| outlook.directory.has_view(&View::Downstream(name)))
}

/// What there is to say of a step whose tool is there.
fn remarks(workflow: &Workflow, step: &PlannedStep, outlook: &Outlook<'_>) -> Vec<Remark> {
    let (written, on_errors): (_, &[&OnError]) = match &step.act {
        Act::Call(call) => (&call.tool, &[&step.on_error]),
        Act::ForEach(each) => (&each.call.tool, &[&step.on_error, &each.on_error]),
        Act::Ask(_) => return Vec::new(),
    };
    let Some(found) = find(&outlook.tools(workflow), written) else { return Vec::new() };
    let mut texts = Vec::new();
    if on_errors.iter().any(|on_error| retries_in_doubt(on_error)) && !is_repeatable(&found.offered) {
        texts.push(format!(
            "`{written}` is declared neither read-only nor idempotent, so it is tried again only if a call certainly \
             did not run; set `retryUnsafe` if it may run twice"
        ));
    }
    if outlook.shown(&found.exposed).is_none() {
        texts.push(format!("`{written}` is kept for workflows: clients are not shown it"));
    }
    texts.into_iter().map(|text| Remark { step: Some(step.id.clone()), text }).collect()
}

fn retries_in_doubt(on_error: &OnError) -> bool {
    on_error.action == ErrorAction::Retry && !on_error.retry_unsafe
}
