use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use gateway_domain::{
    Call, CallerError, ClientCapabilities, Dispatcher, DownstreamName, Era, Error, Exchange, Execution,
    InternalError, Outcome, ParamHeader, SessionProfile, Target,
};
use tokio::{sync::OnceCell, task::JoinSet, time::Instant};

use crate::{
    Held, Link, SessionMode,
    downstream::{Downstream, Opened},
};

pub(crate) type Downstreams = HashMap<DownstreamName, Arc<Downstream>>;

/// Filled once by whichever of the first callers gets there; the others wait and may give up (R-43, R-W15).
type Slot = Arc<OnceCell<Arc<Held>>>;

/// One client's sessions to its downstreams, and the dispatcher of its calls.
///
/// Safe for concurrent dispatch. Two client sessions never share a per-client session.
pub struct ClientSession {
    downstreams: Arc<Downstreams>,
    /// `None` once closed.
    slots: Mutex<Option<HashMap<DownstreamName, Slot>>>,
}

impl ClientSession {
    pub(crate) fn new(downstreams: Arc<Downstreams>) -> Self {
        Self { downstreams, slots: Mutex::new(Some(HashMap::new())) }
    }

    /// Ends every session this client holds, side by side. Idempotent; later calls are refused.
    pub async fn close(&self) {
        let slots = self.slots().take().unwrap_or_default();
        close_all(slots.into_values().filter_map(|slot| slot.get().cloned())).await;
    }

    /// Ends the sessions that have been idle longer than their downstream's time-to-live; says
    /// whether none is left.
    pub(crate) async fn reap(&self, now: Instant) -> bool {
        let (idle, empty) = {
            let mut slots = self.slots();
            let Some(slots) = slots.as_mut() else { return true };
            let expired = |name: &DownstreamName, slot: &mut Slot| {
                let ttl = self
                    .downstreams
                    .get(name)
                    .map(|downstream| downstream.pool.idle_ttl())
                    .unwrap_or_default();
                slot.get().is_some_and(|held| held.is_idle(ttl, now) || !held.session().is_open())
            };
            let idle: Vec<_> =
                slots.extract_if(expired).filter_map(|(_, slot)| slot.get().cloned()).collect();
            (idle, slots.is_empty())
        };
        close_all(idle).await;
        empty
    }

    async fn call(&self, downstream: &Downstream, tool: &Tool<'_>, call: &Call) -> Result<Outcome, Error> {
        let link = self.link(downstream, &call.exchange).await?;
        let first = use_link(&link, tool, call).await;
        if link.session().is_open() {
            return first;
        }
        self.forget(&downstream.name, &link);
        match first {
            // At most once: only what provably never ran is tried again, and only once.
            Err(Error::Downstream(error)) if error.execution == Execution::NotStarted => {
                let link = self.link(downstream, &call.exchange).await?;
                use_link(&link, tool, call).await
            }
            other => other,
        }
    }

    async fn link(&self, downstream: &Downstream, exchange: &Exchange) -> Result<Link, Error> {
        if let Some(held) = downstream.stateless(exchange.era) {
            return Ok(Link::Stateless(held));
        }
        if downstream.mode == SessionMode::Shared {
            let profile = SessionProfile { era: exchange.era, capabilities: ClientCapabilities::none() };
            return Ok(match downstream.open(&profile).await? {
                Opened::Stateless(held) => Link::Stateless(held),
                Opened::Legacy(pooled) => Link::Taken(pooled),
            });
        }
        let profile = SessionProfile { era: exchange.era, capabilities: exchange.capabilities.clone() };
        let slot = self.slot(&downstream.name)?;
        let open = async || match downstream.open(&profile).await? {
            Opened::Stateless(held) => Ok::<_, Error>(held),
            Opened::Legacy(pooled) => Ok(Arc::new(Held::new(pooled))),
        };
        let held = slot.get_or_try_init(open).await?.clone();
        if self.slots().is_none() && held.session().peer().era == Era::Legacy {
            // Closed while the session was being opened: nobody else will end it.
            held.close().await;
            return Err(CallerError::SessionClosed.into());
        }
        Ok(if held.session().peer().era == Era::Modern { Link::Stateless(held) } else { Link::Held(held) })
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

    /// Lets go of an ended session, once, however many calls failed on it.
    fn forget(&self, name: &DownstreamName, link: &Link) {
        let Link::Held(ended) = link else { return };
        if let Some(slots) = self.slots().as_mut()
            && slots.get(name).and_then(|slot| slot.get()).is_some_and(|held| Arc::ptr_eq(held, ended))
        {
            slots.remove(name);
        }
    }

    fn slots(&self) -> MutexGuard<'_, Option<HashMap<DownstreamName, Slot>>> {
        // Every critical section leaves the map consistent.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Dispatcher for ClientSession {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let Target::Tool { downstream, name, headers } = &call.target else {
            return Err(InternalError { what: "an unresolved name reached the registry" }.into());
        };
        let Some(downstream) = self.downstreams.get(downstream) else {
            return Err(CallerError::UnknownDownstream { name: downstream.to_string() }.into());
        };
        self.call(downstream, &Tool { name, headers }, &call).await
    }
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession").finish_non_exhaustive()
    }
}

struct Tool<'a> {
    name: &'a str,
    headers: &'a [ParamHeader],
}

async fn use_link(link: &Link, tool: &Tool<'_>, call: &Call) -> Result<Outcome, Error> {
    let _in_use = match link {
        Link::Stateless(held) | Link::Held(held) => Some(held.enter()),
        Link::Taken(_) => None,
    };
    link.session().call_tool(tool.name, tool.headers, &call.params, &call.exchange).await
}

/// Ends held legacy sessions side by side. One that serves everybody is not a client's to end.
async fn close_all(sessions: impl IntoIterator<Item = Arc<Held>>) {
    let mut closing = JoinSet::new();
    for held in sessions.into_iter().filter(|held| held.session().peer().era == Era::Legacy) {
        closing.spawn(async move { held.close().await });
    }
    while closing.join_next().await.is_some() {}
}
