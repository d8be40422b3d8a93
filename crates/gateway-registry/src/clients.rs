use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use gateway_domain::{Caller, CallerError, ClientCapabilities, Error, SessionKey};

use crate::{ClientSession, shelf::Bounds};

/// Bounds of a manager. A field of zero takes its default.
#[derive(Debug, Clone)]
pub struct ManagerConfig {
    /// How many client sessions there may be at once; those handed out count by themselves. Beyond it the
    /// oldest idle one is ended. Default 10,000.
    pub max_clients: usize,
    /// How many of them may be one modern caller's, one for each set of capabilities it declares. Beyond it
    /// that caller's oldest idle one is ended. Default 100.
    pub max_clients_per_caller: usize,
    /// How many calls may wait for answers of their clients at once. Beyond it the oldest is given up if it has
    /// waited for a minute; else the call that asks is refused. Default 1,024.
    pub max_parks: usize,
    /// How many of them may be one caller's; without a known caller, one legacy session's. Beyond it the oldest of
    /// them is given up if it has waited for a minute; else the call that asks is refused. Modern callers that are not
    /// known cannot be told apart, and have the other bound alone. Default 16.
    pub max_parks_per_caller: usize,
    /// How long a call waits for answers. Default 10 min.
    pub park_time: Duration,
    /// How many resources may be watched at once. Default 10,000.
    pub max_subscriptions: usize,
    /// How many of them by one client. Default 1,000.
    pub max_subscriptions_per_client: usize,
    /// How many tasks of legacy downstreams are remembered for clients that poll them, so that their sessions stay.
    /// Default 1,024.
    pub max_tasks: usize,
    /// How many of them may be one caller's, as for parks. Beyond it the oldest is forgotten. Default 64.
    pub max_tasks_per_caller: usize,
    /// How long a task may take that is waited for inside, and how long one is remembered. Default 1 h.
    pub task_time: Duration,
}

impl Default for ManagerConfig {
    fn default() -> Self {
        Self {
            max_clients: 10_000,
            max_clients_per_caller: 100,
            max_parks: 1_024,
            max_parks_per_caller: 16,
            park_time: Duration::from_secs(10 * 60),
            max_subscriptions: 10_000,
            max_subscriptions_per_client: 1_000,
            max_tasks: 1_024,
            max_tasks_per_caller: 64,
            task_time: Duration::from_secs(60 * 60),
        }
    }
}

impl ManagerConfig {
    pub(crate) fn or_defaults(self) -> Self {
        let default = Self::default();
        let count = |given, default| if given == 0 { default } else { given };
        let time = |given: Duration, default| if given.is_zero() { default } else { given };
        let per_client = (self.max_subscriptions_per_client, default.max_subscriptions_per_client);
        Self {
            max_clients: count(self.max_clients, default.max_clients),
            max_clients_per_caller: count(self.max_clients_per_caller, default.max_clients_per_caller),
            max_parks: count(self.max_parks, default.max_parks),
            max_parks_per_caller: count(self.max_parks_per_caller, default.max_parks_per_caller),
            park_time: time(self.park_time, default.park_time),
            max_subscriptions: count(self.max_subscriptions, default.max_subscriptions),
            max_subscriptions_per_client: count(per_client.0, per_client.1),
            max_tasks: count(self.max_tasks, default.max_tasks),
            max_tasks_per_caller: count(self.max_tasks_per_caller, default.max_tasks_per_caller),
            task_time: time(self.task_time, default.task_time),
        }
    }

    pub(crate) fn parks(&self) -> Bounds {
        let (max, per_caller) = (self.max_parks, self.max_parks_per_caller);
        Bounds { max, per_caller, time: self.park_time, least: Self::LEAST }
    }

    pub(crate) fn tasks(&self) -> Bounds {
        let (max, per_caller) = (self.max_tasks, self.max_tasks_per_caller);
        Bounds { max, per_caller, time: self.task_time, least: Duration::ZERO }
    }

