use std::borrow::Cow;

use gateway_domain::RawJson;
use serde_json::Value;

/// What stands for a number that is too large to be held: an integer beyond all others, so that it is an `integer` and
/// a `number`, and more than any `maximum`.
const HUGE: &str = "1.7976931348623157e308";

/// The value, for validation only. Integers up to 64 bits are exact, larger ones and fractions the nearest `f64`, and
/// what no `f64` can hold, such as `1e400`, the largest or smallest there is. Otherwise what
/// is wrong with it, which the parser of the bytes does not mind.
pub(super) fn parse(value: &RawJson) -> Result<Value, &'static str> {
    let text = value.as_str();
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&bounded(text))).map_err(|error| {
        // The only way to tell: the kind of the error is the same.
        match error.to_string().starts_with("recursion limit") {
            true => "is nested too deeply",
            false => "holds half a surrogate pair",
        }
    })
}

/// The text with all numbers replaced that are too large.
fn bounded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, token) = rest.split_at(at);
        out.push_str(before);
        let length = if token.starts_with('"') { string(token) } else { number(token) };
        let (token, after) = token.split_at(length);
        out.push_str(&if token.starts_with('"') { Cow::Borrowed(token) } else { fitting(token) });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

fn number(text: &str) -> usize {
    text.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(text.len())
}

fn fitting(number: &str) -> Cow<'_, str> {
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() => Cow::Borrowed(number),
        Ok(value) if value < 0.0 => Cow::Owned(format!("-{HUGE}")),
        _ => Cow::Borrowed(HUGE),
    }
}
