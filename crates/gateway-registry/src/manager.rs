use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{
    Call, CallerError, Dispatcher, DownstreamName, Error, Outcome, SessionKey, Sessions, Target,
};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    ClientSession, Held, ManagedDownstream, Stats, client_session::Downstreams, downstream::Downstream,
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
    /// At most [`Manager::MAX_CLIENTS`].
    sessions: HashMap<SessionKey, Arc<ClientSession>>,
    closed: bool,
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
        let clients = Mutex::new(Clients { sessions: HashMap::new(), closed: false });
        let shared = Arc::new(Shared { downstreams: Arc::new(map), clients });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(reap_periodically(Arc::downgrade(&shared)));
        }
        Ok(Self { shared })
    }

    /// A client session of its own.
    ///
    /// # Errors
    /// [`CallerError::SessionClosed`] once the manager is closed (R-W23).
    pub fn new_client_session(&self) -> Result<ClientSession, Error> {
        if self.shared.clients().closed {
            return Err(CallerError::SessionClosed.into());
        }
        Ok(ClientSession::new(self.shared.downstreams.clone()))
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

    /// Ends every client's sessions, then the common ones and the pools; all downstreams side by side
    /// (R-36, P-W19). Idempotent.
    pub async fn close(&self) {
        let clients = {
            let mut clients = self.shared.clients();
            clients.closed = true;
            std::mem::take(&mut clients.sessions)
        };
        let mut closing = JoinSet::new();
        for client in clients.into_values() {
            closing.spawn(async move { client.close().await });
        }
        for downstream in self.shared.downstreams.values().map(Arc::clone) {
            closing.spawn(async move { downstream.close().await });
        }
        while closing.join_next().await.is_some() {}
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
        if let Target::Tool { downstream, name, headers } = &call.target
            && let Some(downstream) = self.shared.downstreams.get(downstream)
            && let Some(held) = downstream.stateless(call.exchange.era)
        {
            // Nothing of the client's is involved, so its session need not be looked up.
            let _in_use = held.enter();
            let session = held.session();
            return session.call_tool(name, headers, &call.params, &call.exchange).await;
        }
        let client = self.shared.client(&call.exchange.session)?;
        client.dispatch(call).await
    }
}

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
            let what = "client sessions";
            return Err(CallerError::Overloaded { what, limit: Manager::MAX_CLIENTS }.into());
        }
        let client = Arc::new(ClientSession::new(self.downstreams.clone()));
        clients.sessions.insert(key.clone(), client.clone());
        Ok(client)
    }

    async fn reap(&self) {
        let now = Instant::now();
        let clients: Vec<_> =
            self.clients().sessions.iter().map(|(key, client)| (key.clone(), client.clone())).collect();
        let mut reaping = JoinSet::new();
        for (key, client) in clients {
            reaping.spawn(async move { client.reap(now).await.then_some(key) });
        }
        while let Some(reaped) = reaping.join_next().await {
            let Ok(Some(key)) = reaped else { continue };
            let mut clients = self.clients();
            // Only the map has it, so nobody is about to use it.
            if clients.sessions.get(&key).is_some_and(|client| Arc::strong_count(client) == 1) {
                clients.sessions.remove(&key);
            }
        }
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
