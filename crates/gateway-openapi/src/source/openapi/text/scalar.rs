use std::borrow::Cow;

use gateway_domain::RawJson;

/// What a plain scalar means, as JSON text (YAML 1.2.2 §10.3.2, core schema): `on` and `yes` are strings, so are
/// timestamps. Digits stay as they are. What JSON has no number for is a string: `.inf`, `.nan`, and `007`, which
/// nobody who writes a zero in front means as seven.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => "null".into(),
        "true" | "True" | "TRUE" => "true".into(),
        "false" | "False" | "FALSE" => "false".into(),
        _ => number(text).unwrap_or_else(|| quoted(text).into()),
    }
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    RawJson::string(text).as_str().to_owned()
}

fn number(text: &str) -> Option<Cow<'_, str>> {
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (if text.starts_with('-') { "-" } else { "" }, digits),
        None => ("", text),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    match digits.get(..2) {
        Some("0x") if sign.len() == text.len() - digits.len() => radix(sign, digits.get(2..)?, 16),
        Some("0o") if sign.len() == text.len() - digits.len() => radix(sign, digits.get(2..)?, 8),
        _ if is_json(text) => Some(text.into()),
        _ => decimal(sign, digits),
    }
}

fn radix(sign: &str, digits: &str, radix: u32) -> Option<Cow<'static, str>> {
    let has_sign = digits.starts_with(['-', '+']);
    let value = u128::from_str_radix(digits, radix).ok().filter(|_| !has_sign && sign.is_empty())?;
    Some(value.to_string().into())
}

/// What YAML may write and JSON may not: `+1`, `.5`, `5.`.
fn decimal(sign: &str, digits: &str) -> Option<Cow<'static, str>> {
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => digits.split_at(at),
        None => (digits, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let point = if mantissa.contains('.') { "." } else { "" };
    let fraction = if point.is_empty() { "" } else { or_zero(fraction) };
    let written = format!("{sign}{}{point}{fraction}{exponent}", or_zero(whole));
    is_json(&written).then_some(written.into())
}

fn or_zero(digits: &str) -> &str {
    if digits.is_empty() { "0" } else { digits }
}

fn is_json(text: &str) -> bool {
    // White space, which the parser would pass over, is in no plain scalar that begins like a number.
    !text.contains(|c: char| c.is_ascii_whitespace()) && RawJson::parse(text.to_owned()).is_ok()
}
