use std::time::Duration;

use gateway_domain::{DownstreamName, Session};
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::Instant,
};

/// Leave to have one live session, kept until that is gone.
pub(crate) struct Place {
    /// Goes before `pool`: when nobody has a receiver any more, all permits are back.
    _permit: OwnedSemaphorePermit,
    pool: Presence,
}

/// Held by everybody who has, opens or ends a session; the pool's end waits for all of them. It tells when
/// that end began.
pub(crate) type Presence = watch::Receiver<Option<Instant>>;

/// Whom a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Calls, within the pool's bound.
    Calls,
    /// Reading lists, in the one place beyond it.
    Lists,
}

impl Place {
    pub(crate) fn new(permit: OwnedSemaphorePermit, pool: Presence) -> Self {
        Self { _permit: permit, pool }
    }

    /// Completes `time` after the pool began to close.
    pub(crate) async fn closing_for(&mut self, time: Duration) {
        let began = match self.pool.wait_for(Option::is_some).await {
            Ok(began) => *began,
            Err(_) => None,
        };
        match began {
            Some(began) => tokio::time::sleep_until(began + time).await,
            None => std::future::pending().await,
        }
    }
}

/// Closes a session to its end; only then `until` is let go.
pub(crate) async fn end<S: Session>(name: DownstreamName, session: S, until: impl Send) {
    session.close().await;
    tracing::debug!(downstream = %name, "session ended");
    drop(until);
}
