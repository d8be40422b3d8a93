//! Lists that are not for everybody (G-10): read in the caller's own session, never cached, never shared.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use gateway_domain::{
    Caller, CatalogEntry, DownstreamFault, DownstreamName, DownstreamState, Error, Exchange, InternalError,
    ListRemark, NAMESPACE_SEPARATOR, OfferedTool, SessionKey, View,
};
use tokio::{task::JoinSet, time::Instant};
use tracing::Instrument;

use crate::{offer::Offer, refresh, shared::Shared, tracked::Tracked};

/// What each session was last shown, so that its calls find their tool. Nothing is found under another key.
pub(crate) struct Routes {
    limit: usize,
    ttl: Duration,
    known: Mutex<HashMap<Key, Route>>,
}

#[derive(PartialEq, Eq, Hash, Clone)]
struct Key {
    // A session has one caller. That it is in the key as well costs little and depends on nobody.
    caller: Caller,
    session: SessionKey,
    downstream: DownstreamName,
}

struct Route {
    read_at: Instant,
    tools: Tools,
}

/// What a downstream offers to one caller.
type Tools = Arc<[Arc<OfferedTool>]>;

impl Routes {
    pub(crate) fn new(limit: usize, ttl: Duration) -> Self {
        Self { limit, ttl, known: Mutex::default() }
    }

    /// Forgets what any session was shown of a downstream.
    pub(crate) fn forget(&self, downstream: &DownstreamName) {
        self.known().retain(|key, _| key.downstream != *downstream);
    }

    fn get(&self, key: &Key) -> Option<Tools> {
        let known = self.known();
        known.get(key).filter(|route| route.read_at.elapsed() < self.ttl).map(|route| route.tools.clone())
    }

    /// Remembers what a session was shown, unless the downstream that showed it has been replaced.
    fn put(&self, key: Key, tools: Tools, is_current: impl FnOnce() -> bool) {
        let mut known = self.known();
        // Under the lock: what is put before the replacement is forgotten with it.
        if self.limit == 0 || !is_current() {
            return;
        }
        known.retain(|_, route| route.read_at.elapsed() < self.ttl);
        if known.len() >= self.limit && !known.contains_key(&key) {
            let oldest = known.iter().min_by_key(|(_, route)| route.read_at).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| known.remove(&oldest));
        }
        known.insert(key, Route { read_at: Instant::now(), tools });
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Route>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all private downstreams of a view gave to one request.
#[derive(Default)]
pub(crate) struct Pulled {
    pub(crate) entries: Vec<CatalogEntry>,
    /// Those that could not be listed.
    pub(crate) failed: Vec<ListRemark>,
}

impl Shared {
    /// Reads the lists of these downstreams for this caller, side by side and within the budget. Dropping the
    /// future ends what it has begun.
    pub(crate) async fn pull(
        self: &Arc<Self>,
        sources: Vec<Arc<Tracked>>,
        view: &View,
        caller: &Caller,
        exchange: &Exchange,
    ) -> Pulled {
        let deadline = Instant::now() + self.config.budget;
        let (mut pulls, mut left) = (JoinSet::new(), sources.clone());
        for tracked in sources {
            let (shared, caller, exchange) = (self.clone(), caller.clone(), exchange.clone());
            let pull = async move {
                let tools = tokio::time::timeout_at(deadline, shared.pull_one(&tracked, &caller, &exchange));
                let after = shared.config.budget;
                let late = |_| Err(DownstreamFault::TimedOut { after }.before(&tracked.source.name));
                let tools = tools.await.unwrap_or_else(late);
                (tracked, tools)
            };
            pulls.spawn(pull.in_current_span());
        }
        let mut pulled = Pulled::default();
        while let Some(done) = pulls.join_next().await {
            // A panic has been reported by its hook; its downstream is among those that are left.
            let Ok((tracked, tools)) = done else { continue };
            left.retain(|other| !Arc::ptr_eq(other, &tracked));
            let name = tracked.source.name.as_str();
            match tools {
                Ok(tools) => pulled.entries.extend(tools.iter().map(|offered| match view {
                    View::All => CatalogEntry::new(name, offered.tool.clone()),
                    View::Downstream(_) => CatalogEntry::unprefixed(name, offered.tool.clone()),
                })),
                Err(error) => pulled.failed.push(failed(&tracked, &error)),
            }
        }
        let panicked = InternalError { what: "reading a list panicked" }.into();
        pulled.failed.extend(left.iter().map(|tracked| failed(tracked, &panicked)));
        pulled
    }

