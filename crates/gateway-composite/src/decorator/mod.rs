//! Composite tools around a session's own (C-11 to C-15).

mod answer;
mod composer;
mod suspended;

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;
use gateway_domain::{Call, Dispatcher, Error, InputRequired, Outcome, Subject, Target, Tool};

pub use self::composer::ComposerExecutor;
pub(crate) use self::composer::Runs;
use crate::run::WorkflowResult;

/// Somebody's tools, and the dispatcher of their calls.
pub trait ToolSession: Dispatcher {
    /// The tools, under the names that are called.
    fn tools(&self) -> Cow<'_, [Tool]>;
}

/// Runs one workflow.
#[async_trait]
pub trait WorkflowExecutor: Send + Sync {
    /// Answers a call of the workflow. Cancel-safe: dropping the future cancels the run.
    ///
    /// # Errors
    /// The call comes to no result. What the caller did wrong stays a protocol error; anything else is told as a
    /// result that failed (C-15).
    async fn execute(&self, call: Call) -> Result<Executed, Error>;
}

/// What became of a call of a workflow.
#[derive(Debug)]
pub enum Executed {
    /// The run has ended; `None`: it gave no result (C-15).
    Ended(Option<WorkflowResult>),
    /// The client is asked first.
    Asks(InputRequired),
}

/// A session with composite tools: calls of theirs run a workflow, and everything else is the session's (C-13, C-14).
pub struct Decorator<S> {
    session: S,
    tools: Vec<Tool>,
    executors: BTreeMap<Arc<str>, Arc<dyn WorkflowExecutor>>,
}

impl<S> Decorator<S> {
    /// Puts composite tools around a session. Both may be empty (C-11).
    pub fn new(
        session: S,
        composite_tools: impl IntoIterator<Item = Tool>,
        executors: impl IntoIterator<Item = (Arc<str>, Arc<dyn WorkflowExecutor>)>,
    ) -> Self {
        Self {
            session,
            tools: composite_tools.into_iter().collect(),
            executors: executors.into_iter().collect(),
        }
    }

    fn executor(&self, target: &Target) -> Option<&Arc<dyn WorkflowExecutor>> {
        match target {
            Target::Exposed { view, subject: Subject::Tool { name, .. } } if view.downstream().is_none() => {
                self.executors.get(name)
            }
            _ => None,
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Decorator<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decorator")
            .field("session", &self.session)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

impl<S: ToolSession> ToolSession for Decorator<S> {
    /// The session's own, then the composite ones (C-12).
    fn tools(&self) -> Cow<'_, [Tool]> {
        let own = self.session.tools();
        if self.tools.is_empty() {
            return own;
        }
        Cow::Owned(own.iter().chain(&self.tools).cloned().collect())
    }
}

#[async_trait]
impl<S: Dispatcher> Dispatcher for Decorator<S> {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let Some(executor) = self.executor(&call.target) else {
            return self.session.dispatch(call).await;
        };
        outcome(executor.execute(call).await)
    }
}

/// What an executor came to, as the outcome of the call: all but what the caller did wrong is a result (C-15).
pub(crate) fn outcome(executed: Result<Executed, Error>) -> Result<Outcome, Error> {
    match executed {
        Ok(Executed::Asks(questions)) => Ok(Outcome::InputRequired(questions)),
        Ok(Executed::Ended(ended)) => Ok(Outcome::Complete(answer::of(ended.as_ref()))),
        Err(fault @ Error::Caller(_)) => Err(fault),
        Err(fault) => Ok(Outcome::Complete(answer::failed(&fault.for_client(), None))),
    }
}
