use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use async_trait::async_trait;
use gateway_domain::{
    Call, CallerError, ClientCapabilities, Dispatcher, DownstreamFault, DownstreamName, Error, Exchange,
    Incoming, Outcome, ParkId, SessionKey, SessionProfile,
};
use tokio::time::Instant;

use crate::{
    Held, SessionMode,
    closing::side_by_side,
    commons::{ClientId, Commons},
    downstream::{Downstream, Link, Opened},
    errand::{Attempt, Errand, or_visit, parked, waits_in},
    held::{Kept, PooledSession},
    place::Purpose,
    places::Tenant as _,
    single_flight::SingleFlight,
};

/// A client's own session to one downstream: opened once for all of the first callers, who share the
/// outcome and may give up (R-W15).
struct OwnSession {
    downstream: Arc<Downstream>,
    /// The client's session before, of which something may be left.
    predecessor: Option<Arc<Kept>>,
    kept: OnceLock<Arc<Kept>>,
    opening: SingleFlight<Obtained>,
}

/// What opening gave. The client's own is in use until the last of the first callers has had it.
#[derive(Clone)]
enum Obtained {
    ForAll(Arc<Kept>),
    Own(Held),
}

impl OwnSession {
    fn new(downstream: Arc<Downstream>, predecessor: Option<Arc<Kept>>) -> Self {
        Self { downstream, predecessor, kept: OnceLock::new(), opening: SingleFlight::default() }
    }

    /// A session that serves everybody is given but not kept: here it would have its place in the pool even
    /// when it has ended.
    async fn open(self: Arc<Self>, purpose: Purpose, profile: SessionProfile) -> Result<Obtained, Error> {
        if let Some(kept) = self.kept.get() {
            return Ok(Obtained::Own(kept.lease()));
        }
        self.end_predecessor().await;
        match self.downstream.open(purpose, &profile).await? {
            Opened::Stateless(kept) => Ok(Obtained::ForAll(kept)),
            Opened::Legacy(pooled) => {
                let closed = || DownstreamFault::Closed.before(&self.downstream.name);
                let held = Kept::for_one(pooled).ok_or_else(closed)?;
                // One attempt at a time, and it has looked.
                let _ = self.kept.set(held.kept().clone());
                Ok(Obtained::Own(held))
            }
        }
    }

    /// Two generations of a process never run at once for the same client, as far as the time for closing
    /// goes.
    async fn end_predecessor(&self) {
        let Some(predecessor) = self.predecessor.clone() else { return };
        let gone = tokio::time::timeout(self.downstream.pool.close_timeout(), predecessor.end());
        if gone.await.is_err() {
            let name = &self.downstream.name;
            tracing::warn!(downstream = %name, "a lost session is not gone after the time for closing");
        }
    }

    /// Whether it can be forgotten: nothing is kept and nothing is left of what was.
    fn is_gone(&self) -> bool {
        self.kept.get().or(self.predecessor.as_ref()).is_none_or(|kept| kept.is_gone())
    }
}

/// What a client has for a downstream.
enum Slot {
    Ready(Held),
    ToOpen(Arc<OwnSession>),
}

/// One client's sessions to its downstreams, and the dispatcher of its calls.
///
/// Safe for concurrent dispatch. Two client sessions never share a per-client session. Dropping it
/// closes in the background what it holds.
pub struct ClientSession {
    id: ClientId,
    commons: Arc<Commons>,
    since: Instant,
    /// `None` once closed.
    slots: Mutex<Option<HashMap<DownstreamName, Arc<OwnSession>>>>,
}

impl ClientSession {
    pub(crate) fn new(commons: Arc<Commons>) -> Self {
        let id = commons.next_client();
        Self { id, commons, since: Instant::now(), slots: Mutex::new(Some(HashMap::new())) }
    }

