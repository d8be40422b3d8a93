//! Single values: text, numbers, durations, sizes, addresses, paths.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use figment::value::Value;
use gateway_server::ServerConfig;

use super::problem::{Fault, nearest};
use super::reader::Item;

/// "found a number where a string is needed". The value itself may be secret and is never shown.
pub(super) fn found(value: &Value, needed: &str) -> Fault {
    let kind = match value {
        Value::String(..) | Value::Char(..) => "a string",
        Value::Bool(..) => "true or false",
        Value::Num(..) => "a number",
        Value::Empty(..) => "nothing",
        Value::Dict(..) => "a table",
        Value::Array(..) => "an array",
    };
    Fault::new(format!("found {kind} where {needed} is needed"))
}

pub(super) fn text(item: &Item<'_>) -> Result<String, Fault> {
    match item.value() {
        Value::String(_, text) => Ok(text.clone()),
        other => Err(found(other, "a string").hint("write it in quotes")),
    }
}

/// A text that says something.
pub(super) fn word(item: &Item<'_>) -> Result<String, Fault> {
    match text(item)? {
        text if text.trim().is_empty() => Err(Fault::new("must not be empty")),
        text => Ok(text),
    }
}

pub(super) fn flag(item: &Item<'_>) -> Result<bool, Fault> {
    match item.structured() {
        Value::Bool(_, value) => Ok(value),
        other => Err(found(&other, "true or false").hint("write true or false without quotes")),
    }
}

/// A whole number within `range`.
pub(super) fn count(range: RangeInclusive<usize>) -> impl FnOnce(&Item<'_>) -> Result<usize, Fault> {
    move |item| match item.structured() {
        Value::Num(_, number) => {
            let whole = number.to_i128().or_else(|| number.to_u128().and_then(|n| i128::try_from(n).ok()));
            let whole = whole.ok_or_else(|| Fault::new("must be a whole number"))?;
            within(usize::try_from(whole).ok(), &range, |bound| bound.to_string())
        }
        other => Err(found(&other, "a whole number").hint("write it without quotes")),
    }
}

/// A number within `range`, whole or not.
pub(super) fn number(range: RangeInclusive<f64>) -> impl FnOnce(&Item<'_>) -> Result<f64, Fault> {
    move |item| match item.structured() {
        Value::Num(_, number) => {
            // Those that are not exact as one are beyond any range here.
            let number = number.to_f64().or_else(|| number.to_i128().map(|whole| whole as f64));
            within(number, &range, f64::to_string)
        }
        other => Err(found(&other, "a number").hint("write it without quotes")),
    }
}

/// A number of bytes within `range`: `4194304` or `"4MiB"`.
pub(super) fn size(range: RangeInclusive<usize>) -> impl FnOnce(&Item<'_>) -> Result<usize, Fault> {
    move |item| match item.structured() {
        Value::String(_, text) => {
            let bytes = bytes_of(&text).ok_or_else(|| {
                Fault::new(format!("{text:?} is not a size"))
                    .hint("write bytes, or \"64KiB\", \"4MiB\", \"1GiB\"")
            })?;
            within(Some(bytes), &range, |bound| format!("{bound} bytes"))
        }
        _ => count(range)(item),
    }
}

/// A duration of at least a millisecond and at most `longest`: `"30s"`, `"1m30s"`, `"250ms"` (P-6).
pub(super) fn duration(longest: Duration) -> impl FnOnce(&Item<'_>) -> Result<Duration, Fault> {
    move |item| match item.value() {
        Value::String(_, text) => {
            let duration = humantime::parse_duration(text).map_err(|_| {
                Fault::new(format!("{text:?} is not a duration"))
                    .hint("write \"250ms\", \"30s\", \"1m30s\" or \"2h\"")
            })?;
            within(Some(duration), &(SHORTEST..=longest), |bound| {
                humantime::format_duration(*bound).to_string()
            })
        }
        Value::Num(_, number) => {
            let fault = Fault::new("a duration needs a unit");
            Err(match number.to_i128() {
                Some(number) => {
                    fault.hint(format!("write \"{number}s\" for seconds, \"{number}ms\" for milliseconds"))
                }
                None => fault.hint("write \"30s\" or \"250ms\""),
            })
        }
        other => Err(found(other, "a duration").hint("write \"30s\" or \"250ms\"")),
    }
}

/// As [`duration`]; `"0s"` and `false` mean never.
pub(super) fn duration_or_off(
    longest: Duration,
) -> impl FnOnce(&Item<'_>) -> Result<Option<Duration>, Fault> {
    move |item| {
        let is_off = match item.structured() {
            Value::Bool(_, wanted) => !wanted,
            Value::String(_, text) => humantime::parse_duration(&text).is_ok_and(|time| time.is_zero()),
            _ => false,
        };
        if is_off { Ok(None) } else { duration(longest)(item).map(Some) }
    }
}

/// One of a few words.
pub(super) fn one_of<T: Copy>(choices: &[(&str, T)]) -> impl FnOnce(&Item<'_>) -> Result<T, Fault> {
    move |item| {
        let text = text(item)?;
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let fault = Fault::new(format!("{text:?} is not one of {}", words.join(", ")));
        Err(match nearest(&text, &words) {
            Some(near) => fault.hint(format!("did you mean \"{near}\"?")),
            None => fault,
        })
    }
}

/// An address to listen on.
pub(super) fn socket(item: &Item<'_>) -> Result<SocketAddr, Fault> {
    let text = text(item)?;
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numeric.as_deref().unwrap_or(&text).parse().map_err(|_| {
        Fault::new(format!("{text:?} is not an address to listen on")).hint(
            "write an IP address and a port: \"127.0.0.1:8080\", \"[::1]:8080\"; port 0 takes a free one",
        )
    })
}

/// A host as it stands in a Host header: `gateway.example` or `gateway.example:8443`.
pub(super) fn host(item: &Item<'_>) -> Result<String, Fault> {
    let text = word(item)?;
    match ServerConfig::check_host(&text) {
        Ok(()) => Ok(text.to_ascii_lowercase()),
        Err(_) => Err(Fault::new(format!("{text:?} is not a host"))
            .hint("write \"gateway.example\" or \"gateway.example:8443\", without https:// and path")),
    }
}

/// An origin as browsers send it: `https://app.example`.
pub(super) fn origin(item: &Item<'_>) -> Result<String, Fault> {
    let text = word(item)?;
    if ServerConfig::check_origin(&text).is_ok() {
        return Ok(text.to_ascii_lowercase());
    }
    let fault = Fault::new(format!("{text:?} is not an origin"));
    Err(fault
        .hint("write scheme, host and port as a browser sends them, without a path: \"https://app.example\""))
}

/// A path; a relative one is taken from the folder of its file.
pub(super) fn path(item: &Item<'_>) -> Result<PathBuf, Fault> {
    Ok(item.resolve(word(item)?.as_ref()))
}

const SHORTEST: Duration = Duration::from_millis(1);

fn within<T: PartialOrd>(
    value: Option<T>,
    range: &RangeInclusive<T>,
    show: impl Fn(&T) -> String,
) -> Result<T, Fault> {
    let (least, most) = (show(range.start()), show(range.end()));
    value
        .filter(|value| range.contains(value))
        .ok_or_else(|| Fault::new(format!("must be {least} to {most}")))
}

fn bytes_of(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: usize = match text.get(digits.len()..)? {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    digits.trim_end().parse::<usize>().ok()?.checked_mul(factor)
}
