use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{Call, CallerError, Dispatcher, DownstreamName, Error, Outcome, SessionKey, Sessions};
use tokio::time::Instant;

use crate::{
    ClientSession, Held, ManagedDownstream, Stats,
    client_session::{Downstreams, ToolCall},
    closing::side_by_side,
    downstream::{Downstream, Link},
};

/// Why downstreams cannot be managed together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManagerError {
    /// Two have the same name.
    #[error("two downstreams are named `{name}`")]
    DuplicateName {
        /// The name.
        name: DownstreamName,
    },
}

/// Owns all pools and answers every call with the session that belongs to its caller. One per
/// gateway; clones share it.
#[derive(Clone)]
pub struct Manager {
    shared: Arc<Shared>,
}

struct Shared {
    downstreams: Arc<Downstreams>,
    clients: Mutex<Clients>,
}

struct Clients {
    /// By who holds them; at most [`Manager::MAX_CLIENTS`].
    sessions: HashMap<SessionKey, Arc<ClientSession>>,
    /// Those that were handed out; at most as many again.
    handed_out: Vec<Weak<ClientSession>>,
    closed: bool,
}

impl Clients {
    fn all(&self) -> impl Iterator<Item = Arc<ClientSession>> {
        self.sessions.values().cloned().chain(self.handed_out.iter().filter_map(Weak::upgrade))
    }
}

impl Manager {
    /// The most client sessions at once. The edge keeps its own, lower, limit on what it lets in.
    pub const MAX_CLIENTS: usize = 20_000;

    /// Manages `downstreams`. Within a tokio runtime a background task ends idle sessions.
    ///
    /// # Errors
    /// [`ManagerError`].
    pub fn new(downstreams: Vec<ManagedDownstream>) -> Result<Self, ManagerError> {
        let mut map = Downstreams::new();
        for managed in downstreams {
            let name = managed.name.clone();
            if map.insert(name.clone(), Arc::new(Downstream::new(managed))).is_some() {
                return Err(ManagerError::DuplicateName { name });
            }
        }
        let clients = Mutex::new(Clients { sessions: HashMap::new(), handed_out: Vec::new(), closed: false });
        let shared = Arc::new(Shared { downstreams: Arc::new(map), clients });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(reap_periodically(Arc::downgrade(&shared)));
        }
        Ok(Self { shared })
    }

    /// A client session of its own. The manager reaps and closes it like those it keeps by key.
    ///
    /// # Errors
    /// [`CallerError::SessionClosed`] once the manager is closed (R-W23), [`CallerError::Overloaded`] beyond
    /// [`Self::MAX_CLIENTS`].
    pub fn new_client_session(&self) -> Result<Arc<ClientSession>, Error> {
        let mut clients = self.shared.clients();
        if clients.closed {
            return Err(CallerError::SessionClosed.into());
        }
        if clients.handed_out.len() >= Self::MAX_CLIENTS {
            clients.handed_out.retain(|client| client.strong_count() > 0);
        }
        if clients.handed_out.len() >= Self::MAX_CLIENTS {
            return Err(too_many_clients());
        }
        let client = Arc::new(ClientSession::new(self.shared.downstreams.clone()));
        clients.handed_out.push(Arc::downgrade(&client));
        Ok(client)
    }

    /// The session that a downstream's lists are read from; opened if need be. No client is given it
    /// unless it serves everybody (R-W24).
    ///
    /// # Errors
    /// [`CallerError::UnknownDownstream`], or why no session could be opened.
    pub async fn listing(&self, name: &DownstreamName) -> Result<Arc<Held>, Error> {
        match self.shared.downstreams.get(name) {
            Some(downstream) => downstream.listing().await,
            None => Err(CallerError::UnknownDownstream { name: name.to_string() }.into()),
        }
    }

    /// The pool's snapshot of every downstream.
    pub fn stats(&self) -> Vec<(DownstreamName, Stats)> {
        let downstreams = self.shared.downstreams.values();
        downstreams.map(|downstream| (downstream.name.clone(), downstream.pool.stats())).collect()
    }

    /// Ends sessions that have been idle too long: one step of the background task.
    pub async fn reap(&self) {
        self.shared.reap().await;
    }

    /// Ends every client's sessions, those that serve everybody and the pools, all side by side (R-36,
    /// P-W19). Returns when everything is gone, also what was being opened or ended before, but no later
    /// than the pools' close timeouts after this was first called. Idempotent, and the same for whoever
    /// calls it. Dropping the future does not stop what it has begun.
    pub async fn close(&self) {
        let clients: Vec<_> = {
            let mut clients = self.shared.clients();
            clients.closed = true;
            let all = clients.all().collect();
            clients.sessions.clear();
            all
        };
        let downstreams: Vec<_> = self.shared.downstreams.values().cloned().collect();
        // Their sessions have places, and the pools wait for those within their bounds.
        for client in clients {
            tokio::spawn(async move { client.close().await });
        }
        side_by_side(downstreams.into_iter().map(|downstream| async move { downstream.close().await })).await;
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager")
            .field("downstreams", &self.shared.downstreams.keys())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Dispatcher for Manager {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let shared = &self.shared;
        let call_for = ToolCall::find(&call, &shared.downstreams)?;
        let Some(held) = call_for.downstream.stateless(call.exchange.era) else {
            return shared.client(&call.exchange.session)?.dispatch(call).await;
        };
        // Nothing of the client's is involved, so its session need not be looked up.
        let first = call_for.attempt_on(&Link::Stateless(held)).await;
        if !first.may_try_again {
            return first.result;
        }
        let client = shared.client(&call.exchange.session)?;
        client.attempt(&call_for).await.result
    }
}

