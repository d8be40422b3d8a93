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
    /// The same, kept no longer than until then, in seconds since 1970.
    pub(crate) fn until(self, end: Option<u64>) -> Self {
        Self { fresh_until: self.fresh_until.into_iter().chain(end).min(), ..self }
    }

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
    error: OauthError,
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

    /// The entry of an owner, made if there is none. Then those whose tokens have ended are let go.
    pub(crate) fn entry(&self, key: &str, now: u64) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if !entries.contains_key(key) {
            // One that is in somebody's hands may be about to have a token.
            entries.retain(|_, entry| !entry.is_over(now) || Arc::strong_count(entry) > 1);
        }
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

    /// Lets a token go that has ended. Whether there is nothing left that was worth keeping.
    fn is_over(&self, now: u64) -> bool {
        let mut state = self.state();
        state.held.take_if(|held| !held.is_fresh(now)).is_some()
            && state.rejected.is_none()
            && state.failed.is_none()
            && state.step_ups.is_none()
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
            Some(failed) if now < failed.until => {
                Err(OauthError::Again { cause: Box::new(failed.error.clone()) })
            }
            _ => Ok(()),
        }
    }

    /// Notes a failure: after each one in a row the pause is twice as long.
    pub(crate) fn failed(&self, error: &OauthError, now: Instant) {
        let mut state = self.state();
        let pause = state.failed.as_ref().map_or(FIRST_PAUSE, |before| (before.pause * 2).min(LONGEST_PAUSE));
        state.failed = Some(Failed { error: error.clone(), pause, until: now + pause });
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
        entries.entry("a", 0).hold(&held("1", None));
        entries.entry("b", 0).hold(&held("2", None));
        assert!(entries.entry("a", 0).fresh(0).is_some());
        entries.entry("c", 0).hold(&held("3", None));
        assert!(entries.entry("a", 0).fresh(0).is_some());
        assert!(entries.entry("b", 0).fresh(0).is_none());
        entries.take_back();
        assert!(entries.entry("a", 0).fresh(0).is_none());
    }

    #[test]
    fn tokens_that_have_ended_are_let_go() {
        let entries = Entries::new(9);
        let ending = |key: &str| {
            let entry = entries.entry(key, 0);
            entry.hold(&held("1", Some(5)));
            entry
        };
        let in_hand = ending("b");
        let [ended, stepped] = ["a", "c"].map(|key| Arc::downgrade(&ending(key)));
        stepped.upgrade().unwrap().may_step_up(1, Instant::now());
        let kept = || [ended.strong_count(), stepped.strong_count()];
        entries.entry("d", 4);
        assert_eq!(kept(), [1, 1], "not yet");
        entries.entry("d", 5);
        assert_eq!(kept(), [1, 1], "none is made");
        entries.entry("e", 5);
        assert_eq!(kept(), [0, 1], "how often it stepped up counts on");
        assert!(stepped.upgrade().unwrap().fresh(0).is_none() && in_hand.fresh(0).is_none());
        assert!(Arc::ptr_eq(&entries.entry("b", 5), &in_hand));
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