    async fn pull_one(
        &self,
        tracked: &Tracked,
        caller: &Caller,
        exchange: &Exchange,
    ) -> Result<Tools, Error> {
        let source = &tracked.source;
        let listed = refresh::list(self, source, Some(exchange)).await;
        let (_, walked) = listed.map_err(|unread| unread.error)?;
        let tools: Tools = Offer::of(source, walked.tools, &self.config.rules).tools.into();
        let is_current = || self.source(&source.name).is_some_and(|now| std::ptr::eq(&*now, tracked));
        self.routes.put(key(tracked, caller, &exchange.session), tools.clone(), is_current);
        Ok(tools)
    }

    /// The tool of this name on the list that this session was last shown.
    pub(crate) fn private_tool(
        &self,
        view: &View,
        caller: &Caller,
        session: &SessionKey,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        let (tracked, name) = self.private_owner(view, name)?;
        let tools = self.routes.get(&key(&tracked, caller, session))?;
        find(&tools, view, name)
    }

    /// As [`Self::private_tool`], and reads the list for this caller if there is none. `None` if no private
    /// downstream could have the name.
    pub(crate) async fn resolve_private(
        &self,
        view: &View,
        caller: &Caller,
        exchange: &Exchange,
        name: &str,
    ) -> Option<Result<Option<Arc<OfferedTool>>, Error>> {
        let (tracked, name) = self.private_owner(view, name)?;
        if let Some(tools) = self.routes.get(&key(&tracked, caller, &exchange.session)) {
            return Some(Ok(find(&tools, view, name)));
        }
        let tools = self.pull_one(&tracked, caller, exchange).await;
        Some(tools.map(|tools| find(&tools, view, name)))
    }

    /// The private downstream that alone could offer an exposed name, and its own part of the name.
    fn private_owner<'a>(&self, view: &View, name: &'a str) -> Option<(Arc<Tracked>, &'a str)> {
        let sources = self.sources();
        let owner = |tracked: &Arc<Tracked>| {
            let source = &tracked.source;
            if source.is_public || !source.enabled {
                return None;
            }
            match view {
                View::All => name.strip_prefix(source.name.as_str())?.strip_prefix(NAMESPACE_SEPARATOR),
                View::Downstream(seen) => (*seen == source.name).then_some(name),
            }
            .map(|name| (tracked.clone(), name))
        };
        sources.iter().find_map(owner)
    }
}

fn key(tracked: &Tracked, caller: &Caller, session: &SessionKey) -> Key {
    Key { caller: caller.clone(), session: session.clone(), downstream: tracked.source.name.clone() }
}

fn find(tools: &Tools, view: &View, name: &str) -> Option<Arc<OfferedTool>> {
    let is_named = |offered: &&Arc<OfferedTool>| match view {
        View::All => offered.tool.name() == name,
        View::Downstream(_) => **offered.tool.original() == *name,
    };
    tools.iter().find(is_named).cloned()
}

/// What this caller is told of a downstream that gave it no list, whatever is true for others.
fn failed(tracked: &Tracked, error: &Error) -> ListRemark {
    let kind = match error {
        Error::Downstream(error) => error.fault.kind(),
        _ => "gateway",
    };
    tracing::debug!(downstream = %tracked.source.name, %error, "no list for this caller");
    let (downstream, state) = (tracked.source.name.clone(), DownstreamState::Broken);
    ListRemark { downstream, state, is_stale: false, kind }
}
