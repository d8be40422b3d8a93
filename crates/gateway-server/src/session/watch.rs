//! The resources that a session watches (`resources/subscribe`).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use gateway_domain::{Caller, Exchange, RawObject, Subscription, Updates};
use gateway_protocol::{convert, method, write};
use tokio::runtime::Handle;

use super::Session;

/// Changes within this time are told together.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// Different resources whose changes may wait to be told.
const WAITING: usize = 256;

/// A resource that is watched, and how it was asked for.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) subscription: Subscription,
    pub(crate) caller: Caller,
    pub(crate) exchange: Exchange,
}

/// What one session watches.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    subscriptions: HashMap<Arc<str>, Grant>,
    /// Changes that are to be told; empty while nothing is about to tell them.
    waiting: Vec<RawObject>,
    /// The session is over.
    ended: bool,
}

impl Watched {
    /// How many resources are watched.
    pub(crate) fn count(&self) -> usize {
        self.state().subscriptions.len()
    }

    pub(crate) fn has(&self, uri: &str) -> bool {
        self.state().subscriptions.contains_key(uri)
    }

    /// Keeps a subscription. One that is there already stays, and this one ends.
    pub(crate) fn keep(&self, uri: Arc<str>, grant: Grant) {
        let mut state = self.state();
        if !state.ended {
            state.subscriptions.entry(uri).or_insert(grant);
        }
    }

    /// How each was asked for.
    pub(crate) fn asked(&self) -> Vec<(Arc<str>, Caller, Exchange)> {
        let asked = |(uri, grant): (&Arc<str>, &Grant)| {
            let exchange = Exchange { notes: Arc::default(), ..grant.exchange.clone() };
            (uri.clone(), grant.caller.clone(), exchange)
        };
        self.state().subscriptions.iter().map(asked).collect()
    }

    /// Puts a subscription in the place of one that is still there.
    pub(crate) fn renew(&self, uri: &str, subscription: Subscription) {
        let mut state = self.state();
        let old = state
            .subscriptions
            .get_mut(uri)
            .map(|grant| std::mem::replace(&mut grant.subscription, subscription));
        // Ended without the lock.
        drop(state);
        drop(old);
    }

    /// Ends a subscription, if it is there.
    pub(crate) fn leave(&self, uri: &str) {
        // Ended without the lock.
        let subscription = self.state().subscriptions.remove(uri);
        drop(subscription);
    }

    /// Ends all of them for good.
    pub(crate) fn end(&self) {
        let state = std::mem::replace(&mut *self.state(), State { ended: true, ..State::default() });
        drop(state);
    }

    /// Whether somebody has to tell what waits now.
    fn add(&self, params: RawObject) -> Result<bool, Full> {
        let mut state = self.state();
        let uri = params.get("uri");
        let first = state.waiting.is_empty();
        match state.waiting.iter().position(|waiting| waiting.get("uri") == uri) {
            Some(at) => state.waiting[at] = params,
            None if state.waiting.len() == WAITING => return Err(Full),
            None => state.waiting.push(params),
        }
        Ok(first)
    }

    fn take(&self) -> Vec<RawObject> {
        std::mem::take(&mut self.state().waiting)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Full;

/// Tells a session's client of changes.
struct Teller {
    session: Weak<Session>,
    runtime: Handle,
}

/// What tells the client of this session. Must be called within a tokio runtime.
pub(crate) fn updates(session: &Arc<Session>) -> Arc<dyn Updates> {
    Arc::new(Teller { session: Arc::downgrade(session), runtime: Handle::current() })
}

impl Updates for Teller {
    fn updated(&self, params: RawObject) {
        let Some(session) = self.session.upgrade() else { return };
        match session.watched().add(params) {
            Ok(true) => drop(self.runtime.spawn(tell(self.session.clone()))),
            Ok(false) => {}
            Err(Full) => session.lose_one(),
        }
    }
}

async fn tell(session: Weak<Session>) {
    tokio::time::sleep(PAUSE).await;
    let Some(session) = session.upgrade() else { return };
    for params in session.watched().take() {
        let params = convert::legacy::notification(&session.notices().shown(params));
        session.tell_client(write::notification(method::RESOURCE_UPDATED, params.as_bytes()).into());
    }
}
