//! Streams of change events: `subscriptions/listen` of modern clients, the GET stream of legacy sessions
//! (protocol.md §14, §4.3). Modern ones have no replay: a client that reconnects reads its lists again.

mod legacy;
mod modern;

use std::sync::{Arc, atomic::Ordering};

pub(crate) use self::{
    legacy::{Holds, Opened, legacy},
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
}

impl Place {
    fn take(visit: &Visit) -> Result<Self, Refusal> {
        let Visit { principal, edge, .. } = visit;
        let limits = &visit.rules.config.limits;
        if !take(&principal.listens, principal.limit(limits.listens_per_caller)) {
            return Err(Refusal::StreamsFull);
        }
        if !take(&edge.listens, limits.listens) {
            principal.listens.fetch_sub(1, Ordering::AcqRel);
            return Err(Refusal::Busy);
        }
        Ok(Self { principal: principal.clone(), edge: edge.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.principal.listens.fetch_sub(1, Ordering::AcqRel);
        self.edge.listens.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Waits until nothing of its caller may go on.
async fn over(place: &Place) {
    tokio::select! {
        () = place.edge.reaches(Phase::Draining) => {}
        () = place.principal.revoked() => {}
    }
}
