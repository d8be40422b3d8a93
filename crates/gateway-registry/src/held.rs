use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use gateway_domain::DownstreamSession;
use tokio::time::{Duration, Instant};

use crate::Pooled;

/// A session that stays with its owner between calls: a client's, or the one that serves everybody. When
/// the last who has it lets go it is closed, never given to another client.
pub struct Held {
    session: Pooled<Arc<dyn DownstreamSession>>,
    /// When the last call ended.
    last_use: Mutex<Instant>,
}

impl Held {
    pub(crate) fn new(session: Pooled<Arc<dyn DownstreamSession>>) -> Self {
        Self { session: session.unshared(), last_use: Mutex::new(Instant::now()) }
    }

    /// The session.
    pub fn session(&self) -> &Arc<dyn DownstreamSession> {
        &self.session
    }

    /// Stamps the end of a use when dropped, also when the call is cancelled.
    pub(crate) fn enter(&self) -> InUse<'_> {
        InUse { held: self }
    }

    /// Whether nobody has used it for longer than `ttl`. Whoever uses it has it, so this is for the
    /// owner, who has it too and no more than once.
    pub(crate) fn is_idle(self: &Arc<Self>, ttl: Duration, now: Instant) -> bool {
        let last_use = *self.last_use.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::strong_count(self) == 1 && now.saturating_duration_since(last_use) > ttl
    }

    /// Closes the session; calls in flight fail. Its place in the pool is free on return, or once the last
    /// such call has ended.
    pub(crate) async fn end(self: Arc<Self>) {
        match Arc::try_unwrap(self) {
            Ok(held) => held.session.discard().await,
            Err(in_use) => in_use.session.close().await,
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("session", &self.session).finish_non_exhaustive()
    }
}

pub(crate) struct InUse<'a> {
    held: &'a Held,
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        *self.held.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}
