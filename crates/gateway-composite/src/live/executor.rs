use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{Call, CallerError, Decision, Error, ListKind, Target, View};

use super::{availability::Hidden, shared::Shared};
use crate::{
    decorator::{ComposerExecutor, Executed, WorkflowExecutor},
    plan::Workflow,
};

/// Answers the calls of one workflow that is offered, for those who can use it.
pub(super) struct Executor {
    shared: Arc<Shared>,
    workflow: Arc<Workflow>,
}

impl Executor {
    pub(super) fn new(shared: &Arc<Shared>, workflow: &Arc<Workflow>) -> Self {
        Self { shared: shared.clone(), workflow: workflow.clone() }
    }

    /// Whether the caller can use the workflow. A client that remembers a list from before may call before all of its
    /// tools are known again: listing them waits for downstreams that are starting, and asks those whose lists are
    /// not for everybody.
    async fn is_there(&self, call: &Call) -> bool {
        let Target::Exposed { view, .. } = &call.target else { return false };
        let outlook = self.shared.outlook(view, &call.caller, &call.exchange.session);
        match outlook.of(&self.workflow) {
            Ok(_) => return true,
            Err(Hidden::Missing(_)) => {}
            Err(Hidden::Withheld | Hidden::Contradiction(_) | Hidden::Conflict) => return false,
        }
        let listed =
            self.shared.directory.list(ListKind::Tools, &View::All, &call.caller, &call.exchange, None);
        // Whatever it says, what is known afterwards is what there is.
        drop(listed.await);
        outlook.of(&self.workflow).is_ok()
    }
}

#[async_trait]
impl WorkflowExecutor for Executor {
    async fn execute(&self, call: Call) -> Result<Executed, Error> {
        // One that is called by a workflow's step is not looked for: it is as good as not there (C-W21).
        if call.follow_up.is_none() && (call.origin.is_some() || !self.is_there(&call).await) {
            return Err(CallerError::UnknownTool { name: self.workflow.definition().name.to_string() }.into());
        }
        call.exchange.notes.decided(Decision::Allowed);
        self.shared.check_scopes(&call.caller, &self.workflow.definition().name)?;
        let (view, caller, session) = (&View::All, &call.caller, &call.exchange.session);
        let tools = Arc::new(self.shared.outlook(view, caller, session).tools(&self.workflow));
        let executor = ComposerExecutor::with_runs(self.shared.runs.clone(), self.workflow.clone(), tools);
        executor.execute(call).await
    }
}
