use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    runtime::Handle,
    task::AbortHandle,
    time::{Instant, interval},
};

use super::{RunRecord, StateError, StateStore};

/// How often ended runs are looked for (C-74).
const CLEANUP_EVERY: Duration = Duration::from_secs(5 * 60);

/// How long an ended run is remembered (C-74): long enough for somebody to look why it failed.
const KEEP: Duration = Duration::from_secs(60 * 60);

/// How many records there may be. Beyond that ended runs go, those that ended first before others; runs that have not
/// ended are bounded by whoever begins them.
const MAX_RECORDS: usize = 10_000;

/// Keeps records in this process: of runs that have ended for an hour, and of 10,000 runs at most (C-74). Made within
/// a tokio runtime it cleans up by itself every 5 minutes until it is dropped, else only when there are too many.
#[derive(Debug)]
pub struct MemoryStore {
    kept: Arc<Mutex<Kept>>,
    cleanup: Option<AbortHandle>,
}

#[derive(Debug, Default)]
struct Kept(HashMap<Arc<str>, Entry>);

#[derive(Debug)]
struct Entry {
    record: RunRecord,
    ended: Option<Instant>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        let kept = Arc::<Mutex<Kept>>::default();
        let weak = Arc::downgrade(&kept);
        let cleanup = Handle::try_current().ok().map(|runtime| {
            let task = async move {
                let mut times = interval(CLEANUP_EVERY);
                loop {
                    times.tick().await;
                    let Some(kept) = weak.upgrade() else { return };
                    lock(&kept).forget_old(Instant::now());
                }
            };
            runtime.spawn(task).abort_handle()
        });
        Self { kept, cleanup }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        if let Some(cleanup) = &self.cleanup {
            cleanup.abort();
        }
    }
}

impl Kept {
    fn forget_old(&mut self, now: Instant) {
        self.0.retain(|_, entry| entry.ended.is_none_or(|ended| now.duration_since(ended) <= KEEP));
    }

    /// Makes room for one more: an ended run goes, the one that ended first.
    fn make_room(&mut self) {
        if self.0.len() < MAX_RECORDS {
            return;
        }
        let ended = self.0.iter().filter_map(|(id, entry)| Some((entry.ended?, id)));
        if let Some((_, oldest)) = ended.min() {
            let oldest = oldest.clone();
            self.0.remove(&oldest);
        }
    }
}

#[async_trait]
impl StateStore for MemoryStore {
    async fn save(&self, record: &RunRecord) -> Result<(), StateError> {
        let id = known_id(&record.id)?;
        let mut kept = lock(&self.kept);
        let before = kept.0.get(id);
        let ended = record.status.is_final().then(|| before.and_then(|entry| entry.ended));
        let ended = ended.map(|ended| ended.unwrap_or_else(Instant::now));
        if before.is_none() {
            kept.make_room();
        }
        kept.0.insert(record.id.clone(), Entry { record: record.clone(), ended });
        Ok(())
    }

    async fn load(&self, id: &str) -> Result<RunRecord, StateError> {
        let id = known_id(id)?;
        let kept = lock(&self.kept);
        let entry = kept.0.get(id).ok_or_else(|| StateError::NotFound { id: id.into() })?;
        Ok(entry.record.clone())
    }

    async fn delete(&self, id: &str) -> Result<(), StateError> {
        let id = known_id(id)?;
        match lock(&self.kept).0.remove(id) {
            Some(_) => Ok(()),
            None => Err(StateError::NotFound { id: id.into() }),
        }
    }

    async fn list_active(&self) -> Result<Vec<RunRecord>, StateError> {
        let kept = lock(&self.kept);
        let active = kept.0.values().filter(|entry| entry.ended.is_none());
        let mut records: Vec<_> = active.map(|entry| entry.record.clone()).collect();
        records.sort_by_key(|record| record.started);
        Ok(records)
    }
}

fn known_id(id: &str) -> Result<&str, StateError> {
    match id {
        "" => Err(StateError::EmptyId),
        id => Ok(id),
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
