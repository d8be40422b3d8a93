use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use gateway_domain::Caller;
use tokio::{sync::watch, time::Instant};

use super::shared::Shared;
use crate::{
    error::WorkflowError,
    observe::{Observer, RunEvent, RunEventKind},
    plan::Workflow,
    state::{RunRecord, RunStatus, StepRecord, StepStatus},
};

/// Keeps the record of one run and tells the observer. Nothing else changes either (C-75, C-77).
pub(super) struct Ledger {
    record: watch::Sender<RunRecord>,
    observer: Option<Arc<dyn Observer>>,
    caller: Caller,
    begun: Instant,
    steps_begun: Vec<Option<Instant>>,
}

/// How a step ended, for the record.
pub(super) struct StepEnd<'a> {
    pub(super) status: StepStatus,
    pub(super) retries: u32,
    pub(super) error: Option<&'a str>,
    pub(super) is_forgiven: bool,
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
        self.tell(RunEventKind::StepStarted { step: &self.step_id(at) });
    }

    pub(super) fn end_step(&self, at: usize, end: &StepEnd<'_>) {
        self.update(|record| {
            let step = &mut record.steps[at];
            step.status = end.status;
            step.retries = end.retries;
            step.error = end.error.map(str::to_owned);
        });
        let step = &*self.step_id(at);
        let after = self.steps_begun[at].map_or(Duration::ZERO, |begun| begun.elapsed());
        let &StepEnd { retries, is_forgiven, .. } = end;
        match (end.status, end.error) {
            (StepStatus::Skipped, _) => self.tell(RunEventKind::StepSkipped { step }),
            (_, Some(reason)) => {
                self.tell(RunEventKind::StepFailed { step, after, retries, reason, is_forgiven });
            }
            (_, None) => self.tell(RunEventKind::StepCompleted { step, after, retries }),
        }
    }

    /// The run has ended. Steps that ran until now are said to have been cancelled.
    pub(super) fn end(&self, status: RunStatus, error: Option<&WorkflowError>) {
        for at in 0..self.steps_begun.len() {
            let is_running = self.record.borrow().steps[at].status == StepStatus::Running;
            if is_running {
                let error = Some("it was cancelled");
                let end = StepEnd { status: StepStatus::Failed, retries: 0, error, is_forgiven: false };
                self.end_step(at, &end);
            }
        }
        let reason = error.map(ToString::to_string);
        self.update(|record| {
            record.status = status;
            record.error.clone_from(&reason);
        });
        self.tell_end(status, reason.as_deref().unwrap_or_default());
    }

    fn tell_end(&self, status: RunStatus, reason: &str) {
        let after = self.elapsed();
        self.tell(match status {
            RunStatus::Completed => RunEventKind::RunCompleted { after, failed_steps: self.failed_steps() },
            RunStatus::Cancelled => RunEventKind::RunCancelled { after },
            RunStatus::TimedOut => RunEventKind::RunTimedOut { after },
            _ => RunEventKind::RunFailed { after, reason },
        });
    }

    fn failed_steps(&self) -> usize {
        let record = self.record.borrow();
        record.steps.iter().filter(|step| step.status == StepStatus::Failed).count()
    }

    fn step_id(&self, at: usize) -> Arc<str> {
        self.record.borrow().steps[at].id.clone()
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
