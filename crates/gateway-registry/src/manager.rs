use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{
    Call, Caller, CallerError, Dispatcher, DownstreamName, Error, Exchange, InternalError, Outcome, ParkId,
    SessionCounts, SessionKey, Sessions, Subject, Subscription, Subscriptions, Target, Updates,
};
use tokio::{sync::watch, task::JoinHandle, time::Instant};

use crate::{
    ClientSession, Held, ManagedDownstream, Pooled, SessionMode, Stats,
    clients::{Clients, ManagerConfig},
    closing::side_by_side,
    commons::{Commons, Downstreams},
    downstream::{Downstream, Link, gone},
    errand::{Errand, or_visit, parked},
    place::Purpose,
    watches::{Spot, Watches},
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
/// gateway; clones share it. Downstreams come and go while it runs; what concerns one touches no other.
#[derive(Clone)]
pub struct Manager {
    shared: Arc<Shared>,
}

struct Shared {
    commons: Arc<Commons>,
    watches: Watches,
    changes: Mutex<Changes>,
    clients: Mutex<Clients>,
}

struct Changes {
    /// The generation of the last downstream.
    generation: u64,
    /// The last removed downstream of each name that may not be gone yet: closed when it and those before it
    /// are.
    leaving: HashMap<DownstreamName, watch::Receiver<()>>,
    closed: bool,
}

impl Changes {
    /// One more of that name leaves; the result is to be let go of when it is gone.
    fn leave(&mut self, name: &DownstreamName) -> watch::Sender<()> {
        self.leaving.retain(|_, leaving| leaving.has_changed().is_ok());
        let (gone, leaving) = watch::channel(());
        self.leaving.insert(name.clone(), leaving);
        gone
    }
}

impl Manager {
    /// Manages `downstreams` within the default bounds.
    ///
    /// # Errors
    /// [`ManagerError`].
    pub fn new(downstreams: Vec<ManagedDownstream>) -> Result<Self, ManagerError> {
        Self::with_config(downstreams, ManagerConfig::default())
    }

    /// Manages `downstreams`. Within a tokio runtime a background task ends idle sessions.
    ///
    /// # Errors
    /// [`ManagerError`].
    pub fn with_config(
        downstreams: Vec<ManagedDownstream>,
        config: ManagerConfig,
    ) -> Result<Self, ManagerError> {
        let mut map = Downstreams::new();
        for managed in downstreams {
            let name = managed.name.clone();
            if map.insert(name.clone(), Downstream::new(managed, 0, None)).is_some() {
                return Err(ManagerError::DuplicateName { name });
            }
        }
        let config = config.or_defaults();
        let shared = Arc::new(Shared {
            commons: Arc::new(Commons::new(map, &config)),
            watches: Watches::new(&config),
            changes: Mutex::new(Changes { generation: 0, leaving: HashMap::new(), closed: false }),
            clients: Mutex::new(Clients::new(config)),
        });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(reap_periodically(Arc::downgrade(&shared)));
        }
        Ok(Self { shared })
    }

    /// Adds a downstream, or puts it in the place of the one of that name. Others are not touched.
    ///
    /// The one before is closed, within its close timeout, and is gone before the new one starts anything.
    /// Its calls in flight end with [`gateway_domain::DownstreamFault::Closed`]; calls that have not begun are
    /// the new one's already. These wait for the old one's end as long as they would wait for a place, then
    /// fail, retryable. Clients that held a session to the old one get a new session with their next call.
    ///
    /// Returns when the old one is gone or its time for closing is over. Dropping the future does not stop
    /// what it has begun.
    ///
    /// # Errors
    /// [`CallerError::SessionClosed`] once the manager is closed.
    pub async fn insert(&self, managed: ManagedDownstream) -> Result<(), Error> {
        let shared = &self.shared;
        let retired = {
            let mut changes = shared.changes();
            if changes.closed {
                return Err(CallerError::SessionClosed.into());
            }
            changes.generation += 1;
            let mut map = Downstreams::clone(&shared.commons.downstreams.load());
            let name = managed.name.clone();
            let leaving = map.remove(&name).map(|old| (old, changes.leave(&name)));
            let predecessor = changes.leaving.get(&name).cloned();
            map.insert(name, Downstream::new(managed, changes.generation, predecessor));
            shared.commons.downstreams.store(Arc::new(map));
            leaving.map(|(old, gone)| shared.retire(old, gone))
        };
        finished(retired).await;
        Ok(())
    }

    /// Closes a downstream and knows it no more; `false` if it was not known. Its calls in flight end with
    /// [`gateway_domain::DownstreamFault::Closed`], later ones with [`CallerError::UnknownDownstream`].
    ///
    /// Returns when it is gone or its time for closing is over. Dropping the future does not stop what it has
    /// begun.
    pub async fn remove(&self, name: &DownstreamName) -> bool {
        let shared = &self.shared;
        let retired = {
            let mut changes = shared.changes();
            let mut map = Downstreams::clone(&shared.commons.downstreams.load());
            let Some(old) = map.remove(name) else { return false };
            shared.commons.downstreams.store(Arc::new(map));
            shared.retire(old, changes.leave(name))
        };
        finished(Some(retired)).await;
        true
    }

    /// Sets other bounds, for clients that come from now on.
    pub fn set_config(&self, config: ManagerConfig) {
        let config = config.or_defaults();
        self.shared.commons.set_config(&config);
        self.shared.watches.set_config(&config);
        self.shared.clients().set_config(config);
    }

    /// A client session of its own. The manager reaps and closes it like those it keeps by key.
    ///
    /// # Errors
    /// [`CallerError::SessionClosed`] once the manager is closed (R-W23), [`CallerError::Overloaded`] beyond
    /// [`ManagerConfig::max_clients`].
    pub fn new_client_session(&self) -> Result<Arc<ClientSession>, Error> {
        self.shared.clients().hand_out(|| ClientSession::new(self.shared.commons.clone()))
    }

    /// The session that a downstream's lists are read from; opened if need be. No client is given it
    /// unless it serves everybody (R-W24).
    ///
    /// # Errors
    /// [`CallerError::UnknownDownstream`], or why no session could be opened.
    pub async fn listing(&self, name: &DownstreamName) -> Result<Arc<Held>, Error> {
        let downstream = self.shared.commons.find(name)?;
        Ok(Arc::new(downstream.listing().await?.lease()))
    }

    /// The session that a call of that client would use, for lists that depend on who asks: the one for all,
    /// or the client's own, opened if need be. Where sessions are shared among clients by call, the one that
    /// lists are read from. While the result lives the session counts as in use.
    ///
    /// # Errors
    /// [`CallerError::UnknownDownstream`], or why no session could be opened.
    pub async fn listing_for(&self, name: &DownstreamName, exchange: &Exchange) -> Result<Arc<Held>, Error> {
        self.session_for(Purpose::Calls, name, exchange).await
    }

    async fn session_for(
        &self,
        purpose: Purpose,
        name: &DownstreamName,
        exchange: &Exchange,
    ) -> Result<Arc<Held>, Error> {
        let shared = &self.shared;
        let downstream = shared.commons.find(name)?;
        downstream.health.admits()?;
        if let Some(kept) = downstream.stateless(exchange.era) {
            return Ok(Arc::new(kept.lease()));
        }
        if downstream.mode == SessionMode::Shared {
            return Ok(Arc::new(downstream.listing().await?.lease()));
        }
        let client = shared.client(&exchange.session, &downstream).await?;
        match client.link(purpose, &downstream, exchange).await? {
            Link::Stateless(kept) => Ok(Arc::new(kept.lease())),
            Link::Held(held) => Ok(Arc::new(held)),
            Link::Taken(_) => Err(InternalError { what: "a client's own session was taken from all" }.into()),
        }
    }

    /// The pool's snapshot of every downstream.
    pub fn stats(&self) -> Vec<(DownstreamName, Stats)> {
        let downstreams = self.shared.commons.downstreams.load();
        downstreams.values().map(|downstream| (downstream.name.clone(), downstream.pool.stats())).collect()
    }

    /// What became of a downstream's sessions since it was inserted; `None` if it is not known.
    pub fn counts(&self, name: &DownstreamName) -> Option<SessionCounts> {
        let downstream = self.shared.commons.downstreams.load().get(name)?.clone();
        let parked = self.shared.commons.parks.count(&downstream) as u64;
        Some(SessionCounts { parked, ..downstream.counts() })
    }

    /// How many clients hold sessions or are about to, besides those that were handed one.
    pub fn clients(&self) -> usize {
        self.shared.clients().len()
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
        let shared = &self.shared;
        let leaving: Vec<_> = {
            let mut changes = shared.changes();
            changes.closed = true;
            changes.leaving.values().cloned().collect()
        };
        let clients = shared.clients().close();
        shared.watches.close();
        shared.commons.close();
        let downstreams: Vec<_> = shared.commons.downstreams.load().values().cloned().collect();
        // Their sessions have places, and the pools wait for those within their bounds.
        for client in clients {
            tokio::spawn(async move { client.close().await });
        }
        side_by_side(downstreams.into_iter().map(|downstream| async move { downstream.close().await })).await;
        // Those that were being closed before; each within its bounds.
        for leaving in leaving {
            gone(leaving).await;
        }
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager")
            .field("downstreams", &self.shared.commons.downstreams.load().keys())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Dispatcher for Manager {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let made = self.make(&call).await;
        or_visit(made, &call)
    }
}

impl Manager {
    async fn make(&self, call: &Call) -> Result<Outcome, Error> {
        let shared = &self.shared;
        if let Some(park) = parked(call) {
            // Of a client that holds nothing there is nothing to look after.
            let client = shared.clients().get(&call.exchange.session).cloned();
            return match client {
                Some(client) => client.make(call).await,
                None => shared.commons.resume(call, park).await,
            };
        }
        let errand = Errand::find(call, &shared.commons)?;
        if let Some((client, link)) = errand.session_of_task() {
            return errand.attempt_on(link, Some(client)).await.result;
        }
        let Some(kept) = errand.downstream.stateless(call.exchange.era) else {
            let client = shared.client(&call.exchange.session, &errand.downstream).await?;
            return client.make(call).await;
        };
        // Nothing of the client's is involved, so its session need not be looked up.
        let first = errand.attempt_on(Link::Stateless(kept), None).await;
        if !first.may_try_again {
            return first.result;
        }
        let again = Errand::find(call, &shared.commons)?;
        let client = shared.client(&call.exchange.session, &again.downstream).await?;
        client.attempt(&again).await.last()
    }
}

/// A call that comes under a key after its end is a new client's and opens sessions anew: whoever gives out
/// the keys refuses those that have ended.
#[async_trait]
impl Sessions for Manager {
    async fn end(&self, key: &SessionKey) {
        let shared = &self.shared;
        shared.watches.end(key);
        let client = shared.clients().remove(key);
        if let Some(client) = client {
            client.close().await;
        }
        // What waits in sessions that are not the client's own.
        shared.commons.parks.abandon_where(|owner, _| owner.key == *key);
    }

    async fn end_caller(&self, caller: &Caller) {
        let shared = &self.shared;
        let is_callers =
            |key: &SessionKey| matches!(key, SessionKey::Modern { caller: of, .. } if of == caller);
        shared.watches.end_where(is_callers);
        let clients = shared.clients().remove_caller(caller);
        side_by_side(clients.into_iter().map(|client| async move { client.close().await })).await;
        shared.commons.parks.abandon_where(|owner, _| is_callers(&owner.key));
    }

    fn is_over(&self, park: &ParkId) -> bool {
        self.shared.commons.parks.is_over(park)
    }

    fn abandon(&self, park: &ParkId) {
        self.shared.commons.parks.abandon(park);
    }

    async fn roots_changed(&self, key: &SessionKey) {
        let client = self.shared.clients().get(key).cloned();
        let held = client.map(|client| client.held()).unwrap_or_default();
        side_by_side(held.into_iter().map(|held| async move { held.session().roots_changed().await })).await;
    }
}

#[async_trait]
impl Subscriptions for Manager {
    async fn subscribe(
        &self,
        target: Target,
        _: &Caller,
        exchange: &Exchange,
        updates: Arc<dyn Updates>,
    ) -> Result<Subscription, Error> {
        let Target::Downstream { downstream, subject: Subject::Resource { uri } } = target else {
            return Err(InternalError { what: "what is no downstream's resource was to be watched" }.into());
        };
        let shared = Arc::downgrade(&self.shared);
        let open = move |spot: Arc<Spot>, purpose| {
            let shared = shared.clone();
            async move {
                let manager = Self { shared: shared.upgrade().ok_or(CallerError::SessionClosed)? };
                manager.session_for(purpose, &spot.downstream, &spot.exchange()).await
            }
        };
        self.shared.watches.watch(Spot::new(downstream, uri, exchange), open, updates).await
    }
}

impl Shared {
    /// The client session under `key`, for a use of `downstream`. If another has to go for it, its end is waited
    /// for as long as for a place: it may be the place that is needed.
    async fn client(&self, key: &SessionKey, downstream: &Downstream) -> Result<Arc<ClientSession>, Error> {
        let found = self.clients().find(key, || ClientSession::new(self.commons.clone()))?;
        if let Some(evicted) = found.evicted {
            let closing = tokio::spawn(async move { evicted.close().await });
            let in_time = tokio::time::timeout(downstream.pool.acquire_timeout(), closing).await;
            tracing::debug!(
                in_time = in_time.is_ok(),
                "the oldest idle client was ended: there are too many"
            );
        }
        Ok(found.client)
    }

    async fn reap(&self) {
        let now = Instant::now();
        let clients: Vec<_> = self.clients().all().collect();
        let idle: Vec<_> = clients.iter().flat_map(|client| client.take_idle(now)).collect();
        drop(clients);
        let downstreams: Vec<_> = self.commons.downstreams.load().values().cloned().collect();
        let lost = async move {
            side_by_side(
                downstreams.into_iter().map(|downstream| async move { downstream.end_lost().await }),
            )
            .await;
        };
        tokio::join!(side_by_side(idle.into_iter().map(Pooled::discard)), lost);
        self.commons.sweep();
        self.clients().forget_empty();
    }

    /// Closes a downstream that is known no more; lets go of `gone` when nothing is left of it and of the ones
    /// before it. That goes on when nobody waits for it.
    fn retire(&self, old: Arc<Downstream>, gone: watch::Sender<()>) -> JoinHandle<()> {
        let commons = self.commons.clone();
        tokio::spawn(async move {
            // Whatever is parked after this notices that the downstream is closed.
            let closing = old.close();
            tokio::join!(closing, async { commons.downstream_ends(&old) });
            old.predecessor_gone().await;
            drop(gone);
        })
    }

    fn period(&self) -> Duration {
        let downstreams = self.commons.downstreams.load();
        let shortest = downstreams.values().map(|downstream| downstream.pool.idle_ttl()).min();
        (shortest.unwrap_or(Duration::from_secs(90)) / 2).max(Duration::from_secs(1))
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        // Every critical section leaves the table consistent.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        // Every critical section leaves them consistent.
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn finished(closing: Option<JoinHandle<()>>) {
    if let Some(closing) = closing {
        // It is not aborted, and a panic has been reported by its hook.
        drop(closing.await);
    }
}

async fn reap_periodically(manager: Weak<Shared>) {
    //
    while let Some(period) = manager.upgrade().map(|manager| manager.period()) {
        tokio::time::sleep(period).await;
        match manager.upgrade() {
            Some(manager) if !manager.clients().is_closed() => manager.reap().await,
            _ => return,
        }
    }
}
