//! What commands say of workflows: which are offered, and of the others where to look and why.

use std::{collections::BTreeMap, sync::Arc};

use gateway_catalog::LiveCatalog;
use gateway_composite::{Remark, RoutingTable as _, SessionTools, Workflow, WorkflowStatus};
use gateway_domain::{
    Caller, Directory as _, DownstreamName, DownstreamState, DownstreamStatus, NAMESPACE_SEPARATOR, RawJson,
    SessionKey, printable,
};

use crate::{
    gateway::Gateway,
    workflows::{Fault, Place, Workflows},
};

/// All workflows, as somebody sees them, in the order of their names.
pub(super) struct Report(Vec<Row>);

struct Row {
    name: Arc<str>,
    place: Place,
    state: State,
    /// `None` of one that is broken.
    contents: Option<Contents>,
}

struct Contents {
    /// How many steps it has.
    steps: usize,
    /// What they name, once each.
    tools: Vec<Arc<str>>,
}

enum State {
    Ready(Vec<Remark>),
    /// It is as its author meant it, and cannot be offered here and now.
    Hidden {
        reason: Remark,
        /// Whether nothing keeps it from being offered but downstreams that are switched off.
        is_switched_off: bool,
        remarks: Vec<Remark>,
    },
    Broken(Vec<Fault>),
}

impl Report {
    /// As far as lists have been read: nothing is waited for.
    pub(super) fn of(gateway: &Gateway, caller: &Caller) -> Self {
        let Workflows { definitions, broken, .. } = &gateway.workflows;
        let exchange = super::call::exchange(caller);
        let statuses = gateway.offered.status(caller, &exchange);
        let switched_off = SwitchedOff::of(gateway, caller, exchange.session);
        let mut rows = BTreeMap::new();
        for WorkflowStatus { name, hidden, remarks } in statuses {
            let workflow = definitions.get(&name);
            let state = match hidden {
                None => State::Ready(remarks),
                Some(reason) => {
                    // What is no step's is no missing tool either.
                    let is_switched_off = reason.step.is_some()
                        && workflow.is_some_and(|workflow| switched_off.all_of(workflow));
                    State::Hidden { reason, is_switched_off, remarks }
                }
            };
            rows.insert(name, state);
        }
        rows.extend(broken.iter().map(|(name, faults)| (name.clone(), State::Broken(faults.clone()))));
        let row = |(name, state): (Arc<str>, State)| {
            let contents = definitions.get(&name).map(|workflow| Contents::of(workflow));
            Row { place: gateway.workflows.place(&name), name, state, contents }
        };
        Self(rows.into_iter().map(row).collect())
    }

    /// A line for each, with what is to be said of it indented below.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(Row::line)
    }

    /// The array `workflows`.
    pub(super) fn json(&self) -> String {
        let rows: Vec<_> = self.0.iter().map(Row::json).collect();
        format!("[{}]", rows.join(","))
    }

    /// What is wrong with one, if there is one of this name that is not offered.
    pub(super) fn sentence(&self, name: &str) -> Option<String> {
        self.0.iter().find(|row| *row.name == *name)?.sentence()
    }

    /// What is wrong with each that is not offered, and where to look. That somebody has switched off what it needs is
    /// not wrong.
    pub(super) fn sentences(&self) -> impl Iterator<Item = String> {
        let is_wrong = |row: &&Row| !matches!(row.state, State::Hidden { is_switched_off: true, .. });
        self.0.iter().filter(is_wrong).filter_map(Row::sentence)
    }
}

/// The downstreams that are not in use because somebody wants it so, beside the tools that there are.
struct SwitchedOff<'a> {
    names: Vec<DownstreamName>,
    catalog: &'a LiveCatalog,
    caller: &'a Caller,
    session: SessionKey,
}

impl<'a> SwitchedOff<'a> {
    fn of(gateway: &'a Gateway, caller: &'a Caller, session: SessionKey) -> Self {
        let disabled =
            |status: DownstreamStatus| (status.state == DownstreamState::Disabled).then_some(status.name);
        let names = gateway.catalog.downstreams().into_iter().filter_map(disabled).collect();
        Self { names, catalog: &gateway.catalog, caller, session }
    }

    /// Whether all tools that a workflow lacks are theirs.
    fn all_of(&self, workflow: &Workflow) -> bool {
        let (directory, name) = (Arc::new(self.catalog.clone()), &workflow.definition().name);
        let tools =
            SessionTools::new(directory, self.caller.clone(), self.session.clone()).for_workflow(name);
        workflow.tools().all(|(_, tool)| self.has(tool) || is_there(&tools, tool))
    }

    fn has(&self, tool: &str) -> bool {
        let mut rests = self.names.iter().filter_map(|name| tool.strip_prefix(name.as_str()));
        rests.any(|rest| rest.starts_with('.') || rest.starts_with(NAMESPACE_SEPARATOR))
    }
}

