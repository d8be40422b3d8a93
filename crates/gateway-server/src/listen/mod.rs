//! Streams of change events: `subscriptions/listen` of modern clients, the GET stream of legacy sessions
//! (protocol.md §14, §4.3). There is no replay: a client that reconnects reads its lists again.

mod legacy;
mod modern;

use std::sync::{Arc, atomic::Ordering};

use gateway_domain::View;

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

/// The changes of one view's list from here on.
pub(crate) struct Changes {
    edge: Arc<Edge>,
    view: View,
    seen: u64,
}

impl Changes {
    pub(crate) fn new(edge: Arc<Edge>, view: View) -> Self {
        let seen = edge.ports.directory.generation(&view);
        Self { edge, view, seen }
    }

    /// Waits for the next change; several at once are one. Always true.
    pub(crate) async fn next(&mut self) -> bool {
        self.seen = self.edge.ports.directory.changed(&self.view, self.seen).await;
        true
    }
}
