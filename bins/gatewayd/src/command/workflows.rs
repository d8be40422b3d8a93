//! What commands say of workflows: which are offered, and of the others where to look and why.

use std::{collections::BTreeMap, sync::Arc};

use gateway_composite::{Definitions, Remark, WorkflowStatus};
use gateway_domain::{Caller, Exchange, RawJson, printable};

use crate::{
    gateway::Gateway,
    workflows::{Fault, Workflows},
};

/// All workflows, as a client without a key sees them, in the order of their names.
pub(super) struct Report(Vec<Row>);

struct Row {
    name: Arc<str>,
    place: String,
    state: State,
    /// How many steps it has, and the tools that they name, once each.
    steps: usize,
    tools: Vec<Arc<str>>,
}

enum State {
    Ready(Vec<Remark>),
    /// It is as its author meant it, and cannot be offered here and now.
    Hidden(String, Vec<Remark>),
    Broken(Vec<Fault>),
}

impl Report {
    /// As far as lists have been read: nothing is waited for.
    pub(super) fn of(gateway: &Gateway, exchange: &Exchange) -> Self {
        let Workflows { definitions, broken, .. } = &gateway.workflows;
        let statuses = gateway.offered.status(&Caller::anonymous(), exchange);
        let mut rows = BTreeMap::new();
        for WorkflowStatus { name, hidden, remarks } in statuses {
            let state = match hidden {
                None => State::Ready(remarks),
                Some(reason) => State::Hidden(reason.text, remarks),
            };
            rows.insert(name, state);
        }
        rows.extend(broken.iter().map(|(name, faults)| (name.clone(), State::Broken(faults.clone()))));
        let row = |(name, state): (Arc<str>, State)| {
            let (steps, tools) = contents(definitions, &name);
            Row { place: gateway.workflows.place(&name).to_owned(), name, state, steps, tools }
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

    /// What is wrong with each that is not offered, and where to look.
    pub(super) fn sentences(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(Row::sentence)
    }
}

fn contents(definitions: &Definitions, name: &str) -> (usize, Vec<Arc<str>>) {
    let Some(workflow) = definitions.get(name) else { return (0, Vec::new()) };
    let mut tools = Vec::new();
    for (_, tool) in workflow.tools() {
        if !tools.contains(tool) {
            tools.push(tool.clone());
        }
    }
    (workflow.definition().steps.len(), tools)
}

impl Row {
    fn word(&self) -> &'static str {
        match &self.state {
            State::Ready(_) => "ready",
            State::Hidden(..) => "hidden",
            State::Broken(_) => "broken",
        }
    }

    fn remarks(&self) -> &[Remark] {
        match &self.state {
            State::Ready(remarks) | State::Hidden(_, remarks) => remarks,
            State::Broken(_) => &[],
        }
    }

    fn line(&self) -> String {
        let mut line = format!("{}\t{}", shown(&self.name), self.word());
        match self.steps {
            0 => {}
            1 => line += "\t1 step",
            steps => line += &format!("\t{steps} steps"),
        }
        line += &format!("\t{}", shown(&self.place));
        if let State::Hidden(reason, _) = &self.state {
            line += &format!("\t{}", shown(reason));
        }
        if let State::Broken(faults) = &self.state {
            line.extend(faults.iter().map(|fault| format!("\n\t{fault}")));
        }
        line.extend(self.remarks().iter().map(|remark| format!("\n\tnote: {}", told(remark))));
        line
    }

    fn json(&self) -> String {
        let (text, name, file) = (RawJson::string, RawJson::string(&self.name), RawJson::string(&self.place));
        let (reason, faults): (_, &[Fault]) = match &self.state {
            State::Ready(_) => (None, &[]),
            State::Hidden(reason, _) => (Some(reason.clone()), &[]),
            State::Broken(faults) => (self.sentence(), faults),
        };
        let reason = reason.map_or_else(|| "null".to_owned(), |reason| text(&reason).to_string());
        let optional =
            |value: Option<&str>| value.map_or_else(|| "null".to_owned(), |value| text(value).to_string());
        let problem = |Fault { step, field, message }: &Fault| {
            let (step, field) = (optional(step.as_deref()), optional(field.as_deref()));
            format!(r#"{{"step":{step},"field":{field},"message":{}}}"#, text(message))
        };
        let remark = |Remark { step, text: said }: &Remark| {
            format!(r#"{{"step":{},"text":{}}}"#, optional(step.as_deref()), text(said))
        };
        let tools = RawJson::array(self.tools.iter().map(|tool| text(tool)));
        let problems = faults.iter().map(problem).collect::<Vec<_>>().join(",");
        let remarks = self.remarks().iter().map(remark).collect::<Vec<_>>().join(",");
        let (state, steps) = (self.word(), self.steps);
        format!(
            concat!(
                r#"{{"name":{},"file":{},"state":"{}","steps":{},"tools":{},"#,
                r#""problems":[{}],"reason":{},"remarks":[{}]}}"#
            ),
            name, file, state, steps, tools, problems, reason, remarks
        )
    }

    fn sentence(&self) -> Option<String> {
        let (name, place) = (shown(&self.name), shown(&self.place));
        match &self.state {
            State::Ready(_) => None,
            State::Hidden(reason, _) => Some(format!("workflow `{name}` is hidden: {}", shown(reason))),
            State::Broken(faults) => {
                let first = faults.first().map(ToString::to_string).unwrap_or_default();
                let more = match faults.len() {
                    0 | 1 => String::new(),
                    count => format!(" (and {} more)", count - 1),
                };
                Some(format!("workflow `{name}` is broken: {place}: {first}{more}"))
            }
        }
    }
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