    /// How long a call that waits is left alone, whoever else wants to wait: about what a person needs to see a
    /// question and answer it.
    const LEAST: Duration = Duration::from_secs(60);
}

type Profiles = HashMap<ClientCapabilities, Arc<ClientSession>>;

/// Who holds what. A client session is idle when nobody but the table has it and nobody uses what it holds.
pub(crate) struct Clients {
    config: ManagerConfig,
    legacy: HashMap<Arc<str>, Arc<ClientSession>>,
    /// No caller is without a session.
    modern: HashMap<Caller, Profiles>,
    /// In both.
    count: usize,
    /// Those that were handed out; at most `max_clients`.
    handed_out: Vec<Weak<ClientSession>>,
    closed: bool,
}

/// A client session that was asked for.
pub(crate) struct Found {
    pub(crate) client: Arc<ClientSession>,
    /// The one that had to go for it, for the caller to close.
    pub(crate) evicted: Option<Arc<ClientSession>>,
}

impl Clients {
    /// Other bounds, for those who come from now on.
    pub(crate) fn set_config(&mut self, config: ManagerConfig) {
        self.config = config;
    }

    pub(crate) fn new(config: ManagerConfig) -> Self {
        Self {
            config,
            legacy: HashMap::new(),
            modern: HashMap::new(),
            count: 0,
            handed_out: Vec::new(),
            closed: false,
        }
    }

    /// The client session under `key`; made if need be.
    ///
    /// # Errors
    /// [`CallerError::SessionClosed`] after the end, [`CallerError::Overloaded`] when there are too many and
    /// none of them is idle.
    pub(crate) fn find(
        &mut self,
        key: &SessionKey,
        make: impl FnOnce() -> ClientSession,
    ) -> Result<Found, Error> {
        if self.closed {
            return Err(CallerError::SessionClosed.into());
        }
        if let Some(client) = self.get(key) {
            return Ok(Found { client: client.clone(), evicted: None });
        }
        let evicted = self.make_room(key)?;
        let client = Arc::new(make());
        self.insert(key.clone(), client.clone());
        Ok(Found { client, evicted })
    }

    pub(crate) fn get(&self, key: &SessionKey) -> Option<&Arc<ClientSession>> {
        match key {
            SessionKey::Legacy { id } => self.legacy.get(id),
            SessionKey::Modern { caller, capabilities } => self.modern.get(caller)?.get(capabilities),
        }
    }

    fn insert(&mut self, key: SessionKey, client: Arc<ClientSession>) {
        let replaced = match key {
            SessionKey::Legacy { id } => self.legacy.insert(id, client),
            SessionKey::Modern { caller, capabilities } => {
                self.modern.entry(caller).or_default().insert(capabilities, client)
            }
        };
        self.count += usize::from(replaced.is_none());
    }

    pub(crate) fn remove(&mut self, key: &SessionKey) -> Option<Arc<ClientSession>> {
        let removed = match key {
            SessionKey::Legacy { id } => self.legacy.remove(id),
            SessionKey::Modern { caller, capabilities } => {
                let profiles = self.modern.get_mut(caller)?;
                let removed = profiles.remove(capabilities);
                if profiles.is_empty() {
                    self.modern.remove(caller);
                }
                removed
            }
        }?;
        self.count -= 1;
        Some(removed)
    }

    /// All of a caller's that come without a session of its own.
    pub(crate) fn remove_caller(&mut self, caller: &Caller) -> Vec<Arc<ClientSession>> {
        let removed: Vec<_> = self.modern.remove(caller).unwrap_or_default().into_values().collect();
        self.count -= removed.len();
        removed
    }

