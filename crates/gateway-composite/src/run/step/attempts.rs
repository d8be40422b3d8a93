use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use gateway_domain::{CallerError, Error, Execution};
use tokio::time::sleep;

use crate::{
    definition::{ErrorAction, OnError},
    error::StepError,
};

/// How long the first wait is, unless the author says.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const GROWTH: f64 = 1.5;
/// How many times the first wait any other may be.
const LONGEST: u32 = 60;
/// JSON-RPC's own errors that the same request gets again: it is no JSON, no request, there is no such method, or its
/// params are wrong.
const HOPELESS: [i64; 4] = [-32700, -32600, -32601, -32602];

/// The attempts that are left.
#[derive(Debug)]
pub(super) struct Attempts {
    left: u32,
    first: Duration,
    /// What the next wait is about.
    next: Duration,
    /// Whether what may have been done may be done again.
    is_repeatable: bool,
}

impl Attempts {
    /// The attempts that the author allows, 10 more at most as definitions are checked for (C-48), at something that
    /// can be done twice, or cannot.
    pub(super) fn new(on_error: &OnError, is_repeatable: bool) -> Self {
        let left = match on_error.action {
            ErrorAction::Retry => on_error.retry_count,
            ErrorAction::Abort | ErrorAction::Continue => 0,
        };
        let first = on_error.retry_delay.unwrap_or(FIRST_PAUSE);
        Self { left, first, next: first, is_repeatable: is_repeatable || on_error.retry_unsafe }
    }

    /// Waits until the next attempt is due.
    ///
    /// # Errors
    /// The failure itself, if there is no next attempt or it would not help.
    pub(super) async fn pause(&mut self, error: StepError) -> Result<(), StepError> {
        if self.left == 0 || !may_help(&error, self.is_repeatable) {
            return Err(error);
        }
        self.left -= 1;
        sleep(self.wait()).await;
        Ok(())
    }

    /// How long to wait this time: half as long as it is about to half as long again.
    fn wait(&mut self) -> Duration {
        let longest = self.first.saturating_mul(LONGEST);
        // Steps that failed together should not come again together; nothing secret depends on it.
        let drawn = RandomState::new().hash_one(self.left) >> 40;
        let spread = 0.5 + drawn as f64 / f64::from(1_u32 << 24);
        let wait = scaled(self.next, spread).min(longest);
        self.next = scaled(self.next, GROWTH).min(longest);
        wait
    }
}

/// Within what a timer can wait.
fn scaled(time: Duration, by: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * by).unwrap_or(time)
}

/// Whether doing the same again may come to something else, and does no harm (C-W13).
fn may_help(error: &StepError, is_repeatable: bool) -> bool {
    match error {
        StepError::ToolFailed { .. } => is_repeatable,
        StepError::Peer { code, .. } => is_repeatable && !HOPELESS.contains(code),
        StepError::Call { error: Error::Downstream(error), .. } => {
            let did_not_run = error.execution == Execution::NotStarted;
            error.fault.is_transient() && (is_repeatable || did_not_run)
        }
        // It was refused before it was made.
        StepError::Call {
            error: Error::Unlisted(_) | Error::Caller(CallerError::Overloaded { .. }), ..
        } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use gateway_domain::{DownstreamFault, DownstreamName, UnlistedError};
    use tokio::time::Instant;

    use super::*;
    use crate::error::Quota;

    fn retry(retry_count: u32, retry_delay: Option<Duration>) -> OnError {
        OnError { action: ErrorAction::Retry, retry_count, retry_delay, retry_unsafe: false }
    }

    fn tool_failed() -> StepError {
        StepError::ToolFailed { tool: "d__t".into(), message: "no".to_owned() }
    }

    fn call(error: impl Into<Error>) -> StepError {
        StepError::Call { tool: "d__t".into(), error: error.into() }
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_by_half_and_are_spread_by_half() {
        for (delay, first) in [(None, 1.0), (Some(Duration::from_millis(200)), 0.2)] {
            let mut attempts = Attempts::new(&retry(10, delay), true);
            let mut base: f64 = first;
            for _ in 0..10 {
                let before = Instant::now();
                attempts.pause(tool_failed()).await.unwrap();
                let waited = before.elapsed().as_secs_f64();
                let most = (base * 1.5).min(first * 60.0);
                assert!((base * 0.5 - 0.002..=most + 0.002).contains(&waited), "{waited} s, about {base} s");
                base *= GROWTH;
            }
            assert_eq!(attempts.pause(tool_failed()).await, Err(tool_failed()), "ten times and no more");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_tried_again_that_was_not_asked_to_be() {
        for action in [ErrorAction::Abort, ErrorAction::Continue] {
            let mut attempts = Attempts::new(&OnError { action, ..retry(3, None) }, true);
            assert_eq!(attempts.pause(tool_failed()).await, Err(tool_failed()));
        }
    }

    #[test]
    fn waits_of_any_length_stay_within_bounds() {
        let mut attempts = Attempts::new(&retry(10, Some(Duration::MAX)), true);
        for _ in 0..10 {
            attempts.wait();
        }
        let mut none = Attempts::new(&retry(10, Some(Duration::ZERO)), true);
        assert_eq!(none.wait(), Duration::ZERO);
    }

    #[test]
    fn only_what_may_help_and_does_no_harm_is_tried_again() {
        let name = DownstreamName::parse("d").unwrap();
        let unreachable = || DownstreamFault::Unreachable { reason: String::new() };
        let peer = |code| StepError::Peer { tool: "d__t".into(), code, message: String::new() };
        // The failure; whether it is tried again of a tool that can be called twice; and of one that cannot.
        let rows = [
            (tool_failed(), true, false),
            (peer(-32603), true, false),
            (peer(-32000), true, false),
            (peer(-32602), false, false),
            (peer(-32601), false, false),
            (peer(-32600), false, false),
            (peer(-32700), false, false),
            (call(unreachable().before(&name)), true, true),
            (call(unreachable().during(&name)), true, false),
            (call(DownstreamFault::Nonsense { reason: String::new() }.before(&name)), false, false),
            (call(DownstreamFault::TooLarge { limit: 1 }.during(&name)), false, false),
            (call(CallerError::Overloaded { what: "calls", limit: 1 }), true, true),
            (call(UnlistedError { downstreams: vec![name.clone()] }), true, true),
            (call(CallerError::Cancelled), false, false),
            (call(CallerError::InvalidParams { reason: String::new() }), false, false),
            (StepError::UnknownTool { tool: "d__t".into() }, false, false),
            (StepError::LimitExceeded { what: Quota::Calls, limit: 1 }, false, false),
            (StepError::Declined, false, false),
        ];
        for (error, repeatable, other) in rows {
            assert_eq!(may_help(&error, true), repeatable, "{error}");
            assert_eq!(may_help(&error, false), other, "{error}");
        }
    }
}
