//! Headers that repeat parts of a modern body: how values are written, read and compared
//! (protocol.md §5.2, §5.3).

use base64::{Engine, engine::general_purpose::STANDARD};
use gateway_domain::{JsonKind, ParamHeader, ParamKind, Params, RawJson, RawObject};

use crate::method;

/// The revision of the request.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The body's `method`.
pub const METHOD: &str = "mcp-method";
/// The body's `params.name`, `params.uri` or `params.taskId`.
pub const NAME: &str = "mcp-name";
/// What stands in front of the names of mirrored arguments.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// The id of a legacy session.
pub const SESSION: &str = "mcp-session-id";

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// The largest integer that JSON readers agree on, and the limit for mirrored ones.
const SAFE_INTEGER: i64 = (1 << 53) - 1;

/// Why a header is refused: -32020 with status 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("header {header} {fault}")]
pub struct HeaderMismatch {
    /// The header, as clients write it.
    pub header: String,
    /// What is wrong with it, as the end of a sentence.
    pub fault: &'static str,
}

/// One header field of a request, however often it stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// Not there.
    Absent,
    /// There once.
    Once(&'a [u8]),
    /// There more than once, so that two readers may take different ones.
    Repeated,
}

/// Writes a value: plain where that is unambiguous, else as `=?base64?…?=`.
pub fn encode(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && value.trim_matches([' ', '\t']).len() == value.len()
        && !(value.starts_with(OPEN) && value.ends_with(CLOSE));
    if plain { value.to_owned() } else { format!("{OPEN}{}{CLOSE}", STANDARD.encode(value)) }
}

/// Reads a value; `None` if it has characters that no header may have or a sentinel that does not decode.
pub fn decode(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    if !text.bytes().all(|byte| (0x20..=0x7e).contains(&byte) || byte == b'\t') {
        return None;
    }
    match text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// Checks that a header says exactly `body`.
///
/// # Errors
/// [`HeaderMismatch`]: missing, repeated, malformed or different.
pub fn check(header: &str, field: Field<'_>, body: &str) -> Result<(), HeaderMismatch> {
    check_with(header, field, |value| value == body)
}

/// Checks `Mcp-Method` and `Mcp-Name` against the body (protocol.md §5.4 step 9).
///
/// # Errors
/// [`HeaderMismatch`] for the first that does not agree.
pub fn check_routing<'a>(
    method: &str,
    params: &Params,
    field: impl Fn(&str) -> Field<'a>,
) -> Result<(), HeaderMismatch> {
    check_plain("Mcp-Method", field(METHOD), method)?;
    let Some(member) = method::named_by(method) else { return Ok(()) };
    match params.object.get_text(member) {
        Some(name) => check("Mcp-Name", field(NAME), &name),
        // That the body lacks the member is for the check of params to say.
        None => Ok(()),
    }
}

/// Checks every mirrored argument of a tool (protocol.md §5.3, §5.4 step 12).
///
/// # Errors
/// [`HeaderMismatch`] for the first that does not agree.
pub fn check_params<'a>(
    annotated: &[ParamHeader],
    arguments: Option<&RawObject>,
    field: impl Fn(&str) -> Field<'a>,
) -> Result<(), HeaderMismatch> {
    for header in annotated {
        let name = format!("Mcp-Param-{}", header.name);
        let given = field(&name.to_ascii_lowercase());
        match argument(header, arguments) {
            None if given == Field::Absent => {}
            None => return Err(mismatch(&name, "names an argument that the body does not have")),
            Some(value) => check_with(&name, given, |text| agrees(header.kind, text, &value))?,
        }
    }
    Ok(())
}

/// The mirrored headers of an outgoing call: names and encoded values.
pub fn params(annotated: &[ParamHeader], arguments: Option<&RawObject>) -> Vec<(String, String)> {
    let header = |header: &ParamHeader| {
        let value = argument(header, arguments)?;
        Some((format!("Mcp-Param-{}", header.name), encode(&text(header.kind, &value)?)))
    };
    annotated.iter().filter_map(header).collect()
}

/// The sentinel form is defined for names and arguments only (protocol.md §5.2).
fn check_plain(header: &str, field: Field<'_>, body: &str) -> Result<(), HeaderMismatch> {
    let value = once(header, field)?.trim_ascii();
    if value == body.as_bytes() { Ok(()) } else { Err(mismatch(header, "differs from the body")) }
}

fn once<'a>(header: &str, field: Field<'a>) -> Result<&'a [u8], HeaderMismatch> {
    match field {
        Field::Absent => Err(mismatch(header, "is missing")),
        Field::Repeated => Err(mismatch(header, "stands more than once")),
        Field::Once(value) => Ok(value),
    }
}

fn check_with(header: &str, field: Field<'_>, same: impl Fn(&str) -> bool) -> Result<(), HeaderMismatch> {
    match decode(once(header, field)?) {
        None => Err(mismatch(header, "is malformed")),
        Some(value) if same(&value) => Ok(()),
        Some(_) => Err(mismatch(header, "differs from the body")),
    }
}

fn mismatch(header: &str, fault: &'static str) -> HeaderMismatch {
    HeaderMismatch { header: header.to_owned(), fault }
}

/// The value at the annotated path; `None` if it is absent or null.
fn argument(header: &ParamHeader, arguments: Option<&RawObject>) -> Option<RawJson> {
    let (last, parents) = header.path.split_last()?;
    let mut object = arguments?.clone();
    for name in parents {
        object = object.get_object(name)?;
    }
    object.get(last).filter(|value| value.kind() != JsonKind::Null)
}

fn text(kind: ParamKind, value: &RawJson) -> Option<String> {
    match kind {
        ParamKind::String => value.to_text().map(String::from),
        ParamKind::Boolean => value.to_bool().map(|truth| truth.to_string()),
        ParamKind::Integer if value.kind() == JsonKind::Number => {
            integer(value.as_str()).map(|n| n.to_string())
        }
        ParamKind::Integer => None,
    }
}

fn agrees(kind: ParamKind, header: &str, value: &RawJson) -> bool {
    match kind {
        ParamKind::Integer => text(kind, value).is_some() && integer(header) == integer(value.as_str()),
        _ => text(kind, value).as_deref() == Some(header),
    }
}

/// An integer in any notation that JSON has for it (`42`, `42.0`, `4.2e1`), within ±(2^53−1).
fn integer(text: &str) -> Option<i64> {
    let number = text.parse::<i64>().ok().or_else(|| {
        let float = text.parse::<f64>().ok().filter(|float| float.fract() == 0.0)?;
        // In this range every integral f64 is an i64.
        #[expect(clippy::cast_possible_truncation, reason = "the range has just been checked")]
        (float.abs() <= SAFE_INTEGER as f64).then_some(float as i64)
    });
    number.filter(|number| number.unsigned_abs() <= SAFE_INTEGER.unsigned_abs())
}

#[cfg(test)]
mod tests;
