use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::HeaderValue;
use tokio::{sync, time::Instant};

use super::grant::{Grant, Issued};
use crate::engine::CallError;

/// The most sets of scopes that tokens are kept for. An API names a handful.
const SLOT_LIMIT: usize = 256;

/// How long a token is used that comes without `expires_in`.
const DEFAULT_LIFE: Duration = Duration::from_secs(300);

/// The longest that any token is used.
const LIFE_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The least time before a token's end in which it is no longer used, unless that is more than half its life.
const LEAST_MARGIN: Duration = Duration::from_secs(30);

/// A token that the API rejects is kept nevertheless if it is younger: a new one every time would not help, and calls
/// that fail are not to become as many requests for tokens.
const REJECTABLE_AGE: Duration = Duration::from_secs(10);

/// How long nobody asks again after a failure; doubled with each one more, up to the limit.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const PAUSE_LIMIT: Duration = Duration::from_secs(30);

/// The tokens of one scheme, one for each set of scopes.
#[derive(Debug)]
pub(super) struct Tokens {
    scheme: String,
    grant: Grant,
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
}

/// One token: whoever holds `flight` fetches it, and all others wait for what it finds.
#[derive(Debug, Default)]
struct Slot {
    flight: sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    token: Option<Token>,
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Token {
    header: HeaderValue,
    since: Instant,
    until: Instant,
}

#[derive(Debug)]
struct Failure {
    reason: String,
    until: Instant,
    pause: Duration,
}

impl Tokens {
    pub(super) fn new(scheme: &str, grant: Grant) -> Self {
        Self { scheme: scheme.to_owned(), grant, slots: Mutex::default() }
    }

    /// `Authorization` with a token that is good for these scopes. If the caller that fetches is dropped, one that
    /// waits fetches in its place.
    pub(super) async fn obtain(&self, scopes: &[String]) -> Result<HeaderValue, CallError> {
        let scope = self.grant.scope(scopes);
        let slot = self.slot(&scope);
        if let Some(known) = slot.known() {
            return known;
        }
        let asked = Instant::now();
        let _flight = slot.flight.lock().await;
        if let Some(known) = slot.known_since(asked) {
            return known;
        }
        let fetched = self.grant.fetch(&scope).await;
        if let Err(reason) = &fetched {
            tracing::warn!(scheme = self.scheme, reason, "no token");
        }
        slot.settle(fetched)
    }

    /// Forgets the token that was sent as this header.
    pub(super) fn reject(&self, sent: &HeaderValue) {
        let slots: Vec<_> = lock(&self.slots).values().cloned().collect();
        slots.iter().for_each(|slot| slot.reject(sent));
    }

    fn slot(&self, scope: &str) -> Arc<Slot> {
        let mut slots = lock(&self.slots);
        if !slots.contains_key(scope) && slots.len() >= SLOT_LIMIT {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.known().is_some());
            if slots.len() >= SLOT_LIMIT {
                slots.pop_first();
            }
        }
        Arc::clone(slots.entry(scope.to_owned()).or_default())
    }
}

impl Slot {
    /// A token that is still good, or a failure that is still fresh.
    fn known(&self) -> Option<Result<HeaderValue, CallError>> {
        self.known_since(Instant::now())
    }

    /// The same, where a token also counts that was fetched while somebody waited who came at `asked`.
    fn known_since(&self, asked: Instant) -> Option<Result<HeaderValue, CallError>> {
        let (state, now) = (lock(&self.state), Instant::now());
        if let Some(token) = &state.token
            && (now < token.until || asked < token.since)
        {
            return Some(Ok(token.header.clone()));
        }
        let failure = state.failure.as_ref().filter(|failure| now < failure.until)?;
        Some(Err(CallError::Credentials { reason: failure.reason.clone() }))
    }

    fn settle(&self, fetched: Result<Issued, String>) -> Result<HeaderValue, CallError> {
        let (mut state, now) = (lock(&self.state), Instant::now());
        match fetched {
            Ok(Issued { header, expires_in }) => {
                let token = Token { header: header.clone(), since: now, until: now + life(expires_in) };
                *state = State { token: Some(token), failure: None };
                Ok(header)
            }
            Err(reason) => {
                let before = state.failure.as_ref().map(|failure| failure.pause);
                let pause = before.map_or(FIRST_PAUSE, |pause| (pause * 2).min(PAUSE_LIMIT));
                state.failure = Some(Failure { reason: reason.clone(), until: now + pause, pause });
                Err(CallError::Credentials { reason })
            }
        }
    }

    fn reject(&self, sent: &HeaderValue) {
        let mut state = lock(&self.state);
        let is_sent = |token: &mut Token| token.header == *sent && token.since.elapsed() >= REJECTABLE_AGE;
        state.token.take_if(is_sent);
    }
}

/// How long a token is used that is good so long: a tenth less, so that it does not end on the way.
fn life(expires_in: Option<Duration>) -> Duration {
    let Some(whole) = expires_in else { return DEFAULT_LIFE };
    let margin = (whole / 10).max(LEAST_MARGIN).min(whole / 2);
    (whole - margin).min(LIFE_LIMIT)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
