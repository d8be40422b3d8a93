//! Workflows in front of a live catalogue: for each caller those that can run, listed and called like any tool.

mod directory;
mod dispatch;
mod sessions;
mod suspended;

use std::{sync::Arc, time::Duration};

use gateway_domain::{Caller, Directory, Dispatcher, Exchange, Sessions};

use crate::{run::Composer, tools::Definitions};

/// A [`Directory`], a [`Dispatcher`] and [`Sessions`] around those of a catalogue. Clones share everything.
#[derive(Clone)]
pub struct LiveWorkflows {
    #[expect(dead_code, reason = "the contract")]
    inner: Arc<Inner>,
}

#[expect(dead_code, reason = "the contract")]
struct Inner {
    directory: Arc<dyn Directory>,
    calls: Arc<dyn Dispatcher>,
    sessions: Arc<dyn Sessions>,
    composer: Composer,
    /// How long a run waits for the answers of a client that has been asked.
    question_time: Duration,
}

impl std::fmt::Debug for LiveWorkflows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveWorkflows").finish_non_exhaustive()
    }
}

/// A workflow for one caller.
#[derive(Debug, Clone)]
pub struct WorkflowStatus {
    /// Its name.
    pub name: Arc<str>,
    /// Why the caller is not shown it; `None`: it is.
    pub hidden: Option<Remark>,
    /// What the author may want to know (C-W13).
    pub remarks: Vec<Remark>,
}

/// One sentence about a workflow, and the step that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The step's id.
    pub step: Option<Arc<str>>,
    /// The sentence.
    pub text: String,
}

impl LiveWorkflows {
    /// Puts workflows in front of a catalogue. `calls` answers what is no workflow's; what steps call goes through the
    /// composer's own dispatcher. Must be called within a tokio runtime.
    pub fn new(
        directory: Arc<dyn Directory>,
        calls: Arc<dyn Dispatcher>,
        sessions: Arc<dyn Sessions>,
        composer: Composer,
        question_time: Duration,
        _definitions: Definitions,
    ) -> Self {
        Self { inner: Arc::new(Inner { directory, calls, sessions, composer, question_time }) }
    }

    /// Offers these workflows from now on. Runs that have begun go on as they began.
    pub fn replace(&self, _definitions: Definitions) {}

    /// All workflows as a caller sees them, in the order of their names.
    pub fn status(&self, _caller: &Caller, _exchange: &Exchange) -> Vec<WorkflowStatus> {
        Vec::new()
    }

    /// Cancels all runs and takes no more.
    pub async fn close(&self) {}
}