fn is_there(tools: &SessionTools, tool: &str) -> bool {
    let dotted = || tool.split_once('.').and_then(|(name, tool)| tools.of(name, tool));
    tools.exact(tool).or_else(dotted).is_some()
}

impl Contents {
    fn of(workflow: &Workflow) -> Self {
        let mut tools = Vec::new();
        for (_, tool) in workflow.tools() {
            if !tools.contains(tool) {
                tools.push(tool.clone());
            }
        }
        Self { steps: workflow.definition().steps.len(), tools }
    }
}

impl Row {
    fn word(&self) -> &'static str {
        match &self.state {
            State::Ready(_) => "ready",
            State::Hidden { .. } => "hidden",
            State::Broken(_) => "broken",
        }
    }

    fn remarks(&self) -> &[Remark] {
        match &self.state {
            State::Ready(remarks) | State::Hidden { remarks, .. } => remarks,
            State::Broken(_) => &[],
        }
    }

    fn line(&self) -> String {
        let mut line = format!("{}\t{}", shown(&self.name), self.word());
        match self.contents.as_ref().map(|contents| contents.steps) {
            None => {}
            Some(1) => line += "\t1 step",
            Some(steps) => line += &format!("\t{steps} steps"),
        }
        line += &format!("\t{}", shown(&self.place.shown));
        if let State::Hidden { reason, .. } = &self.state {
            line += &format!("\t{}", shown(&reason.text));
        }
        if let State::Broken(faults) = &self.state {
            line.extend(faults.iter().map(|fault| format!("\n\t{fault}")));
        }
        line.extend(self.remarks().iter().map(|remark| format!("\n\tnote: {}", told(remark))));
        line
    }

    fn json(&self) -> String {
        let remark = |Remark { step, text: said }: &Remark| {
            format!(r#"{{"step":{},"text":{}}}"#, optional(step.as_deref()), text(said))
        };
        let problem = |Fault { step, field, message }: &Fault| {
            let (step, field) = (optional(step.as_deref()), optional(field.as_deref()));
            format!(r#"{{"step":{step},"field":{field},"message":{}}}"#, text(message))
        };
        let contents = self.contents.as_ref();
        let steps = contents.map_or_else(null, |contents| contents.steps.to_string());
        let tools = contents.map(|contents| RawJson::array(contents.tools.iter().map(|tool| text(tool))));
        let tools = tools.map_or_else(null, |tools| tools.to_string());
        let (file, place) = (optional(self.place.file.as_deref()), text(&self.place.shown));
        let problems = self.problems().iter().map(problem).collect::<Vec<_>>().join(",");
        let remarks = self.remarks().iter().map(remark).collect::<Vec<_>>().join(",");
        let (name, state, reason) = (text(&self.name), self.word(), optional(self.reason().as_deref()));
        format!(
            concat!(
                r#"{{"name":{},"file":{},"place":{},"state":"{}","steps":{},"tools":{},"#,
                r#""problems":[{}],"reason":{},"remarks":[{}]}}"#
            ),
            name, file, place, state, steps, tools, problems, reason, remarks
        )
    }

    /// All that keeps it from being offered.
    fn problems(&self) -> Vec<Fault> {
        match &self.state {
            State::Ready(_) => Vec::new(),
            State::Hidden { reason: Remark { step, text }, .. } => {
                vec![Fault { step: step.as_deref().map(str::to_owned), field: None, message: text.clone() }]
            }
            State::Broken(faults) => faults.clone(),
        }
    }

    /// The same in one text.
    fn reason(&self) -> Option<String> {
        match &self.state {
            State::Ready(_) => None,
            State::Hidden { reason, .. } => Some(shown(&reason.text)),
            State::Broken(faults) => {
                let first = faults.first().map(ToString::to_string).unwrap_or_default();
                Some(match faults.len() {
                    0 | 1 => first,
                    count => format!("{first} (and {} more)", count - 1),
                })
            }
        }
    }

    fn sentence(&self) -> Option<String> {
        let (name, reason) = (shown(&self.name), self.reason()?);
        Some(match &self.state {
            State::Broken(_) => {
                format!("workflow `{name}` is broken: {}: {reason}", shown(&self.place.shown))
            }
            State::Ready(_) | State::Hidden { .. } => {
                format!("workflow `{name}` is {}: {reason}", self.word())
            }
        })
    }
}

fn text(text: &str) -> RawJson {
    RawJson::string(text)
}

fn optional(value: Option<&str>) -> String {
    value.map_or_else(null, |value| text(value).to_string())
}

fn null() -> String {
    "null".to_owned()
}

fn told(remark: &Remark) -> String {
    match &remark.step {
        Some(step) => format!("step `{}`: {}", shown(step), shown(&remark.text)),
        None => shown(&remark.text),
    }
}

/// Definitions, and what downstreams call their tools, may say anything.
fn shown(text: &str) -> String {
    printable(text, 500)
}
