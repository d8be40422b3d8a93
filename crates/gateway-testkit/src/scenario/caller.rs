//! Callers that know which answer belongs to which call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    client::{Answer, HttpClient},
    message::members,
};

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With what it asked for.
    Done,
    /// With an error that says so.
    Refused { kind: String, may_have_executed: bool },
    /// With the answer to something else.
    Wrong(String),
    /// Without an answer.
    Lost(String),
}

/// Calls a tool that answers with its arguments.
pub(crate) async fn ask(client: &HttpClient, tool: &str, arguments: &str) -> Outcome {
    let id = client.next_id();
    match timeout(PATIENCE, client.call(&id, tool, arguments)).await {
        Err(_) => Outcome::Lost(format!("no answer within {PATIENCE:?}")),
        Ok(Err(why)) => Outcome::Lost(why.to_string()),
        Ok(Ok(answer)) => judge(&answer, &id, arguments),
    }
}

fn judge(answer: &Answer, id: &str, arguments: &str) -> Outcome {
    let given = answer.result_member("structuredContent");
    if answer.id().as_deref() == Some(id) && given.as_deref() == Some(arguments) {
        return Outcome::Done;
    }
    match answer.error().and_then(|error| refusal(&error)) {
        Some(refusal) => refusal,
        None => Outcome::Wrong(answer.text.clone()),
    }
}

fn refusal(error: &str) -> Option<Outcome> {
    let data = members(members(error)?.get("data")?.get())?;
    let kind = data.get("kind")?.get().trim_matches('"').to_owned();
    let may_have_executed = data.get("may_have_executed").is_some_and(|flag| flag.get() == "true");
    Some(Outcome::Refused { kind, may_have_executed })
}

/// One call; times count from the start of the load.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) token: String,
    /// The session it was made in. Modern clients have none: without keys they are one to the gateway.
    pub(crate) session: Option<Arc<str>>,
    /// Which of the load's targets it went to.
    pub(crate) target: usize,
    pub(crate) begun: Duration,
    pub(crate) ended: Duration,
    pub(crate) outcome: Outcome,
}

/// Callers in loops.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// Each is used by every so-manyth caller.
    pub(crate) clients: Vec<Arc<HttpClient>>,
    /// Names of downstreams.
    pub(crate) targets: Vec<String>,
    pub(crate) callers: usize,
    /// Between two calls of a caller.
    pub(crate) pace: Duration,
    /// Whether a caller keeps to one target instead of choosing.
    pub(crate) faithful: bool,
}

/// A load until it is stopped.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) began: Instant,
    stop: Arc<AtomicBool>,
    callers: JoinSet<Vec<Call>>,
}

impl Load {
    pub(crate) fn start(self) -> Running {
        let (began, stop, load) = (Instant::now(), Arc::new(AtomicBool::new(false)), Arc::new(self));
        let callers =
            (0..load.callers).map(|number| caller(Arc::clone(&load), number, began, Arc::clone(&stop)));
        Running { began, callers: callers.collect(), stop }
    }
}

impl Running {
    /// Lets all calls end and gives all there were.
    pub(crate) async fn stop(self) -> Vec<Call> {
        self.stop.store(true, Ordering::Relaxed);
        self.callers.join_all().await.concat()
    }
}

async fn caller(load: Arc<Load>, number: usize, began: Instant, stop: Arc<AtomicBool>) -> Vec<Call> {
    let client = &load.clients[number % load.clients.len()];
    let session: Option<Arc<str>> = client.session().map(Into::into);
    let mut random = Random::new(number as u64);
    let mut calls = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let pace = u64::try_from(load.pace.as_millis()).unwrap_or(0);
        sleep(Duration::from_millis(pace / 2 + random.below(pace.max(1)))).await;
        let target =
            if load.faithful { number } else { random.index(load.targets.len()) } % load.targets.len();
        let token = format!("{number}-{}", calls.len());
        let (tool, wait) =
            if random.below(2) == 0 { ("echo", 0) } else { ("sleep_ms", 10 + random.below(40)) };
        let arguments = format!(r#"{{"token":"{token}","ms":{wait}}}"#);
        let begun = began.elapsed();
        let outcome = ask(client, &format!("{}__{tool}", load.targets[target]), &arguments).await;
        calls.push(Call { token, session: session.clone(), target, begun, ended: began.elapsed(), outcome });
    }
    calls
}

/// Lehmer's generator: the same numbers for the same seed.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0xda94_2042_e4dd_58b5).wrapping_add(1);
        (self.0 >> 33) % bound
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }
}

/// Longer than any deadline of the gateway in these scenarios.
const PATIENCE: Duration = Duration::from_secs(40);