/// A call that comes under a key after its end is a new client's and opens sessions anew: whoever gives out
/// the keys refuses those that have ended.
#[async_trait]
impl Sessions for Manager {
    async fn end(&self, key: &SessionKey) {
        let client = self.shared.clients().sessions.remove(key);
        if let Some(client) = client {
            client.close().await;
        }
    }
}

impl Shared {
    fn client(&self, key: &SessionKey) -> Result<Arc<ClientSession>, Error> {
        let mut clients = self.clients();
        if clients.closed {
            return Err(CallerError::SessionClosed.into());
        }
        if let Some(client) = clients.sessions.get(key) {
            return Ok(client.clone());
        }
        if clients.sessions.len() >= Manager::MAX_CLIENTS {
            return Err(too_many_clients());
        }
        let client = Arc::new(ClientSession::new(self.downstreams.clone()));
        clients.sessions.insert(key.clone(), client.clone());
        Ok(client)
    }

    async fn reap(&self) {
        let now = Instant::now();
        let clients: Vec<_> = self.clients().all().collect();
        let idle: Vec<_> = clients.iter().flat_map(|client| client.take_idle(now)).collect();
        drop(clients);
        {
            let mut clients = self.clients();
            // If only the map has it, nobody is about to use it.
            clients.sessions.retain(|_, client| Arc::strong_count(client) > 1 || !client.is_empty());
            clients.handed_out.retain(|client| client.strong_count() > 0);
        }
        side_by_side(idle.into_iter().map(Held::end)).await;
    }

    fn period(&self) -> Duration {
        let shortest = self.downstreams.values().map(|downstream| downstream.pool.idle_ttl()).min();
        (shortest.unwrap_or(Duration::from_secs(90)) / 2).max(Duration::from_secs(1))
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        // Every critical section leaves the map consistent.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_many_clients() -> Error {
    CallerError::Overloaded { what: "client sessions", limit: Manager::MAX_CLIENTS }.into()
}

async fn reap_periodically(manager: Weak<Shared>) {
    //
    while let Some(period) = manager.upgrade().map(|manager| manager.period()) {
        tokio::time::sleep(period).await;
        match manager.upgrade() {
            Some(manager) if !manager.clients().closed => manager.reap().await,
            _ => return,
        }
    }
}
