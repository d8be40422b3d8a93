//! When to leave a failing downstream alone (R-18…R-27). Pure: time is an argument.

use std::time::Duration;

use tokio::time::Instant;

/// How long a breaker stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cooldown {
    /// Always as long.
    Fixed(Duration),
    /// From the first to the second, doubling with each failed probe.
    Growing(Duration, Duration),
}

impl Cooldown {
    /// Never so long that a clock could not tell its end.
    const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    fn after(self, failed_probes: u32) -> Duration {
        match self {
            Self::Fixed(time) => time.min(Self::LONGEST),
            Self::Growing(first, last) => first.saturating_mul(1 << failed_probes.min(16)).min(last),
        }
    }
}

/// Counts consecutive failures and opens at a limit.
#[derive(Debug)]
pub(crate) struct Breaker {
    limit: u32,
    cooldown: Cooldown,
    state: State,
    /// Grows with each change of state, so that an outcome from before a change is known (R-W6).
    generation: u64,
    /// The last failure, for the error of refused callers.
    reason: String,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant, failed_probes: u32 },
    Probing { failed_probes: u32 },
}

/// Leave to try; its outcome is to be reported with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Admission {
    generation: u64,
}

/// Refused: the downstream is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) retry_in: Duration,
    pub(crate) reason: String,
}

impl Breaker {
    pub(crate) fn new(limit: u32, cooldown: Cooldown) -> Self {
        Self { limit, cooldown, state: State::Closed { failures: 0 }, generation: 0, reason: String::new() }
    }

    /// Asks for leave to try. After the cooldown one caller gets it, the others are refused.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<Admission, Refusal> {
        let retry_in = match self.state {
            State::Closed { .. } => return Ok(Admission { generation: self.generation }),
            State::Open { until, failed_probes } if until <= now => {
                self.enter(State::Probing { failed_probes });
                return Ok(Admission { generation: self.generation });
            }
            State::Open { until, .. } => until - now,
            // The probe is on its way; how long it takes is not known.
            State::Probing { failed_probes } => self.cooldown.after(failed_probes),
        };
        Err(Refusal { retry_in, reason: self.reason.clone() })
    }

    pub(crate) fn succeeded(&mut self, admission: Admission) {
        if admission.generation == self.generation {
            match self.state {
                State::Closed { .. } => self.state = State::Closed { failures: 0 },
                _ => self.enter(State::Closed { failures: 0 }),
            }
        }
    }

    pub(crate) fn failed(&mut self, admission: Admission, reason: String, now: Instant) {
        if admission.generation != self.generation {
            return;
        }
        self.reason = reason;
        match self.state {
            State::Closed { failures } if failures + 1 < self.limit => {
                self.state = State::Closed { failures: failures + 1 };
            }
            State::Closed { .. } => self.open(0, now),
            State::Probing { failed_probes } => self.open(failed_probes + 1, now),
            State::Open { .. } => {}
        }
    }

    /// The try was given up by its caller: neither success nor failure (R-W5). A probe's place is free again.
    pub(crate) fn abandoned(&mut self, admission: Admission, now: Instant) {
        if let (true, State::Probing { failed_probes }) =
            (admission.generation == self.generation, self.state)
        {
            self.enter(State::Open { until: now, failed_probes });
        }
    }

    fn open(&mut self, failed_probes: u32, now: Instant) {
        self.enter(State::Open { until: now + self.cooldown.after(failed_probes), failed_probes });
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.generation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn tripped(limit: u32, now: Instant) -> Breaker {
        let mut breaker = Breaker::new(limit, Cooldown::Fixed(30 * SECOND));
        for _ in 0..limit {
            let admission = breaker.admit(now).unwrap();
            breaker.failed(admission, "no".into(), now);
        }
        breaker
    }

    #[test]
    fn the_limit_opens_and_the_cooldown_admits_one_probe() {
        let start = Instant::now();
        let mut breaker = tripped(5, start);
        let refusal = breaker.admit(start + 29 * SECOND).unwrap_err();
        assert_eq!(refusal, Refusal { retry_in: SECOND, reason: "no".into() });
        let probe = breaker.admit(start + 31 * SECOND).unwrap();
        for _ in 0..31 {
            assert!(breaker.admit(start + 31 * SECOND).is_err(), "R-23: one probe only");
        }
        breaker.failed(probe, "still".into(), start + 40 * SECOND);
        assert!(breaker.admit(start + 60 * SECOND).is_err(), "R-80: counted from the failure");
        let probe = breaker.admit(start + 71 * SECOND).unwrap();
        breaker.succeeded(probe);
        assert!(breaker.admit(start + 71 * SECOND).is_ok());
    }

    #[test]
    fn a_success_starts_the_count_anew() {
        let now = Instant::now();
        let mut breaker = Breaker::new(3, Cooldown::Fixed(SECOND));
        for outcome in [false, false, true, false, false] {
            let admission = breaker.admit(now).unwrap();
            if outcome { breaker.succeeded(admission) } else { breaker.failed(admission, String::new(), now) }
        }
        assert!(breaker.admit(now).is_ok(), "R-81");
    }

    #[test]
    fn outcomes_from_before_a_change_are_ignored() {
        let now = Instant::now();
        let mut breaker = Breaker::new(1, Cooldown::Fixed(SECOND));
        let (early, late) = (breaker.admit(now).unwrap(), breaker.admit(now).unwrap());
        breaker.failed(early, String::new(), now);
        breaker.succeeded(late);
        assert!(breaker.admit(now).is_err(), "R-W6: a success begun before the trip does not clear it");
    }

    #[test]
    fn late_outcomes_do_not_touch_a_probe_or_what_it_mended() {
        let start = Instant::now();
        let mut breaker = Breaker::new(1, Cooldown::Fixed(SECOND));
        let [trips, fails, gives_up] = [(); 3].map(|()| breaker.admit(start).unwrap());
        breaker.failed(trips, String::new(), start);
        let probe = breaker.admit(start + SECOND).unwrap();
        breaker.abandoned(gives_up, start + SECOND);
        assert!(breaker.admit(start + SECOND).is_err(), "R-23: the probe's place is taken");
        breaker.failed(fails, String::new(), start + SECOND);
        breaker.succeeded(probe);
        assert!(breaker.admit(start + SECOND).is_ok());
        breaker.failed(fails, String::new(), start + SECOND);
        assert!(breaker.admit(start + SECOND).is_ok(), "R-W6");
    }

    #[test]
    fn an_abandoned_probe_leaves_its_place_to_the_next() {
        let start = Instant::now();
        let mut breaker = tripped(1, start);
        let later = start + 31 * SECOND;
        let probe = breaker.admit(later).unwrap();
        breaker.abandoned(probe, later);
        assert!(breaker.admit(later).is_ok(), "R-W4");
    }

    #[test]
    fn the_default_cooldown_grows_to_its_end() {
        let growing = Cooldown::Growing(SECOND, 15 * SECOND);
        let seconds: Vec<_> = (0..6).map(|probes| growing.after(probes).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 15, 15]);
        assert_eq!(growing.after(u32::MAX), 15 * SECOND);
    }
}
