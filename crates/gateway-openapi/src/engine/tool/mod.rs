//! An operation as a tool.

mod definition;
mod ledger;

use std::{fmt, sync::Arc, time::Duration};

use gateway_domain::RawObject;
use http::StatusCode;

pub(super) use self::definition::define;
use self::ledger::Entry;
use super::{
    AuditFunc, CallContext, Executor, Inputs, Response,
    executor::{Failed, Terms},
    gate::Gate,
    response::Presenter,
};
use crate::ir::Operation;

/// An operation as an MCP tool. Cheap to clone; clones share limits.
#[derive(Clone)]
pub struct Tool(Arc<Parts>);

/// What a tool is made of.
pub(super) struct Parts {
    pub(super) definition: gateway_domain::Tool,
    pub(super) operation: Operation,
    pub(super) inputs: Inputs,
    pub(super) notes: Vec<String>,
    pub(super) executor: Arc<Executor>,
    pub(super) gate: Arc<Gate>,
    pub(super) audit: Option<AuditFunc>,
    pub(super) timeout: Duration,
    pub(super) presenter: Presenter,
}

impl Tool {
    pub(super) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// As a client is shown it: name, title, description, schemas, annotations.
    pub fn definition(&self) -> &gateway_domain::Tool {
        &self.0.definition
    }

    /// What it calls.
    pub fn operation(&self) -> &Operation {
        &self.0.operation
    }

    /// What the operator should know of it: inputs that were renamed or left out, schemas that were widened.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    pub(super) fn gate(&self) -> &Arc<Gate> {
        &self.0.gate
    }

    /// Calls the API and returns a `CallToolResult`. Whatever goes wrong is such a result too, flagged as error
    /// (E-27, E-29, E-30). Cancel-safe: dropping the future gives the call up, and is audited as well (E-W13).
    pub async fn call(&self, arguments: &RawObject, context: &CallContext) -> RawObject {
        let entry = Entry::new(&self.0.operation, self.0.audit.as_ref());
        let ended = self.0.ask(arguments, context).await;
        match &ended {
            Ok(response) => entry.close(Some(response.status), None),
            Err(failed) => entry.close(failed.status, Some(&failed.error)),
        }
        match ended {
            Ok(response) => self.0.presenter.answer(response),
            Err(failed) => self.0.presenter.refusal(&failed.error),
        }
    }
}

impl Parts {
    async fn ask(&self, arguments: &RawObject, context: &CallContext) -> Result<Response, Failed> {
        let _place = self.gate.enter()?;
        let terms = Terms { timeout: self.timeout, keep: self.presenter.keep() };
        let response =
            self.executor.execute(&self.operation, &self.inputs, arguments, context, terms).await?;
        let is_refusal =
            matches!(response.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        if let Some(wait) = response.retry_after.filter(|_| is_refusal) {
            self.gate.pause(wait);
        }
        Ok(response)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.0.definition.name())
            .field("method", &self.0.operation.method)
            .field("path", &self.0.operation.path)
            .finish_non_exhaustive()
    }
}
