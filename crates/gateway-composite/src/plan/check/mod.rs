//! From a definition to a plan: what can be compiled is compiled, and every rule is looked at, so that all problems
//! are told at once.

mod compile;
mod findings;

use self::findings::Findings;
use super::Workflow;
use crate::definition::{DefinitionErrors, WorkflowDefinition};

/// Checks a definition and compiles it.
pub(super) fn compile(definition: WorkflowDefinition) -> Result<Workflow, DefinitionErrors> {
    let mut findings = Findings::default();
    let draft = compile::workflow(definition.into(), &mut findings);
    findings.unless_any(draft)
}
