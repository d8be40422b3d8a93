use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use gateway_domain::{Caller, RawObject, printable};
use tokio::{sync::watch, time::Instant};

use super::{result::status, shared::Shared};
use crate::{
    error::{StepError, WorkflowError},
    observe::{Observer, RunEvent, RunEventKind, StepEventKind},
    plan::Workflow,
    state::{RunRecord, RunStatus, StepRecord, StepStatus},
};

/// How much of why a step failed is in the record, in characters: there are a hundred steps in a run, and thousands of
/// records.
const STEP_ERROR_LENGTH: usize = 200;
/// The same of the run itself.
const ERROR_LENGTH: usize = 1_000;

/// Keeps the record of one run and tells the observer. Nothing else changes either (C-75, C-77).
pub(super) struct Ledger {
    record: watch::Sender<RunRecord>,
    observer: Option<Arc<dyn Observer>>,
    caller: Caller,
    begun: Instant,
    steps_begun: Vec<Option<Instant>>,
}

/// How a step ended.
pub(super) enum StepEnd<'a> {
    Completed,
    Skipped,
    Failed {
        error: &'a StepError,
        is_forgiven: bool,
    },
    /// It ran when the run ended.
    Cancelled,
}

impl StepEnd<'_> {
    fn status(&self) -> StepStatus {
        match self {
            Self::Completed => StepStatus::Completed,
            Self::Skipped => StepStatus::Skipped,
            Self::Failed { .. } | Self::Cancelled => StepStatus::Failed,
        }
    }

    /// Why it failed, for the record.
    fn reason(&self) -> Option<String> {
        match self {
            Self::Completed | Self::Skipped => None,
            Self::Failed { error, .. } => Some(printable(&error.to_string(), STEP_ERROR_LENGTH)),
            Self::Cancelled => Some("it was cancelled".to_owned()),
        }
    }
}

impl Ledger {
    pub(super) fn new(shared: &Shared, observer: Option<Arc<dyn Observer>>) -> Self {
        Self {
            record: watch::Sender::new(first(&shared.id, &shared.workflow, &shared.caller)),
            observer,
            caller: shared.caller.clone(),
            begun: Instant::now(),
            steps_begun: vec![None; shared.workflow.steps.len()],
        }
    }

    /// The record as it is from time to time.
    pub(super) fn watch(&self) -> watch::Receiver<RunRecord> {
        self.record.subscribe()
    }

    pub(super) fn status(&self) -> RunStatus {
        self.record.borrow().status
    }

    /// The time since the run began.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn started(&self) -> SystemTime {
        self.record.borrow().started
    }

    pub(super) fn steps(&self) -> Vec<StepRecord> {
        self.record.borrow().steps.clone()
    }

    pub(super) fn begin(&self) {
        self.update(|record| record.status = RunStatus::Running);
        self.tell(RunEventKind::RunStarted);
    }

    /// The run waits for its client, or does no longer.
    pub(super) fn wait(&self, is_waiting: bool) {
        let (status, event) = match is_waiting {
            true => (RunStatus::WaitingForElicitation, RunEventKind::RunSuspended),
            false => (RunStatus::Running, RunEventKind::RunResumed),
        };
        if self.status() != status {
            self.update(|record| record.status = status);
            self.tell(event);
        }
    }

    pub(super) fn begin_step(&mut self, at: usize) {
        self.steps_begun[at] = Some(Instant::now());
        self.update(|record| record.steps[at].status = StepStatus::Running);
        self.tell_step(at, StepEventKind::Started);
    }

    pub(super) fn end_step(&self, at: usize, retries: u32, end: &StepEnd<'_>) {
        self.update(|record| {
            let step = &mut record.steps[at];
            (step.status, step.retries, step.error) = (end.status(), retries, end.reason());
        });
        let after = self.steps_begun[at].map_or(Duration::ZERO, |begun| begun.elapsed());
        let kind = match *end {
            StepEnd::Completed => StepEventKind::Completed { after, retries },
            StepEnd::Skipped => StepEventKind::Skipped,
            StepEnd::Failed { error, is_forgiven } => {
                StepEventKind::Failed { after, retries, error, is_forgiven }
            }
            StepEnd::Cancelled => StepEventKind::Cancelled { after },
        };
        self.tell_step(at, kind);
    }

    /// The run has ended. Steps that ran until now are said to have been cancelled.
    pub(super) fn end(&self, outcome: &Result<RawObject, WorkflowError>) {
        for at in 0..self.steps_begun.len() {
            let is_running = self.record.borrow().steps[at].status == StepStatus::Running;
            if is_running {
                self.end_step(at, 0, &StepEnd::Cancelled);
            }
        }
        let reason = outcome.as_ref().err().map(|error| printable(&error.to_string(), ERROR_LENGTH));
        self.update(|record| (record.status, record.error) = (status(outcome), reason));
        let after = self.elapsed();
        self.tell(match outcome {
            Ok(_) => RunEventKind::RunCompleted { after, failed_steps: self.failed_steps() },
            Err(WorkflowError::Cancelled) => RunEventKind::RunCancelled { after },
            Err(WorkflowError::TimedOut { after: limit }) => {
                RunEventKind::RunTimedOut { after, limit: *limit }
            }
            Err(error) => RunEventKind::RunFailed { after, error },
        });
    }

    fn failed_steps(&self) -> usize {
        let record = self.record.borrow();
        record.steps.iter().filter(|step| step.status == StepStatus::Failed).count()
    }

    fn step_id(&self, at: usize) -> Arc<str> {
        self.record.borrow().steps[at].id.clone()
    }

    fn tell_step(&self, at: usize, kind: StepEventKind<'_>) {
        self.tell(RunEventKind::Step { step: &self.step_id(at), kind });
    }

    fn update(&self, change: impl FnOnce(&mut RunRecord)) {
        self.record.send_modify(|record| {
            change(record);
            record.updated = SystemTime::now();
        });
    }

    fn tell(&self, kind: RunEventKind<'_>) {
        let Some(observer) = &self.observer else { return };
        let (run, workflow) = {
            let record = self.record.borrow();
            (record.id.clone(), record.workflow.clone())
        };
        observer.observe(&RunEvent { run: &run, workflow: &workflow, caller: &self.caller, kind });
    }
}

/// The record of a run that has not begun.
fn first(id: &Arc<str>, workflow: &Workflow, caller: &Caller) -> RunRecord {
    let now = SystemTime::now();
    let step =
        |id: &Arc<str>| StepRecord { id: id.clone(), status: StepStatus::Pending, retries: 0, error: None };
    RunRecord {
        id: id.clone(),
        workflow: workflow.definition.name.clone(),
        caller: caller.to_string(),
        status: RunStatus::Pending,
        steps: workflow.steps.iter().map(|planned| step(&planned.id)).collect(),
        started: now,
        updated: now,
        error: None,
    }
}
