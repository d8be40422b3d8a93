use super::{
    super::{ErrorAction, OnError},
    members::Members,
    time::time,
    value::{Read, Value},
};

/// `onError` (C-37).
pub(super) fn on_error(value: Value) -> Read<OnError> {
    let object = value.indexed("an object like `{action: continue}`")?;
    let known = &["action", "retryCount", "retryDelay", "retryUnsafe"];
    let mut members = Members::explained(object, value.place, known, |name| {
        (name == "maxRetries").then(|| "is not known; did you mean `retryCount`?".to_owned())
    });
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
    members.finish(on_error)
}
