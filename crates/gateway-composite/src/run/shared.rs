use std::sync::{Arc, Mutex, PoisonError};

use gateway_domain::{Caller, Dispatcher, Exchange, ParkId, RawObject, Sessions};

use super::{
    ComposerConfig, RunContext,
    budget::{Budget, Held},
    calling::{Calling, Calls},
    circumstances::Circumstances,
    desk::Desk,
    evaluator::Evaluator,
    progress::Progress,
};
use crate::{
    error::{StepError, TemplateError},
    plan::Workflow,
    template::Context,
    tools::{Found, Pinned},
};

/// What the steps of one run share.
pub(crate) struct Shared {
    pub(crate) id: Arc<str>,
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) caller: Caller,
    /// The same as its latest request proves it: what it is granted may be another thing by then.
    proven: Mutex<Caller>,
    meta: Option<RawObject>,
    tools: Pinned,
    pub(crate) calls: Arc<dyn Dispatcher>,
    sessions: Option<Arc<dyn Sessions>>,
    pub(crate) config: Arc<ComposerConfig>,
    pub(super) circumstances: Circumstances,
    pub(super) desk: Desk,
    pub(super) progress: Progress,
    budget: Budget,
    pub(super) out: Calls,
    evaluator: Evaluator,
}

impl Shared {
    /// Those of a run that has not begun.
    pub(crate) fn new(
        workflow: Arc<Workflow>,
        context: RunContext,
        calls: Arc<dyn Dispatcher>,
        sessions: Option<Arc<dyn Sessions>>,
        config: Arc<ComposerConfig>,
        evaluator: Evaluator,
    ) -> Self {
        let circumstances = Circumstances::new(context.exchange);
        Self {
            id: uuid::Uuid::new_v4().to_string().into(),
            proven: Mutex::new(context.caller.clone()),
            caller: context.caller,
            meta: context.meta,
            tools: Pinned::of(&workflow, &*context.tools),
            calls,
            sessions,
            desk: Desk::new(),
            progress: Progress::new(circumstances.clone(), workflow.steps.len()),
            circumstances,
            budget: Budget::new(config.max_calls, config.max_bytes),
            out: Calls::default(),
            evaluator,
            workflow,
            config,
        }
    }

    /// The circumstances of a step's call as they are now: those of the latest request, of a client that takes no
    /// tasks. Logs of the call reach the client, its progress does not: the run tells its own. What is noted of the call
    /// is noted of no other.
    pub(crate) fn exchange(&self) -> Exchange {
        Exchange { run: Some(self.id.clone()), notes: Arc::default(), ..self.circumstances.inner() }
    }

    /// In whose name steps call.
    pub(crate) fn proven(&self) -> Caller {
        self.proven.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the caller as a later request proves it. Anybody else is not taken.
    pub(super) fn prove(&self, caller: Caller) {
        if caller == self.caller {
            *self.proven.lock().unwrap_or_else(PoisonError::into_inner) = caller;
        }
    }

    /// The `_meta` of the call of the workflow.
    pub(crate) fn meta(&self) -> Option<&RawObject> {
        self.meta.as_ref()
    }

    /// The tool that a step names, as it was when the run began; `None`: it was not there for this caller.
    pub(crate) fn find(&self, written: &str) -> Option<Found> {
        self.tools.find(written)
    }

    /// A call is out as long as this is held. The run's end waits for it, for 5 seconds at most.
    pub(crate) fn calling(&self) -> Calling {
        self.out.begin()
    }

    /// What `work` comes to with the templates that it expands in the context that it is given. All templates of a run
    /// are expanded by this: what takes more than a moment holds up no other task, and ends soon after the future is
    /// dropped. Cancel-safe.
    ///
    /// # Errors
    /// Those of the work.
    ///
    /// # Panics
    /// If the work does.
    pub(crate) async fn evaluate<T, W>(&self, context: &Context, work: W) -> Result<T, TemplateError>
    where
        T: Send + 'static,
        W: Fn(&Context) -> Result<T, TemplateError> + Send + 'static,
    {
        self.evaluator.evaluate(context, work).await
    }

    /// Takes note of one call, before it is made.
    ///
    /// # Errors
    /// [`StepError::LimitExceeded`]: it may not be made (C-W18).
    pub(crate) fn charge_call(&self) -> Result<(), StepError> {
        self.budget.charge_call()
    }

    /// Takes note of bytes that the run holds until what is returned is dropped.
    ///
    /// # Errors
    /// [`StepError::LimitExceeded`]: it may not hold them (C-W18).
    pub(crate) fn hold_bytes(&self, bytes: usize) -> Result<Held, StepError> {
        self.budget.hold_bytes(bytes)
    }

    /// Takes note of bytes that the run holds from now on.
    ///
    /// # Errors
    /// [`StepError::LimitExceeded`]: it may not hold them (C-W18).
    pub(crate) fn charge_bytes(&self, bytes: usize) -> Result<(), StepError> {
        self.budget.charge_bytes(bytes)
    }

    /// Asks the client for a step and waits for the answers: `requests` and what is returned are keyed alike. The keys
    /// are made unique on the way out by `step`, which of an item of a loop is `step[index]`. At most 16 questions of
    /// a run are open at once. Cancel-safe: dropping the future takes the questions back.
    ///
    /// # Errors
    /// [`StepError::ElicitationNotConfigured`]: the client, as it is now, cannot be asked anything (C-69). What exactly
    /// it can be asked is for the step to know.
    pub(crate) async fn ask(&self, step: &str, requests: &RawObject) -> Result<RawObject, StepError> {
        if !self.config.can_ask || !self.circumstances.can_be_asked() {
            return Err(StepError::ElicitationNotConfigured);
        }
        Ok(self.desk.ask(step, requests).await)
    }

    /// Gives up a call that waits for answers which nobody will give.
    pub(crate) fn abandon(&self, park: &ParkId) {
        if let Some(sessions) = &self.sessions {
            sessions.abandon(park);
        }
    }

    /// Tells how many items of a loop are done.
    pub(crate) fn advance(&self, step: &str, done: usize, of: usize) {
        self.progress.advance(step, done, of);
    }
}
