//! Resources that are watched for clients, over losses of the sessions that watch them (design §1).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use gateway_domain::{
    CallerError, ClientCapabilities, ClientLink, DownstreamName, Era, Error, Exchange, Execution, Incoming,
    RawJson, RawObject, SessionKey, Subscription, Updates,
};
use tokio::{sync::Notify, task::AbortHandle, time::Duration};
use tracing::Instrument as _;

use crate::{Held, ManagerConfig, held::Resting, jitter::Jitter, place::Purpose};

/// How long to wait before a lost session is replaced, each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What is watched, and for whom: all that is needed to watch it again.
#[derive(Debug)]
pub(crate) struct Spot {
    pub(crate) downstream: DownstreamName,
    uri: Arc<str>,
    era: Era,
    key: SessionKey,
    capabilities: ClientCapabilities,
    /// Weak, since a client that has gone is not kept by what it watched.
    client: Option<Weak<dyn ClientLink>>,
    incoming: Option<Arc<Incoming>>,
}

impl Spot {
    pub(crate) fn new(downstream: DownstreamName, uri: Arc<str>, exchange: &Exchange) -> Self {
        Self {
            downstream,
            uri,
            era: exchange.era,
            key: exchange.session.clone(),
            capabilities: exchange.capabilities.clone(),
            client: exchange.client.as_ref().map(Arc::downgrade),
            incoming: exchange.incoming.clone(),
        }
    }

    /// The circumstances in which its session is looked for.
    pub(crate) fn exchange(&self) -> Exchange {
        let client = self.client.as_ref().and_then(Weak::upgrade);
        let incoming = self.incoming.clone();
        Exchange {
            client,
            incoming,
            ..Exchange::quiet(self.era, self.key.clone(), self.capabilities.clone())
        }
    }
}

/// Everything that is watched, by who wants it.
#[derive(Debug)]
pub(crate) struct Watches {
    table: Arc<Mutex<Table>>,
}

#[derive(Debug)]
struct Table {
    max: usize,
    per_client: usize,
    /// Those that are being begun have no task yet.
    clients: HashMap<SessionKey, HashMap<u64, Option<Running>>>,
    count: usize,
    next: u64,
    closed: bool,
}

#[derive(Debug)]
struct Running {
    relay: Arc<Relay>,
    task: AbortHandle,
}

impl Running {
    fn end(&self) {
        self.relay.is_over.store(true, Ordering::Release);
        self.task.abort();
    }
}

impl Watches {
    pub(crate) fn new(config: &ManagerConfig) -> Self {
        let (max, per_client) = (config.max_subscriptions, config.max_subscriptions_per_client);
        let table = Table { max, per_client, clients: HashMap::new(), count: 0, next: 0, closed: false };
        Self { table: Arc::new(Mutex::new(table)) }
    }

    pub(crate) fn set_config(&self, config: &ManagerConfig) {
        let mut table = lock(&self.table);
        (table.max, table.per_client) = (config.max_subscriptions, config.max_subscriptions_per_client);
    }

    /// Watches until the result is dropped or the client ends. `open` finds the session that watches, each time
    /// anew.
    ///
    /// # Errors
    /// Too many are watched; or why it cannot be watched now.
    pub(crate) async fn watch<F>(
        &self,
        spot: Spot,
        open: impl Fn(Arc<Spot>, Purpose) -> F + Send + Sync + 'static,
        updates: Arc<dyn Updates>,
    ) -> Result<Subscription, Error>
    where
        F: Future<Output = Result<Arc<Held>, Error>> + Send + 'static,
    {
        let ticket = Ticket::new(&self.table, &spot.key)?;
        let spot = Arc::new(spot);
        let relay = Arc::new(Relay { updates, is_over: AtomicBool::new(false) });
        let seat = match seat(&spot, &open, Purpose::Calls, &relay).await {
            // Its session ended while nobody looked: there is another.
            Err(Error::Downstream(error)) if error.execution == Execution::NotStarted => {
                seat(&spot, &open, Purpose::Calls, &relay).await?
            }
            seat => seat?,
        };
        let span = tracing::debug_span!("watch", downstream = %spot.downstream);
        let task = tokio::spawn(keep(spot, open, relay.clone(), seat).instrument(span)).abort_handle();
        let running = ticket.started(Running { relay, task })?;
        Ok(Subscription::new(running))
    }

    /// Ends all that a client watches.
    pub(crate) fn end(&self, key: &SessionKey) {
        let ended = {
            let mut table = lock(&self.table);
            let ended = table.clients.remove(key).unwrap_or_default();
            table.count -= ended.len();
            ended
        };
        ended.into_values().flatten().for_each(|running| running.end());
    }

    pub(crate) fn end_where(&self, chosen: impl Fn(&SessionKey) -> bool) {
        let keys: Vec<_> = lock(&self.table).clients.keys().filter(|key| chosen(key)).cloned().collect();
        keys.iter().for_each(|key| self.end(key));
    }

    /// Ends all, and refuses more.
    pub(crate) fn close(&self) {
        lock(&self.table).closed = true;
        self.end_where(|_| true);
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.close();
    }
}

/// A place in the table; dropping it ends what runs there.
struct Ticket {
    table: Arc<Mutex<Table>>,
    key: SessionKey,
    number: u64,
}

