//! What it costs a call that it is kept within limits and is not refused: less than a microsecond.

#![expect(clippy::expect_used, reason = "a bench has no input but its own")]

use std::sync::Arc;

use async_trait::async_trait;
use divan::Bencher;
use gateway_domain::{
    Call, Caller, ClientCapabilities, Dispatcher, DownstreamName, Era, Error, Exchange, Outcome, Params,
    RawObject, SessionKey, Subject, Target,
};
use gateway_pipeline::limits::{Concurrency, Counted, Limit, Limited, Limits, LimitsConfig, Rate, Rates};
use tokio::runtime::{Builder, Runtime};

fn main() {
    divan::main();
}

struct Nothing;

#[async_trait]
impl Dispatcher for Nothing {
    async fn dispatch(&self, _: Call) -> Result<Outcome, Error> {
        Ok(Outcome::Complete(RawObject::empty()))
    }
}

fn call(caller: usize) -> Call {
    let caller = Caller::client(&format!("caller-{caller}"));
    let session = SessionKey::Modern { caller: caller.clone(), capabilities: ClientCapabilities::none() };
    let downstream = DownstreamName::parse("files").expect("a name");
    Call {
        target: Target::Downstream { downstream, subject: Subject::tool("read") },
        params: Params::empty(),
        follow_up: None,
        caller,
        exchange: Exchange::quiet(Era::Modern, session, ClientCapabilities::none()),
        origin: None,
    }
}

fn everything() -> LimitsConfig {
    let rate = || Limit::of(Rate::new(1_000_000.0, u32::MAX).expect("a rate"));
    LimitsConfig {
        rates: Rates {
            caller: rate(),
            caller_tool: rate(),
            tool: rate(),
            downstream: rate(),
            task_polls: rate(),
        },
        at_once: Concurrency { caller: Limit::of(64), tool: Limit::of(64), downstream: Limit::of(64) },
        ..LimitsConfig::default()
    }
}

/// Both stages, as a call passes them.
fn limited(config: LimitsConfig) -> impl Dispatcher {
    let limits = Arc::new(Limits::new(config));
    Counted::new(limits.clone(), Limited::new(limits, Nothing))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime")
}

fn bench(bencher: Bencher<'_, '_>, dispatcher: &impl Dispatcher, callers: usize) {
    let runtime = runtime();
    let calls: Vec<_> = (0..callers).map(call).collect();
    let mut next = calls.iter().cycle();
    bencher
        .with_inputs(|| next.next().expect("there are some").clone())
        .bench_local_values(|call| runtime.block_on(dispatcher.dispatch(call)));
}

/// The bare path, to be taken off.
#[divan::bench(args = [1, 10_000])]
fn nothing(bencher: Bencher<'_, '_>, callers: usize) {
    bench(bencher, &Nothing, callers);
}

#[divan::bench(args = [1, 10_000])]
fn by_default(bencher: Bencher<'_, '_>, callers: usize) {
    bench(bencher, &limited(LimitsConfig::default()), callers);
}

#[divan::bench(args = [1, 10_000])]
fn all_limits(bencher: Bencher<'_, '_>, callers: usize) {
    bench(bencher, &limited(everything()), callers);
}
