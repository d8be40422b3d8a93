//! From a definition to a plan: what can be compiled is compiled, and every rule is looked at, so that all problems
//! are told at once.

mod bounds;
mod compile;
mod defaults;
mod findings;
mod graph;
mod head;
mod mention;
mod names;
mod on_error;
mod output;
mod question;
mod references;
mod step;

use std::sync::Arc;

use self::{compile::compiled, findings::Findings, graph::Graph, references::Known};
use super::Workflow;
use crate::definition::{DefinitionErrors, WorkflowDefinition};

/// Checks a definition and compiles it.
pub(super) fn compile(definition: WorkflowDefinition) -> Result<Workflow, DefinitionErrors> {
    let definition = Arc::new(definition);
    let steps = &definition.steps;
    let mut findings = Findings::default();
    head::check(&definition, &mut findings);
    if steps.len() > head::MAX_STEPS {
        // What follows compares steps with one another, which takes its time.
        return findings.unless_any(None);
    }
    let graph = Graph::of(steps);
    step::check(steps, &mut findings);
    graph.check(steps, &mut findings);
    let (workflow, mentions) = compiled(&definition, &graph, &mut findings);
    Known::of(&definition, &graph).check(&mentions, &mut findings);
    defaults::check(steps, &graph, &mentions, &mut findings);
    if let Some(output) = &definition.output {
        output::check(output, &mut findings);
    }
    findings.unless_any(workflow)
}
