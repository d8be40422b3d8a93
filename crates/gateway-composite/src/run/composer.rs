use std::{fmt, sync::Arc, time::Duration};

use gateway_domain::{CallerError, Dispatcher, Error, InternalError, RawJson, RawObject, Sessions};
use tokio::{sync::watch, time::sleep};
use tracing::Instrument as _;

use super::{
    Run, RunContext,
    course::Course,
    desk::Shown,
    evaluator::Evaluator,
    ledger::Ledger,
    places::Owner,
    register::{Register, Running, Stop},
    shared::Shared,
};
use crate::{
    definition::ErrorAction,
    observe::Observer,
    plan::{Act, Workflow},
    state::{MemoryStore, RunRecord, StateError, StateStore},
};

/// The bounds of runs (C-43, C-44, C-W18).
#[derive(Debug, Clone)]
pub struct ComposerConfig {
    /// How many runs there may be at once, those included that wait for a user, and those that have ended and whose
    /// [`Run`] is still held, since that holds their result. 100.
    pub max_runs: usize,
    /// The same of one caller, or of one legacy session without a known caller. Modern callers without a name cannot
    /// be told apart: [`Self::max_runs`] is their only bound. 10.
    pub max_runs_per_caller: usize,
    /// How many steps of one run work at once. 10.
    pub parallel_steps: usize,
    /// How many calls one run may make, attempts included. 1,000.
    pub max_calls: u64,
    /// How many bytes of results one run may hold. 32 MiB.
    pub max_bytes: u64,
    /// The longest that any run may take, whatever its definition says. 30 minutes.
    pub max_time: Duration,
    /// Whether there is anybody who can put questions to clients (C-40). Yes.
    pub can_ask: bool,
    /// Whether a question is shown with who asks in front: the workflow, or the downstream that a step calls. Whoever
    /// passes on what a workflow asks adds nothing. Yes.
    pub label_questions: bool,
}

impl Default for ComposerConfig {
    fn default() -> Self {
        Self {
            max_runs: 100,
            max_runs_per_caller: 10,
            parallel_steps: 10,
            max_calls: 1_000,
            max_bytes: 32 << 20,
            max_time: Duration::from_secs(30 * 60),
            can_ask: true,
            label_questions: true,
        }
    }
}

/// Runs workflows over the tools of a dispatcher. Clones share everything.
#[derive(Clone)]
pub struct Composer {
    calls: Arc<dyn Dispatcher>,
    sessions: Option<Arc<dyn Sessions>>,
    store: Arc<dyn StateStore>,
    observer: Option<Arc<dyn Observer>>,
    pub(crate) config: Arc<ComposerConfig>,
    register: Arc<Register>,
    evaluator: Evaluator,
}

