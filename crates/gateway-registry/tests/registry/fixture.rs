//! A manager over fake downstreams, and calls to it.

use std::sync::Arc;

use gateway_domain::{
    Call, Caller, ClientCapabilities, ClientLink, Dispatcher, Era, Error, Exchange, FollowUp, InputRequired,
    Outcome, Params, RawObject, SessionKey, Subject, Target,
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
    caller: Caller,
    capabilities: ClientCapabilities,
    pub(crate) link: Option<Arc<dyn ClientLink>>,
}

pub(crate) fn legacy(id: &str) -> Client {
    let key = SessionKey::Legacy { id: id.into() };
    let (caller, capabilities) = (Caller::anonymous(), ClientCapabilities::none());
    Client { era: Era::Legacy, key, caller, capabilities, link: None }
}

pub(crate) fn modern(caller: &str) -> Client {
    modern_of(Caller::client(caller))
}

/// A modern client that nobody knows.
pub(crate) fn anonymous() -> Client {
    modern_of(Caller::anonymous())
}

fn modern_of(caller: Caller) -> Client {
    let capabilities = ClientCapabilities::none();
    let key = SessionKey::Modern { caller: caller.clone(), capabilities: capabilities.clone() };
    Client { era: Era::Modern, key, caller, capabilities, link: None }
}

impl Client {
    pub(crate) fn key(&self) -> &SessionKey {
        &self.key
    }

    /// The same caller with other capabilities is another client.
    pub(crate) fn with_profile(&self, name: &str) -> Self {
        self.declaring(&format!(r#"{{"extensions":{{"{name}":{{}}}}}}"#))
    }

    /// The same caller, who can do this.
    pub(crate) fn declaring(&self, capabilities: &str) -> Self {
        let capabilities = ClientCapabilities::from(RawObject::parse(capabilities.to_owned()).unwrap());
        let key = match &self.key {
            SessionKey::Modern { caller, .. } => {
                SessionKey::Modern { caller: caller.clone(), capabilities: capabilities.clone() }
            }
            key => key.clone(),
        };
        Self { key, capabilities, ..self.clone() }
    }

    /// The same client, who is known by name.
    pub(crate) fn named(&self, caller: &str) -> Self {
        Self { caller: Caller::client(caller), ..self.clone() }
    }

    /// A modern client that nobody knows.
    pub(crate) fn nobody() -> Self {
        let (caller, capabilities) = (Caller::anonymous(), ClientCapabilities::none());
        let key = SessionKey::Modern { caller: caller.clone(), capabilities: capabilities.clone() };
        Self { era: Era::Modern, key, caller, capabilities, link: None }
    }

    /// A call that goes on with what the same call asked, answering `q` with `answer`.
    pub(crate) fn answering(&self, mut call: Call, asked: &Outcome, answer: Option<&str>) -> Call {
        let Outcome::InputRequired(InputRequired { asker, state, .. }) = asked else {
            panic!("nothing is asked: {asked:?}")
        };
        let responses = answer.map_or_else(|| "{}".to_owned(), |answer| format!(r#"{{"q":"{answer}"}}"#));
        call.follow_up = Some(FollowUp {
            asker: asker.clone().unwrap(),
            state: state.clone(),
            responses: RawObject::parse(responses).unwrap(),
        });
        call
    }

    pub(crate) fn exchange(&self) -> Exchange {
        self.to("fake", "whoami").exchange
    }

    pub(crate) fn to(&self, downstream: &str, tool: &str) -> Call {
        let target = Target::Downstream { downstream: name(downstream), subject: Subject::tool(tool) };
        let exchange = Exchange::quiet(self.era, self.key.clone(), self.capabilities.clone());
        let exchange = Exchange { client: self.link.clone(), ..exchange };
        let (params, caller) = (Params::empty(), self.caller.clone());
        Call { target, params, follow_up: None, origin: None, caller, exchange }
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
