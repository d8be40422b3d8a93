use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::*;

/// Remembers the level and the sentence of each line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(Level, String)>>>);

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
        let mut sentence = Sentence::default();
        event.record(&mut sentence);
        self.0.lock().unwrap().push((*event.metadata().level(), sentence.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Sentence(String);

impl Visit for Sentence {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[test]
fn ends_are_told_to_operators_failures_warn_and_steps_are_for_debugging() {
    let after = Duration::from_secs(1);
    let step = "a";
    let failed = RunEventKind::StepFailed { step, after, retries: 1, reason: "no", is_forgiven: true };
    for (kind, level, sentence) in [
        (RunEventKind::RunStarted, Level::INFO, "workflow started"),
        (RunEventKind::RunCompleted { after, failed_steps: 1 }, Level::INFO, "workflow completed"),
        (RunEventKind::RunFailed { after, reason: "no" }, Level::WARN, "workflow failed"),
        (RunEventKind::RunCancelled { after }, Level::INFO, "workflow cancelled"),
        (RunEventKind::RunTimedOut { after }, Level::WARN, "workflow timed out"),
        (RunEventKind::RunSuspended, Level::DEBUG, "workflow waits for its client"),
        (RunEventKind::RunResumed, Level::DEBUG, "workflow waits no longer"),
        (RunEventKind::StepStarted { step }, Level::DEBUG, "step started"),
        (RunEventKind::StepCompleted { step, after, retries: 0 }, Level::DEBUG, "step completed"),
        (failed, Level::WARN, "step failed"),
        (RunEventKind::StepSkipped { step }, Level::DEBUG, "step skipped"),
    ] {
        let lines = Lines::default();
        let (run, workflow, caller) = ("r".into(), "w".into(), Caller::anonymous());
        let event = RunEvent { run: &run, workflow: &workflow, caller: &caller, kind };
        tracing::subscriber::with_default(lines.clone(), || LogObserver.observe(&event));
        assert_eq!(*lines.0.lock().unwrap(), [(level, sentence.to_owned())]);
    }
}
