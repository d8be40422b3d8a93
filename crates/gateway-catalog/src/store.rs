use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use async_trait::async_trait;
use gateway_domain::{DownstreamName, RawJson};

/// Where lists are kept so that they need not be read again (G-3). Replicas may share one; what is kept is
/// bytes and times. It may lose anything at any time and may fail: the list is then read live.
///
/// The caller bounds how long each operation may take and drops it if it takes longer.
#[async_trait]
pub trait ListStore: Send + Sync {
    /// The list kept under `key`, however old.
    async fn get(&self, key: &ListKey) -> Result<Option<StoredList>, StoreError>;

    /// Keeps a list instead of the one before. It is of no use after [`StoredList::fresh_until`].
    async fn put(&self, key: &ListKey, list: StoredList) -> Result<(), StoreError>;

    /// Forgets the list, if there is one.
    async fn remove(&self, key: &ListKey) -> Result<(), StoreError>;
}

/// Whose list it is. A downstream that moves to another address has another key (G-W13).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListKey {
    /// The downstream's name.
    pub downstream: DownstreamName,
    /// The [address](crate::Source::address) it was read from.
    pub address: String,
}

/// A downstream's lists as they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredList {
    /// The downstream's own definitions of tools, byte for byte, also of those that are not offered.
    pub definitions: Vec<RawJson>,
    /// Those of its prompts.
    pub prompts: Vec<RawJson>,
    /// Those of its resources.
    pub resources: Vec<RawJson>,
    /// Those of its resource templates.
    pub templates: Vec<RawJson>,
    /// When it was read.
    pub read_at: SystemTime,
    /// Until when it need not be read again.
    pub fresh_until: SystemTime,
}

/// A store that did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store of lists failed: {reason}")]
pub struct StoreError {
    /// Why, for the operator.
    pub reason: String,
}

/// A store in this process's memory.
#[derive(Debug)]
pub struct MemoryStore {
    lists: Mutex<HashMap<ListKey, StoredList>>,
    limit: usize,
}

impl MemoryStore {
    /// An empty store for at most `limit` lists; the one read longest ago makes room.
    pub fn new(limit: usize) -> Self {
        Self { lists: Mutex::default(), limit }
    }

    fn lists(&self) -> std::sync::MutexGuard<'_, HashMap<ListKey, StoredList>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    /// As many lists as a gateway could have downstreams, and then some: 1,024.
    fn default() -> Self {
        Self::new(1_024)
    }
}

#[async_trait]
impl ListStore for MemoryStore {
    async fn get(&self, key: &ListKey) -> Result<Option<StoredList>, StoreError> {
        Ok(self.lists().get(key).cloned())
    }

    async fn put(&self, key: &ListKey, list: StoredList) -> Result<(), StoreError> {
        let mut lists = self.lists();
        if lists.len() >= self.limit && !lists.contains_key(key) {
            let oldest = lists.iter().min_by_key(|(_, list)| list.read_at).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| lists.remove(&oldest));
        }
        if self.limit > 0 {
            lists.insert(key.clone(), list);
        }
        Ok(())
    }

    async fn remove(&self, key: &ListKey) -> Result<(), StoreError> {
        self.lists().remove(key);
        Ok(())
    }
}
