//! What happens in runs, for logs and audit records (C-77).

use std::{sync::Arc, time::Duration};

use gateway_domain::{Caller, printable};

use crate::error::{StepError, WorkflowError};

/// How much of why something failed is written to the log, in characters.
const REASON_LENGTH: usize = 2_000;

/// Hears what happens in runs. Must not block.
pub trait Observer: Send + Sync {
    /// Something has happened.
    fn observe(&self, event: &RunEvent<'_>);
}

/// Something that happened in a run. Holds no arguments and no results, but errors may quote them: up to 1,000
/// characters of what a tool says of its failure, and up to 100 of a value that is not what it should be.
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
    /// For any other reason than those below.
    RunFailed {
        after: Duration,
        error: &'a WorkflowError,
    },
    RunCancelled {
        after: Duration,
    },
    RunTimedOut {
        after: Duration,
        limit: Duration,
    },
    /// It waits for the user.
    RunSuspended,
    RunResumed,
    /// Something happened to a step, named by its id.
    Step {
        step: &'a Arc<str>,
        kind: StepEventKind<'a>,
    },
}

/// What can happen to a step.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the words say it")]
pub enum StepEventKind<'a> {
    Started,
    Completed {
        after: Duration,
        retries: u32,
    },
    /// It failed by itself; if that is not forgiven, it ends the run.
    Failed {
        after: Duration,
        retries: u32,
        error: &'a StepError,
        is_forgiven: bool,
    },
    /// It ran when the run ended.
    Cancelled {
        after: Duration,
    },
    Skipped,
}

/// Writes what happens in runs as log lines: their beginnings and ends, warnings if they failed, what made them fail,
/// and anything else of their steps for debugging. Each line has the run, the workflow and the caller. What failed is
/// told in full, hosts and URLs included, as clients are not told it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogObserver;

impl Observer for LogObserver {
    fn observe(&self, event: &RunEvent<'_>) {
        let &RunEvent { run, workflow, caller, ref kind } = event;
        match kind {
            RunEventKind::RunStarted => tracing::info!(%run, %workflow, %caller, "workflow started"),
            RunEventKind::RunCompleted { after, failed_steps } => {
                tracing::info!(%run, %workflow, %caller, ?after, failed_steps, "workflow completed");
            }
            RunEventKind::RunFailed { after, error } => {
                let reason = shown(&error.for_operator());
                tracing::warn!(%run, %workflow, %caller, ?after, reason, "workflow failed");
            }
            RunEventKind::RunCancelled { after } => {
                tracing::info!(%run, %workflow, %caller, ?after, "workflow cancelled");
            }
            RunEventKind::RunTimedOut { after, limit } => tracing::warn!(
                %run, %workflow, %caller, ?after, ?limit,
                "workflow timed out; raise its `timeout`, or `runs.max_time`, if it may take longer"
            ),
            RunEventKind::RunSuspended => {
                tracing::debug!(%run, %workflow, %caller, "workflow waits for its client");
            }
            RunEventKind::RunResumed => tracing::debug!(%run, %workflow, %caller, "workflow waits no longer"),
            RunEventKind::Step { step, kind } => observe_step(event, step, kind),
        }
    }
}

fn observe_step(event: &RunEvent<'_>, step: &str, kind: &StepEventKind<'_>) {
    let &RunEvent { run, workflow, caller, .. } = event;
    match kind {
        StepEventKind::Started => tracing::debug!(%run, %workflow, %caller, step, "step started"),
        StepEventKind::Completed { after, retries } => {
            tracing::debug!(%run, %workflow, %caller, step, ?after, retries, "step completed");
        }
        StepEventKind::Failed { after, retries, error, is_forgiven } => {
            let reason = shown(&error.for_operator());
            if *is_forgiven {
                tracing::debug!(%run, %workflow, %caller, step, ?after, retries, reason, "step failed, and is forgiven");
            } else {
                tracing::info!(%run, %workflow, %caller, step, ?after, retries, reason, "step failed");
            }
        }
        StepEventKind::Cancelled { after } => {
            tracing::debug!(%run, %workflow, %caller, step, ?after, "step cancelled");
        }
        StepEventKind::Skipped => tracing::debug!(%run, %workflow, %caller, step, "step skipped"),
    }
}

fn shown(reason: &str) -> String {
    printable(reason, REASON_LENGTH)
}

#[cfg(test)]
mod tests;
