//! When to leave a failing downstream alone (R-18…R-27, security.md §3.3). Pure: time is an argument, and so
//! is where the jitter begins.

#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;

use crate::{jitter::Jitter, window::Window};

/// How long a breaker stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cooldown {
    /// Always as long.
    Fixed(Duration),
    /// From the first to the second, doubling with each failed probe; up to a quarter less by chance.
    Growing(Duration, Duration),
}

impl Cooldown {
    /// Never so long that a clock could not tell its end.
    const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// The setting: `None` or zero begins with 1 s and doubles up to 15 s, so that a server which is back
    /// is used again within 16 s.
    pub(crate) fn from_setting(fixed: Option<Duration>) -> Self {
        match fixed {
            Some(fixed) if !fixed.is_zero() => Self::Fixed(fixed),
            _ => Self::Growing(Duration::from_secs(1), Duration::from_secs(15)),
        }
    }

    fn after(self, failed_probes: u32, jitter: &mut Jitter) -> Duration {
        match self {
            Self::Fixed(time) => time.min(Self::LONGEST),
            Self::Growing(first, last) => {
                let time = first.saturating_mul(1 << failed_probes.min(16)).min(last);
                time - jitter.below(time / 4)
            }
        }
    }
}

/// Opens at a number of failures in a row, or when fewer than half of the outcomes of ten seconds are good.
///
/// Timeouts do not help to open it, since they may be the fault of one slow tool (P-45): where they make the
/// difference it asks for a probe, while everything goes on.
#[derive(Debug)]
pub(crate) struct Breaker {
    limit: u32,
    cooldown: Cooldown,
    jitter: Jitter,
    state: State,
    window: Window,
    /// In a row.
    failures: u32,
    /// Those of `failures` that were not timeouts.
    hard: u32,
    /// How often it has opened since the last success that was more than a probe's, and when last.
    opened: u32,
    opened_at: Option<Instant>,
    /// Grows whenever it opens, so that an outcome from before is known (R-W6).
    generation: u64,
    /// The number of the latest probe.
    probes: u64,
    /// Until then timeouts ask for no probe: one has just shown that they are not the downstream's.
    verified_until: Option<Instant>,
    /// The last failure, for the error of refused callers.
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    /// A probe is wanted from then on; nobody is refused.
    Suspect {
        from: Instant,
    },
    Open {
        until: Instant,
    },
    Probing {
        number: u64,
        since: Instant,
        /// Whether everybody else is refused meanwhile.
        refusing: bool,
    },
}

/// Leave to try; its outcome is to be reported with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// As one of many, in this generation.
    Try(u64),
    /// To find out, alone.
    Probe(u64),
}

/// Refused: the downstream is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) retry_in: Duration,
    pub(crate) reason: String,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No answer, or none that is MCP.
    Hard,
    /// No answer in time.
    Slow,
    /// The downstream answers that it is asked too much: bad for the rate, but no sign of a fault.
    RateLimited,
}

impl Breaker {
    /// When to look again while a probe is on its way; how long that takes is not known.
    const SOON: Duration = Duration::from_secs(1);
    /// After so long without trouble the next cooldown begins anew.
    const QUIET: Duration = Duration::from_secs(60);
    /// How long one probe's success stands against timeouts of calls.
    const VERIFIED: Duration = Duration::from_secs(15);

    pub(crate) fn new(limit: u32, cooldown: Cooldown, jitter: Jitter, now: Instant) -> Self {
        Self {
            limit,
            cooldown,
            jitter,
            state: State::Closed,
            window: Window::new(now),
            failures: 0,
            hard: 0,
            opened: 0,
            opened_at: None,
            generation: 0,
            probes: 0,
            verified_until: None,
            reason: String::new(),
        }
    }

