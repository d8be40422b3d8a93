//! Headers out of arguments. Values stand there as they are: nothing is percent-encoded (OpenAPI 3.2 §4.12.4).

use gateway_domain::RawJson;
use http::HeaderValue;

use super::value::{Wire, text, unfit};
use crate::{
    engine::CallError,
    ir::{Param, ParamFormat},
};

/// The longest value of one header, in bytes.
pub(super) const LONGEST: usize = 8 * 1024;

/// The value of a header in simple style; `None` if there is none.
///
/// # Errors
/// [`CallError::Arguments`]: it cannot stand in a header as it is, or not be told from another.
pub(super) fn value(param: &Param, value: &RawJson) -> Result<Option<HeaderValue>, CallError> {
    let name = &param.name;
    let text = match &param.format {
        ParamFormat::Content { media_type } if media_type.contains("json") => Some(value.as_str().to_owned()),
        ParamFormat::Content { .. } => text(value),
        ParamFormat::Styled { explode, .. } => simple(name, &Wire::of(name, value)?, *explode)?,
    };
    text.map(|text| line(name, &text)).transpose()
}

/// A value that is one line and arrives as it was sent: white space at its ends would not.
fn line(name: &str, text: &str) -> Result<HeaderValue, CallError> {
    if text.len() > LONGEST {
        return Err(unfit(name, &format!("must not be longer than {LONGEST} bytes: it is a header")));
    }
    if text.trim_matches([' ', '\t']).len() != text.len() {
        return Err(unfit(name, "must not begin or end with white space: it is a header"));
    }
    HeaderValue::from_str(text)
        .or_else(|_| HeaderValue::from_bytes(text.as_bytes()))
        .map_err(|_| unfit(name, "must not have control characters: it is a header"))
}

fn simple(name: &str, value: &Wire, explode: bool) -> Result<Option<String>, CallError> {
    let divides: &[char] = if explode { &[',', '='] } else { &[','] };
    let is_divided = |text: &String| text.contains(',');
    let ambiguous = || unfit(name, "must not have ',' in its parts, or '=' in names: they divide them");
    Ok(match value {
        Wire::Undefined => None,
        Wire::Text(text) => Some(text.clone()),
        Wire::List(items) if items.iter().any(is_divided) => return Err(ambiguous()),
        Wire::List(items) => Some(items.join(",")),
        Wire::Members(members) => {
            if members.iter().any(|(key, value)| key.contains(divides) || is_divided(value)) {
                return Err(ambiguous());
            }
            let between = if explode { '=' } else { ',' };
            let pairs: Vec<_> = members.iter().map(|(key, value)| format!("{key}{between}{value}")).collect();
            Some(pairs.join(","))
        }
    })
}
