use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use gateway_domain::{ListKind, RawJson, RawObject, Tool};

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

/// Whole lists that were read just now, to be kept.
#[derive(Default)]
pub(crate) struct Fresh {
    pub(crate) tools: Vec<RawJson>,
    pub(crate) prompts: Vec<RawJson>,
    pub(crate) resources: Vec<RawJson>,
    pub(crate) templates: Vec<RawJson>,
}

/// Lists that need not be read yet.
pub(crate) struct Cached {
    pub(crate) tools: Vec<Tool>,
    pub(crate) others: [(ListKind, Vec<RawObject>); 3],
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
        let parsed = |list: Vec<RawJson>| -> Vec<_> {
            list.into_iter().filter_map(|definition| RawObject::try_from(definition).ok()).collect()
        };
        let tools: Vec<_> = parsed(list.definitions).into_iter().filter_map(Tool::from_definition).collect();
        let others = [
            (ListKind::Prompts, parsed(list.prompts)),
            (ListKind::Resources, parsed(list.resources)),
            (ListKind::ResourceTemplates, parsed(list.templates)),
        ];
        let is_empty = tools.is_empty() && others.iter().all(|(_, list)| list.is_empty());
        (!is_empty).then_some(Cached { tools, others, age, left, read_at: list.read_at })
    }

    /// Keeps lists that were read just now, and gives the time they are dated by. Empty ones are not kept (G-8).
    pub(crate) async fn put(&self, source: &Source, fresh: Fresh, ttl: Duration) -> Option<SystemTime> {
        let Fresh { tools: definitions, prompts, resources, templates } = fresh;
        if definitions.is_empty() && prompts.is_empty() && resources.is_empty() && templates.is_empty() {
            return None;
        }
        let read_at = (self.clock)();
        let fresh_until = read_at.checked_add(ttl)?;
        let list = StoredList { definitions, prompts, resources, templates, read_at, fresh_until };
        self.bounded(self.store.put(&key(source), list)).await;
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
