use std::time::Duration;

use gateway_domain::JsonKind;

use super::{
    super::shown,
    value::{Read, Value},
};

/// A time as text: `30s`, `1h 30m`, `1h30m`, `250ms`.
pub(super) fn time(value: Value) -> Read<Duration> {
    let Some(text) = value.raw.to_text() else {
        return match value.raw.to_integer() {
            Some(number) if number >= 0 => value.problem(format!(
                "needs a unit; write `{number}s` for seconds, `{number}ms` for milliseconds"
            )),
            _ if value.raw.kind() == JsonKind::Number => {
                value.problem("must be a time like `30s` or `1h 30m`")
            }
            _ => value.wrong("a time like `30s` or `1h 30m`"),
        };
    };
    if text.trim_start().starts_with('-') {
        return value.problem(format!("is `{}`; a time must not be negative", shown(&text)));
    }
    humantime::parse_duration(&text).or_else(|_| {
        value.problem(format!(
            "is `{}`, which is no time; write one like `30s`, `250ms` or `1h 30m`",
            shown(&text)
        ))
    })
}
