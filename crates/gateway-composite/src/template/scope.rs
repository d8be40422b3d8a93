use std::{collections::BTreeMap, sync::Arc, time::Duration};

use gateway_domain::{RawJson, RawObject};

use crate::state::{RunStatus, StepStatus};

/// Everything that an expression can see (C-55), but for the item of a loop. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) params: RawObject,
    pub(crate) vars: RawObject,
    /// The steps that are done, by id.
    pub(crate) steps: Arc<BTreeMap<Arc<str>, Arc<StepScope>>>,
    pub(crate) workflow: WorkflowScope,
}

/// A step that is done.
#[derive(Debug, Clone)]
pub(crate) struct StepScope {
    pub(crate) status: StepStatus,
    /// An object; empty if there is none.
    pub(crate) output: RawObject,
    /// The raw `content` of a tool's result.
    pub(crate) content: Option<RawJson>,
    pub(crate) error: Option<String>,
}

/// The run.
#[derive(Debug, Clone)]
pub(crate) struct WorkflowScope {
    pub(crate) id: Arc<str>,
    pub(crate) elapsed: Duration,
    pub(crate) step_count: usize,
    pub(crate) status: RunStatus,
    /// RFC 3339, UTC.
    pub(crate) start_time: Arc<str>,
}

/// One item of a loop.
#[derive(Debug, Clone)]
pub(crate) struct ForEachScope {
    pub(crate) item_var: Arc<str>,
    pub(crate) item: RawJson,
    pub(crate) index: usize,
}
