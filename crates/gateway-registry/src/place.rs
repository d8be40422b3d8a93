use std::time::Duration;

use gateway_domain::{DownstreamName, Session};
use tokio::{sync::watch, time::Instant};

use crate::places::Permit;

/// Leave to have one live session, kept until that is gone.
pub(crate) struct Place<S: Session + 'static> {
    /// Goes before `pool`: when nobody has a receiver any more, all permits are back.
    _permit: Permit<S>,
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
    /// Watching again what was watched before, in the same places; but those who only wait are left theirs.
    Watches,
    /// Reading lists, in the one place beyond it.
    Lists,
    /// Finding out whether the downstream can be used, with a new session in a place of its own, so that no
    /// crowd and nothing that hangs is in its way.
    Probes,
}

impl<S: Session + 'static> Place<S> {
    pub(crate) fn new(permit: Permit<S>, pool: Presence) -> Self {
        Self { _permit: permit, pool }
    }

    /// Completes `time` after the pool began to close.
    pub(crate) async fn closing_for(&mut self, time: Duration) {
        closing_for(&mut self.pool, time).await;
    }
}

/// Completes `time` after the pool began to close.
pub(crate) async fn closing_for(pool: &mut Presence, time: Duration) {
    let began = match pool.wait_for(Option::is_some).await {
        Ok(began) => *began,
        Err(_) => None,
    };
    match began {
        Some(began) => tokio::time::sleep_until(began + time).await,
        None => std::future::pending().await,
    }
}

/// Closes a session to its end; only then `until` is let go.
pub(crate) async fn end<S: Session>(name: DownstreamName, session: S, until: impl Send) {
    session.close().await;
    tracing::debug!(downstream = %name, "session ended");
    drop(until);
}
