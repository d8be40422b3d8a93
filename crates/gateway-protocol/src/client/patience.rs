use std::time::{Duration, Instant};

/// How long a request is waited for: as long as there are signs of progress, and not for ever (protocol.md
/// §2.6). It reads no clock; times are arguments.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    began: Instant,
    last_sign: Instant,
    quiet: Duration,
    total: Duration,
}

/// One of the two limits of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Nothing was heard for so long.
    Quiet(Duration),
    /// The request has taken so long in all, whatever was heard.
    Total(Duration),
}

impl Limit {
    /// The time itself.
    pub fn time(self) -> Duration {
        let (Self::Quiet(time) | Self::Total(time)) = self;
        time
    }
}

impl Patience {
    /// Waits `quiet` after `began` or the latest sign of progress, and `total` after `began` in all. Either
    /// may be longer than clocks can count.
    pub fn new(began: Instant, quiet: Duration, total: Duration) -> Self {
        Self { began, last_sign: began, quiet, total }
    }

    /// Waits for a fixed time, whatever is heard.
    pub fn fixed(began: Instant, after: Duration) -> Self {
        Self::new(began, after, after)
    }

    /// Takes note of a sign of progress. One that is older than the latest changes nothing.
    pub fn extend(&mut self, sign: Instant) {
        self.last_sign = self.last_sign.max(sign);
    }

    /// Does not count a time in which the request waited for us.
    pub fn discount(&mut self, time: Duration) {
        self.began = later(self.began, time);
        self.last_sign = later(self.last_sign, time);
    }

    /// Until when to wait, as far as is known now.
    pub fn until(&self) -> Instant {
        later(self.last_sign, self.quiet).min(self.end())
    }

    /// The limit that runs out then.
    pub fn limit(&self) -> Limit {
        if self.until() < self.end() { Limit::Quiet(self.quiet) } else { Limit::Total(self.total) }
    }

    /// The limit that has run out; `None` while there is time left.
    pub fn expired(&self, now: Instant) -> Option<Limit> {
        (now >= self.until()).then(|| self.limit())
    }

    fn end(&self) -> Instant {
        later(self.began, self.total)
    }
}

/// The moment after a time that may be longer than clocks can count.
fn later(now: Instant, time: Duration) -> Instant {
    now.checked_add(time.min(FAR)).unwrap_or(now)
}

/// Longer than anything waits: 30 years.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "there is no other way to get an instant; any will do")]
    fn start() -> Instant {
        Instant::now()
    }

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn progress_puts_the_end_off_up_to_the_last() {
        let began = start();
        let mut patience = Patience::new(began, seconds(60), seconds(100));
        let check = |patience: &Patience, at, expected| {
            assert_eq!(patience.expired(began + seconds(at)), expected, "after {at} s of {patience:?}");
        };
        check(&patience, 59, None);
        check(&patience, 60, Some(Limit::Quiet(seconds(60))));
        patience.extend(began + seconds(30));
        patience.extend(began + seconds(10));
        check(&patience, 89, None);
        check(&patience, 90, Some(Limit::Quiet(seconds(60))));
        patience.extend(began + seconds(80));
        check(&patience, 99, None);
        check(&patience, 100, Some(Limit::Total(seconds(100))));
        assert_eq!(Patience::fixed(began, seconds(5)).until(), began + seconds(5));
    }

    #[test]
    fn a_time_in_which_the_other_side_waited_does_not_count() {
        let began = start();
        let mut patience = Patience::new(began, seconds(60), seconds(100));
        patience.discount(seconds(1000));
        assert_eq!(patience.expired(began + seconds(1059)), None);
        assert_eq!(patience.expired(began + seconds(1060)), Some(Limit::Quiet(seconds(60))));
        patience.extend(began + seconds(1059));
        assert_eq!(patience.expired(began + seconds(1100)), Some(Limit::Total(seconds(100))));
    }

    #[test]
    fn times_beyond_all_clocks_are_waited_for_as_long_as_there_is_time() {
        let began = start();
        let endless = Patience::new(began, Duration::MAX, Duration::MAX);
        assert_eq!(endless.expired(began + seconds(1 << 20)), None);
        let quiet = Patience::new(began, seconds(1), Duration::MAX);
        assert_eq!(quiet.expired(began + seconds(1)), Some(Limit::Quiet(seconds(1))));
        let total = Patience::new(began, Duration::MAX, seconds(1));
        assert_eq!(total.expired(began + seconds(1)), Some(Limit::Total(seconds(1))));
    }

    proptest! {
        #[test]
        fn signs_only_put_off_and_never_beyond_the_total(
            quiet in any::<Duration>(),
            total in any::<Duration>(),
            signs in prop::collection::vec(0u64..1 << 32, 0..8)
        ) {
            let began = start();
            let end = Patience::fixed(began, total).until();
            let mut patience = Patience::new(began, quiet, total);
            for sign in signs {
                let before = patience.until();
                patience.extend(began + Duration::from_millis(sign));
                prop_assert!(before <= patience.until() && patience.until() <= end);
                prop_assert!(patience.expired(patience.until()).is_some());
            }
        }
    }
}
