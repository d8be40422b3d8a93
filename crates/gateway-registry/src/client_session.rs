use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use async_trait::async_trait;
use gateway_domain::{
    Call, CallerError, ClientCapabilities, Dispatcher, DownstreamName, Era, Error, Exchange, Execution,
    InternalError, Outcome, ParamHeader, SessionProfile, Target,
};
use tokio::time::Instant;

use crate::{
    Held, SessionMode,
    closing::side_by_side,
    downstream::{Downstream, Link, Opened},
    single_flight::SingleFlight,
};

pub(crate) type Downstreams = HashMap<DownstreamName, Arc<Downstream>>;

type Slot = Arc<OwnSession>;

/// A client's own session to one downstream: opened once for all of the first callers, who share the
/// outcome and may give up (R-W15).
#[derive(Default)]
struct OwnSession {
    held: OnceLock<Arc<Held>>,
    opening: SingleFlight<Arc<Held>>,
}

impl OwnSession {
    fn get(&self) -> Option<&Arc<Held>> {
        self.held.get()
    }

    /// A session that serves everybody is given but not kept: here it would have its place in the pool even
    /// when it has ended.
    async fn open(
        self: Arc<Self>,
        downstream: Arc<Downstream>,
        profile: SessionProfile,
    ) -> Result<Arc<Held>, Error> {
        if let Some(held) = self.get() {
            return Ok(held.clone());
        }
        match downstream.open(&profile).await? {
            Opened::Stateless(held) => Ok(held),
            Opened::Legacy(pooled) => Ok(self.held.get_or_init(|| Arc::new(Held::new(pooled))).clone()),
        }
    }
}

/// One client's sessions to its downstreams, and the dispatcher of its calls.
///
/// Safe for concurrent dispatch. Two client sessions never share a per-client session. Dropping it
/// closes in the background what it holds.
pub struct ClientSession {
    downstreams: Arc<Downstreams>,
    /// `None` once closed.
    slots: Mutex<Option<HashMap<DownstreamName, Slot>>>,
}

impl ClientSession {
    pub(crate) fn new(downstreams: Arc<Downstreams>) -> Self {
        Self { downstreams, slots: Mutex::new(Some(HashMap::new())) }
    }

    /// Ends every session this client holds, side by side. Idempotent; later calls are refused
    /// . Dropping the future does not stop what it has begun.
    pub async fn close(&self) {
        let slots = self.slots().take().unwrap_or_default();
        side_by_side(slots.into_values().filter_map(own_session).map(Held::end)).await;
    }

    /// Gives up the sessions that have been idle longer than their downstream's time-to-live, for
    /// the caller to end, and those that have ended.
    pub(crate) fn take_idle(&self, now: Instant) -> Vec<Arc<Held>> {
        let mut slots = self.slots();
        let Some(slots) = slots.as_mut() else { return Vec::new() };
        let expired = |name: &DownstreamName, slot: &mut Slot| {
            let ttl = self.downstreams.get(name).map(|downstream| downstream.pool.idle_ttl());
            // Whoever has the slot is opening its session or about to use it.
            Arc::strong_count(slot) == 1
                && slot.get().is_none_or(|held| {
                    !held.session().is_open() || held.is_idle(ttl.unwrap_or_default(), now)
                })
        };
        slots.extract_if(expired).filter_map(|(_, slot)| own_session(slot)).collect()
    }

