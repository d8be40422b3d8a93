use std::time::Duration;

use tokio::time::Instant;

use crate::engine::RateLimit;

/// A bucket of tokens, one for each call (E-26).
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    /// When `tokens` was right.
    at: Instant,
}

impl Bucket {
    /// A full one; none if both numbers are not above zero.
    pub(super) fn new(limit: RateLimit, now: Instant) -> Option<Self> {
        let RateLimit { per_second, burst } = limit;
        let is_limited = per_second.is_finite() && per_second > 0.0 && burst > 0;
        is_limited.then(|| Self { per_second, burst: burst.into(), tokens: burst.into(), at: now })
    }

    /// Takes a token, or says when there will be one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst);
        self.at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        let wait = (1.0 - self.tokens) / self.per_second;
        Err(Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_limit_needs_both_numbers() {
        for (per_second, burst, is_limited) in [
            (1.0, 1, true),
            (0.001, 1, true),
            (0.0, 5, false),
            (-1.0, 5, false),
            (5.0, 0, false),
            (f64::NAN, 5, false),
            (f64::INFINITY, 5, false),
        ] {
            let bucket = Bucket::new(RateLimit { per_second, burst }, Instant::now());
            assert_eq!(bucket.is_some(), is_limited, "for {per_second} and {burst}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_starts_full_and_fills_again() {
        let now = Instant::now();
        let mut bucket = Bucket::new(RateLimit { per_second: 2.0, burst: 3 }, now).unwrap();
        let at = |millis| now + Duration::from_millis(millis);
        for (millis, expected) in [
            (0, Ok(())),
            (0, Ok(())),
            (0, Ok(())),
            (0, Err(Duration::from_millis(500))),
            (250, Err(Duration::from_millis(250))),
            (500, Ok(())),
            (500, Err(Duration::from_millis(500))),
            (60_000, Ok(())),
            (60_000, Ok(())),
            (60_000, Ok(())),
            (60_000, Err(Duration::from_millis(500))),
        ] {
            assert_eq!(bucket.take(at(millis)), expected, "at {millis} ms");
        }
    }

    proptest! {
        #[test]
        fn no_more_is_taken_than_was_there_and_came(
            per_second in 0.1..50.0_f64,
            burst in 1..20_u32,
            waits in prop::collection::vec(0..400_u64, 1..100),
        ) {
            let start = Instant::now();
            let mut now = start;
            let mut bucket = Bucket::new(RateLimit { per_second, burst }, now).unwrap();
            let mut taken = 0_u32;
            for wait in waits {
                now += Duration::from_millis(wait);
                taken += u32::from(bucket.take(now).is_ok());
            }
            let most = f64::from(burst) + (now - start).as_secs_f64() * per_second + 1e-6;
            prop_assert!(f64::from(taken) <= most, "{taken} of {most}");
        }
    }
}
