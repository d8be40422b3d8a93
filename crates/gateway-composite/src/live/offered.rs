use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    availability::{Hidden, Outlook},
    executor::{Calls, Executor},
    merged::{Merged, Shown},
    shared::Shared,
};
use crate::{
    decorator::{Decorator, WorkflowExecutor},
    definition::{DefinitionError, DefinitionErrors},
    error::WorkflowError,
    plan::{Act, Workflow},
    run::Composer,
    tools::{Definitions, filter_workflow_defs_for_session},
};

/// How many warnings there are at most about one set of definitions: what a workflow's tools say may change all the
/// time, and differ from caller to caller.
const WARNINGS: usize = 256;

/// The workflows that are offered until others are.
pub(super) struct Offered {
    /// How often there were others before.
    pub(super) number: u64,
    pub(super) definitions: Definitions,
    pub(super) calls: Decorator<Calls>,
    pub(super) merged: Merged,
    warned: Mutex<BTreeSet<(Arc<str>, String)>>,
}

impl Offered {
    pub(super) fn new(number: u64, definitions: Definitions, shared: &Arc<Shared>) -> Self {
        // By the names that they are shown and called by.
        let named = |workflow: Arc<Workflow>| (workflow.definition().name.clone(), workflow);
        let definitions: Definitions = definitions.into_values().map(named).collect();
        let executor = |(name, workflow): (&Arc<str>, &Arc<Workflow>)| {
            let executor = Executor::new(shared, name, Some(workflow.clone()));
            (name.clone(), Arc::new(executor) as Arc<dyn WorkflowExecutor>)
        };
        let executors: Vec<_> = definitions.iter().map(executor).collect();
        let calls = Decorator::new(shared.calls.clone(), [], executors);
        Self { number, definitions, calls, merged: Merged::default(), warned: Mutex::default() }
    }

    /// The workflows that somebody can use, by name, with what their tools allow to be said of them.
    pub(super) fn visible(&self, outlook: &Outlook<'_>) -> Vec<Shown> {
        let runnable = filter_workflow_defs_for_session(&self.definitions, Some(&outlook.tools));
        let visible = runnable.values().filter_map(|workflow| match outlook.of(workflow) {
            Ok(floor) => Some((workflow.clone(), floor)),
            Err(hidden) => {
                self.warn(&workflow.definition().name, &hidden);
                None
            }
        });
        visible.collect()
    }

    /// Tells the operator once of what the author of a workflow has to mend. That a caller does not have its tools is
    /// none of that.
    pub(super) fn warn(&self, workflow: &Arc<str>, hidden: &Hidden) {
        let reason = match hidden {
            Hidden::Missing(_) => return,
            Hidden::Contradiction(sentence) => sentence.clone(),
            Hidden::Conflict => "a tool has its name".to_owned(),
        };
        let is_new = {
            let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
            warned.len() < WARNINGS && warned.insert((workflow.clone(), reason.clone()))
        };
        if is_new {
            tracing::warn!(%workflow, reason, "a workflow is left out");
        }
    }
}

impl fmt::Debug for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offered")
            .field("number", &self.number)
            .field("workflows", &self.definitions.keys())
            .finish_non_exhaustive()
    }
}

/// Whether somebody is there who can put questions to clients, if any workflow has some (C-40).
///
/// # Errors
/// All steps that ask where nobody can.
pub(super) fn check(definitions: &Definitions, composer: &Composer) -> Result<(), WorkflowError> {
    if composer.config.can_ask {
        return Ok(());
    }
    let errors = definitions.values().flat_map(|workflow| unaskable(workflow));
    DefinitionErrors::of(errors).map_or(Ok(()), |errors| Err(WorkflowError::InvalidDefinition(errors)))
}

fn unaskable(workflow: &Workflow) -> impl Iterator<Item = DefinitionError> {
    let asks = workflow.steps.iter().filter(|step| matches!(step.act, Act::Ask(_)));
    asks.map(|step| DefinitionError {
        step: Some(step.id.clone()),
        field: "type".to_owned(),
        message: format!(
            "of workflow `{}` is `elicitation`, and nobody here puts questions to clients; leave the step out, or \
             let clients be asked",
            workflow.definition().name
        ),
        cause: None,
    })
}
