use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    Asker, Call, CallerError, Dispatcher, Error, FollowUp, InputRequired, ListKind, Outcome, Params,
    RawObject, State, View,
};

use super::{
    availability::Hidden,
    shared::Shared,
    suspended::{Owner, Suspended},
};
use crate::{
    decorator::{Executed, WorkflowExecutor},
    plan::Workflow,
    run::{Run, RunContext, Turn},
};

/// What answers calls that are no workflow's.
#[derive(Clone)]
pub(super) struct Calls(pub(super) Arc<dyn Dispatcher>);

#[async_trait]
impl Dispatcher for Calls {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        self.0.dispatch(call).await
    }
}

/// Answers the calls of one workflow: begins runs, and goes on with those that have asked.
pub(super) struct Executor {
    shared: Arc<Shared>,
    name: Arc<str>,
    /// `None`: it is not offered any more, and only what has begun goes on.
    workflow: Option<Arc<Workflow>>,
}

impl Executor {
    pub(super) fn new(shared: &Arc<Shared>, name: &Arc<str>, workflow: Option<Arc<Workflow>>) -> Self {
        Self { shared: shared.clone(), name: name.clone(), workflow }
    }

    async fn begin(&self, call: Call) -> Result<Run, Error> {
        // A workflow that is called by another's step is as good as not there (C-W21).
        let workflow = self.workflow.as_ref().filter(|_| call.origin.is_none());
        let unknown = || CallerError::UnknownTool { name: self.name.to_string() };
        let workflow = workflow.ok_or_else(unknown)?;
        if !self.is_there(workflow, &call).await {
            return Err(unknown().into());
        }
        let arguments = arguments(&call.params)?;
        let Call { caller, exchange, .. } = call;
        let tools = Arc::new(self.shared.tools(&caller, &exchange.session));
        let context = RunContext { caller, exchange, meta: None, tools };
        self.shared.composer.begin(workflow.clone(), arguments, context)
    }

    /// Whether the caller can use the workflow. A client that remembers a list from before may call before all of its
    /// tools are known again: listing them waits for downstreams that are starting, and asks those whose lists are
    /// not for everybody.
    async fn is_there(&self, workflow: &Workflow, call: &Call) -> bool {
        let outlook = self.shared.outlook(&call.caller, &call.exchange.session);
        match outlook.of(workflow) {
            Ok(_) => return true,
            Err(Hidden::Missing(_)) => {}
            Err(Hidden::Contradiction(_) | Hidden::Conflict) => return false,
        }
        let listed =
            self.shared.directory.list(ListKind::Tools, &View::All, &call.caller, &call.exchange, None);
        // Whatever it says, what is known afterwards is what there is.
        drop(listed.await);
        outlook.of(workflow).is_ok()
    }

    fn resume(&self, call: Call, follow_up: &FollowUp) -> Result<Run, Error> {
        let (Asker::Workflow(name), State::Parked(park)) = (&follow_up.asker, &follow_up.state) else {
            return Err(CallerError::UnknownState.into());
        };
        let run = if *name == self.name { self.suspended().take(park, &self.owner(&call)) } else { None };
        let mut run = run.ok_or(CallerError::UnknownState)?;
        run.answer(&follow_up.responses, call.exchange);
        Ok(run)
    }

    /// What comes next of a run, for the client. Dropping the future cancels the run.
    async fn turn(&self, mut run: Run, owner: Owner) -> Executed {
        match run.next().await {
            Turn::Ended(result) => Executed::Ended(Some(result)),
            Turn::Asks(requests) => Executed::Asks(InputRequired {
                asker: Some(Asker::Workflow(self.name.clone())),
                requests: Some(requests),
                state: State::Parked(self.suspended().put(owner, run)),
            }),
        }
    }

    fn owner(&self, call: &Call) -> Owner {
        Owner {
            caller: call.caller.clone(),
            session: call.exchange.session.clone(),
            workflow: self.name.clone(),
        }
    }

    fn suspended(&self) -> &Arc<Suspended> {
        &self.shared.suspended
    }
}

#[async_trait]
impl WorkflowExecutor for Executor {
    async fn execute(&self, mut call: Call) -> Result<Executed, Error> {
        let owner = self.owner(&call);
        let run = match call.follow_up.take() {
            Some(follow_up) => self.resume(call, &follow_up)?,
            None => self.begin(call).await?,
        };
        Ok(self.turn(run, owner).await)
    }
}

/// The arguments as the client wrote them; none are as good as an empty object.
fn arguments(params: &Params) -> Result<RawObject, CallerError> {
    let Some(arguments) = params.object.get("arguments") else { return Ok(RawObject::empty()) };
    RawObject::try_from(arguments)
        .map_err(|fault| CallerError::InvalidParams { reason: format!("`arguments`: {fault}") })
}