    /// Ends every session this client holds, side by side. Idempotent; later calls are refused
    /// . Dropping the future does not stop what it has begun.
    pub async fn close(&self) {
        let slots = self.slots().take().unwrap_or_default();
        let kept = slots.into_values().filter_map(|slot| slot.kept.get().cloned());
        // Taken away first, so that what is parked from now on is known to have nowhere to go on.
        let taken: Vec<_> = kept.map(|kept| (kept.give_up(), kept)).collect();
        self.commons.client_ends(self.id);
        let end = async |(pooled, kept): (Option<PooledSession>, Arc<Kept>)| {
            if let Some(pooled) = pooled {
                pooled.discard().await;
            }
            kept.gone().await;
        };
        side_by_side(taken.into_iter().map(end)).await;
    }

    /// Gives up the sessions that have been idle longer than their downstream's time-to-live, for
    /// the caller to end, and those that have ended.
    pub(crate) fn take_idle(&self, now: Instant) -> Vec<PooledSession> {
        let slots = self.slots();
        let of_slot = |slot: &Arc<OwnSession>| {
            slot.kept.get().and_then(|kept| kept.take_idle(slot.downstream.pool.idle_ttl(), now))
        };
        slots.iter().flat_map(HashMap::values).filter_map(of_slot).collect()
    }

    /// Whether nothing is held, once what is gone has been forgotten.
    pub(crate) fn is_empty(&self) -> bool {
        let mut slots = self.slots();
        let Some(slots) = slots.as_mut() else { return true };
        // Whoever has the slot is opening its session or about to use it.
        slots.retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.is_gone());
        slots.is_empty()
    }

    /// Since when nobody uses what the client holds; `None` while somebody does.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let slots = self.slots();
        let mut since = self.since;
        for slot in slots.iter().flat_map(HashMap::values) {
            if Arc::strong_count(slot) > 1 {
                return None;
            }
            if let Some(kept) = slot.kept.get() {
                since = since.max(kept.unused_since()?);
            }
        }
        Some(since)
    }

    /// Tries a call once. An ended session is given up, so that the next try finds another.
    pub(crate) async fn attempt(&self, call: &Errand<'_>) -> Attempt {
        let link = tokio::select! {
            biased;
            link = self.link(Purpose::Calls, &call.downstream, call.exchange) => link,
            error = call.downstream.health.overdue() => Err(error),
        };
        let link = match link {
            Ok(link) => link,
            Err(error) => return call.not_begun(error),
        };
        let mut attempt = call.attempt_on(link, Some(self.id)).await;
        attempt.result = self.unless_closed(attempt.result);
        attempt
    }

    /// Goes on with a parked call.
    async fn resume(&self, call: &Call, park: &ParkId) -> Result<Outcome, Error> {
        if self.is_closed() {
            return Err(CallerError::SessionClosed.into());
        }
        self.unless_closed(self.commons.resume(call, park).await)
    }

    /// Nobody else gives up what was parked after the end.
    fn unless_closed(&self, result: Result<Outcome, Error>) -> Result<Outcome, Error> {
        match waits_in(&result) {
            Some(park) if self.is_closed() => {
                self.commons.parks.abandon(park);
                Err(CallerError::SessionClosed.into())
            }
            _ => result,
        }
    }

    /// The session that a call of this client uses.
    pub(crate) async fn link(
        &self,
        purpose: Purpose,
        downstream: &Arc<Downstream>,
        exchange: &Exchange,
    ) -> Result<Link, Error> {
        // Also where nothing of this client's is involved (R-48, R-W16).
        if self.is_closed() {
            return Err(CallerError::SessionClosed.into());
        }
        if let Some(kept) = downstream.stateless(exchange.era) {
            return Ok(Link::Stateless(kept));
        }
        match downstream.mode {
            SessionMode::Shared => taken(purpose, downstream, exchange, None).await,
            // Modern clients whom nobody knows have one key, and each its own credentials.
            SessionMode::PerCaller if is_anybodys(&exchange.session) => {
                taken(purpose, downstream, exchange, exchange.incoming.clone()).await
            }
            SessionMode::PerClient | SessionMode::PerCaller => self.hold(purpose, downstream, exchange).await,
        }
    }

    /// The session this client keeps to the downstream, opened if need be.
    async fn hold(
        &self,
        purpose: Purpose,
        downstream: &Arc<Downstream>,
        exchange: &Exchange,
    ) -> Result<Link, Error> {
        let slot = match self.slot(downstream)? {
            Slot::Ready(held) => return Ok(attended(held, exchange)),
            Slot::ToOpen(slot) => slot,
        };
        let capabilities = exchange.capabilities.clone();
        let incoming = exchange.incoming.clone().filter(|_| downstream.mode == SessionMode::PerCaller);
        let profile = SessionProfile { era: exchange.era, capabilities, incoming };
        let obtained = slot.opening.join(|| slot.clone().open(purpose, profile)).await?;
        drop(slot);
        if self.is_closed() {
            // Closed while the session was being opened: it ends with the last who waited for it.
            return Err(CallerError::SessionClosed.into());
        }
        Ok(match obtained {
            Obtained::ForAll(kept) => Link::Stateless(kept),
            Obtained::Own(held) => attended(held, exchange),
        })
    }

    /// The legacy sessions this client holds.
    pub(crate) fn held(&self) -> Vec<Held> {
        let slots = self.slots();
        let kept = slots.iter().flat_map(HashMap::values).filter_map(|slot| slot.kept.get());
        kept.filter_map(Kept::enter).collect()
    }

    /// What there is for a downstream; a session that has ended (R-W12), or belongs to a downstream that has
    /// been replaced, is let go of.
    fn slot(&self, downstream: &Arc<Downstream>) -> Result<Slot, Error> {
        let mut slots = self.slots();
        let slots = slots.as_mut().ok_or(CallerError::SessionClosed)?;
        let mut predecessor = None;
        if let Some(slot) = slots.get(&downstream.name) {
            if slot.downstream.generation > downstream.generation {
                return Err(DownstreamFault::Closed.before(&downstream.name));
            }
            if slot.downstream.generation == downstream.generation {
                let Some(kept) = slot.kept.get() else { return Ok(Slot::ToOpen(slot.clone())) };
                if let Some(held) = kept.enter() {
                    return Ok(Slot::Ready(held));
                }
                predecessor = Some(kept.clone());
            }
        }
        let slot = Arc::new(OwnSession::new(downstream.clone(), predecessor));
        slots.insert(downstream.name.clone(), slot.clone());
        Ok(Slot::ToOpen(slot))
    }

    fn is_closed(&self) -> bool {
        self.slots().is_none()
    }

    fn slots(&self) -> MutexGuard<'_, Option<HashMap<DownstreamName, Arc<OwnSession>>>> {
        // Every critical section leaves the map consistent.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session for one use.
