use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use gateway_domain::DownstreamSession;
use tokio::time::{Duration, Instant};

use crate::Pooled;

/// A session that stays with its owner between calls: a client's, or the one that serves everybody.
pub struct Held {
    session: Pooled<Arc<dyn DownstreamSession>>,
    in_flight: AtomicUsize,
    /// When the last call ended.
    last_use: Mutex<Instant>,
}

impl Held {
    pub(crate) fn new(session: Pooled<Arc<dyn DownstreamSession>>) -> Self {
        Self { session, in_flight: AtomicUsize::new(0), last_use: Mutex::new(Instant::now()) }
    }

    /// The session.
    pub fn session(&self) -> &Arc<dyn DownstreamSession> {
        &self.session
    }

    /// Marks the session as used until the mark is dropped; meanwhile it is not idle.
    pub(crate) fn enter(&self) -> InUse<'_> {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        InUse { held: self }
    }

    /// Whether nobody has used it for longer than `ttl`.
    pub(crate) fn is_idle(&self, ttl: Duration, now: Instant) -> bool {
        let last_use = *self.last_use.lock().unwrap_or_else(PoisonError::into_inner);
        self.in_flight.load(Ordering::Acquire) == 0 && now.saturating_duration_since(last_use) > ttl
    }

    /// Closes the session; calls in flight fail.
    pub(crate) async fn close(&self) {
        self.session.close().await;
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

pub(crate) struct InUse<'a> {
    held: &'a Held,
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        *self.held.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.held.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
