//! What happens in runs, for logs and audit records (C-77).

use std::{sync::Arc, time::Duration};

use gateway_domain::Caller;

/// Hears what happens in runs. Must not block.
pub trait Observer: Send + Sync {
    /// Something has happened.
    fn observe(&self, event: &RunEvent<'_>);
}

/// Something that happened in a run. Holds no arguments and no results.
#[derive(Debug, Clone)]
pub struct RunEvent<'a> {
    /// The run's id.
    pub run: &'a Arc<str>,
    /// The workflow's name.
    pub workflow: &'a Arc<str>,
    /// Who called it.
    pub caller: &'a Caller,
    /// What happened.
    pub kind: RunEventKind<'a>,
}

/// What can happen.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the words say it")]
pub enum RunEventKind<'a> {
    RunStarted,
    RunCompleted {
        after: Duration,
        failed_steps: usize,
    },
    RunFailed {
        after: Duration,
        reason: &'a str,
    },
    RunCancelled {
        after: Duration,
    },
    RunTimedOut {
        after: Duration,
    },
    /// It waits for the user.
    RunSuspended,
    RunResumed,
    StepStarted {
        step: &'a str,
    },
    StepCompleted {
        step: &'a str,
        after: Duration,
        retries: u32,
    },
    StepFailed {
        step: &'a str,
        after: Duration,
        retries: u32,
        reason: &'a str,
        is_forgiven: bool,
    },
    StepSkipped {
        step: &'a str,
    },
}
