use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::Caller;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use super::line::Line;

/// The places of one kind, so many for each key. Only keys whose places are taken or waited for are kept.
#[derive(Debug)]
pub(super) struct Places<K>(Mutex<Lines<K>>);

#[derive(Debug)]
struct Lines<K> {
    by_key: HashMap<K, Line>,
    next_ticket: u64,
}

/// How many places a key has, and how many may wait for one until when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) limit: usize,
    pub(super) queue: usize,
    pub(super) deadline: Instant,
}

/// There is no place, and there was none in time.
#[derive(Debug)]
pub(super) struct NoPlace;

impl<K: Hash + Eq + Clone> Places<K> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Lines { by_key: HashMap::new(), next_ticket: 0 })))
    }

    /// Takes a place until it is dropped. Cancel-safe: who gives up leaves the line, and a place that was just given
    /// goes to the next.
    pub(super) async fn enter(
        self: &Arc<Self>,
        key: K,
        caller: &Caller,
        room: Room,
    ) -> Result<Place<K>, NoPlace> {
        let (ticket, hears) = {
            let mut lines = self.locked();
            let Lines { by_key, next_ticket } = &mut *lines;
            let line = by_key.entry(key.clone()).or_default();
            if line.take(room.limit) {
                return Ok(Place { places: self.clone(), key });
            }
            if room.limit == 0 || line.len() >= room.queue {
                lines.tidy(&key);
                return Err(NoPlace);
            }
            let ticket = *next_ticket;
            *next_ticket += 1;
            (ticket, line.join(caller, ticket))
        };
        let waiting =
            Waiting { places: self.clone(), key, caller: caller.clone(), ticket, hears, is_over: false };
        waiting.until(room.deadline).await
    }

    fn locked(&self) -> MutexGuard<'_, Lines<K>> {
        // Every critical section leaves it consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.locked().by_key.len()
    }
}

impl<K: Hash + Eq> Lines<K> {
    fn leave(&mut self, key: &K) {
        if let Some(line) = self.by_key.get_mut(key) {
            line.leave();
        }
        self.tidy(key);
    }

    fn tidy(&mut self, key: &K) {
        if self.by_key.get(key).is_some_and(Line::is_idle) {
            self.by_key.remove(key);
        }
    }
}

/// A place that is taken.
#[derive(Debug)]
pub(super) struct Place<K: Hash + Eq + Clone> {
    places: Arc<Places<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> Drop for Place<K> {
    fn drop(&mut self) {
        self.places.locked().leave(&self.key);
    }
}

/// Somebody in a line.
struct Waiting<K: Hash + Eq + Clone> {
    places: Arc<Places<K>>,
    key: K,
    caller: Caller,
    ticket: u64,
    hears: oneshot::Receiver<()>,
    /// Whether the place has gone over to somebody who gives it back.
    is_over: bool,
}

impl<K: Hash + Eq + Clone> Waiting<K> {
    async fn until(mut self, deadline: Instant) -> Result<Place<K>, NoPlace> {
        match timeout_at(deadline, &mut self.hears).await {
            Ok(Ok(())) => {
                self.is_over = true;
                Ok(Place { places: self.places.clone(), key: self.key.clone() })
            }
            Ok(Err(_)) | Err(_) => Err(NoPlace),
        }
    }
}

impl<K: Hash + Eq + Clone> Drop for Waiting<K> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut lines = self.places.locked();
        let has_waited =
            lines.by_key.get_mut(&self.key).is_some_and(|line| line.give_up(&self.caller, self.ticket));
        if !has_waited {
            lines.leave(&self.key);
        }
    }
}
