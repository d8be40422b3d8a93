use std::{collections::HashMap, sync::Arc};

use gateway_domain::RawObject;
use tokio::{
    sync::watch,
    task::{Id, JoinError, JoinSet},
};
use tracing::Instrument as _;

use super::{
    agenda::Agenda,
    desk::Slips,
    ledger::{Ledger, StepEnd},
    shared::Shared,
    step::{Ending, Performed, perform},
};
use crate::{
    definition::ErrorAction,
    error::{StepError, WorkflowError},
    plan::PlannedStep,
    state::StepStatus,
    template::{Scope, StepScope},
};

/// Does the steps of one run, each as soon as its own needs are done.
pub(super) struct Schedule {
    shared: Arc<Shared>,
    agenda: Agenda,
    /// Dropped with this, which cancels all of them.
    running: JoinSet<Performed>,
    places: HashMap<Id, usize>,
    /// What the next step will see.
    scope: Scope,
    slips: watch::Receiver<Slips>,
}

impl Schedule {
    pub(super) fn new(shared: Arc<Shared>, scope: Scope) -> Self {
        let agenda =
            Agenda::new(shared.workflow.steps.iter().map(|step| &**step), shared.config.parallel_steps);
        let slips = shared.desk.watch();
        Self { shared, agenda, running: JoinSet::new(), places: HashMap::new(), scope, slips }
    }

    /// Does all steps. What they came to is in [`Self::scope`]. Cancel-safe.
    ///
    /// # Errors
    /// A step failed and is not forgiven. Others may still run: see [`Self::cancel`].
    pub(super) async fn work(&mut self, ledger: &mut Ledger) -> Result<(), WorkflowError> {
        loop {
            self.begin(ledger);
            tokio::select! {
                biased;
                done = self.running.join_next_with_id() => match done {
                    Some(done) => self.settle(done, ledger)?,
                    None => return self.finish(),
                },
                _ = self.slips.changed() => {
                    let is_waiting = !self.slips.borrow_and_update().is_empty();
                    ledger.wait(is_waiting);
                }
            }
        }
    }

    /// Cancels the steps that run, and returns when they have let go of what they called.
    pub(super) async fn cancel(&mut self) {
        self.running.shutdown().await;
    }

    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    fn begin(&mut self, ledger: &mut Ledger) {
        while let Some(at) = self.agenda.begin() {
            let (shared, step) = (self.shared.clone(), self.shared.workflow.steps[at].clone());
            self.scope.workflow.elapsed = ledger.elapsed();
            self.scope.workflow.status = ledger.status();
            let scope = self.scope.clone();
            ledger.begin_step(at);
            let task = async move { perform(&shared, &step, scope).await }.in_current_span();
            self.places.insert(self.running.spawn(task).id(), at);
        }
    }

    fn settle(
        &mut self,
        done: Result<(Id, Performed), JoinError>,
        ledger: &Ledger,
    ) -> Result<(), WorkflowError> {
        let (id, performed) = done.unwrap_or_else(|error| (error.id(), broken(&error)));
        let Some(at) = self.places.remove(&id) else { return Ok(()) };
        let Performed { ending, retries } = performed;
        let skips_remaining = matches!(ending, Ending::Completed { skips_remaining: true, .. });
        match ending {
            Ending::Completed { output, content, .. } => {
                let done = StepScope { status: StepStatus::Completed, output, content, error: None };
                ledger.end_step(at, retries, &StepEnd::Completed);
                self.note(at, done);
            }
            Ending::Skipped => self.skip(at, ledger),
            Ending::Failed { error, partial } => {
                let fatal = unforgivable(&self.shared.workflow.steps[at], &error);
                let is_forgiven = fatal.is_none();
                ledger.end_step(at, retries, &StepEnd::Failed { error: &error, is_forgiven });
                if let Some(fatal) = fatal {
                    return Err(fatal);
                }
                self.note(at, self.forgiven(at, &error, partial));
            }
        }
        self.agenda.done(at);
        if skips_remaining {
            for at in self.agenda.drop_rest() {
                self.skip(at, ledger);
            }
        }
        Ok(())
    }

    fn skip(&mut self, at: usize, ledger: &Ledger) {
        let output = self.shared.workflow.steps[at].default_results.clone().unwrap_or_default();
        ledger.end_step(at, 0, &StepEnd::Skipped);
        self.note(at, StepScope { status: StepStatus::Skipped, output, content: None, error: None });
    }

    /// What a step leaves behind whose failure does not end the run (C-49, C-63).
    fn forgiven(&self, at: usize, error: &StepError, partial: Option<RawObject>) -> StepScope {
        let default = self.shared.workflow.steps[at].default_results.clone();
        let output = default.or(partial).unwrap_or_default();
        StepScope { status: StepStatus::Failed, output, content: None, error: Some(error.to_string()) }
    }

    /// A step is done; others may see what it came to.
    fn note(&mut self, at: usize, done: StepScope) {
        let id = self.shared.workflow.steps[at].id.clone();
        self.shared.progress.done(&id, done.status.as_str());
        // Steps that run keep what they saw when they began.
        Arc::make_mut(&mut self.scope.steps).insert(id, Arc::new(done));
        self.scope.workflow.step_count = self.scope.steps.len();
    }

    /// Nothing runs and nothing may begin: everything is done, unless steps wait for one another.
    fn finish(&self) -> Result<(), WorkflowError> {
        let left = self.agenda.left_over();
        if left.is_empty() {
            return Ok(());
        }
        let steps = left.into_iter().map(|at| self.shared.workflow.steps[at].id.to_string()).collect();
        Err(WorkflowError::CircularDependency { steps })
    }
}

/// A step whose task did not end in order. The panic itself has been reported by whoever hooks panics.
fn broken(error: &JoinError) -> Performed {
    tracing::error!("a step of a workflow broke off: {error}");
    Performed { ending: Ending::Failed { error: StepError::Internal, partial: None }, retries: 0 }
}

/// What the failure of a step means for the run, if nothing makes up for it.
fn unforgivable(step: &PlannedStep, error: &StepError) -> Option<WorkflowError> {
    let failed = || WorkflowError::StepFailed { step: step.id.clone(), cause: Box::new(error.clone()) };
    match root(error) {
        &StepError::LimitExceeded { what, limit } => Some(WorkflowError::LimitExceeded { what, limit }),
        StepError::Internal => Some(failed()),
        _ => (step.on_error.action != ErrorAction::Continue).then(failed),
    }
}

/// What is behind the failure of an item.
fn root(mut error: &StepError) -> &StepError {
    while let StepError::Item { cause, .. } = error {
        error = cause;
    }
    error
}
