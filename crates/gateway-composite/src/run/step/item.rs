use std::sync::Arc;

use gateway_domain::RawObject;
use tokio::time::timeout;

use super::{
    Answer, failed, holds,
    tally::{Became, Done},
    tried,
};
use crate::{error::StepError, plan::PlannedLoop, run::shared::Shared, template::Context};

/// What becomes of a loop when items fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failures {
    /// All others are worked on nevertheless, and the output of those that fail is the default.
    Forgiven,
    /// It ends with the first one.
    End,
}

/// The work on one item.
pub(super) struct Item {
    pub(super) shared: Arc<Shared>,
    pub(super) step: Arc<str>,
    pub(super) each: Arc<PlannedLoop>,
    pub(super) context: Context,
    pub(super) index: usize,
}

impl Item {
    /// Does the inner step, under its own condition, time limit and retries (C-64, C-W14).
    pub(super) async fn work(self, failures: Failures) -> Done {
        let (index, mut retries) = (self.index, 0);
        let default = || self.each.default_results.clone().unwrap_or_default();
        let (became, output) = match self.called(&mut retries).await {
            Ok(Some(answer)) => (Became::Completed, answer.output),
            Ok(None) => (Became::Skipped, default()),
            Err(error) => {
                let output = if failures == Failures::Forgiven { default() } else { RawObject::empty() };
                (Became::Failed(in_loop(error)), output)
            }
        };
        Done { index, became, output, retries }
    }

    /// The tool's answer; `None`: the condition is false.
    async fn called(&self, retries: &mut u32) -> Result<Option<Answer>, StepError> {
        let Self { shared, step, each, context, .. } = self;
        if !holds(shared, each.condition.as_ref(), context).await? {
            return Ok(None);
        }
        let called = tried(shared, step, &each.call, &each.on_error, context, retries);
        let answer = match each.timeout {
            Some(after) => timeout(after, called).await.unwrap_or(Err(StepError::TimedOut { after })),
            None => called.await,
        };
        answer.map(Some)
    }
}

/// The place of a template of the inner step, from the loop on.
fn in_loop(error: StepError) -> StepError {
    match error {
        StepError::Template(error) => failed("step", error),
        error => error,
    }
}
