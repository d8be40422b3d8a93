use std::sync::Arc;

use gateway_domain::{DownstreamFault, Execution};
use gateway_protocol::Response;

use crate::{failure::Failure, link::Link};

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
        Self { link, id, reason: "cancelled", settled: false }
    }

    /// Nothing is to be cancelled where the server has answered or never had the request. Of one that it may
    /// still work on, a lost connection tells it nothing (protocol.md §4.2).
    pub(crate) fn settle(mut self, answered: &Result<Response, Failure>) {
        if matches!(answered, Err(Failure { fault: DownstreamFault::TimedOut { .. }, .. })) {
            self.reason = "timed out";
        }
        self.settled = match answered {
            Ok(_) => true,
            Err(failure) if failure.execution == Execution::NotStarted => true,
            Err(failure) => {
                matches!(failure.fault, DownstreamFault::Status { .. } | DownstreamFault::Unauthorized { .. })
            }
        };
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.settled {
            let (link, id, reason) = (Arc::clone(self.link), self.id, self.reason);
            self.link.endpoint.errand(async move { link.cancel(id, reason).await });
        }
    }
}
