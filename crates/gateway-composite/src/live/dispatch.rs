use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{Answering, Asker, Call, Dispatcher, Error, Outcome, Subject, Target};
use tokio::sync::watch;

use super::{LiveWorkflows, offered::Offered, shared::Shared};
use crate::decorator::outcome;

impl Dispatcher for LiveWorkflows {
    /// Chooses before there is anything to wait for: calls of tools cost no future of their own here.
    fn dispatch<'a, 'b>(&'a self, call: Call) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        match self.is_for_workflow(&call) {
            true => self.runner.dispatch(call),
            false => self.shared.calls.dispatch(call),
        }
    }
}

/// Runs the workflows that calls are for.
pub(super) struct Runner {
    pub(super) shared: Arc<Shared>,
    pub(super) offered: Arc<watch::Sender<Arc<Offered>>>,
}

#[async_trait]
impl Dispatcher for Runner {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let Target::Exposed { subject: Subject::Tool { name, .. }, .. } = &call.target else {
            return self.shared.calls.dispatch(call).await;
        };
        let (name, offered) = (name.clone(), self.offered.borrow().clone());
        match offered.definitions.get(&name) {
            Some(_) => offered.calls.dispatch(call).await,
            // Only what has begun goes on.
            None => {
                self.shared.check_scopes(&call.caller, &name)?;
                outcome(self.shared.runs.resume(&name, call).await)
            }
        }
    }
}

impl LiveWorkflows {
    /// Whether a call is for a workflow: one that is offered, unless a tool has its name, or one that has asked and is
    /// now answered, whether it is offered still or not. One that the caller may not call is as good as not there, and is
    /// looked for among the tools as what is not there is. Every call comes by here: of others no more than the name is
    /// looked up.
    fn is_for_workflow(&self, call: &Call) -> bool {
        let Target::Exposed { view, subject: Subject::Tool { name, .. } } = &call.target else {
            return false;
        };
        let asker = call.follow_up.as_ref().map(|follow_up| &follow_up.asker);
        let is_answered = matches!(asker, Some(Asker::Workflow(_)));
        if !is_answered && !self.offered.borrow().definitions.contains(name) {
            return false;
        }
        let (caller, exchange) = (&call.caller, &call.exchange);
        if !is_answered && self.shared.outlook(view, caller, &exchange.session).is_taken(name) {
            return false;
        }
        let Some(decision) = self.shared.directory.workflow(view, caller, name) else { return false };
        if !decision.is_allowed() {
            exchange.notes.decided(decision);
        }
        decision.is_allowed()
    }
}
