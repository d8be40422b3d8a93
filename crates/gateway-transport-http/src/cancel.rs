use std::sync::Arc;

use gateway_domain::{DownstreamFault, Execution};
use gateway_protocol::Response;

use crate::{failure::Failure, link::Link};

/// Why a request is cancelled of which nothing else is known.
pub(crate) const GIVEN_UP: &str = "cancelled";

/// Tells a legacy server that a request is given up, unless it has been settled. The session lives on
/// (R-W3).
pub(crate) struct CancelOnDrop<'a> {
    link: &'a Arc<Link>,
    id: u64,
    reason: &'static str,
    settled: bool,
}

impl<'a> CancelOnDrop<'a> {
    pub(crate) fn new(link: &'a Arc<Link>, id: u64) -> Self {
        Self { link, id, reason: GIVEN_UP, settled: false }
    }

    pub(crate) fn settle(mut self, answered: &Result<Response, Failure>) {
        (self.settled, self.reason) = verdict(answered);
    }
}

/// Whether nothing is to be cancelled: where the server has answered or never had the request. Of one that it may
/// still work on, a lost connection tells it nothing (protocol.md §4.2). And why it is, if it is.
pub(crate) fn verdict(answered: &Result<Response, Failure>) -> (bool, &'static str) {
    let Err(Failure { fault, execution }) = answered else { return (true, GIVEN_UP) };
    let reason = if matches!(fault, DownstreamFault::TimedOut { .. }) { "timed out" } else { GIVEN_UP };
    let refused = matches!(fault, DownstreamFault::Status { .. } | DownstreamFault::Unauthorized { .. });
    (refused || *execution == Execution::NotStarted, reason)
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.settled {
            let (link, id, reason) = (Arc::clone(self.link), self.id, self.reason);
            self.link.endpoint.errand(async move { link.cancel(id, reason).await });
        }
    }
}
