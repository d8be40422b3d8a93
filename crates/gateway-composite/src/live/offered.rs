use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use gateway_domain::{Dispatcher, Era};

use super::{
    availability::{Hidden, Outlook},
    executor::Executor,
    merged::{Merged, Shown},
    shared::Shared,
};
use crate::{
    decorator::{Decorator, WorkflowExecutor},
    definition::{DefinitionError, DefinitionErrors},
    error::WorkflowError,
    plan::{Act, Workflow},
    run::Composer,
    tools::{Definitions, tool_of},
};

/// How many warnings there are at most about one set of definitions: what a workflow's tools say may change all the
/// time, and differ from caller to caller.
const WARNINGS: usize = 256;

/// The workflows that are offered until others are.
pub(super) struct Offered {
    /// How often there were others before.
    pub(super) number: u64,
    pub(super) definitions: Definitions,
    pub(super) calls: Decorator<Arc<dyn Dispatcher>>,
    pub(super) merged: Merged,
    warned: Mutex<BTreeSet<(Arc<str>, String)>>,
}

impl Offered {
    pub(super) fn new(number: u64, definitions: Definitions, shared: &Arc<Shared>) -> Self {
        let executor = |workflow: &Arc<Workflow>| {
            let executor: Arc<dyn WorkflowExecutor> = Arc::new(Executor::new(shared, workflow));
            (workflow.definition().name.clone(), executor)
        };
        let executors: Vec<_> = definitions.iter().map(executor).collect();
        let calls = Decorator::new(shared.calls.clone(), [], executors);
        Self { number, definitions, calls, merged: Merged::default(), warned: Mutex::default() }
    }

    /// Whether these are the same.
    pub(super) fn is_of(&self, definitions: &Definitions) -> bool {
        let same = |(ours, other): (&Arc<Workflow>, &Arc<Workflow>)| ours.definition() == other.definition();
        self.definitions.len() == definitions.len()
            && self.definitions.iter().zip(definitions.iter()).all(same)
    }

    /// Whether somebody could be shown something else of these: other tools, or the same to others, since they are
    /// shown to who has all that their steps call.
    pub(super) fn shows_others(&self, definitions: &Definitions) -> bool {
        let same = |(ours, other): (&Arc<Workflow>, &Arc<Workflow>)| {
            let references = |workflow: &Workflow| -> BTreeSet<Arc<str>> {
                workflow.tools().map(|(_, tool)| tool.clone()).collect()
            };
            let rendered = |workflow: &Workflow| {
                tool_of(workflow, None).render(&workflow.definition().name, Era::Modern)
            };
            references(ours) == references(other) && rendered(ours) == rendered(other)
        };
        self.definitions.len() != definitions.len()
            || !self.definitions.iter().zip(definitions.iter()).all(same)
    }

    /// The workflows that somebody can use, by name, with what their tools allow to be said of them.
    pub(super) fn visible(&self, outlook: &Outlook<'_>) -> Vec<Shown> {
        let visible = self.definitions.iter().filter_map(|workflow| match outlook.of(workflow) {
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
            Hidden::Missing(_) | Hidden::Withheld => return,
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
            .field("workflows", &self.definitions.names().collect::<Vec<_>>())
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
    let errors = definitions.iter().flat_map(|workflow| unaskable(workflow));
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
