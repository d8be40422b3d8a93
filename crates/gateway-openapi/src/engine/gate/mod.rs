//! Whether a call is let through: how often, how many at once, and whether the API wants to be left alone.

mod bucket;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bucket::Bucket;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

use super::{CallError, RateLimit, Tool};
use crate::ir::{Method, Operation};

/// No API is left alone for longer, whatever it says.
const MAX_PAUSE: Duration = Duration::from_secs(5 * 60);

/// The gates of tools that were there before, by method and path: reading an API's description again is no reason to
/// ask the API more.
#[derive(Debug, Default)]
pub(crate) struct Gates(HashMap<(Method, String), Arc<Gate>>);

impl Gates {
    pub(crate) fn of<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Self {
        let gate = |tool: &Tool| {
            let operation = tool.operation();
            ((operation.method, operation.path.clone()), Arc::clone(tool.gate()))
        };
        Self(tools.into_iter().map(gate).collect())
    }

    /// The gate of an operation: the one that it had, unless its limits are others now.
    pub(super) fn gate(&self, operation: &Operation, rate: RateLimit, max_concurrent: usize) -> Arc<Gate> {
        let new = Gate::new(rate, max_concurrent);
        match self.0.get(&(operation.method, operation.path.clone())) {
            Some(before) if (before.rate, before.limit) == (new.rate, new.limit) => Arc::clone(before),
            Some(before) => {
                *locked(&new.pause) = *locked(&before.pause);
                Arc::new(new)
            }
            None => Arc::new(new),
        }
    }
}

/// What one tool's calls go through. Nobody waits at it.
#[derive(Debug)]
pub(super) struct Gate {
    rate: RateLimit,
    bucket: Option<Mutex<Bucket>>,
    /// When calls are of use again.
    pause: Mutex<Option<Instant>>,
    places: Semaphore,
    limit: usize,
}

impl Gate {
    /// At least one call is let through at once.
    pub(super) fn new(rate: RateLimit, max_concurrent: usize) -> Self {
        let limit = max_concurrent.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            rate,
            bucket: Bucket::new(rate, Instant::now()).map(Mutex::new),
            pause: Mutex::new(None),
            places: Semaphore::new(limit),
            limit,
        }
    }

    /// A place for one call, for as long as it is held. A call that finds no place uses up none of the rate.
    ///
    /// # Errors
    /// [`CallError::RateLimited`], [`CallError::Busy`].
    pub(super) fn enter(&self) -> Result<SemaphorePermit<'_>, CallError> {
        let now = Instant::now();
        if let Some(until) = *locked(&self.pause)
            && until > now
        {
            return Err(CallError::RateLimited { retry_after: until - now });
        }
        let place = self.places.try_acquire().map_err(|_| CallError::Busy { limit: self.limit })?;
        match self.bucket.as_ref().map(|bucket| locked(bucket).take(now)) {
            Some(Err(retry_after)) => Err(CallError::RateLimited { retry_after }),
            _ => Ok(place),
        }
    }

    /// Lets nothing through for this time, five minutes at most.
    pub(super) fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait.min(MAX_PAUSE);
        let mut pause = locked(&self.pause);
        *pause = (*pause).max(Some(until));
    }
}

/// What is locked here is whole at any time, also where its holder panicked.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const UNLIMITED: RateLimit = RateLimit { per_second: 0.0, burst: 0 };

    #[tokio::test(start_paused = true)]
    async fn places_are_refused_beyond_the_limit_and_given_back() {
        let gate = Gate::new(UNLIMITED, 2);
        let (one, two) = (gate.enter().unwrap(), gate.enter().unwrap());
        assert_eq!(gate.enter().unwrap_err(), CallError::Busy { limit: 2 });
        drop(one);
        let three = gate.enter().unwrap();
        assert_eq!(gate.enter().unwrap_err(), CallError::Busy { limit: 2 });
        drop((two, three));
        assert!(Gate::new(UNLIMITED, 0).enter().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_that_wants_to_be_left_alone_is_for_five_minutes_at_most() {
        let gate = Gate::new(UNLIMITED, 1);
        gate.pause(Duration::from_secs(20));
        gate.pause(Duration::from_secs(10));
        advance(Duration::from_secs(5)).await;
        let retry_after = Duration::from_secs(15);
        assert_eq!(gate.enter().unwrap_err(), CallError::RateLimited { retry_after });
        advance(retry_after).await;
        assert!(gate.enter().is_ok());
        gate.pause(Duration::from_secs(u64::MAX));
        assert_eq!(gate.enter().unwrap_err(), CallError::RateLimited { retry_after: MAX_PAUSE });
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_finds_no_place_uses_up_no_token_and_the_other_way_round() {
        let gate = Gate::new(RateLimit { per_second: 1.0, burst: 2 }, 1);
        let place = gate.enter().unwrap();
        assert_eq!(gate.enter().unwrap_err(), CallError::Busy { limit: 1 });
        drop(place);
        assert!(gate.enter().is_ok());
        for _ in 0..3 {
            let retry_after = Duration::from_secs(1);
            assert_eq!(gate.enter().unwrap_err(), CallError::RateLimited { retry_after });
        }
        advance(Duration::from_secs(1)).await;
        assert!(gate.enter().is_ok());
    }
}
