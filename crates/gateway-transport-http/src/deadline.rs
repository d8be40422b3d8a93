use std::time::Duration;

use gateway_domain::DownstreamFault;
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;

/// When a request is given up. Progress puts it off, but not for ever (protocol.md §2.6).
#[derive(Debug)]
pub(crate) struct Deadline {
    began: Instant,
    at: Instant,
    last: Instant,
    each: Duration,
}

impl Deadline {
    /// Gives up `each` after the start or the latest progress, and `most` after the start whatever happens.
    pub(crate) fn new(each: Duration, most: Duration) -> Self {
        let began = Instant::now();
        let last = began + most;
        Self { began, at: last.min(began + each), last, each }
    }

    /// Gives up after a fixed time.
    pub(crate) fn fixed(after: Duration) -> Self {
        Self::new(after, after)
    }

    /// Takes note of progress.
    pub(crate) fn extend(&mut self) {
        self.at = self.last.min(Instant::now() + self.each);
    }

    /// Waits for `future` until the deadline, even if `future` never has to wait.
    pub(crate) async fn bound<F: Future>(&self, future: F) -> Result<F::Output, Failure> {
        if Instant::now() >= self.at {
            return Err(self.missed());
        }
        timeout_at(self.at, future).await.map_err(|_| self.missed())
    }

    fn missed(&self) -> Failure {
        Failure::during(DownstreamFault::TimedOut { after: self.at - self.began })
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn progress_puts_a_deadline_off_up_to_its_last() {
        let seconds = Duration::from_secs;
        let mut deadline = Deadline::new(seconds(60), seconds(100));
        tokio::time::advance(seconds(50)).await;
        deadline.extend();
        tokio::time::advance(seconds(45)).await;
        assert!(deadline.bound(ready(())).await.is_ok(), "95 s, but progress at 50 s");
        deadline.extend();
        let missed = deadline.bound(pending::<()>()).await.unwrap_err();
        assert_eq!(missed.fault, DownstreamFault::TimedOut { after: seconds(100) });
        assert!(deadline.bound(ready(())).await.is_err(), "what is always ready does not outrun it");
    }
}
