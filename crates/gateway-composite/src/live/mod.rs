//! Workflows in front of a live catalogue: for each caller those that can run, listed and called like any tool.
//!
//! A caller can run what it may call, by name ([`Directory::workflow`]), and whose tools the directory shows to a step of
//! it in the caller's name ([`Directory::inner_tool`]): whoever decides is asked through the directory alone.

mod availability;
mod directory;
mod dispatch;
mod executor;
mod merged;
mod offered;
mod sessions;
mod shared;
mod status;

use std::{fmt, sync::Arc, time::Duration};

use gateway_domain::{Caller, Directory, Dispatcher, Exchange, Sessions, View};
use tokio::sync::watch;

pub use self::status::{Remark, WorkflowStatus};
use self::{dispatch::Runner, offered::Offered, shared::Shared};
use crate::{decorator::Runs, error::WorkflowError, run::Composer, tools::Definitions};

/// A [`Directory`], a [`Dispatcher`] and [`Sessions`] around those of a catalogue. Clones share everything.
#[derive(Clone)]
pub struct LiveWorkflows {
    shared: Arc<Shared>,
    sessions: Arc<dyn Sessions>,
    /// What is offered now; whoever waits for changes of the catalogue waits for another one of these too.
    offered: Arc<watch::Sender<Arc<Offered>>>,
    /// What runs them, and what is around it.
    runner: Arc<dyn Dispatcher>,
}

impl fmt::Debug for LiveWorkflows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveWorkflows").field("offered", &self.offered()).finish_non_exhaustive()
    }
}

impl LiveWorkflows {
    /// Puts workflows in front of a catalogue. `calls` answers what is no workflow's; what steps call goes through the
    /// composer's own dispatcher. A run that has asked its client goes on without it if that has not answered within
    /// `question_time`: what is asked is refused, and the handlers of the steps decide.
    ///
    /// The directory's list of tools has to be in the order of names, with cursors of [`gateway_aggregate`]: these tell
    /// which workflows belong on a page. So a page may have more tools than the directory puts on it: all workflows
    /// between the names of its first tool and the next page's are on it too. Calls need a tokio runtime.
    ///
    /// # Errors
    /// [`WorkflowError::InvalidDefinition`]: a workflow asks the user, and nobody is there who could (C-40).
    pub fn new(
        directory: Arc<dyn Directory>,
        calls: Arc<dyn Dispatcher>,
        sessions: Arc<dyn Sessions>,
        composer: Composer,
        question_time: Duration,
        definitions: Definitions,
    ) -> Result<Self, WorkflowError> {
        offered::check(&definitions, &composer)?;
        let runs = Runs::new(composer, question_time);
        let shared = Arc::new(Shared { directory, calls, runs });
        let offered = Offered::new(0, definitions, &shared);
        let offered = Arc::new(watch::Sender::new(Arc::new(offered)));
        let runner = Arc::new(Runner { shared: shared.clone(), offered: offered.clone() });
        Ok(Self { shared, sessions, offered, runner })
    }

    /// The same with stages around whatever runs workflows, for what holds for calls of theirs alone: the calls that
    /// their steps make do not come by here, nor those of other tools. Who may call which workflow the directory says
    /// ([`Directory::workflow`]), before.
    #[must_use]
    pub fn with_stages(self, stages: impl FnOnce(Arc<dyn Dispatcher>) -> Arc<dyn Dispatcher>) -> Self {
        Self { runner: stages(self.runner), ..self }
    }

    /// Offers these workflows from now on. Runs that have begun go on as they began, also those of workflows that are
    /// not there any more. Clients are told of a change if they could be shown another list; the same definitions
    /// again change nothing.
    ///
    /// # Errors
    /// As [`Self::new`]; then everything stays as it was.
    pub fn replace(&self, definitions: Definitions) -> Result<(), WorkflowError> {
        offered::check(&definitions, &self.shared.runs.composer)?;
        self.offered.send_if_modified(|offered| {
            if offered.is_of(&definitions) {
                return false;
            }
            let number = offered.number.saturating_add(offered.shows_others(&definitions).into());
            *offered = Arc::new(Offered::new(number, definitions, &self.shared));
            true
        });
        Ok(())
    }

    /// All workflows as a caller sees them now, in the order of their names. Waits for no downstream.
    pub fn status(&self, caller: &Caller, exchange: &Exchange) -> Vec<WorkflowStatus> {
        let offered = self.offered();
        let outlook = self.shared.outlook(&View::All, caller, &exchange.session);
        offered.definitions.iter().map(|workflow| status::of(workflow, &offered, &outlook)).collect()
    }

    /// Cancels all runs, those included that wait for a client, takes no more, and waits until none is left.
    pub async fn close(&self) {
        self.shared.runs.suspended.close();
        self.shared.runs.composer.close().await;
    }

    fn offered(&self) -> Arc<Offered> {
        self.offered.borrow().clone()
    }
}
