use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{Asker, Call, Dispatcher, Error, Outcome, Subject, Target, View};

use super::{LiveWorkflows, executor::Executor};
use crate::decorator::{Decorator, WorkflowExecutor};

#[async_trait]
impl Dispatcher for LiveWorkflows {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let Some(name) = self.workflow_of(&call) else { return self.shared.calls.dispatch(call).await };
        let offered = self.offered();
        if offered.definitions.contains_key(&name) {
            return offered.calls.dispatch(call).await;
        }
        let executor: Arc<dyn WorkflowExecutor> = Arc::new(Executor::new(&self.shared, &name, None));
        Decorator::new(self.shared.calls.clone(), [], [(name, executor)]).dispatch(call).await
    }
}

impl LiveWorkflows {
    /// The workflow that a call is for: one that is offered, unless a tool has its name, or one that has asked and is
    /// now answered, whether it is offered still or not.
    fn workflow_of(&self, call: &Call) -> Option<Arc<str>> {
        let Target::Exposed { view: View::All, subject: Subject::Tool { name, .. } } = &call.target else {
            return None;
        };
        if call.follow_up.as_ref().is_some_and(|follow_up| matches!(follow_up.asker, Asker::Workflow(_))) {
            return Some(name.clone());
        }
        let outlook = self.shared.outlook(&call.caller, &call.exchange.session);
        let is_workflow = self.offered.borrow().definitions.contains_key(name);
        (is_workflow && !outlook.is_taken(name)).then(|| name.clone())
    }
}
