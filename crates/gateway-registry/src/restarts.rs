//! How often something that does not come up is started (security.md §3.2). Pure: time is an argument.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use crate::{breaker::Refusal, jitter::Jitter};

/// How many starts of a process may come to nothing: those that fail, and those whose session ends before it
/// has answered anything beyond the handshake. After one, another follows within a second; then they are
/// spaced by `period / (limit - 1)`. What has been of use is started again at once when it ends, unless that
/// has happened 30 times in a period: then once in a thirtieth of it, so that a server which ends after each
/// answer is not started for each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartBudget {
    /// At most so many in a period. 0 means no limit. Default 5.
    pub limit: u32,
    /// Default 60 s.
    pub period: Duration,
}

impl Default for RestartBudget {
    fn default() -> Self {
        Self { limit: 5, period: Duration::from_secs(60) }
    }
}

impl RestartBudget {
    /// From one start that came to nothing to the next.
    fn gap(self, in_a_row: u32, jitter: &mut Jitter) -> Duration {
        let second = Duration::from_secs(1);
        let spaced = self.period / self.limit.saturating_sub(1).max(1);
        match in_a_row {
            1 if self.limit > 1 => {
                let quick = second.min(spaced);
                quick - jitter.below(quick / 4)
            }
            // More, never less: the limit holds for any period.
            _ => spaced + jitter.below(second.min(spaced / 4) / 2),
        }
    }
}

/// Who may start, and when.
#[derive(Debug)]
pub(crate) struct Restarts {
    budget: RestartBudget,
    jitter: Jitter,
    /// Whether the latest start has been of use and nothing has been lost since: starts run side by side.
    is_proven: bool,
    /// Somebody starts alone.
    is_starting: bool,
    /// Starts that came to nothing, in a row.
    in_vain: u32,
    /// When the next start is allowed.
    free_at: Option<Instant>,
    /// The start after one in vain that has not shown yet what it is good for, and until when others wait
    /// for that.
    on_trial: Option<(u64, Instant)>,
    /// The number of the latest start.
    latest: u64,
    /// The latest start that came to nothing, and the latest that was of use.
    worst: u64,
    best: u64,
    /// When sessions that had been of use ended, within the last period; those that ended together count once.
    losses: VecDeque<Instant>,
    /// The last failure, for the error of those who are refused.
    reason: String,
}

/// How many losses there may be in a period before starts are spaced.
const LOSSES: u32 = 30;

/// Sessions that end so soon after one another have ended together.
const TOGETHER: Duration = Duration::from_millis(250);

/// A start; what comes of it is to be reported with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    number: u64,
    at: Instant,
    alone: bool,
}

/// Whether somebody may start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    Granted,
    /// Somebody else does; what comes of it decides, at the latest at the time.
    Wait(Option<Instant>),
    Refused(Refusal),
}

impl Restarts {
    pub(crate) fn new(budget: RestartBudget, jitter: Jitter) -> Self {
        Self {
            budget,
            jitter,
            is_proven: false,
            is_starting: false,
            in_vain: 0,
            free_at: None,
            on_trial: None,
            latest: 0,
            worst: 0,
            best: 0,
            losses: VecDeque::new(),
            reason: String::new(),
        }
    }

    pub(crate) fn check(&self, now: Instant) -> Leave {
        match self.free_at {
            _ if self.is_proven => Leave::Granted,
            _ if self.is_starting => Leave::Wait(None),
            _ if let Some(until) = self.trial_until(now) => Leave::Wait(Some(until)),
            Some(free_at) if free_at > now => {
                Leave::Refused(Refusal { retry_in: free_at - now, reason: self.reason.clone() })
            }
            _ => Leave::Granted,
        }
    }

    /// Starts, after leave was granted.
    pub(crate) fn begin(&mut self, now: Instant) -> Start {
        self.latest += 1;
        let alone = !self.is_proven;
        self.is_starting |= alone;
        if alone && self.in_vain > 0 {
            let until = now + self.budget.gap(self.in_vain.saturating_add(1), &mut self.jitter);
            self.on_trial = Some((self.latest, until));
        }
        Start { number: self.latest, at: now, alone }
    }

    /// The start is over: there is a session, or it failed.
    pub(crate) fn ended(&mut self, start: Start) {
        self.is_starting &= !start.alone;
    }

    /// The start was given up by its caller.
    pub(crate) fn abandoned(&mut self, start: Start) {
        self.ended(start);
        self.decide(start);
    }

    /// The session has answered. A start that is older than the last failure proves nothing about the next.
    pub(crate) fn proved(&mut self, start: Start) {
        self.decide(start);
        self.best = self.best.max(start.number);
        if start.number > self.worst {
            (self.is_proven, self.in_vain, self.free_at) = (true, 0, None);
        }
    }

    /// The start came to nothing.
    pub(crate) fn came_to_nothing(&mut self, start: Start, reason: String) {
        self.is_proven = false;
        self.decide(start);
        if start.number <= self.best {
            // It has been of use since; one that was not needed has ended.
            return;
        }
        self.worst = self.worst.max(start.number);
        self.reason = reason;
        self.in_vain = self.in_vain.saturating_add(1);
        let free_at = start.at + self.budget.gap(self.in_vain, &mut self.jitter);
        self.free_at = Some(self.free_at.map_or(free_at, |earlier| earlier.max(free_at)));
    }

    /// A session that had been of use has ended unasked.
    pub(crate) fn lost(&mut self, now: Instant) {
        self.is_proven = false;
        if self.losses.back().is_some_and(|last| now - *last < TOGETHER) {
            return;
        }
        while self.losses.front().is_some_and(|first| now - *first >= self.budget.period) {
            self.losses.pop_front();
        }
        if self.losses.len() >= LOSSES as usize {
            self.losses.pop_front();
            let free_at = now + self.budget.period / LOSSES;
            self.free_at = Some(self.free_at.map_or(free_at, |earlier| earlier.max(free_at)));
            self.reason = "it ends again and again soon after it has answered".into();
        }
        self.losses.push_back(now);
    }

    fn decide(&mut self, start: Start) {
        self.on_trial.take_if(|(number, _)| *number <= start.number);
    }

    fn trial_until(&self, now: Instant) -> Option<Instant> {
        self.on_trial.map(|(_, until)| until).filter(|until| *until > now)
    }

    /// Whether starts are spaced out, after more than one that came to nothing.
    pub(crate) fn is_spaced(&self) -> bool {
        self.in_vain > 1
    }

    /// The last failure.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }
}
