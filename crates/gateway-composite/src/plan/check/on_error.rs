//! What a failure may do (C-37).

use super::bounds;
use crate::definition::{ErrorAction, OnError, Place, Problem};

/// How often a step may be tried again (C-48).
const MAX_RETRIES: u32 = 10;

/// Looks at `onError` of a step, or of a loop's inner step.
pub(super) fn check(place: &Place, on_error: &OnError) -> Vec<Problem> {
    let place = place.member("onError");
    if on_error.action == ErrorAction::Retry {
        let count = place.member("retryCount");
        let count = match on_error.retry_count {
            0 => Some(count.problem("must be at least 1 with `action: retry`")),
            given => bounds::count(&count, given, MAX_RETRIES),
        };
        let delay = bounds::time(&place.member("retryDelay"), on_error.retry_delay);
        return count.into_iter().chain(delay).collect();
    }
    [
        ("retryCount", on_error.retry_count > 0),
        ("retryDelay", on_error.retry_delay.is_some()),
        ("retryUnsafe", on_error.retry_unsafe),
    ]
    .into_iter()
    .filter(|(_, is_given)| *is_given)
    .map(|(name, _)| {
        place.member(name).problem("has no effect without `action: retry`; add that, or remove it")
    })
    .collect()
}
