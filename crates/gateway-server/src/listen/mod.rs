//! Streams of change events: `subscriptions/listen` of modern clients, the GET stream of legacy sessions
//! (protocol.md §14, §4.3). Modern ones have no replay: a client that reconnects reads its lists again.

mod legacy;
mod modern;

use std::{
    future::pending,
    sync::{Arc, atomic::Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use gateway_domain::Caller;
use tokio::time::{Instant, sleep_until};

pub(crate) use self::{
    legacy::{Holds, Opened, legacy, resumed},
    modern::modern,
};
use crate::{
    auth::{Principal, take},
    edge::{Edge, Phase},
    endpoint::Visit,
    rescue::Refusal,
};

/// One of the streams that a caller, and all of them together, may have, free again when dropped.
struct Place {
    principal: Arc<Principal>,
    edge: Arc<Edge>,
    expiry: Expiry,
}

impl Place {
    fn take(visit: &Visit) -> Result<Self, Refusal> {
        let Visit { principal, edge, caller, .. } = visit;
        let limits = &visit.rules.config.limits;
        if !take(&principal.listens, principal.limit(limits.listens_per_caller)) {
            return Err(Refusal::StreamsFull);
        }
        if !take(&edge.listens, limits.listens) {
            principal.listens.fetch_sub(1, Ordering::AcqRel);
            return Err(Refusal::Busy);
        }
        Ok(Self { principal: principal.clone(), edge: edge.clone(), expiry: Expiry::of(caller) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.principal.listens.fetch_sub(1, Ordering::AcqRel);
        self.edge.listens.fetch_sub(1, Ordering::AcqRel);
    }
}

/// When what opened a stream is no longer good. What the wall clock does afterwards does not count.
#[derive(Clone, Copy)]
struct Expiry(Option<Instant>);

impl Expiry {
    fn of(caller: &Caller) -> Self {
        let left = |until: std::time::Duration| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // Beyond what a clock can tell is never.
            Instant::now().checked_add(until.saturating_sub(now))
        };
        Self(caller.until().and_then(left))
    }

    /// Waits for it. Cancel-safe.
    async fn passed(self) {
        match self.0 {
            Some(at) => sleep_until(at).await,
            None => pending().await,
        }
    }
}

/// Waits until nothing of its caller may go on.
async fn over(place: &Place) {
    tokio::select! {
        () = place.edge.reaches(Phase::Draining) => {}
        () = place.principal.revoked() => {}
        () = place.expiry.passed() => {}
    }
}
