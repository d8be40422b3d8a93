use std::time::Duration;

use tokio::time::Instant;

use super::config::Rate;

/// A token bucket: all there is to know of it is when it will be full. Pure: time is an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    rate: Rate,
    full_at: Instant,
}

impl Bucket {
    /// A bucket that lacks what one of another rate, full at `full_at`, lacks: as many tokens, up to all that it holds.
    pub(super) fn as_empty_as(rate: Rate, full_at: Instant, now: Instant) -> Self {
        Self { rate, full_at: full_at.clamp(now, now + rate.full) }
    }

    /// How long it takes until there is a token; zero if there is one.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        (self.full_at.max(now) + self.rate.interval).saturating_duration_since(now + self.rate.full)
    }

    /// Takes a token, which has to be there.
    pub(super) fn take(&mut self, now: Instant) {
        self.full_at = self.full_at.max(now) + self.rate.interval;
    }

    pub(super) fn is_full(&self, now: Instant) -> bool {
        self.full_at <= now
    }

    pub(super) fn full_at(&self) -> Instant {
        self.full_at
    }
}
