//! A manager over fake downstreams, and calls to it.

use std::sync::Arc;

use gateway_domain::{
    Call, Caller, ClientCapabilities, Dispatcher, Era, Error, Event, EventSink, Exchange, Outcome, Params,
    RawObject, SessionKey, Target,
};
use gateway_registry::{DownstreamFactory, ManagedDownstream, Manager, Pool, PoolConfig, SessionMode, Stats};
use tokio::task::JoinSet;

use crate::fake::{Fake, name};

pub(crate) use gateway_registry::SessionMode::{PerClient, Shared};

pub(crate) fn downstream(
    named: &str,
    fake: &Fake,
    mode: SessionMode,
    config: PoolConfig,
) -> ManagedDownstream {
    let factory: Arc<DownstreamFactory> = Arc::new(fake.clone());
    ManagedDownstream::new(name(named), mode, Pool::new(name(named), factory, config))
}

/// A manager of one downstream named `fake`.
pub(crate) fn manager(fake: &Fake, mode: SessionMode, max: usize) -> Manager {
    let config = PoolConfig { max, ..PoolConfig::default() };
    Manager::new(vec![downstream("fake", fake, mode, config)]).unwrap()
}

/// What is made where there is no runtime has no background tasks, whose steps would be in the way.
pub(crate) fn without_tasks<T: Send>(make: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(make).join().unwrap())
}

pub(crate) fn stats(manager: &Manager) -> Stats {
    manager.stats()[0].1
}

/// A client's side of the calls in a test.
#[derive(Clone)]
pub(crate) struct Client {
    era: Era,
    key: SessionKey,
}

pub(crate) fn legacy(id: &str) -> Client {
    Client { era: Era::Legacy, key: SessionKey::Legacy { id: id.into() } }
}

pub(crate) fn modern(caller: &str) -> Client {
    let key = SessionKey::Modern { caller: Caller::client(caller), capabilities: ClientCapabilities::none() };
    Client { era: Era::Modern, key }
}

impl Client {
    pub(crate) fn key(&self) -> &SessionKey {
        &self.key
    }

    /// The same caller with other capabilities is another client.
    pub(crate) fn with_profile(&self, name: &str) -> Self {
        let capabilities = RawObject::parse(format!(r#"{{"extensions":{{"{name}":{{}}}}}}"#)).unwrap();
        let capabilities = ClientCapabilities::from(capabilities);
        match &self.key {
            SessionKey::Modern { caller, .. } => {
                Self { era: self.era, key: SessionKey::Modern { caller: caller.clone(), capabilities } }
            }
            SessionKey::Legacy { .. } => self.clone(),
        }
    }

    pub(crate) fn exchange(&self) -> Exchange {
        self.to("fake", "whoami").exchange
    }

    pub(crate) fn to(&self, downstream: &str, tool: &str) -> Call {
        let target =
            Target::Tool { downstream: name(downstream), name: tool.into(), headers: Arc::default() };
        let exchange = Exchange {
            era: self.era,
            session: self.key.clone(),
            capabilities: ClientCapabilities::none(),
            wants_progress: false,
            log_level: None,
            events: Arc::new(Nowhere),
        };
        Call { target, params: Params::empty(), caller: Caller::anonymous(), exchange }
    }

    /// Calls a tool of the downstream `fake`; the number of the session that answered.
    pub(crate) async fn call(&self, dispatcher: &impl Dispatcher, tool: &str) -> Result<i64, Error> {
        dispatcher.dispatch(self.to("fake", tool)).await.map(answered_by)
    }
}

/// Calls a tool for each client at once; which sessions answered, in order and without repetition.
pub(crate) async fn crowd(
    manager: &Manager,
    clients: impl IntoIterator<Item = Client>,
    tool: &'static str,
) -> Vec<i64> {
    let mut calls = JoinSet::new();
    for client in clients {
        let manager = manager.clone();
        calls.spawn(async move { client.call(&manager, tool).await.unwrap() });
    }
    let mut sessions = calls.join_all().await;
    sessions.sort_unstable();
    sessions.dedup();
    sessions
}

pub(crate) fn answered_by(outcome: Outcome) -> i64 {
    match outcome {
        Outcome::Complete(result) => result.get("session").unwrap().to_integer().unwrap(),
        other => panic!("not complete: {other:?}"),
    }
}

struct Nowhere;

impl EventSink for Nowhere {
    fn emit(&self, _: Event) {}
}