    /// Makes room for one more under `key`, by ending one at most.
    fn make_room(&mut self, key: &SessionKey) -> Result<Option<Arc<ClientSession>>, Error> {
        let (max, per_caller) = (self.config.max_clients, self.config.max_clients_per_caller);
        if let SessionKey::Modern { caller, .. } = key
            && let Some(profiles) = self.modern.get(caller).filter(|profiles| profiles.len() >= per_caller)
        {
            let oldest = oldest_idle(profiles).map(|capabilities| SessionKey::Modern {
                caller: caller.clone(),
                capabilities: capabilities.clone(),
            });
            return self.evict(oldest, "client sessions of one caller", per_caller);
        }
        if self.count < max {
            return Ok(None);
        }
        // Those that hold nothing lose nothing, and are many: in a downstream's pool there are few places.
        self.forget_empty();
        if self.count < max {
            return Ok(None);
        }
        let oldest = self.oldest_idle();
        self.evict(oldest, "client sessions", max)
    }

    fn evict(
        &mut self,
        key: Option<SessionKey>,
        what: &'static str,
        limit: usize,
    ) -> Result<Option<Arc<ClientSession>>, Error> {
        let evicted = key.and_then(|key| self.remove(&key));
        let overloaded = || CallerError::Overloaded { what, limit }.into();
        evicted.map(Some).ok_or_else(overloaded)
    }

    fn oldest_idle(&self) -> Option<SessionKey> {
        let legacy = self
            .legacy
            .iter()
            .filter_map(|(id, client)| Some((idle_since(client)?, SessionKey::Legacy { id: id.clone() })));
        let modern = self.modern.iter().filter_map(|(caller, profiles)| {
            let capabilities = oldest_idle(profiles)?;
            let key = SessionKey::Modern { caller: caller.clone(), capabilities: capabilities.clone() };
            Some((idle_since(profiles.get(capabilities)?)?, key))
        });
        legacy.chain(modern).min_by_key(|(since, _)| *since).map(|(_, key)| key)
    }

    /// Forgets the clients that hold nothing and that nobody is about to use.
    pub(crate) fn forget_empty(&mut self) {
        let in_use = |client: &Arc<ClientSession>| Arc::strong_count(client) > 1 || !client.is_empty();
        self.legacy.retain(|_, client| in_use(client));
        self.modern.retain(|_, profiles| {
            profiles.retain(|_, client| in_use(client));
            !profiles.is_empty()
        });
        self.count = self.legacy.len() + self.modern.values().map(HashMap::len).sum::<usize>();
        self.handed_out.retain(|client| client.strong_count() > 0);
    }

    /// A client session of its own for somebody who keeps it.
    pub(crate) fn hand_out(
        &mut self,
        make: impl FnOnce() -> ClientSession,
    ) -> Result<Arc<ClientSession>, Error> {
        if self.closed {
            return Err(CallerError::SessionClosed.into());
        }
        let limit = self.config.max_clients;
        if self.handed_out.len() >= limit {
            self.handed_out.retain(|client| client.strong_count() > 0);
        }
        if self.handed_out.len() >= limit {
            return Err(CallerError::Overloaded { what: "client sessions", limit }.into());
        }
        let client = Arc::new(make());
        self.handed_out.push(Arc::downgrade(&client));
        Ok(client)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Arc<ClientSession>> {
        let modern = self.modern.values().flat_map(HashMap::values);
        let kept = self.legacy.values().chain(modern).cloned();
        kept.chain(self.handed_out.iter().filter_map(Weak::upgrade))
    }

    /// How many there are, besides those handed out.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes none any more; gives all, to be closed.
    pub(crate) fn close(&mut self) -> Vec<Arc<ClientSession>> {
        self.closed = true;
        let all = self.all().collect();
        self.legacy.clear();
        self.modern.clear();
        self.count = 0;
        all
    }
}

fn oldest_idle(profiles: &Profiles) -> Option<&ClientCapabilities> {
    let idle = profiles.iter().filter_map(|(capabilities, client)| {
        // Those that hold nothing lose nothing.
        Some(((!client.is_empty(), idle_since(client)?), capabilities))
    });
    idle.min_by_key(|(rank, _)| *rank).map(|(_, capabilities)| capabilities)
}

/// Since when it is idle, if it is.
fn idle_since(client: &Arc<ClientSession>) -> Option<tokio::time::Instant> {
    if Arc::strong_count(client) > 1 { None } else { client.idle_since() }
}