impl fmt::Debug for Composer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composer").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Composer {
    /// A composer whose steps call through `calls`, which is the whole pipeline of a caller's own calls. Records are
    /// kept in memory and nobody observes.
    pub fn new(config: ComposerConfig, calls: Arc<dyn Dispatcher>) -> Self {
        Self {
            calls,
            sessions: None,
            store: Arc::new(MemoryStore::new()),
            observer: None,
            config: Arc::new(config),
            register: Arc::default(),
            evaluator: Evaluator::new(),
        }
    }

    /// The same with whoever keeps calls that wait for answers: those that nobody will give are given up there at once.
    /// Without it they wait for their time to be over.
    #[must_use]
    pub fn with_sessions(self, sessions: Arc<dyn Sessions>) -> Self {
        Self { sessions: Some(sessions), ..self }
    }

    /// The same with records kept elsewhere.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn StateStore>) -> Self {
        Self { store, ..self }
    }

    /// The same with somebody who observes.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Begins a run. Arguments that are missing take their defaults, and all are checked (C-42, C-W8). The run
    /// goes on by itself until it ends or is dropped.
    ///
    /// # Errors
    /// [`CallerError::Overloaded`] if there are too many runs, [`CallerError::MissingCapability`] if it is certain
    /// that the user has to be asked and cannot, [`CallerError::SessionClosed`] after [`Self::close`]. Arguments that
    /// do not fit end the run at once instead.
    ///
    /// # Panics
    /// Outside a tokio runtime with time.
    pub fn begin(
        &self,
        workflow: Arc<Workflow>,
        arguments: RawObject,
        context: RunContext,
    ) -> Result<Run, Error> {
        if surely_asks(&workflow) && !(self.config.can_ask && context.exchange.here().elicits_forms()) {
            return Err(cannot_ask());
        }
        let owner = Owner::of(&context.caller, &context.exchange.session);
        let limit = workflow.timeout.min(self.config.max_time);
        let (calls, sessions) = (self.calls.clone(), self.sessions.clone());
        let (config, evaluator) = (self.config.clone(), self.evaluator.for_run());
        let shared = Arc::new(Shared::new(workflow, context, calls, sessions, config, evaluator));
        let (stop, ledger) = (Stop::new(), Ledger::new(&shared, self.observer.clone()));
        let running = Running { stop: stop.clone(), record: ledger.watch() };
        let entry = self.register.enter(owner, running, &self.config)?;
        let (result, receiver) = watch::channel(None);
        let slips = shared.desk.watch();
        let place = entry.place();
        let run = Run {
            shared: shared.clone(),
            stop: stop.clone(),
            slips,
            shown: Shown::default(),
            result: receiver,
            place,
        };
        let store = self.store.clone();
        let deadline = Box::pin(sleep(limit));
        let course = Course { shared, arguments, ledger, stop, limit, deadline, store, entry, result };
        tokio::spawn(course.run().in_current_span());
        Ok(run)
    }

    /// How many evaluations of templates have a thread of their own now, because they take more than a moment: half as
    /// many as the machine has processors, at most.
    pub fn evaluating(&self) -> usize {
        self.evaluator.working()
    }

    /// What is known about a run. Cancel-safe: it only looks.
    ///
    /// # Errors
    /// The id is empty, it is not known, or the store fails.
    pub async fn status(&self, id: &str) -> Result<RunRecord, StateError> {
        match self.register.get(id) {
            Some(running) => Ok(running.record.borrow().clone()),
            None => self.store.load(id).await,
        }
    }

    /// The runs that have not ended, oldest first. Cancel-safe: it only looks.
    ///
    /// # Errors
    /// The store fails.
    pub async fn active(&self) -> Result<Vec<RunRecord>, StateError> {
        // What is going on here is known here first.
        let here = self.register.records();
        let mut records = self.store.list_active().await?;
        records.retain(|stored| here.iter().all(|record| record.id != stored.id));
        records.extend(here.into_iter().filter(|record| !record.status.is_final()));
        records.sort_by_key(|record| record.started);
        Ok(records)
    }

    /// Cancels a run: what its steps have called is cancelled too (C-W2). Does not wait until it has ended. Cancel-safe:
    /// a run that goes on here is cancelled before anything is waited for.
    ///
    /// # Errors
    /// The id is empty, it is not known here, it has ended (C-76), or the store fails.
    pub async fn cancel(&self, id: &str) -> Result<(), StateError> {
        let ended = |status| StateError::Ended { id: id.into(), status };
        if let Some(running) = self.register.get(id) {
            return running.stop.cancel().map_err(ended);
        }
        let record = self.store.load(id).await?;
        match record.status.is_final() {
            true => Err(ended(record.status)),
            // Of another process, or of one that is no more.
            false => Err(StateError::NotFound { id: record.id }),
        }
    }

    /// Cancels all runs, takes no more, and waits until all have ended, which takes each 10 seconds at most: 5 for calls
    /// to let go, and 5 for its record. A [`Run`] that is still held is not waited for. Cancel-safe: dropped, only
    /// nobody waits.
    pub async fn close(&self) {
        self.register.close().await;
    }
}

/// Whether a run asks the user whatever happens, unless it fails before.
fn surely_asks(workflow: &Workflow) -> bool {
    workflow.steps.iter().any(|step| {
        matches!(step.act, Act::Ask(_))
            && step.condition.is_none()
            && step.on_error.action != ErrorAction::Continue
    })
}

fn cannot_ask() -> Error {
    let forms = r#"{"elicitation":{"form":{}}}"#;
    match RawJson::parse(forms) {
        Ok(required) => CallerError::MissingCapability { required }.into(),
        Err(_) => InternalError { what: "the capability that is missing has no name" }.into(),
    }
}
