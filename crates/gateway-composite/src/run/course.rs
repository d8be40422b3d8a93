use std::{pin::Pin, sync::Arc, time::Duration};

use gateway_domain::{RawJson, RawObject};
use tokio::{
    sync::watch,
    time::{Sleep, timeout},
};
use tracing::Instrument as _;

use super::{
    WorkflowResult,
    ledger::Ledger,
    members::Members,
    output,
    register::{Entry, Stop},
    schedule::Schedule,
    scribe,
    shared::Shared,
};
use crate::{
    error::{TemplateError, WorkflowError},
    state::{RunStatus, StateStore, StepStatus},
    template::{Context, RESULT_LIMIT, Scope, WorkflowScope},
};

/// How long the end of a run waits for calls that it has cancelled. Letting go takes a moment, unless somebody blocks.
const LETTING_GO: Duration = Duration::from_secs(5);

/// One run from its arguments to its result.
pub(super) struct Course {
    pub(super) shared: Arc<Shared>,
    pub(super) arguments: RawObject,
    pub(super) ledger: Ledger,
    pub(super) stop: Stop,
    /// How long the run may take, and the clock of that, which began with the run (C-52).
    pub(super) limit: Duration,
    pub(super) deadline: Pin<Box<Sleep>>,
    pub(super) store: Arc<dyn StateStore>,
    pub(super) entry: Entry,
    pub(super) result: watch::Sender<Option<WorkflowResult>>,
}

impl Course {
    /// Runs to the end. The result is there when the record is kept and the run is not in the register any more.
    pub(super) async fn run(mut self) {
        self.ledger.begin();
        let scribe = tokio::spawn(scribe::keep(self.store.clone(), self.ledger.watch()).in_current_span());
        let outcome = self.outcome().await;
        let outcome = match self.stop.end(status(&outcome)) {
            true => outcome,
            false => Err(WorkflowError::Cancelled),
        };
        let status = status(&outcome);
        self.ledger.end(status, outcome.as_ref().err());
        if let Err(error) = scribe.await {
            tracing::error!(run = %self.shared.id, "the record of a run was not kept: {error}");
        }
        drop(self.entry);
        let (output, error) = match outcome {
            Ok(output) => (Some(output), None),
            Err(error) => (None, Some(error)),
        };
        self.result.send_replace(Some(WorkflowResult {
            run: self.shared.id.clone(),
            workflow: self.shared.workflow.definition.name.clone(),
            status,
            output,
            error,
            steps: self.ledger.steps(),
        }));
    }

    async fn outcome(&mut self) -> Result<RawJson, WorkflowError> {
        let scope = self.scope()?;
        let mut schedule = Schedule::new(self.shared.clone(), scope);
        let worked = tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(WorkflowError::Cancelled),
            worked = schedule.work(&mut self.ledger) => worked,
            () = &mut self.deadline => Err(WorkflowError::TimedOut { after: self.limit }),
        };
        schedule.cancel().await;
        self.let_go().await;
        worked?;
        self.output(schedule.scope())
    }

    /// Waits for calls that have been cancelled and are still on their way out, as those of the items of a loop are.
    async fn let_go(&self) {
        if timeout(LETTING_GO, self.shared.out.none()).await.is_err() {
            tracing::warn!(run = %self.shared.id, "calls of a run did not end when they were cancelled");
        }
    }

    /// What steps see before any is done (C-42, C-55).
    fn scope(&self) -> Result<Scope, WorkflowError> {
        let workflow = WorkflowScope {
            id: self.shared.id.clone(),
            elapsed: self.ledger.elapsed(),
            step_count: 0,
            status: self.ledger.status(),
            start_time: humantime::format_rfc3339_millis(self.ledger.started()).to_string().into(),
        };
        let scope =
            Scope { params: self.parameters()?, vars: RawObject::empty(), steps: Arc::default(), workflow };
        let vars = self.vars(&scope)?;
        Ok(Scope { vars, ..scope })
    }

    fn parameters(&self) -> Result<RawObject, WorkflowError> {
        let Some(schema) = &self.shared.workflow.parameters else { return Ok(self.arguments.clone()) };
        let parameters = schema.complete(&self.arguments);
        match schema.check(parameters.raw()) {
            Ok(()) => Ok(parameters),
            Err(reason) => Err(WorkflowError::InvalidParameters { reason }),
        }
    }

    fn vars(&self, scope: &Scope) -> Result<RawObject, WorkflowError> {
        let (mut vars, context) = (Members::new(), Context::new(scope));
        for (name, tree) in &self.shared.workflow.vars {
            let value = tree.expand(&context, None, RESULT_LIMIT).map_err(|error| of_var(name, error))?;
            self.shared.charge_bytes(value.as_bytes().len()).map_err(|_| self.too_large())?;
            vars.add(name, &value);
        }
        vars.finish().map_err(|error| {
            let (place, reason) = ("vars".to_owned(), error.to_string());
            WorkflowError::Template(TemplateError { place, reason, is_missing: false })
        })
    }

    fn too_large(&self) -> WorkflowError {
        WorkflowError::LimitExceeded { what: "bytes of results", limit: self.shared.config.max_bytes }
    }

    /// What the definition says, else the output of the last step in the file that has one (C-W17).
    fn output(&self, scope: &Scope) -> Result<RawJson, WorkflowError> {
        if let Some(planned) = &self.shared.workflow.output {
            return Ok(output::build(planned, &Context::new(scope), &self.shared)?.raw().clone());
        }
        let done = self.shared.workflow.steps.iter().rev().filter_map(|step| scope.steps.get(&step.id));
        let last =
            done.into_iter().find(|done| done.status == StepStatus::Completed && !done.output.is_empty());
        Ok(last.map_or_else(RawObject::empty, |done| done.output.clone()).raw().clone())
    }
}

fn of_var(name: &str, error: TemplateError) -> WorkflowError {
    WorkflowError::Template(error.within(&format!("vars.{name}")))
}

fn status<T>(outcome: &Result<T, WorkflowError>) -> RunStatus {
    match outcome {
        Ok(_) => RunStatus::Completed,
        Err(WorkflowError::Cancelled) => RunStatus::Cancelled,
        Err(WorkflowError::TimedOut { .. }) => RunStatus::TimedOut,
        Err(_) => RunStatus::Failed,
    }
}