async fn taken(
    purpose: Purpose,
    downstream: &Arc<Downstream>,
    exchange: &Exchange,
    incoming: Option<Arc<Incoming>>,
) -> Result<Link, Error> {
    let profile = SessionProfile { era: exchange.era, capabilities: ClientCapabilities::none(), incoming };
    Ok(match downstream.open(purpose, &profile).await? {
        Opened::Stateless(kept) => Link::Stateless(kept),
        Opened::Legacy(pooled) => Link::Taken(pooled),
    })
}

fn is_anybodys(session: &SessionKey) -> bool {
    matches!(session, SessionKey::Modern { caller, .. } if caller.is_anonymous())
}

#[async_trait]
impl Dispatcher for ClientSession {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let made = self.make(&call).await;
        or_visit(made, &call)
    }
}

impl ClientSession {
    pub(crate) async fn make(&self, call: &Call) -> Result<Outcome, Error> {
        if let Some(park) = parked(call) {
            return self.resume(call, park).await;
        }
        let first = self.attempt(&Errand::find(call, &self.commons)?).await;
        if !first.may_try_again {
            return first.result;
        }
        // Those that were idle may all have ended with that one, as when a server was restarted. Each is gone
        // from the pool then, so sooner or later there is a new one, and that is the last (G-31).
        loop {
            let again = self.attempt(&Errand::find(call, &self.commons)?).await;
            if !again.may_try_again || !again.was_idle {
                return again.last();
            }
        }
    }
}

/// The session has been told whose it is, if that can be told.
fn attended(held: Held, exchange: &Exchange) -> Link {
    if let Some(client) = &exchange.client {
        held.kept().attend(client);
    }
    Link::Held(held)
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession").finish_non_exhaustive()
    }
}
