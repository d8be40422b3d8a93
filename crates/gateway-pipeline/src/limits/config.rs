use std::time::Duration;

use wildmatch::WildMatch;

/// What is bounded, and how much of it there may be. Nothing is by default but how long calls wait, and how many: the edge
/// bounds the requests of a caller as it is (security.md §3.3).
///
/// Names that overrides are for: callers as they are shown (a client's name, `anonymous`, `SUBJECT at ISSUER`); tools
/// as `DOWNSTREAM__TOOL` with the name that the downstream gave, workflows by their own; downstreams by their own.
#[derive(Debug, Clone)]
pub struct LimitsConfig {
    /// How often.
    pub rates: Rates,
    /// How many at once.
    pub at_once: Concurrency,
    /// How many calls may wait for a place with one caller, tool or downstream. Zero: none waits.
    pub queue: usize,
    /// How long a call waits at most, for all its places together.
    pub max_wait: Duration,
    /// How many callers, tools and downstreams, each with a bucket of its own, are known at a time, of every kind. Those
    /// beyond share one bucket until some bucket has been full again.
    pub max_buckets: usize,
}

impl Default for LimitsConfig {
    /// 128 calls that wait in each line (security.md §3.3), each for 2 s; 10 000 buckets of each kind.
    fn default() -> Self {
        Self {
            rates: Rates::default(),
            at_once: Concurrency::default(),
            queue: 128,
            max_wait: Duration::from_secs(2),
            max_buckets: 10_000,
        }
    }
}

impl LimitsConfig {
    /// Whether no call is ever refused or held up.
    pub fn is_none(&self) -> bool {
        let Concurrency { caller, tool, downstream } = &self.at_once;
        self.rates.is_none() && [caller, tool, downstream].into_iter().all(Limit::is_none)
    }
}

/// Bounds on how often there may be calls. A call takes a token of its caller, whatever becomes of it, and then needs one
/// of each other bucket that it falls under, or takes none of these.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// Of a caller, whatever it calls, be there such a thing or not; names are callers. Steps of workflows count for the caller of the workflow.
    pub caller: Limit<Rate>,
    /// Of one caller with one tool; names are tools.
    pub caller_tool: Limit<Rate>,
    /// Of a tool, whoever calls it.
    pub tool: Limit<Rate>,
    /// Of anything that a downstream has, whoever asks; names are downstreams.
    pub downstream: Limit<Rate>,
    /// Of looks at the state of tasks and ends of them (`tasks/get`, `tasks/cancel`), of one caller. They count for none
    /// of the others; names are callers.
    pub task_polls: Limit<Rate>,
}

impl Rates {
    /// Whether there is no bound.
    pub(super) fn is_none(&self) -> bool {
        let Self { caller, caller_tool, tool, downstream, task_polls } = self;
        [caller, caller_tool, tool, downstream, task_polls].into_iter().all(Limit::is_none)
    }
}

/// Bounds on how many calls there may be at once.
#[derive(Debug, Clone, Default)]
pub struct Concurrency {
    /// Of a caller; names are callers. A workflow has no place of its own, but its steps have.
    pub caller: Limit<usize>,
    /// Of a tool, or runs of a workflow.
    pub tool: Limit<usize>,
    /// Of anything that a downstream has; names are downstreams.
    pub downstream: Limit<usize>,
}

/// A bound that may differ by name.
#[derive(Debug, Clone)]
pub struct Limit<T> {
    default: Option<T>,
    overrides: Vec<(WildMatch, Option<T>)>,
}

impl<T: Copy> Limit<T> {
    /// The same for all names.
    pub fn of(bound: T) -> Self {
        Self { default: Some(bound), overrides: Vec::new() }
    }

    /// Another bound for all names that match a glob, of `*` and `?`; `None`: no bound. Of several globs the first that
    /// matches counts.
    #[must_use]
    pub fn except(mut self, glob: &str, bound: Option<T>) -> Self {
        self.overrides.push((WildMatch::new(glob), bound));
        self
    }

    /// The bound for a name, which is only worked out if there are overrides.
    pub(super) fn bound(&self, name: impl FnOnce() -> String) -> Option<T> {
        if self.overrides.is_empty() {
            return self.default;
        }
        let name = name();
        let found = self.overrides.iter().find(|(glob, _)| glob.matches(&name));
        found.map_or(self.default, |(_, bound)| *bound)
    }

    /// Whether no name has a bound.
    pub(super) fn is_none(&self) -> bool {
        self.default.is_none() && self.overrides.iter().all(|(_, bound)| bound.is_none())
    }
}

/// No bound.
impl<T> Default for Limit<T> {
    fn default() -> Self {
        Self { default: None, overrides: Vec::new() }
    }
}

/// How fast a bucket fills, and how much it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The time in which one token comes.
    pub(super) interval: Duration,
    /// The time in which an empty bucket fills.
    pub(super) full: Duration,
}

impl Rate {
    /// So many calls a second in the long run, and `burst` of them at once.
    ///
    /// # Errors
    /// [`LimitsError`] for a rate that is not within 1 a year and 1 000 000 a second, a burst of zero, and a bucket that
    /// takes more than a year to fill.
    pub fn new(per_second: f64, burst: u32) -> Result<Self, LimitsError> {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        let interval = Duration::try_from_secs_f64(per_second.recip()).ok();
        let interval = interval.filter(|interval| *interval >= Duration::from_micros(1) && *interval <= YEAR);
        let interval = interval.ok_or(LimitsError::PerSecond)?;
        if burst == 0 {
            return Err(LimitsError::Burst);
        }
        let full = interval.checked_mul(burst).filter(|full| *full <= YEAR).ok_or(LimitsError::Filling)?;
        Ok(Self { interval, full })
    }
}

/// Why a limit cannot be set so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// The rate is no number of calls.
    #[error("`per_second` has to be more than zero and at most 1000000, and at least one call a year")]
    PerSecond,
    /// There would be no room for a single call.
    #[error("`burst` has to be at least 1")]
    Burst,
    /// A bucket would take too long to fill.
    #[error("`burst` divided by `per_second` has to be at most a year")]
    Filling,
}
