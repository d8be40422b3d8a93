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

/// Writes what happens in runs as log lines: their beginnings and ends, their steps for debugging, and failures as
/// warnings.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogObserver;

impl Observer for LogObserver {
    fn observe(&self, event: &RunEvent<'_>) {
        let RunEvent { run, workflow, caller, kind } = event;
        match kind {
            RunEventKind::RunStarted => tracing::info!(%run, %workflow, %caller, "workflow started"),
            RunEventKind::RunCompleted { after, failed_steps } => {
                tracing::info!(%run, %workflow, %caller, ?after, failed_steps, "workflow completed");
            }
            RunEventKind::RunFailed { after, reason } => {
                tracing::warn!(%run, %workflow, %caller, ?after, reason, "workflow failed");
            }
            RunEventKind::RunCancelled { after } => {
                tracing::info!(%run, %workflow, %caller, ?after, "workflow cancelled");
            }
            RunEventKind::RunTimedOut { after } => {
                tracing::warn!(%run, %workflow, %caller, ?after, "workflow timed out");
            }
            RunEventKind::RunSuspended => tracing::debug!(%run, %workflow, "workflow waits for its client"),
            RunEventKind::RunResumed => tracing::debug!(%run, %workflow, "workflow waits no longer"),
            step => observe_step(run, workflow, step),
        }
    }
}

fn observe_step(run: &str, workflow: &str, kind: &RunEventKind<'_>) {
    match kind {
        RunEventKind::StepStarted { step } => tracing::debug!(run, workflow, step, "step started"),
        RunEventKind::StepCompleted { step, after, retries } => {
            tracing::debug!(run, workflow, step, ?after, retries, "step completed");
        }
        RunEventKind::StepFailed { step, after, retries, reason, is_forgiven } => {
            tracing::warn!(run, workflow, step, ?after, retries, reason, is_forgiven, "step failed");
        }
        RunEventKind::StepSkipped { step } => tracing::debug!(run, workflow, step, "step skipped"),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
