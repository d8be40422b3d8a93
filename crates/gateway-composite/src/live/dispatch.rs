use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{Asker, Call, Dispatcher, Error, Outcome, Subject, Target, View};

use super::LiveWorkflows;
use crate::decorator::outcome;

#[async_trait]
impl Dispatcher for LiveWorkflows {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let Some(name) = self.workflow_of(&call) else { return self.shared.calls.dispatch(call).await };
        let offered = self.offered();
        match offered.definitions.get(&name) {
            Some(_) => offered.calls.dispatch(call).await,
            // Only what has begun goes on.
            None => outcome(self.shared.runs.resume(&name, call).await),
        }
    }
}

impl LiveWorkflows {
    /// The workflow that a call is for: one that is offered, unless a tool has its name, or one that has asked and is
    /// now answered, whether it is offered still or not. Every call comes by here: of others no more than the name
    /// is looked up.
    fn workflow_of(&self, call: &Call) -> Option<Arc<str>> {
        let Target::Exposed { view: View::All, subject: Subject::Tool { name, .. } } = &call.target else {
            return None;
        };
        let asker = call.follow_up.as_ref().map(|follow_up| &follow_up.asker);
        let is_answered = matches!(asker, Some(Asker::Workflow(_)));
        let is_called = || {
            let is_workflow = self.offered.borrow().definitions.contains(name);
            is_workflow && !self.shared.outlook(&call.caller, &call.exchange.session).is_taken(name)
        };
        (is_answered || is_called()).then(|| name.clone())
    }
}
