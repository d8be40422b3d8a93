use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gateway_domain::Secret;
use tokio::time::Instant;

use super::{OauthError, random::digest_of};

/// An access token as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) access: Secret,
    pub(crate) fresh_until: Option<u64>,
}

impl Held {
    pub(crate) fn is_fresh(&self, now: u64) -> bool {
        self.fresh_until.is_none_or(|until| now < until)
    }
}

/// The tokens in memory: one entry for each owner, a bounded number of them, of which the one that was not used for
/// the longest time makes room.
#[derive(Debug)]
pub(crate) struct Entries {
    limit: usize,
    uses: AtomicU64,
    entries: Mutex<HashMap<String, Arc<Entry>>>,
}

/// One owner's token. Whoever renews it holds `flight`, so there is one renewal at a time.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    used: AtomicU64,
    state: Mutex<State>,
    pub(crate) flight: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct State {
    held: Option<Held>,
    /// The digest of the last token that the server refused.
    rejected: Option<String>,
    failed: Option<Failed>,
    step_ups: Option<StepUps>,
}

#[derive(Debug, Clone)]
struct Failed {
    reason: String,
    pause: Duration,
    until: Instant,
}

#[derive(Debug, Clone, Copy)]
struct StepUps {
    count: u32,
    since: Instant,
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const STEP_UPS_WITHIN: Duration = Duration::from_secs(600);

impl Entries {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), uses: AtomicU64::new(0), entries: Mutex::default() }
    }

    /// The entry of an owner, made if there is none.
    pub(crate) fn entry(&self, key: &str) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if !entries.contains_key(key) && entries.len() >= self.limit {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                entries.remove(&oldest);
            }
        }
        let entry = entries.entry(key.to_owned()).or_default();
        entry.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Arc::clone(entry)
    }

    /// Takes every token back, so that each owner has another one.
    pub(crate) fn take_back(&self) {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.values().for_each(|entry| entry.state().held = None);
    }
}

impl Entry {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn fresh(&self, now: u64) -> Option<Held> {
        self.state().held.clone().filter(|held| held.is_fresh(now))
    }

    pub(crate) fn hold(&self, held: &Held) {
        let mut state = self.state();
        state.held = Some(held.clone());
        state.failed = None;
    }

    /// The server has refused this token: it is not used again. Whether it was the one in use, or there is none.
    pub(crate) fn reject(&self, access: &str) -> bool {
        let mut state = self.state();
        let current = state.held.as_ref().is_none_or(|held| held.access.expose() == access);
        if current {
            state.held = None;
            state.rejected = Some(digest_of(access));
        }
        current
    }

    pub(crate) fn is_rejected(&self, access: &str) -> bool {
        self.state().rejected.as_deref() == Some(digest_of(access).as_str())
    }

    /// Whether trying would be too soon after a failure.
    pub(crate) fn must_wait(&self, now: Instant) -> Result<(), OauthError> {
        match &self.state().failed {
            Some(failed) if now < failed.until => Err(OauthError::Again { reason: failed.reason.clone() }),
            _ => Ok(()),
        }
    }

    /// Notes a failure: after each one in a row the pause is twice as long.
    pub(crate) fn failed(&self, error: &OauthError, now: Instant) {
        let mut state = self.state();
        let pause = state.failed.as_ref().map_or(FIRST_PAUSE, |before| (before.pause * 2).min(LONGEST_PAUSE));
        state.failed = Some(Failed { reason: error.to_string(), pause, until: now + pause });
    }

    /// Whether one more step-up is allowed; counts it if so.
    pub(crate) fn may_step_up(&self, limit: u32, now: Instant) -> bool {
        let mut state = self.state();
        let recent = state.step_ups.filter(|before| now < before.since + STEP_UPS_WITHIN);
        let before = recent.unwrap_or(StepUps { count: 0, since: now });
        if before.count >= limit {
            return false;
        }
        state.step_ups = Some(StepUps { count: before.count + 1, ..before });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(access: &str, fresh_until: Option<u64>) -> Held {
        Held { access: access.into(), fresh_until }
    }

    #[test]
    fn a_token_is_used_until_it_is_to_be_renewed() {
        for (until, now, fresh) in [(None, u64::MAX, true), (Some(5), 4, true), (Some(5), 5, false)] {
            assert_eq!(held("a", until).is_fresh(now), fresh, "{until:?} {now}");
        }
    }

    #[test]
    fn the_least_used_entry_makes_room() {
        let entries = Entries::new(2);
        entries.entry("a").hold(&held("1", None));
        entries.entry("b").hold(&held("2", None));
        assert!(entries.entry("a").fresh(0).is_some());
        entries.entry("c").hold(&held("3", None));
        assert!(entries.entry("a").fresh(0).is_some());
        assert!(entries.entry("b").fresh(0).is_none());
        entries.take_back();
        assert!(entries.entry("a").fresh(0).is_none());
    }

    #[test]
    fn a_late_refusal_does_not_touch_a_newer_token() {
        let entry = Entry::default();
        entry.hold(&held("new", None));
        assert!(!entry.reject("old") && entry.fresh(0).is_some() && !entry.is_rejected("old"));
        assert!(entry.reject("new") && entry.fresh(0).is_none() && entry.is_rejected("new"));
        assert!(entry.reject("other"), "there is none in use");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_pause_longer_each_time() {
        let entry = Entry::default();
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            entry.failed(&OauthError::Busy, Instant::now());
            tokio::time::advance(Duration::from_millis(pause * 1000 - 1)).await;
            assert!(entry.must_wait(Instant::now()).is_err(), "{pause}");
            tokio::time::advance(Duration::from_millis(1)).await;
            assert_eq!(entry.must_wait(Instant::now()), Ok(()), "{pause}");
        }
        entry.hold(&held("a", None));
        entry.failed(&OauthError::Busy, Instant::now());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(entry.must_wait(Instant::now()), Ok(()), "a success begins anew");
    }

    #[tokio::test(start_paused = true)]
    async fn step_ups_are_few_within_ten_minutes() {
        let entry = Entry::default();
        assert!(entry.may_step_up(2, Instant::now()) && entry.may_step_up(2, Instant::now()));
        tokio::time::advance(STEP_UPS_WITHIN - Duration::from_millis(1)).await;
        assert!(!entry.may_step_up(2, Instant::now()));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(entry.may_step_up(2, Instant::now()));
    }
}
