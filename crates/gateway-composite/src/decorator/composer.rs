use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use gateway_domain::{
    Asker, Call, CallerError, Error, Exchange, FollowUp, InputRequired, Params, RawObject, State,
};

use super::{
    Executed, WorkflowExecutor,
    suspended::{Owner, Suspended},
};
use crate::{
    plan::Workflow,
    run::{Composer, Run, RunContext, Turn},
    tools::RoutingTable,
};

/// Answers the calls of one workflow with runs of a composer: a call begins a run, and one that follows up goes on with
/// the run that has asked its caller. For who has no [`crate::LiveWorkflows`].
pub struct ComposerExecutor {
    runs: Runs,
    workflow: Arc<Workflow>,
    tools: Arc<dyn RoutingTable>,
}

impl ComposerExecutor {
    /// An executor for callers who can all use these tools. A run that has asked goes on without its caller if that
    /// has not answered within `question_time`: its questions are then refused, and its handlers decide. Dropping the
    /// executor cancels the runs that wait.
    pub fn new(
        composer: Composer,
        workflow: Arc<Workflow>,
        tools: Arc<dyn RoutingTable>,
        question_time: Duration,
    ) -> Self {
        Self::with_runs(Runs::new(composer, question_time), workflow, tools)
    }

    pub(crate) fn with_runs(runs: Runs, workflow: Arc<Workflow>, tools: Arc<dyn RoutingTable>) -> Self {
        Self { runs, workflow, tools }
    }
}

impl fmt::Debug for ComposerExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComposerExecutor")
            .field("workflow", &self.workflow.definition().name)
            .field("runs", &self.runs)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl WorkflowExecutor for ComposerExecutor {
    /// A workflow that is called by another's step is as good as not there (C-W21).
    async fn execute(&self, call: Call) -> Result<Executed, Error> {
        let name = &self.workflow.definition().name;
        if call.follow_up.is_some() {
            return self.runs.resume(name, call).await;
        }
        if call.origin.is_some() {
            return Err(CallerError::UnknownTool { name: name.to_string() }.into());
        }
        self.runs.begin(&self.workflow, call, self.tools.clone()).await
    }
}

/// A composer, and its runs that have asked. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    pub(crate) composer: Composer,
    pub(crate) suspended: Arc<Suspended>,
}

impl Runs {
    pub(crate) fn new(composer: Composer, question_time: Duration) -> Self {
        Self { composer, suspended: Suspended::new(question_time) }
    }

    /// Begins a run, and goes on until it asks or ends. Cancel-safe: dropping the future cancels the run.
    ///
    /// # Errors
    /// There cannot be one, or the arguments are no object.
    pub(crate) async fn begin(
        &self,
        workflow: &Arc<Workflow>,
        call: Call,
        tools: Arc<dyn RoutingTable>,
    ) -> Result<Executed, Error> {
        let owner = owner(&workflow.definition().name, &call);
        let arguments = arguments(&call.params)?;
        let Call { caller, exchange, params: Params { meta, .. }, .. } = call;
        let context = RunContext { caller, exchange: exchange.clone(), meta, tools };
        let run = self.composer.begin(workflow.clone(), arguments, context)?;
        self.turn(run, owner, exchange).await
    }

    /// Goes on with the run that a call follows up, though its workflow may not be offered any more. Cancel-safe:
    /// dropping the future cancels the run.
    ///
    /// # Errors
    /// [`CallerError::UnknownState`]: there is no such run of this workflow and caller.
    pub(crate) async fn resume(&self, workflow: &Arc<str>, call: Call) -> Result<Executed, Error> {
        let owner = owner(workflow, &call);
        let Call { follow_up, exchange, caller, .. } = call;
        let FollowUp { asker, state, responses } = follow_up.ok_or(CallerError::UnknownState)?;
        let run = match (&asker, &state) {
            (Asker::Workflow(name), State::Parked(park)) if name == workflow => {
                self.suspended.take(park, &owner)
            }
            _ => None,
        };
        let mut run = run.ok_or(CallerError::UnknownState)?;
        run.prove(caller);
        run.answer(&responses, exchange.clone());
        self.turn(run, owner, exchange).await
    }

    /// What comes next of a run, for its caller.
    async fn turn(&self, mut run: Run, owner: Owner, exchange: Exchange) -> Result<Executed, Error> {
        let requests = match run.next().await {
            Turn::Ended(result) => return Ok(Executed::Ended(Some(result))),
            Turn::Asks(requests) => requests,
        };
        let asker = Some(Asker::Workflow(owner.workflow.clone()));
        let park = self.suspended.put(owner, exchange, run).ok_or(CallerError::SessionClosed)?;
        Ok(Executed::Asks(InputRequired { asker, requests: Some(requests), state: State::Parked(park) }))
    }
}

fn owner(workflow: &Arc<str>, call: &Call) -> Owner {
    Owner { caller: call.caller.clone(), session: call.exchange.session.clone(), workflow: workflow.clone() }
}

/// The arguments as the client wrote them; none are as good as an empty object.
fn arguments(params: &Params) -> Result<RawObject, CallerError> {
    let Some(arguments) = params.object.get("arguments") else { return Ok(RawObject::empty()) };
    RawObject::try_from(arguments)
        .map_err(|fault| CallerError::InvalidParams { reason: format!("`arguments`: {fault}") })
}
