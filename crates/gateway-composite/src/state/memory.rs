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

use super::{RunRecord, StateError, StateStore, StepRecord};

/// How often ended runs are looked for (C-74).
const CLEANUP_EVERY: Duration = Duration::from_secs(5 * 60);

/// How long an ended run is remembered (C-74): long enough for somebody to look why it failed.
const KEEP: Duration = Duration::from_secs(60 * 60);

/// How many records there may be, and how many bytes they may have together. Beyond that ended runs go, those that
/// ended first before others; runs that have not ended are bounded by whoever begins them. The first is more than runs
/// of an hour usually are, and the second what so many of a few steps have.
const MAX_RECORDS: usize = 10_000;
const MAX_BYTES: usize = 64 << 20;

/// Keeps records in this process: of runs that have ended for an hour, of 10,000 runs at most, and 64 MiB of them
/// (C-74). Made within a tokio runtime it cleans up by itself every 5 minutes until it is dropped, else only when there
/// are too many.
#[derive(Debug)]
pub struct MemoryStore {
    kept: Arc<Mutex<Kept>>,
    cleanup: Option<AbortHandle>,
}

#[derive(Debug, Default)]
struct Kept {
    by_id: HashMap<Arc<str>, Entry>,
    /// Of all of them together.
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    record: RunRecord,
    bytes: usize,
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
        let is_old = |ended: Instant| now.duration_since(ended) > KEEP;
        let old = self.by_id.extract_if(|_, entry| entry.ended.is_some_and(is_old));
        self.bytes -= old.map(|(_, entry)| entry.bytes).sum::<usize>();
    }

    fn put(&mut self, entry: Entry) {
        self.remove(&entry.record.id);
        self.make_room(entry.bytes);
        self.bytes += entry.bytes;
        self.by_id.insert(entry.record.id.clone(), entry);
    }

    fn remove(&mut self, id: &str) -> Option<Entry> {
        let entry = self.by_id.remove(id)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Makes room for one more: ended runs go, those that ended first.
    fn make_room(&mut self, bytes: usize) {
        while self.by_id.len() >= MAX_RECORDS || self.bytes + bytes > MAX_BYTES {
            let ended = self.by_id.iter().filter_map(|(id, entry)| Some((entry.ended?, id)));
            let Some(oldest) = ended.min().map(|(_, id)| id.clone()) else { return };
            self.remove(&oldest);
        }
    }
}

/// About how much memory a record takes.
fn bytes(record: &RunRecord) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let steps = record.steps.iter().map(|step| size_of::<StepRecord>() + step.id.len() + text(&step.error));
    size_of::<Entry>() + record.caller.len() + text(&record.error) + steps.sum::<usize>()
}

#[async_trait]
impl StateStore for MemoryStore {
    async fn save(&self, record: &RunRecord) -> Result<(), StateError> {
        let id = known_id(&record.id)?;
        let mut kept = lock(&self.kept);
        let before = kept.by_id.get(id).and_then(|entry| entry.ended);
        let ended = record.status.is_final().then(|| before.unwrap_or_else(Instant::now));
        kept.put(Entry { record: record.clone(), bytes: bytes(record), ended });
        Ok(())
    }

    async fn load(&self, id: &str) -> Result<RunRecord, StateError> {
        let id = known_id(id)?;
        let kept = lock(&self.kept);
        let entry = kept.by_id.get(id).ok_or_else(|| StateError::NotFound { id: id.into() })?;
        Ok(entry.record.clone())
    }

    async fn delete(&self, id: &str) -> Result<(), StateError> {
        let id = known_id(id)?;
        match lock(&self.kept).remove(id) {
            Some(_) => Ok(()),
            None => Err(StateError::NotFound { id: id.into() }),
        }
    }

    async fn list_active(&self) -> Result<Vec<RunRecord>, StateError> {
        let kept = lock(&self.kept);
        let active = kept.by_id.values().filter(|entry| entry.ended.is_none());
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
