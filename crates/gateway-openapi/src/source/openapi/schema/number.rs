//! Numbers in schemas, which some authors write as texts, and counts as fractions.

use std::borrow::Cow;

use gateway_domain::{JsonKind, RawJson};

/// The digits of a number that everybody can hold; also of one in quotes.
pub(super) fn number(value: &RawJson) -> Option<Cow<'_, str>> {
    match value.kind() {
        JsonKind::Number => is_finite(value.as_str()).then(|| value.as_str().into()),
        JsonKind::String => {
            let text = value.to_text()?;
            let parsed = RawJson::parse(text.trim().to_owned()).ok()?;
            (parsed.kind() == JsonKind::Number && is_finite(parsed.as_str()))
                .then(|| parsed.as_str().to_owned().into())
        }
        _ => None,
    }
}

/// A number above zero.
pub(super) fn positive(value: &RawJson) -> Option<Cow<'_, str>> {
    number(value).filter(|digits| digits.parse::<f64>().is_ok_and(|number| number > 0.0))
}

/// A number of things: `3`, `3.0` and `"3"` are three.
pub(super) fn count(value: &RawJson) -> Option<u64> {
    let digits = number(value)?;
    let whole = match digits.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
        Some(_) => return None,
        None => &digits,
    };
    whole.parse().ok()
}

/// Whether it is not beyond what a double can hold: parsers that keep no digits refuse such a number.
pub(super) fn is_finite(digits: &str) -> bool {
    digits.parse::<f64>().is_ok_and(f64::is_finite)
}
