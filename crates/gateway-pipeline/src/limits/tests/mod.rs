mod bounds;
mod often;
mod waiting;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{
    Call, Caller, CallerError, ClientCapabilities, Dispatcher, DownstreamName, Era, Error, Exchange, Origin,
    Outcome, Params, RawObject, SessionKey, Subject, Target, TaskAct, View,
};
use tokio::time::{Instant, sleep};

use super::{Concurrency, Counted, Limit, Limited, Limits, LimitsConfig, Rate, Rates};

/// How long a call takes.
const SECOND: Duration = Duration::from_secs(1);

/// Answers each call after a second, and keeps who called when, counted in seconds from its start.
struct Downstream {
    started: Instant,
    calls: Mutex<Vec<(String, u64)>>,
}

#[async_trait]
impl Dispatcher for Downstream {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let at = self.started.elapsed().as_secs();
        self.calls.lock().unwrap().push((call.caller.to_string(), at));
        sleep(SECOND).await;
        Ok(Outcome::Complete(RawObject::empty()))
    }
}

/// The stages around one downstream.
struct Rig {
    limits: Arc<Limits>,
    downstream: Arc<Downstream>,
    stage: Arc<Counted<Limited<Arc<Downstream>>>>,
}

impl Rig {
    fn new(config: LimitsConfig) -> Self {
        let downstream = Arc::new(Downstream { started: Instant::now(), calls: Mutex::default() });
        let limits = Arc::new(Limits::new(config));
        let limited = Limited::new(limits.clone(), downstream.clone());
        let stage = Arc::new(Counted::new(limits.clone(), limited));
        Self { limits, downstream, stage }
    }

    async fn call(&self, call: Call) -> Result<(), CallerError> {
        outcome(self.stage.dispatch(call).await)
    }

    /// The same beside the test.
    fn begin(&self, call: Call) -> tokio::task::JoinHandle<Result<(), CallerError>> {
        let stage = self.stage.clone();
        tokio::spawn(async move { outcome(stage.dispatch(call).await) })
    }

    /// Who got through, and when.
    fn calls(&self) -> Vec<(String, u64)> {
        self.downstream.calls.lock().unwrap().clone()
    }
}

fn outcome(outcome: Result<Outcome, Error>) -> Result<(), CallerError> {
    match outcome {
        Ok(_) => Ok(()),
        Err(Error::Caller(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

/// Lets everything that was begun go as far as it can.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

fn call(caller: &str, downstream: &str, subject: Subject) -> Call {
    let target = match downstream {
        "" => Target::Exposed { view: View::All, subject },
        name => Target::Downstream { downstream: DownstreamName::parse(name).unwrap(), subject },
    };
    let caller = Caller::client(caller);
    let session = SessionKey::Modern { caller: caller.clone(), capabilities: ClientCapabilities::none() };
    Call {
        target,
        params: Params::empty(),
        follow_up: None,
        caller,
        exchange: Exchange::quiet(Era::Modern, session, ClientCapabilities::none()),
        origin: None,
    }
}

fn tool(caller: &str, downstream: &str, name: &str) -> Call {
    call(caller, downstream, Subject::tool(name))
}

fn rate(per_second: f64, burst: u32) -> Rate {
    Rate::new(per_second, burst).unwrap()
}

fn rates(rates: Rates) -> LimitsConfig {
    LimitsConfig { rates, ..LimitsConfig::default() }
}

fn at_once(at_once: Concurrency) -> LimitsConfig {
    LimitsConfig { at_once, max_wait: Duration::from_secs(100), ..LimitsConfig::default() }
}
