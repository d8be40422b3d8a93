use std::sync::Arc;

use gateway_domain::{Exchange, RawObject};

use super::WorkflowResult;

/// A run. Dropping it cancels the run, and what its steps have called.
#[derive(Debug)]
pub struct Run {
    id: Arc<str>,
}

/// What comes next of a run.
#[derive(Debug)]
pub enum Turn {
    /// Its steps ask the client: `inputRequests`, keyed (protocol.md §13). Steps that need no answer go on.
    Asks(RawObject),
    /// It has ended. Nothing comes after.
    Ended(WorkflowResult),
}

impl Run {
    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// What comes next. Questions that have not been answered are asked again.
    ///
    /// Cancel-safe: the run goes on without anybody who waits.
    pub async fn next(&mut self) -> Turn {
        std::future::pending().await
    }

    /// Gives answers, keyed as the questions were, and the circumstances of the request that brought them, which are
    /// those of the run from now on. Answers that nobody asked for are ignored.
    pub fn answer(&mut self, _responses: &RawObject, _exchange: Exchange) {}

    /// Whether no answer is waited for: [`Self::next`] then tells what came of it. Never blocks.
    pub fn is_over(&self) -> bool {
        false
    }
}
