//! What can be compiled of a definition.

mod compiler;
mod output;
mod steps;

use std::{sync::Arc, time::Duration};

use gateway_domain::RawObject;

use self::{compiler::Compiler, output::output, steps::steps};
use super::{
    findings::{Findings, Part},
    graph::Graph,
    mention::Mention,
};
use crate::{
    definition::{Place, WorkflowDefinition},
    plan::Workflow,
    schema::Formats,
    template::Tree,
};

/// How long a workflow may take, unless it says so itself (C-43).
const WORKFLOW_TIME: Duration = Duration::from_secs(30 * 60);

/// The whole workflow, or `None` if something is wrong; and everything that its templates refer to.
pub(super) fn compiled(
    definition: &Arc<WorkflowDefinition>,
    graph: &Graph,
    findings: &mut Findings<'_>,
) -> (Option<Workflow>, Vec<Mention>) {
    let mut compiler =
        Compiler { part: Part::Head, item: None, findings, mentions: Vec::new(), expressions: 0 };
    let workflow = workflow(&mut compiler, definition, graph);
    (workflow, compiler.mentions)
}

fn workflow(
    compiler: &mut Compiler<'_, '_>,
    definition: &Arc<WorkflowDefinition>,
    graph: &Graph,
) -> Option<Workflow> {
    let place = Place::default().member("parameters");
    let parameters = compiler.schema(&place, definition.parameters.as_ref(), Formats::Noted);
    let vars = vars(compiler, definition.vars.as_ref());
    let steps = steps(compiler, &definition.steps, graph);
    compiler.part = Part::Output;
    let output = definition.output.as_ref().map(|written| output(compiler, written));
    Some(Workflow {
        definition: definition.clone(),
        parameters: parameters?,
        vars: vars?,
        steps: steps?,
        output: output.map_or(Some(None), |output| output.map(Some))?,
        timeout: time(definition.timeout).unwrap_or(WORKFLOW_TIME),
    })
}

fn vars(compiler: &mut Compiler<'_, '_>, written: Option<&RawObject>) -> Option<Vec<(Arc<str>, Tree)>> {
    let place = Place::default().member("vars");
    let vars: Vec<_> = written
        .iter()
        .flat_map(|vars| vars.iter())
        .map(|(name, value)| Some((Arc::from(name.as_ref()), compiler.tree(&place.member(&name), &value)?)))
        .collect();
    vars.into_iter().collect()
}

/// A time that is given; none at all is the same as not given.
fn time(given: Option<Duration>) -> Option<Duration> {
    given.filter(|time| !time.is_zero())
}
