//! Numbers as they are written.

use std::cmp::Ordering;

use minijinja::Value;

/// How many significant digits every decimal can have and still be told apart as an `f64`.
const SAFE_DIGITS: usize = 15;

/// A number by its value and not by its spelling: ±0.digits × 10^exponent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    exponent: i128,
}

/// The number as the language can calculate with it, if it can without changing it.
pub(super) fn native(text: &str) -> Option<Value> {
    if let Ok(integer) = text.parse::<i64>() {
        // `-0` is left to the floats, which know it.
        return (text != "-0").then(|| Value::from(integer)).or_else(|| Some(Value::from(-0.0_f64)));
    }
    if let Ok(integer) = text.parse::<i128>() {
        return Some(Value::from(integer));
    }
    if let Ok(integer) = text.parse::<u128>() {
        return Some(Value::from(integer));
    }
    let float: f64 = text.parse().ok()?;
    let is_integer = !text.contains(['.', 'e', 'E']);
    (float.is_finite() && !is_integer && is_exact(text, float)).then(|| Value::from(float))
}

fn is_exact(text: &str, float: f64) -> bool {
    let is_short = text.len() <= SAFE_DIGITS && !text.contains(['e', 'E']);
    is_short || Decimal::parse(text) == Decimal::parse(&format!("{float:e}"))
}

impl Decimal {
    /// Reads a JSON number. An exponent beyond all measure is cut to one that is.
    pub(super) fn parse(text: &str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let significant = all.trim_start_matches('0');
        let leading = all.len() - significant.len();
        let digits = significant.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        let point = whole.len() as i128 - leading as i128;
        Self { negative, digits, exponent: read_exponent(exponent).saturating_add(point) }
    }
}

fn read_exponent(text: &str) -> i128 {
    let far = if text.starts_with('-') { i128::MIN / 2 } else { i128::MAX / 2 };
    text.parse().unwrap_or(far).clamp(i128::MIN / 2, i128::MAX / 2)
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            let size = self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
            if self.negative { size.reverse() } else { size }
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
