use std::time::Duration;

use gateway_domain::DownstreamFault;
use gateway_protocol::client::{Limit, Patience};
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;

/// Bounds what a request waits for.
#[derive(Debug)]
pub(crate) struct Deadline(Patience);

impl Deadline {
    /// Gives up `quiet` after the start or the latest progress, and `total` after the start whatever happens.
    pub(crate) fn new(quiet: Duration, total: Duration) -> Self {
        Self(Patience::new(Instant::now().into(), quiet, total))
    }

    /// Gives up after a fixed time.
    pub(crate) fn fixed(after: Duration) -> Self {
        Self(Patience::fixed(Instant::now().into(), after))
    }

    /// Never gives up: somebody else does.
    pub(crate) fn none() -> Self {
        Self::fixed(Duration::MAX)
    }

    /// Takes note of progress.
    pub(crate) fn extend(&mut self) {
        self.0.extend(Instant::now().into());
    }

    /// Waits for `future` until the deadline, even if `future` never has to wait.
    pub(crate) async fn bound<F: Future>(&self, future: F) -> Result<F::Output, Failure> {
        if let Some(limit) = self.0.expired(Instant::now().into()) {
            return Err(missed(limit));
        }
        timeout_at(self.0.until().into(), future).await.map_err(|_| missed(self.0.limit()))
    }
}

fn missed(limit: Limit) -> Failure {
    Failure::during(DownstreamFault::TimedOut { after: limit.time() })
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_always_ready_does_not_outrun_a_deadline() {
        let seconds = Duration::from_secs;
        let mut deadline = Deadline::new(seconds(60), seconds(100));
        tokio::time::advance(seconds(50)).await;
        deadline.extend();
        assert!(deadline.bound(ready(())).await.is_ok());
        tokio::time::advance(seconds(45)).await;
        deadline.extend();
        let missed = deadline.bound(pending::<()>()).await.unwrap_err();
        assert_eq!(missed.fault, DownstreamFault::TimedOut { after: seconds(100) });
        assert!(deadline.bound(ready(())).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_may_be_beyond_all_clocks() {
        assert!(Deadline::new(Duration::MAX, Duration::MAX).bound(ready(())).await.is_ok());
    }
}
