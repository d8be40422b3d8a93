use std::{pin::Pin, sync::Arc, time::Duration};

use gateway_domain::RawObject;
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
    result::status,
    schedule::Schedule,
    scribe,
    shared::Shared,
};
use crate::{
    error::{Quota, TemplateError, WorkflowError},
    state::{StateStore, StepStatus},
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
        self.ledger.end(&outcome);
        if let Err(error) = scribe.await {
            tracing::error!(run = %self.shared.id, "the record of a run was not kept: {error}");
        }
        drop(self.entry);
        self.result.send_replace(Some(WorkflowResult {
            run: self.shared.id.clone(),
            workflow: self.shared.workflow.definition.name.clone(),
            outcome,
            steps: self.ledger.steps(),
        }));
    }

    async fn outcome(&mut self) -> Result<RawObject, WorkflowError> {
        let Self { shared, arguments, ledger, stop, limit, deadline, .. } = self;
        let mut bounds = Bounds { stop, limit: *limit, deadline };
        let scope = bounds.keep(scope(shared, arguments, ledger)).await?;
        let mut schedule = Schedule::new(shared.clone(), scope);
        let worked = bounds.keep(schedule.work(ledger)).await;
        schedule.cancel().await;
        let_go(shared).await;
        worked?;
        // Nobody waits any more, though the schedule may not have come to say so.
        ledger.wait(false);
        let scope = at_the_end(schedule.scope(), ledger);
        bounds.keep(output(shared, &scope)).await
    }
}

/// What ends a run early.
struct Bounds<'a> {
    stop: &'a Stop,
    limit: Duration,
    deadline: &'a mut Pin<Box<Sleep>>,
}

impl Bounds<'_> {
    /// Works until the run is cancelled or its time is over.
    async fn keep<T>(
        &mut self,
        work: impl Future<Output = Result<T, WorkflowError>>,
    ) -> Result<T, WorkflowError> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(WorkflowError::Cancelled),
            worked = work => worked,
            () = &mut *self.deadline => Err(WorkflowError::TimedOut { after: self.limit }),
        }
    }
}

/// Waits for calls that have been cancelled and are still on their way out, as those of the items of a loop are.
async fn let_go(shared: &Shared) {
    if timeout(LETTING_GO, shared.out.none()).await.is_err() {
        tracing::warn!(run = %shared.id, "calls of a run did not end when they were cancelled");
    }
}

/// What steps see before any is done (C-42, C-55).
async fn scope(shared: &Shared, arguments: &RawObject, ledger: &Ledger) -> Result<Scope, WorkflowError> {
    let workflow = WorkflowScope {
        id: shared.id.clone(),
        elapsed: ledger.elapsed(),
        step_count: 0,
        status: ledger.status(),
        start_time: humantime::format_rfc3339_millis(ledger.started()).to_string().into(),
    };
    let params = parameters(shared, arguments)?;
    let scope = Scope { params, vars: RawObject::empty(), steps: Arc::default(), workflow };
    let vars = vars(shared, &scope).await?;
    Ok(Scope { vars, ..scope })
}

fn parameters(shared: &Shared, arguments: &RawObject) -> Result<RawObject, WorkflowError> {
    let Some(schema) = &shared.workflow.parameters else { return Ok(arguments.clone()) };
    let parameters = schema.complete(arguments);
    match schema.check(parameters.raw()) {
        Ok(()) => Ok(parameters),
        Err(reason) => Err(WorkflowError::InvalidParameters { reason }),
    }
}

async fn vars(shared: &Shared, scope: &Scope) -> Result<RawObject, WorkflowError> {
    let (mut vars, context) = (Members::new(), Context::new(scope));
    let limit = shared.config.max_bytes;
    let too_large = |_| WorkflowError::LimitExceeded { what: Quota::Bytes, limit };
    for (name, tree) in &shared.workflow.vars {
        let tree = tree.clone();
        let value = shared.evaluate(&context, move |context| tree.expand(context, None, RESULT_LIMIT));
        let value = value.await.map_err(|error| of_var(name, error))?;
        shared.charge_bytes(value.as_bytes().len()).map_err(too_large)?;
        vars.add(name, &value);
    }
    vars.finish().map_err(|error| {
        let (place, reason) = ("vars".to_owned(), error.to_string());
        WorkflowError::Template(TemplateError { place, reason, is_missing: false })
    })
}

/// What the output sees: the run as it is when all steps are done.
fn at_the_end(scope: &Scope, ledger: &Ledger) -> Scope {
    let (elapsed, status) = (ledger.elapsed(), ledger.status());
    Scope { workflow: WorkflowScope { elapsed, status, ..scope.workflow.clone() }, ..scope.clone() }
}

/// What the definition says, else the output of the last step in the file that has completed, be it empty (C-51, C-W17).
async fn output(shared: &Shared, scope: &Scope) -> Result<RawObject, WorkflowError> {
    if let Some(output) = output::build(shared, &Context::new(scope)).await? {
        return Ok(output);
    }
    let mut done = shared.workflow.steps.iter().rev().filter_map(|step| scope.steps.get(&step.id));
    let last = done.find(|done| done.status == StepStatus::Completed);
    Ok(last.map_or_else(RawObject::empty, |done| done.output.clone()))
}

fn of_var(name: &str, error: TemplateError) -> WorkflowError {
    WorkflowError::Template(error.within(&format!("vars.{name}")))
}
