//! From a definition to a plan: what can be compiled is compiled, and every rule is looked at, so that all problems
//! are told at once.

mod bounds;
mod compile;
mod content;
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

use gateway_domain::RawObject;

use self::{compile::compiled, findings::Findings, graph::Graph, head::MAX_STEPS, references::Known};
use super::Workflow;
use crate::definition::{DefinitionErrors, Draft, Flaws, Place, Problem, WorkflowDefinition, in_file_order};

/// Reads a definition, checks it and compiles it.
pub(super) fn load(definition: &RawObject, name: Option<&str>) -> Result<Workflow, DefinitionErrors> {
    let Draft { value, flaws } = WorkflowDefinition::draft(definition, name);
    let (workflow, broken) = judged(value, &flaws);
    let problems = flaws.problems.into_iter().chain(broken).collect();
    unless_any(workflow, in_file_order(definition.raw(), 0, problems))
}

/// Checks a definition and compiles it.
pub(super) fn compile(definition: WorkflowDefinition) -> Result<Workflow, DefinitionErrors> {
    let (workflow, mut problems) = judged(definition, &Flaws::default());
    problems.sort_by_key(Problem::rank);
    unless_any(workflow, problems)
}

fn unless_any(workflow: Option<Workflow>, mut problems: Vec<Problem>) -> Result<Workflow, DefinitionErrors> {
    // One template may say the same twice.
    problems.dedup();
    match (DefinitionErrors::of(problems), workflow) {
        (None, Some(workflow)) => Ok(workflow),
        (Some(errors), _) => Err(errors),
        (None, None) => Err(DefinitionErrors::internal()),
    }
}

/// The workflow, unless something is wrong; and the rules that are broken, those aside of which it cannot be told.
fn judged(mut definition: WorkflowDefinition, flaws: &Flaws) -> (Option<Workflow>, Vec<Problem>) {
    let mut findings = Findings::new(flaws);
    head::check(&definition, &mut findings);
    // What follows compares steps with one another, which takes its time.
    let is_whole = definition.steps.len() <= MAX_STEPS;
    definition.steps.truncate(MAX_STEPS);
    let definition = Arc::new(definition);
    let steps = &definition.steps;
    let graph = Graph::of(steps, is_whole, flaws);
    step::check(steps, &mut findings);
    graph.check(steps, &mut findings);
    let (workflow, mentions) = compiled(&definition, &graph, &mut findings);
    Known::of(&definition, &graph, flaws).check(&mentions, &mut findings);
    defaults::check(steps, &graph, &mentions, &mut findings);
    content::check(steps, &graph, &mentions, &mut findings);
    if let Some(output) = &definition.output {
        let is_known = !flaws.hide(&Place::default().member("output").member("properties"));
        output::check(output, is_known, &mut findings);
    }
    (workflow, findings.into_problems())
}
