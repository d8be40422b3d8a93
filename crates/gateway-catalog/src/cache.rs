use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use gateway_domain::{RawJson, RawObject, Tool};

use crate::{
    CatalogConfig, Source,
    store::{ListKey, ListStore, StoreError, StoredList},
};

/// The store of lists, used so that nothing depends on it.
pub(crate) struct Cache {
    store: Arc<dyn ListStore>,
    timeout: Duration,
    ttl: Duration,
    clock: fn() -> SystemTime,
    /// Whether the last operation failed, which is logged once.
    fails: AtomicBool,
}

/// A list that need not be read yet.
pub(crate) struct Cached {
    pub(crate) tools: Vec<Tool>,
    /// How long ago it was read.
    pub(crate) age: Duration,
    /// How long it stays fresh.
    pub(crate) left: Duration,
    /// What tells it from one read at another time.
    pub(crate) read_at: SystemTime,
}

impl Cache {
    pub(crate) fn new(store: Arc<dyn ListStore>, config: &CatalogConfig) -> Self {
        let CatalogConfig { store_timeout: timeout, ttl, wall_clock: clock, .. } = *config;
        Self { store, timeout, ttl, clock, fails: AtomicBool::new(false) }
    }

    /// The source's list, if one is kept that is fresh and not empty (G-5, G-9).
    pub(crate) async fn get(&self, source: &Source) -> Option<Cached> {
        let list = self.bounded(self.store.get(&key(source))).await??;
        let now = (self.clock)();
        // Whatever another process's clock says, no list is fresh for longer than here.
        let left = list.fresh_until.duration_since(now).ok().filter(|left| !left.is_zero())?.min(self.ttl);
        let age = now.duration_since(list.read_at).unwrap_or_default();
        let read = |definition| Tool::from_definition(RawObject::try_from(definition).ok()?);
        let tools: Vec<_> = list.definitions.into_iter().filter_map(read).collect();
        (!tools.is_empty()).then_some(Cached { tools, age, left, read_at: list.read_at })
    }

    /// Keeps a list that was read just now, and gives the time it is dated by. Empty ones are not kept (G-8).
    pub(crate) async fn put(
        &self,
        source: &Source,
        definitions: Vec<RawJson>,
        ttl: Duration,
    ) -> Option<SystemTime> {
        if definitions.is_empty() {
            return None;
        }
        let read_at = (self.clock)();
        let fresh_until = read_at.checked_add(ttl)?;
        self.bounded(self.store.put(&key(source), StoredList { definitions, read_at, fresh_until })).await;
        Some(read_at)
    }

    pub(crate) async fn remove(&self, source: &Source) {
        self.bounded(self.store.remove(&key(source))).await;
    }

    async fn bounded<T>(&self, operation: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
        let done = match tokio::time::timeout(self.timeout, operation).await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(_) => Err(format!("the store of lists did not answer within {:?}", self.timeout)),
        };
        match done {
            Ok(value) => {
                self.fails.store(false, Ordering::Relaxed);
                Some(value)
            }
            Err(reason) => {
                if !self.fails.swap(true, Ordering::Relaxed) {
                    tracing::warn!(reason, "lists are read live until the store works again");
                }
                None
            }
        }
    }
}

fn key(source: &Source) -> ListKey {
    ListKey { downstream: source.name.clone(), address: source.address.clone() }
}
