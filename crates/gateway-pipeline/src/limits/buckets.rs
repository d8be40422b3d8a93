use std::{collections::HashMap, hash::Hash, time::Duration};

use tokio::time::Instant;

use super::{bucket::Bucket, config::Rate};

/// The buckets of one kind, one for each key, at most so many.
///
/// Only a full bucket is forgotten, which is as good as none: nobody gains tokens by being forgotten. Where no bucket is
/// full, keys that have none share one. When one of them gets its own, that lacks what the shared one lacks, so that
/// nobody has more than a burst at once.
#[derive(Debug)]
pub(super) struct Buckets<K> {
    by_key: HashMap<K, Bucket>,
    max: usize,
    /// When the shared bucket is full, whose rate is that of whoever asks; `None`: it was never needed.
    shared_full_at: Option<Instant>,
    /// Looking for full buckets takes a while: not before then.
    next_sweep: Option<Instant>,
}

impl<K: Hash + Eq> Buckets<K> {
    /// How often full buckets are looked for at most.
    const SWEEP: Duration = Duration::from_secs(1);

    pub(super) fn new(max: usize) -> Self {
        Self { by_key: HashMap::new(), max, shared_full_at: None, next_sweep: None }
    }

    /// How long it takes until there is a token for a key; zero if there is one; `None` if the key has no bound. `own`
    /// is what the key is kept as, where it gets a bucket.
    pub(super) fn wait(
        &mut self,
        key: &K,
        now: Instant,
        own: impl FnOnce() -> K,
        rate: impl FnOnce() -> Option<Rate>,
    ) -> Option<Duration> {
        if let Some(bucket) = self.by_key.get(key) {
            return Some(bucket.wait(now));
        }
        let bucket = self.shared(rate()?, now);
        if self.has_room(now) {
            self.by_key.insert(own(), bucket);
        }
        Some(bucket.wait(now))
    }

    /// Takes a token of a key for which there is one.
    pub(super) fn take(&mut self, key: &K, now: Instant, rate: impl FnOnce() -> Option<Rate>) {
        if let Some(bucket) = self.by_key.get_mut(key) {
            bucket.take(now);
        } else if let Some(rate) = rate() {
            let mut bucket = self.shared(rate, now);
            bucket.take(now);
            self.shared_full_at = Some(bucket.full_at());
        }
    }

    fn shared(&self, rate: Rate, now: Instant) -> Bucket {
        Bucket::as_empty_as(rate, self.shared_full_at.unwrap_or(now), now)
    }

    fn has_room(&mut self, now: Instant) -> bool {
        if self.by_key.len() >= self.max && self.next_sweep.is_none_or(|next| next <= now) {
            self.next_sweep = Some(now + Self::SWEEP);
            self.by_key.retain(|_, bucket| !bucket.is_full(now));
        }
        self.by_key.len() < self.max
    }

    #[cfg(test)]
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.by_key.keys()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }
}
