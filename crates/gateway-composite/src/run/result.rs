use std::sync::Arc;

use gateway_domain::RawObject;

use crate::{
    error::WorkflowError,
    state::{RunStatus, StepRecord},
};

/// How a run ended.
#[derive(Debug, Clone)]
pub struct WorkflowResult {
    /// The run's id.
    pub run: Arc<str>,
    /// The workflow's name.
    pub workflow: Arc<str>,
    /// What it came to, or why it came to nothing.
    pub outcome: Result<RawObject, WorkflowError>,
    /// Its steps, in the order of the file: which ran, were skipped, or failed and were forgiven (C-W24). Those that
    /// ran when the run ended otherwise have failed as cancelled; those that never began are pending.
    pub steps: Vec<StepRecord>,
}

impl WorkflowResult {
    /// The status of the run, which is final (C-52).
    pub fn status(&self) -> RunStatus {
        status(&self.outcome)
    }
}

/// The status of a run that ends like this.
pub(super) fn status<T>(outcome: &Result<T, WorkflowError>) -> RunStatus {
    match outcome {
        Ok(_) => RunStatus::Completed,
        Err(WorkflowError::Cancelled) => RunStatus::Cancelled,
        Err(WorkflowError::TimedOut { .. }) => RunStatus::TimedOut,
        Err(_) => RunStatus::Failed,
    }
}
