use std::sync::Arc;

use gateway_domain::RawJson;

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
    /// How it ended.
    pub status: RunStatus,
    /// What it came to; an object.
    pub output: Option<RawJson>,
    /// Why it came to nothing.
    pub error: Option<WorkflowError>,
    /// Its steps, in the order of the file: which ran, were skipped, or failed and were forgiven (C-W24). Those that
    /// ran when the run ended otherwise have failed as cancelled; those that never began are pending.
    pub steps: Vec<StepRecord>,
}