    /// Whether nothing is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots().as_ref().is_none_or(HashMap::is_empty)
    }

    /// Tries a call once. An ended session is let go of, so that the next try finds another.
    pub(crate) async fn attempt(&self, call: &ToolCall<'_>) -> Attempt {
        let link = match self.link(call.downstream, call.exchange).await {
            Ok(link) => link,
            Err(error) => return Attempt { result: Err(error), may_try_again: false },
        };
        let attempt = call.attempt_on(&link).await;
        if let Link::Held(held) = &link
            && !held.session().is_open()
        {
            // However many calls failed on it, once.
            self.forget(&call.downstream.name, held);
        }
        attempt
    }

    async fn link(&self, downstream: &Arc<Downstream>, exchange: &Exchange) -> Result<Link, Error> {
        // Also where nothing of this client's is involved (R-48, R-W16).
        if self.is_closed() {
            return Err(CallerError::SessionClosed.into());
        }
        if let Some(held) = downstream.stateless(exchange.era) {
            return Ok(Link::Stateless(held));
        }
        match downstream.mode {
            SessionMode::Shared => {
                let capabilities = ClientCapabilities::none();
                let opened = downstream.open(&SessionProfile { era: exchange.era, capabilities }).await?;
                Ok(match opened {
                    Opened::Stateless(held) => Link::Stateless(held),
                    Opened::Legacy(pooled) => Link::Taken(pooled),
                })
            }
            SessionMode::PerClient => {
                let held = self.hold(downstream, exchange).await?;
                Ok(if is_own(&held) { Link::Held(held) } else { Link::Stateless(held) })
            }
        }
    }

    /// The session this client keeps to the downstream, opened if need be.
    async fn hold(&self, downstream: &Arc<Downstream>, exchange: &Exchange) -> Result<Arc<Held>, Error> {
        let slot = self.slot(&downstream.name)?;
        let held = match slot.get() {
            Some(held) => held.clone(),
            None => {
                let capabilities = exchange.capabilities.clone();
                let profile = SessionProfile { era: exchange.era, capabilities };
                slot.opening.join(|| slot.clone().open(downstream.clone(), profile)).await?
            }
        };
        drop(slot);
        if self.is_closed() {
            // Closed while the session was being opened: it ends with the last who waited for it.
            return Err(CallerError::SessionClosed.into());
        }
        Ok(held)
    }

    /// The slot for a downstream; emptied first if its session has ended (R-W12).
    fn slot(&self, name: &DownstreamName) -> Result<Slot, Error> {
        let mut slots = self.slots();
        let slots = slots.as_mut().ok_or(CallerError::SessionClosed)?;
        if slots.get(name).and_then(|slot| slot.get()).is_some_and(|held| !held.session().is_open()) {
            slots.remove(name);
        }
        Ok(slots.entry(name.clone()).or_default().clone())
    }

    /// Lets go of a session, if it is still the one that is kept.
    fn forget(&self, name: &DownstreamName, given_up: &Arc<Held>) {
        if let Some(slots) = self.slots().as_mut()
            && slots.get(name).and_then(|slot| slot.get()).is_some_and(|held| Arc::ptr_eq(held, given_up))
        {
            slots.remove(name);
        }
    }

    fn is_closed(&self) -> bool {
        self.slots().is_none()
    }

    fn slots(&self) -> MutexGuard<'_, Option<HashMap<DownstreamName, Slot>>> {
        // Every critical section leaves the map consistent.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Dispatcher for ClientSession {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let call = ToolCall::find(&call, &self.downstreams)?;
        let first = self.attempt(&call).await;
        if first.may_try_again { self.attempt(&call).await.result } else { first.result }
    }
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession").finish_non_exhaustive()
    }
}

/// A call with the downstream it is for.
pub(crate) struct ToolCall<'a> {
    pub(crate) downstream: &'a Arc<Downstream>,
    name: &'a str,
    headers: &'a [ParamHeader],
    call: &'a Call,
    pub(crate) exchange: &'a Exchange,
}

impl<'a> ToolCall<'a> {
    /// Finds the downstream of a call.
    pub(crate) fn find(call: &'a Call, downstreams: &'a Downstreams) -> Result<Self, Error> {
        let Target::Tool { downstream, name, headers } = &call.target else {
            return Err(InternalError { what: "an unresolved name reached the registry" }.into());
        };
        let Some(downstream) = downstreams.get(downstream) else {
            return Err(CallerError::UnknownDownstream { name: downstream.to_string() }.into());
        };
        Ok(Self { downstream, name, headers, call, exchange: &call.exchange })
    }

    pub(crate) async fn attempt_on(&self, link: &Link) -> Attempt {
        let _in_use = match link {
            Link::Stateless(held) | Link::Held(held) => Some(held.enter()),
            Link::Taken(_) => None,
        };
        let session = link.session();
        let result = session.call_tool(self.name, self.headers, &self.call.params, self.exchange).await;
        let never_ran = matches!(
            &result,
            Err(Error::Downstream(error)) if error.execution == Execution::NotStarted
        );
        Attempt { may_try_again: never_ran && !session.is_open(), result }
    }
}

/// How one try of a call ended.
pub(crate) struct Attempt {
    pub(crate) result: Result<Outcome, Error>,
    /// At most once: only what provably never ran is tried again, once, when its session has ended.
    pub(crate) may_try_again: bool,
}

/// Whether the session is the client's own to end. One that serves everybody is not.
fn is_own(held: &Arc<Held>) -> bool {
    held.session().peer().era == Era::Legacy
}

/// What was opened in a slot that was given up, without keeping the slot.
fn own_session(slot: Slot) -> Option<Arc<Held>> {
    slot.get().cloned().filter(is_own)
}
