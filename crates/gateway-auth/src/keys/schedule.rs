use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

/// When to read a key set again. Pure but for where the jitter begins.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Of a file: always the same pause.
    fixed: Option<Duration>,
    /// In a row.
    failures: u32,
    jitter: u64,
}

const USUAL: Duration = Duration::from_secs(10 * 60);
const SHORTEST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// After a first failure: with keys that still do, and without.
const PATIENT: Duration = Duration::from_secs(30);
const URGENT: Duration = Duration::from_secs(1);

impl Schedule {
    pub(super) fn new(fixed: Option<Duration>) -> Self {
        Self { fixed, failures: 0, jitter: RandomState::new().hash_one(0_u8) }
    }

    /// After a success; `max_age` is what the answer says of itself.
    pub(super) fn succeeded(&mut self, max_age: Option<Duration>) -> Duration {
        self.failures = 0;
        self.fixed.unwrap_or_else(|| self.spread(max_age.unwrap_or(USUAL).clamp(SHORTEST, LONGEST)))
    }

    /// After a failure: doubling up to the usual pause, or to half a minute while there are no keys at all.
    pub(super) fn failed(&mut self, has_keys: bool) -> Duration {
        let (first, last) = if has_keys { (PATIENT, USUAL) } else { (URGENT, PATIENT) };
        let pause = first.saturating_mul(1 << self.failures.min(16)).min(last);
        self.failures = self.failures.saturating_add(1);
        self.fixed.unwrap_or_else(|| self.spread(pause))
    }

    /// Up to a tenth less, so that many gateways do not ask at once. Nothing secret depends on it.
    fn spread(&mut self, pause: Duration) -> Duration {
        self.jitter =
            self.jitter.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let thousandths = u32::try_from(self.jitter.rotate_right(33) % 1000).unwrap_or_default();
        pause - pause / 10 * thousandths / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        Schedule { jitter: 1, ..Schedule::new(None) }
    }

    /// Whether it is the pause, or up to a tenth less.
    #[track_caller]
    fn about(pause: Duration, seconds: u64) {
        let wanted = Duration::from_secs(seconds);
        assert!(pause <= wanted && pause > wanted * 9 / 10, "{pause:?} is not about {wanted:?}");
    }

    #[test]
    fn an_answer_sets_its_own_pace_within_bounds() {
        let rows = [(None, 600), (Some(0), 60), (Some(59), 60), (Some(300), 300), (Some(u64::MAX), 3600)];
        for (max_age, expected) in rows {
            about(schedule().succeeded(max_age.map(Duration::from_secs)), expected);
        }
    }

    #[test]
    fn failures_are_retried_later_and_later_and_a_success_starts_anew() {
        let mut schedule = schedule();
        for expected in [1, 2, 4, 8, 16, 30, 30] {
            about(schedule.failed(false), expected);
        }
        about(schedule.succeeded(None), 600);
        for expected in [30, 60, 120, 240, 480, 600, 600] {
            about(schedule.failed(true), expected);
        }
        schedule.failures = u32::MAX;
        about(schedule.failed(true), 600);
    }

    #[test]
    fn pauses_differ_but_those_of_a_file() {
        let mut schedule = schedule();
        let pauses: std::collections::HashSet<_> = (0..100).map(|_| schedule.succeeded(None)).collect();
        assert!(pauses.len() > 50, "{pauses:?}");
        assert!(
            pauses.iter().any(|pause| pause.as_secs() < 560)
                && pauses.iter().any(|pause| pause.as_secs() > 580)
        );
        let five = Duration::from_secs(5);
        let mut file = Schedule::new(Some(five));
        assert_eq!((file.succeeded(None), file.failed(true), file.failed(false)), (five, five, five));
    }
}
