use super::{
    super::{ErrorAction, OnError},
    time::time,
    value::{Read, Value},
};

/// `onError` (C-37).
pub(super) fn on_error(value: Value) -> Read<OnError> {
    let mut members = value.members(&["action", "retryCount", "retryDelay", "retryUnsafe"])?;
    let action = members.take("action", |action| {
        action.word(&[
            ("abort", ErrorAction::Abort),
            ("continue", ErrorAction::Continue),
            ("retry", ErrorAction::Retry),
        ])
    });
    let on_error = OnError {
        action: action.unwrap_or_default(),
        retry_count: members.take("retryCount", Value::count).unwrap_or_default(),
        retry_delay: members.take("retryDelay", time),
        retry_unsafe: members.take("retryUnsafe", Value::flag).unwrap_or_default(),
    };
    members.finish(Some(on_error))
}
