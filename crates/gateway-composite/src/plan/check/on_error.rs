//! What a failure may do (C-37).

use super::head;
use crate::definition::{DefinitionError, ErrorAction, OnError, Place, StepKind};

/// How often a step may be tried again (C-48).
const MAX_RETRIES: u32 = 10;

/// Looks at `onError` of a step.
pub(super) fn check(place: &Place, on_error: &OnError, kind: &StepKind) -> Vec<DefinitionError> {
    let never = match kind {
        StepKind::Tool(_) => None,
        StepKind::Elicitation(_) => Some("a question is not asked again; see `onDecline` and `onCancel`"),
        StepKind::ForEach(_) => Some("a loop is not run again as a whole; let its inner step do it"),
    };
    match never.filter(|_| on_error.action == ErrorAction::Retry) {
        Some(reason) => {
            let place = place.member("onError").member("action");
            vec![place.problem(format!("must not be `retry` here: {reason}"))]
        }
        None => check_calls(place, on_error),
    }
}

/// The same of what only calls a tool.
pub(super) fn check_calls(place: &Place, on_error: &OnError) -> Vec<DefinitionError> {
    let place = place.member("onError");
    if on_error.action == ErrorAction::Retry {
        let count = place.member("retryCount");
        let count =
            match on_error.retry_count {
                0 => Some(count.problem("must be at least 1 with `action: retry`")),
                1..=MAX_RETRIES => None,
                _ => Some(count.problem(format!(
                    "is larger than {MAX_RETRIES}, and more retries than that there are not"
                ))),
            };
        let delay = head::time(&place.member("retryDelay"), on_error.retry_delay);
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
