//! What single steps do.

mod answer;
mod attempts;
mod call;
mod for_each;
mod inquiry;
mod item;
mod parked;
mod question;
mod rounds;
mod tally;

use std::{sync::Arc, time::Duration};

use gateway_domain::{RawJson, RawObject};
use tokio::time::{Instant, timeout_at};

use self::{answer::Answer, attempts::Attempts, call::ToolCall};
use super::shared::Shared;
use crate::{
    definition::OnError,
    error::{StepError, TemplateError},
    plan::{Act, PlannedCall, PlannedStep},
    template::{Context, Scope, Template},
};

/// How a step ended.
#[derive(Debug)]
pub(crate) enum Ending {
    Completed {
        output: RawObject,
        content: Option<RawJson>,
        /// No step that has not begun shall begin (C-68).
        skips_remaining: bool,
    },
    /// Its condition is false.
    Skipped,
    Failed {
        error: StepError,
        /// What there is of the output of a loop (C-63).
        partial: Option<RawObject>,
    },
}

/// What became of a step.
#[derive(Debug)]
pub(crate) struct Performed {
    pub(crate) ending: Ending,
    /// How often it was tried again; of a loop, all items together.
    pub(crate) retries: u32,
}

/// Does one step: its condition, then its act with its time limit and its retries. Whether its failure is forgiven is
/// not decided here. Cancel-safe: dropping the future cancels what it has called.
pub(crate) async fn perform(shared: &Arc<Shared>, step: &Arc<PlannedStep>, scope: Scope) -> Performed {
    let (mut retries, context) = (0, Context::new(&scope));
    let time = Time { until: Instant::now() + step.timeout, after: step.timeout };
    let holds = time.keep(holds(shared, step.condition.as_ref(), &context)).await;
    let ending = match (holds, &step.act) {
        (Ok(false), _) => Ending::Skipped,
        (Err(error), _) => error.into(),
        (Ok(true), Act::Call(planned)) => {
            let called = tried(shared, &step.id, planned, &step.on_error, &context, &mut retries);
            time.keep(called).await.into()
        }
        (Ok(true), Act::Ask(question)) => question::ask(shared, step, question, &context, time).await,
        (Ok(true), Act::ForEach(each)) => {
            for_each::run(shared, step, each, &context, time, &mut retries).await
        }
    };
    Performed { ending, retries }
}

/// The time of a step.
#[derive(Debug, Clone, Copy)]
struct Time {
    until: Instant,
    /// How long that was when it began.
    after: Duration,
}

impl Time {
    /// Works as long as there is time.
    async fn keep<T>(self, work: impl Future<Output = Result<T, StepError>>) -> Result<T, StepError> {
        timeout_at(self.until, work).await.unwrap_or(Err(StepError::TimedOut { after: self.after }))
    }
}

/// Whether a condition holds; none does (C-45).
async fn holds(shared: &Shared, condition: Option<&Template>, context: &Context) -> Result<bool, StepError> {
    let Some(condition) = condition.cloned() else { return Ok(true) };
    match shared.evaluate(context, move |context| condition.condition(context)).await {
        Ok(Ok(holds)) => Ok(holds),
        Ok(Err(found)) => Err(StepError::Condition { found }),
        Err(error) => Err(failed("condition", error)),
    }
}

/// Calls a tool, and again as often as the step says and the failure allows (C-48, C-W13).
async fn tried(
    shared: &Shared,
    step: &Arc<str>,
    planned: &PlannedCall,
    on_error: &OnError,
    context: &Context,
    retries: &mut u32,
) -> Result<Answer, StepError> {
    let call = ToolCall::new(shared, step, planned, context).await?;
    let mut attempts = Attempts::new(on_error, call.is_repeatable());
    loop {
        match call.make().await {
            Ok(answer) => return Ok(answer),
            Err(error) => attempts.pause(error).await?,
        }
        *retries += 1;
    }
}

/// A template at this place that did not come to a value.
fn failed(place: &str, error: TemplateError) -> StepError {
    StepError::Template(error.within(place))
}

impl From<StepError> for Ending {
    fn from(error: StepError) -> Self {
        Self::Failed { error, partial: None }
    }
}

impl From<Result<Answer, StepError>> for Ending {
    fn from(called: Result<Answer, StepError>) -> Self {
        match called {
            Ok(Answer { output, content, .. }) => Self::Completed { output, content, skips_remaining: false },
            Err(error) => error.into(),
        }
    }
}
