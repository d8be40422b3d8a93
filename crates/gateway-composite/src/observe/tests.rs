use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Mutex},
};

use gateway_domain::{DownstreamFault, DownstreamName};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::*;

/// Remembers the level, the sentence and the fields of each line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Line>>>);

type Line = (Level, String, BTreeMap<&'static str, String>);

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let sentence = fields.0.remove("message").unwrap();
        self.0.lock().unwrap().push((*event.metadata().level(), sentence, fields.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

/// The one line of an event.
fn line(kind: RunEventKind<'_>) -> Line {
    let lines = Lines::default();
    let (run, workflow, caller) = ("r".into(), "w".into(), Caller::client("c"));
    let event = RunEvent { run: &run, workflow: &workflow, caller: &caller, kind };
    tracing::subscriber::with_default(lines.clone(), || LogObserver.observe(&event));
    let mut lines = lines.0.lock().unwrap();
    assert_eq!(lines.len(), 1);
    lines.remove(0)
}

fn unreachable() -> StepError {
    let fault = DownstreamFault::Unreachable { reason: "https://host.example:1/".into() };
    StepError::Call { tool: "d__t".into(), error: fault.before(&DownstreamName::parse("d").unwrap()) }
}

#[test]
fn ends_are_told_to_operators_failures_of_runs_warn_and_steps_are_for_debugging() {
    use RunEventKind::{
        RunCancelled, RunCompleted, RunFailed, RunResumed, RunStarted, RunSuspended, RunTimedOut,
    };
    let (after, limit) = (Duration::from_secs(2), Duration::from_secs(1));
    let (id, error) = ("a".into(), unreachable());
    let run_error = WorkflowError::StepFailed { step: "a".into(), cause: Box::new(error.clone()) };
    let step = |kind| RunEventKind::Step { step: &id, kind };
    let failed = |is_forgiven| step(StepEventKind::Failed { after, retries: 1, error: &error, is_forgiven });
    let timed_out = "workflow timed out; raise its `timeout`, or `runs.max_time`, if it may take longer";
    for (kind, level, sentence) in [
        (RunStarted, Level::INFO, "workflow started"),
        (RunCompleted { after, failed_steps: 1 }, Level::INFO, "workflow completed"),
        (RunFailed { after, error: &run_error }, Level::WARN, "workflow failed"),
        (RunCancelled { after }, Level::INFO, "workflow cancelled"),
        (RunTimedOut { after, limit }, Level::WARN, timed_out),
        (RunSuspended, Level::DEBUG, "workflow waits for its client"),
        (RunResumed, Level::DEBUG, "workflow waits no longer"),
        (step(StepEventKind::Started), Level::DEBUG, "step started"),
        (step(StepEventKind::Completed { after, retries: 0 }), Level::DEBUG, "step completed"),
        (failed(false), Level::INFO, "step failed"),
        (failed(true), Level::DEBUG, "step failed, and is forgiven"),
        (step(StepEventKind::Cancelled { after }), Level::DEBUG, "step cancelled"),
        (step(StepEventKind::Skipped), Level::DEBUG, "step skipped"),
    ] {
        let of_step = matches!(kind, RunEventKind::Step { .. });
        let (told, said, fields) = line(kind);
        assert_eq!((told, &*said), (level, sentence));
        for (field, value) in [("run", "r"), ("workflow", "w"), ("caller", "c")] {
            assert_eq!(fields.get(field).map(String::as_str), Some(value), "{sentence}");
        }
        assert_eq!(fields.get("step").map(String::as_str), of_step.then_some("\"a\""), "{sentence}");
    }
}

#[test]
fn a_timeout_tells_its_limit_and_a_failure_all_of_its_cause() {
    let (after, limit) = (Duration::from_secs(2), Duration::from_secs(1));
    let (_, _, fields) = line(RunEventKind::RunTimedOut { after, limit });
    assert_eq!((&*fields["after"], &*fields["limit"]), ("2s", "1s"));
    let error = WorkflowError::StepFailed { step: "a".into(), cause: Box::new(unreachable()) };
    let (_, _, fields) = line(RunEventKind::RunFailed { after, error: &error });
    assert!(fields["reason"].contains("https://host.example:1/"), "{fields:?}");
}
