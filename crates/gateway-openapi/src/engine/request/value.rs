use gateway_domain::{JsonKind, RawJson, RawObject};

use crate::{engine::CallError, ir::Param};

/// The value of a parameter, as styles see it (OpenAPI 3.1 §4.8.12.4, RFC 6570 §2.3).
///
/// Strings are decoded, numbers are the text of the token, and what is nested in items and members, for which no style
/// has a form, is JSON. `null` is what RFC 6570 calls undefined: it is left out, alone and in arrays and objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wire {
    /// `null`, `[]` and `{}`.
    Undefined,
    Text(String),
    List(Vec<String>),
    Members(Vec<(String, String)>),
}

impl Wire {
    /// # Errors
    /// [`CallError::Arguments`]: an object has a name twice.
    pub(super) fn of(name: &str, value: &RawJson) -> Result<Self, CallError> {
        Ok(match value.kind() {
            JsonKind::Array => {
                let items: Vec<_> =
                    value.elements(usize::MAX).unwrap_or_default().iter().filter_map(text).collect();
                if items.is_empty() { Self::Undefined } else { Self::List(items) }
            }
            JsonKind::Object => {
                let members = members(name, value)?;
                let members: Vec<_> = members
                    .iter()
                    .filter_map(|(key, value)| Some((key.into_owned(), text(&value)?)))
                    .collect();
                if members.is_empty() { Self::Undefined } else { Self::Members(members) }
            }
            _ => text(value).map_or(Self::Undefined, Self::Text),
        })
    }
}

/// The value as text; `None` for `null`.
pub(super) fn text(value: &RawJson) -> Option<String> {
    match value.kind() {
        JsonKind::Null => None,
        JsonKind::String => value.to_text().map(|text| text.into_owned()),
        _ => Some(value.as_str().to_owned()),
    }
}

/// The value as an object.
pub(super) fn members(name: &str, value: &RawJson) -> Result<RawObject, CallError> {
    RawObject::try_from(value.clone())
        .map_err(|_| unfit(name, "must be an object in which no name stands twice"))
}

/// Refuses a value of which nothing is left to send where the API needs something: without it, a request may mean more
/// than was asked for.
pub(super) fn check_present(param: &Param, is_present: bool) -> Result<(), CallError> {
    match is_present || !param.required {
        true => Ok(()),
        false => Err(unfit(&param.name, "must not be null or empty: it is required")),
    }
}

/// An argument that cannot be sent.
pub(super) fn unfit(name: &str, demand: &str) -> CallError {
    CallError::Arguments { reason: format!("`{name}` {demand}") }
}