impl Ticket {
    fn new(shared: &Arc<Mutex<Table>>, key: &SessionKey) -> Result<Self, Error> {
        let mut table = lock(shared);
        let (what, all) = ("subscriptions", table.max);
        let (of_client, per_client) = (table.clients.get(key).map_or(0, HashMap::len), table.per_client);
        if table.closed {
            return Err(CallerError::SessionClosed.into());
        }
        if of_client >= per_client {
            return Err(
                CallerError::Overloaded { what: "subscriptions of one client", limit: per_client }.into()
            );
        }
        if table.count >= all {
            return Err(CallerError::Overloaded { what, limit: all }.into());
        }
        let number = table.next;
        table.next += 1;
        table.count += 1;
        table.clients.entry(key.clone()).or_default().insert(number, None);
        Ok(Self { table: shared.clone(), key: key.clone(), number })
    }

    /// From now on `running` ends with the ticket; with its client it has ended already if that has.
    fn started(self, running: Running) -> Result<Self, Error> {
        let mut table = lock(&self.table);
        let Some(place) = table.clients.get_mut(&self.key).and_then(|own| own.get_mut(&self.number)) else {
            running.end();
            return Err(CallerError::SessionClosed.into());
        };
        *place = Some(running);
        drop(table);
        Ok(self)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let running = {
            let mut table = lock(&self.table);
            let Some(own) = table.clients.get_mut(&self.key) else { return };
            let Some(running) = own.remove(&self.number) else { return };
            if own.is_empty() {
                table.clients.remove(&self.key);
            }
            table.count -= 1;
            running
        };
        if let Some(running) = running {
            running.end();
        }
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    // Every critical section leaves the table consistent.
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes updates on until the watch is over.
struct Relay {
    updates: Arc<dyn Updates>,
    is_over: AtomicBool,
}

impl Relay {
    fn updated(&self, params: RawObject) {
        if !self.is_over.load(Ordering::Acquire) {
            self.updates.updated(params);
        }
    }

    /// Nobody knows what happened while nobody watched.
    fn updated_to_be_safe(&self, uri: &str) {
        // A string in an object is an object.
        if let Ok(params) = RawObject::parse(format!(r#"{{"uri":{}}}"#, RawJson::string(uri))) {
            self.updated(params);
        }
    }
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").finish_non_exhaustive()
    }
}

/// What one session is told to tell: what is lost is that session's watch and no later one's.
struct Ear {
    relay: Arc<Relay>,
    lost: Notify,
}

impl Updates for Ear {
    fn updated(&self, params: RawObject) {
        self.relay.updated(params);
    }

    fn lost(&self) {
        self.lost.notify_one();
    }
}

/// A session that watches. It is in use meanwhile.
struct Seat {
    _subscription: Subscription,
    lease: Resting,
    ear: Arc<Ear>,
}

impl Seat {
    /// Completes when nothing more will be told.
    async fn lost(&self) {
        tokio::select! {
            () = self.ear.lost.notified() => {}
            () = self.lease.held().kept().gone() => {}
        }
    }
}

async fn seat<F>(
    spot: &Arc<Spot>,
    open: &(impl Fn(Arc<Spot>, Purpose) -> F + Send + Sync),
    purpose: Purpose,
    relay: &Arc<Relay>,
) -> Result<Seat, Error>
where
    F: Future<Output = Result<Arc<Held>, Error>> + Send,
{
    let held = open(spot.clone(), purpose).await?;
    let ear = Arc::new(Ear { relay: relay.clone(), lost: Notify::new() });
    let subscription = held.session().subscribe_for(&spot.uri, ear.clone(), &spot.exchange()).await?;
    Ok(Seat { _subscription: subscription, lease: (*held).clone().rest(), ear })
}

/// Watches again whenever the session that watched is lost, however long that takes, until it is said that there is
/// nothing to watch any more. A session that had to make room is not hurried to take the place of others.
async fn keep<F>(
    spot: Arc<Spot>,
    open: impl Fn(Arc<Spot>, Purpose) -> F + Send + Sync,
    relay: Arc<Relay>,
    mut current: Seat,
) where
    F: Future<Output = Result<Arc<Held>, Error>> + Send,
{
    let mut jitter = Jitter::random();
    loop {
        current.lost().await;
        let mut pause = if current.lease.held().kept().made_room() { LONGEST_PAUSE } else { FIRST_PAUSE };
        drop(current);
        current = loop {
            tokio::time::sleep(pause - jitter.below(pause / 4)).await;
            match seat(&spot, &open, Purpose::Watches, &relay).await {
                Ok(seat) => break seat,
                Err(error) if is_final(&error) => {
                    tracing::info!(%error, "a resource is not watched any more");
                    return relay.updated_to_be_safe(&spot.uri);
                }
                Err(error) => tracing::debug!(%error, "a resource cannot be watched again yet"),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        relay.updated_to_be_safe(&spot.uri);
    }
}

/// Whether it will never be watched again: there is no such downstream or resource any more, or it cannot be watched.
fn is_final(error: &Error) -> bool {
    use CallerError::{UnknownDownstream, UnknownMethod, UnknownResource};
    matches!(error, Error::Caller(UnknownDownstream { .. } | UnknownMethod { .. } | UnknownResource { .. }))
}
