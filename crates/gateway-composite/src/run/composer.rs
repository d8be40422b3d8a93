use std::{sync::Arc, time::Duration};

use gateway_domain::{Dispatcher, Error, RawObject};

use super::{Run, RunContext};
use crate::{
    observe::Observer,
    plan::Workflow,
    state::{MemoryStore, RunRecord, StateError, StateStore},
};

/// The bounds of runs (C-43, C-44, C-W18).
#[derive(Debug, Clone)]
pub struct ComposerConfig {
    /// How many runs there may be at once, those included that wait for a user. 100.
    pub max_runs: usize,
    /// The same of one caller. 10.
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
    /// Whether a question that a step's tool asks is shown with the tool's downstream in front.
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
    pub(crate) calls: Arc<dyn Dispatcher>,
    pub(crate) store: Arc<dyn StateStore>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) config: Arc<ComposerConfig>,
}

impl std::fmt::Debug for Composer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Composer").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Composer {
    /// A composer whose steps call through `calls`, which is the whole pipeline of a caller's own calls. Records are
    /// kept in memory and nobody observes.
    pub fn new(config: ComposerConfig, calls: Arc<dyn Dispatcher>) -> Self {
        Self { calls, store: Arc::new(MemoryStore), observer: None, config: Arc::new(config) }
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

    /// Begins a run. Arguments that are missing take their defaults, and all are checked (C-42, C-W8). Must be called
    /// within a tokio runtime; the run goes on by itself until it ends or is dropped.
    ///
    /// # Errors
    /// [`gateway_domain::CallerError::Overloaded`] if there are too many runs,
    /// [`gateway_domain::CallerError::MissingCapability`] if it is certain that the user has to be asked and cannot.
    /// Arguments that do not fit end the run at once instead.
    pub fn begin(
        &self,
        _workflow: Arc<Workflow>,
        _arguments: RawObject,
        _context: RunContext,
    ) -> Result<Run, Error> {
        Err(gateway_domain::InternalError { what: "nothing runs yet" }.into())
    }

    /// What is known about a run.
    ///
    /// # Errors
    /// It is not known.
    pub async fn status(&self, id: &str) -> Result<RunRecord, StateError> {
        self.store.load(id).await
    }

    /// The runs that have not ended, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn active(&self) -> Result<Vec<RunRecord>, StateError> {
        self.store.list_active().await
    }

    /// Cancels a run: what its steps have called is cancelled too (C-W2).
    ///
    /// # Errors
    /// It is not known, or has ended (C-76).
    pub async fn cancel(&self, id: &str) -> Result<(), StateError> {
        Err(StateError::NotFound { id: id.into() })
    }
}
