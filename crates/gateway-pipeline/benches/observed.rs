//! What it costs a call to be recorded, counted and traced: the difference to the bare call.

#![expect(clippy::expect_used, reason = "a bench has no input but its own")]

use std::sync::Arc;

use async_trait::async_trait;
use divan::{Bencher, black_box};
use gateway_domain::{
    Call, Caller, ClientCapabilities, Decision, Dispatcher, DownstreamName, Era, Error, Exchange, Outcome,
    Params, RawObject, SessionKey, Subject, Target, View,
};
use gateway_pipeline::{
    audit::{AuditConfig, AuditLog, FileSink, Rotation},
    metrics::{CallMetrics, MetricsConfig},
    pipeline::{Inner, Observers, Stages},
    trace::{RandomIds, Span, SpanSink, Tracer},
};
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

struct Ready(DownstreamName, RawObject);

#[async_trait]
impl Dispatcher for Ready {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        call.exchange.notes.resolved(&self.0);
        call.exchange.notes.decided(Decision::Allowed);
        Ok(Outcome::Complete(self.1.clone()))
    }
}

struct Nobody;

impl SpanSink for Nobody {
    fn ended(&self, span: Span) {
        black_box(span);
    }
}

fn ready() -> Inner {
    let name = DownstreamName::parse("files").expect("a name");
    Arc::new(Ready(name, RawObject::parse(r#"{"content":[]}"#).expect("JSON")))
}

fn call() -> Call {
    let session = SessionKey::Legacy { id: "s".into() };
    Call {
        target: Target::Exposed { view: View::All, subject: Subject::tool("files__read") },
        params: Params::empty(),
        follow_up: None,
        caller: Caller::client("desk"),
        exchange: Exchange::quiet(Era::Modern, session, ClientCapabilities::none()),
        origin: None,
    }
}

fn calls(bencher: Bencher<'_, '_>, runtime: &Runtime, stack: &Inner) {
    bencher.with_inputs(call).bench_values(|call| runtime.block_on(stack.dispatch(call)));
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().expect("a runtime")
}

#[divan::bench]
fn bare(bencher: Bencher<'_, '_>) {
    calls(bencher, &runtime(), &ready());
}

#[divan::bench]
fn counted_and_recorded_in_a_file(bencher: Bencher<'_, '_>) {
    observed(bencher, None);
}

#[divan::bench]
fn traced_counted_and_recorded_in_a_file(bencher: Bencher<'_, '_>) {
    observed(bencher, Some(Tracer::new(Arc::new(RandomIds), Arc::new(Nobody))));
}

fn observed(bencher: Bencher<'_, '_>, tracer: Option<Tracer>) {
    let runtime = runtime();
    let _inside = runtime.enter();
    let folder = tempfile::tempdir().expect("a folder");
    let sink = FileSink::open(folder.path().join("audit.jsonl"), Rotation::default()).expect("a file");
    let log = AuditLog::start(&AuditConfig::default(), vec![Box::new(sink)]);
    let metrics = Arc::new(CallMetrics::new(&MetricsConfig::default(), Some(log.clone())));
    let observers = Observers { tracer, metrics: Some(metrics), audit: Some(log) };
    calls(bencher, &runtime, &observers.observed(ready()));
}

#[divan::bench]
fn timed(bencher: Bencher<'_, '_>) {
    let metrics = Arc::new(CallMetrics::new(&MetricsConfig::default(), None));
    calls(bencher, &runtime(), &Stages::default().timed(metrics).decided(ready()));
}