    /// Asks for leave to try. After the cooldown one caller gets it, the others are refused.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<Admission, Refusal> {
        self.check(now)?;
        match self.state {
            State::Open { .. } => Ok(self.probe(true, now)),
            _ => Ok(Admission::Try(self.generation)),
        }
    }

    /// Whether [`Self::admit`] would give leave.
    pub(crate) fn check(&self, now: Instant) -> Result<(), Refusal> {
        match self.state {
            State::Open { until } if until <= now => Ok(()),
            _ if self.is_refusing() => Err(self.refusal(now)),
            _ => Ok(()),
        }
    }

    /// What those are told who may not probe.
    pub(crate) fn refusal(&self, now: Instant) -> Refusal {
        let retry_in = match self.state {
            State::Open { until } if until > now => until - now,
            _ => Self::SOON,
        };
        Refusal { retry_in, reason: self.reason.clone() }
    }

    /// Whether it is open, also while a probe finds out whether it should be.
    pub(crate) fn is_refusing(&self) -> bool {
        matches!(self.state, State::Open { .. } | State::Probing { refusing: true, .. })
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// When the next probe is to begin; `None` if none is needed or one is on its way.
    pub(crate) fn probe_due(&self) -> Option<Instant> {
        match self.state {
            State::Open { until } => Some(until),
            State::Suspect { from } => Some(from),
            State::Closed | State::Probing { .. } => None,
        }
    }

    /// Begins the probe that is due.
    pub(crate) fn begin_probe(&mut self, now: Instant) -> Option<Admission> {
        let is_due = self.probe_due().is_some_and(|due| due <= now);
        is_due.then(|| self.probe(self.is_refusing(), now))
    }

    /// Begins a probe for a reason of the caller's, where none is on its way or awaited.
    pub(crate) fn doubt(&mut self, reason: String, now: Instant) -> Option<Admission> {
        let may = matches!(self.state, State::Closed | State::Suspect { .. });
        may.then(|| {
            self.reason = reason;
            self.probe(false, now)
        })
    }

    pub(crate) fn succeeded(&mut self, admission: Admission, now: Instant) {
        match admission {
            Admission::Try(generation) if generation == self.generation => {
                (self.failures, self.hard, self.opened) = (0, 0, 0);
                self.window.succeeded(now);
                // It answers: no reason to suspect it, whatever a probe says.
                self.state = State::Closed;
            }
            Admission::Probe(_) if self.is_current(admission) => {
                self.close();
                self.opened = 0;
            }
            _ => {}
        }
    }

    /// The probe was answered, but nothing that callers ask for has been: the cooldown keeps its length.
    pub(crate) fn verified(&mut self, probe: Admission, now: Instant) {
        if self.is_current(probe) {
            self.close();
            self.verified_until = Some(now + Self::VERIFIED);
        }
    }

    pub(crate) fn failed(&mut self, admission: Admission, failure: Failure, reason: String, now: Instant) {
        match admission {
            Admission::Try(generation) if generation == self.generation => {
                self.reason = reason;
                self.count(failure, now);
            }
            Admission::Probe(_) if self.is_current(admission) => {
                self.reason = reason;
                self.open(self.cooldown_from(now));
            }
            _ => {}
        }
    }

    /// The try was given up by its caller: neither success nor failure (R-W5). A probe's place is free again
    /// (R-W4).
    pub(crate) fn abandoned(&mut self, admission: Admission, now: Instant) {
        if self.is_current(admission) {
            self.state = match self.is_refusing() {
                true => State::Open { until: now },
                false => State::Suspect { from: now },
            };
        }
    }

    /// The next probe cannot begin before `time`.
    pub(crate) fn put_off(&mut self, time: Instant) {
        if let State::Open { until: due } | State::Suspect { from: due } = &mut self.state {
            *due = time.max(*due);
        }
    }

    fn count(&mut self, failure: Failure, now: Instant) {
        let hard = failure != Failure::Slow;
        self.window.failed(hard, now);
        let in_a_row = failure != Failure::RateLimited && {
            self.failures = self.failures.saturating_add(1);
            self.hard = self.hard.saturating_add(hard.into());
            self.failures >= self.limit
        };
        if in_a_row && self.hard >= self.limit || self.window.is_bad() {
            self.open(now);
        } else if (in_a_row || self.window.is_slow()) && self.state == State::Closed {
            self.state = State::Suspect { from: self.verified_until.unwrap_or(now).max(now) };
        }
    }

    /// A probe of what hangs takes its time. So that this adds nothing to the time until a server which is
    /// back is used again, a cooldown that grows begins with the probe. A fixed one is as long as it says.
    fn cooldown_from(&self, failed: Instant) -> Instant {
        match (self.cooldown, self.state) {
            (Cooldown::Growing(..), State::Probing { since, .. }) => since,
            _ => failed,
        }
    }

    fn open(&mut self, from: Instant) {
        if self.opened_at.is_some_and(|last| from.saturating_duration_since(last) > Self::QUIET) {
            self.opened = 0;
        }
        self.opened_at = Some(from);
        let until = from + self.cooldown.after(self.opened, &mut self.jitter);
        self.opened = self.opened.saturating_add(1);
        self.generation += 1;
        self.forget_outcomes();
        self.state = State::Open { until };
    }

    fn close(&mut self) {
        self.forget_outcomes();
        self.state = State::Closed;
    }

    fn forget_outcomes(&mut self) {
        (self.failures, self.hard) = (0, 0);
        self.window.clear();
    }

    fn probe(&mut self, refusing: bool, now: Instant) -> Admission {
        self.probes += 1;
        self.state = State::Probing { number: self.probes, since: now, refusing };
        Admission::Probe(self.probes)
    }

    /// Whether it is the probe that is awaited.
    fn is_current(&self, admission: Admission) -> bool {
        matches!((admission, self.state), (Admission::Probe(probe), State::Probing { number, .. }) if probe == number)
    }
}
