use std::{fmt, sync::Arc, time::Duration};

use gateway_domain::{Caller, Exchange, RawObject};
use tokio::{sync::watch, time::sleep};

use super::{
    WorkflowResult,
    desk::{Shown, Slips},
    places::Place,
    register::Stop,
    shared::Shared,
};
use crate::error::WorkflowError;

/// How long a question waits for others, so that the client is asked once instead of one after the other. Steps that
/// begin together ask within milliseconds of one another, and nobody notices 20 of them before a question.
const GATHERING: Duration = Duration::from_millis(20);

/// A run. Dropping it cancels the run, and what its steps have called. Held, it counts as a run, also when it has
/// ended: its result is held with it.
pub struct Run {
    pub(super) shared: Arc<Shared>,
    pub(super) stop: Stop,
    pub(super) slips: watch::Receiver<Slips>,
    /// What the client was asked last.
    pub(super) shown: Shown,
    pub(super) result: watch::Receiver<Option<WorkflowResult>>,
    #[expect(
        dead_code,
        reason = "it is there to be dropped: as long as the result can be had, it is paid for"
    )]
    pub(super) place: Arc<Place>,
}

/// What comes next of a run.
#[derive(Debug)]
pub enum Turn {
    /// Its steps ask the client: `inputRequests`, keyed (protocol.md §13). Steps that need no answer go on.
    Asks(RawObject),
    /// It has ended. Nothing else comes after.
    Ended(WorkflowResult),
}

impl Run {
    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        &self.shared.id
    }

    /// What comes next. Questions that have not been answered are asked again; a question waits 20 ms for others.
    ///
    /// Cancel-safe: the run goes on without anybody who waits.
    pub async fn next(&mut self) -> Turn {
        loop {
            tokio::select! {
                biased;
                ended = ended(&mut self.result) => return Turn::Ended(ended.unwrap_or_else(|| self.broken())),
                () = asked(&mut self.slips) => {}
            }
            // Others may be asked meanwhile, and this may be taken back.
            tokio::select! {
                biased;
                ended = ended(&mut self.result) => return Turn::Ended(ended.unwrap_or_else(|| self.broken())),
                () = sleep(GATHERING) => {}
            }
            let slips = self.shared.desk.slips();
            if self.stop.is_open() && !slips.is_empty() {
                self.shown = slips.shown();
                return Turn::Asks(slips.requests());
            }
        }
    }

    /// Gives answers, keyed as the questions were, and the circumstances of the request that brought them, which are
    /// those of the run from now on. Answers that nobody asked for are ignored.
    pub fn answer(&mut self, responses: &RawObject, exchange: Exchange) {
        self.shared.circumstances.replace(exchange);
        self.shared.desk.answer(responses);
    }

    /// Takes the caller as the request proves it that brought the last answers: steps call with what it is granted now.
    pub(crate) fn prove(&self, caller: Caller) {
        self.shared.prove(caller);
    }

    /// Whether the questions of the last [`Turn::Asks`] need no answer any more, so that [`Self::next`] tells something
    /// else: none of them is open, or some are not and others have come instead, or the run has ended. Questions that
    /// only came on top wait until those before are answered. Never blocks.
    pub fn is_over(&self) -> bool {
        // One that is cancelled asks nobody any more, though its steps may not know it yet.
        !self.stop.is_open() || self.shared.desk.slips().has_moved_on(&self.shown)
    }

    /// What there is to say of a run whose task did not end in order.
    fn broken(&self) -> WorkflowResult {
        tracing::error!(run = %self.shared.id, "a run of a workflow broke off");
        WorkflowResult {
            run: self.shared.id.clone(),
            workflow: self.shared.workflow.definition.name.clone(),
            outcome: Err(WorkflowError::Internal),
            steps: Vec::new(),
        }
    }
}

/// The result, as soon as there is one; `None` if there will be none.
async fn ended(result: &mut watch::Receiver<Option<WorkflowResult>>) -> Option<WorkflowResult> {
    result.wait_for(Option::is_some).await.ok()?.clone()
}

/// Waits for a question. Forever if nobody can ask any more.
async fn asked(slips: &mut watch::Receiver<Slips>) {
    if slips.wait_for(|slips| !slips.is_empty()).await.is_err() {
        std::future::pending().await
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // One that has ended has nothing to cancel.
        let _ = self.stop.cancel();
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("id", &self.shared.id).finish_non_exhaustive()
    }
}
