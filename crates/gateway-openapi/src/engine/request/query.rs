//! The query of a request (E-19).

use gateway_domain::{JsonKind, RawJson};

use super::{
    encode::{self, Encoding, component},
    value::{Wire, members, text, unfit},
};
use crate::{
    engine::CallError,
    ir::{Location, Param, ParamFormat, Style},
};

/// How deep `deepObject` goes.
const DEEPEST: usize = 16;

/// One member of a query or of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// The name, not encoded: what members are sorted by.
    pub(super) key: String,
    /// Encoded: `name=value`.
    pub(super) text: String,
    /// Whether the argument says what it is called, and not the operation.
    pub(super) is_free: bool,
}

impl Member {
    pub(super) fn new(key: &str, value: &str) -> Self {
        Self::encoded(key, &component(value))
    }

    /// One of a path's template.
    pub(super) fn literal(text: &str) -> Self {
        let key = text.split('=').next().unwrap_or_default();
        let key = String::from_utf8_lossy(&encode::decode(key)).into_owned();
        Self { key, text: encode::query(text), is_free: false }
    }

    fn encoded(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), text: format!("{}={value}", component(key)), is_free: false }
    }

    fn free(key: &str, value: &str) -> Self {
        Self { is_free: true, ..Self::encoded(key, value) }
    }
}

/// The members that a parameter in the query becomes.
///
/// # Errors
/// [`CallError::Arguments`]: the style cannot tell this value from another.
pub(super) fn param(param: &Param, value: &RawJson) -> Result<Vec<Member>, CallError> {
    match (&param.format, param.location) {
        (ParamFormat::Content { media_type }, Location::QueryString) => whole(&param.name, media_type, value),
        (format, _) => named(&param.name, format, value),
    }
}

/// The members that a value becomes under a name.
pub(super) fn named(name: &str, format: &ParamFormat, value: &RawJson) -> Result<Vec<Member>, CallError> {
    let (style, explode, encoding) = match format {
        ParamFormat::Content { media_type } => {
            return Ok(content(name, media_type, value)?
                .map(|text| Member::new(name, &text))
                .into_iter()
                .collect());
        }
        ParamFormat::Styled { style, explode, allow_reserved } => {
            let encoding = if *allow_reserved { Encoding::Reserved } else { Encoding::Component };
            (*style, *explode, encoding)
        }
    };
    match style {
        Style::DeepObject => {
            let mut members = Vec::new();
            deep(&mut members, name, name, value, encoding, 0)?;
            Ok(members)
        }
        Style::SpaceDelimited => delimited(name, &Wire::of(name, value)?, explode, encoding, " "),
        Style::PipeDelimited => delimited(name, &Wire::of(name, value)?, explode, encoding, "|"),
        _ => Ok(form(name, &Wire::of(name, value)?, explode, encoding, ",")),
    }
}

/// The whole query.
fn whole(name: &str, media_type: &str, value: &RawJson) -> Result<Vec<Member>, CallError> {
    if media_type.contains("form-urlencoded") {
        return Ok(fields(name, value)?
            .into_iter()
            .map(|member| Member { is_free: true, ..member })
            .collect());
    }
    let text = content(name, media_type, value)?;
    Ok(text
        .map(|text| Member { key: String::new(), text: component(&text).into_owned(), is_free: false })
        .into_iter()
        .collect())
}

/// The members of an object as a form: arrays exploded, what is nested as JSON.
fn fields(name: &str, value: &RawJson) -> Result<Vec<Member>, CallError> {
    let mut fields = Vec::new();
    for (key, value) in members(name, value)?.iter() {
        fields.extend(field(&key, &value)?);
    }
    Ok(fields)
}

/// A member of a form of which nothing is known but its value.
pub(super) fn field(name: &str, value: &RawJson) -> Result<Vec<Member>, CallError> {
    let value = match value.kind() {
        JsonKind::Object => Wire::Text(value.as_str().to_owned()),
        _ => Wire::of(name, value)?,
    };
    Ok(form(name, &value, true, Encoding::Component, ","))
}

/// A value as a document of a media type; `None` for a `null` that is not JSON.
pub(super) fn content(name: &str, media_type: &str, value: &RawJson) -> Result<Option<String>, CallError> {
    if media_type.contains("json") {
        return Ok(Some(value.as_str().to_owned()));
    }
    if media_type.contains("form-urlencoded") && value.kind() == JsonKind::Object {
        let fields = fields(name, value)?;
        return Ok(Some(fields.into_iter().map(|member| member.text).collect::<Vec<_>>().join("&")));
    }
    Ok(text(value))
}

/// `name=a,b`; exploded `name=a&name=b` and `k=v`.
fn form(name: &str, value: &Wire, explode: bool, encoding: Encoding, delimiter: &str) -> Vec<Member> {
    match value {
        Wire::Undefined => Vec::new(),
        Wire::Text(text) => vec![Member::encoded(name, &encoding.value(text))],
        Wire::List(items) if explode => {
            items.iter().map(|item| Member::encoded(name, &encoding.value(item))).collect()
        }
        Wire::Members(members) if explode => {
            members.iter().map(|(key, value)| Member::free(key, &encoding.value(value))).collect()
        }
        Wire::List(items) => {
            vec![Member::encoded(name, &joined(items.iter(), encoding, delimiter))]
        }
        Wire::Members(members) => {
            let parts = members.iter().flat_map(|(key, value)| [key, value]);
            vec![Member::encoded(name, &joined(parts, encoding, delimiter))]
        }
    }
}

fn joined<'a>(parts: impl Iterator<Item = &'a String>, encoding: Encoding, delimiter: &str) -> String {
    parts.map(|part| encoding.item(part)).collect::<Vec<_>>().join(delimiter)
}

/// As [`form`] with another delimiter, which must be encoded itself: a value that has it cannot be told from two.
fn delimited(
    name: &str,
    value: &Wire,
    explode: bool,
    encoding: Encoding,
    delimiter: &str,
) -> Result<Vec<Member>, CallError> {
    let is_divided = |text: &String| text.contains(delimiter);
    let is_ambiguous = match value {
        Wire::Undefined => false,
        Wire::Text(text) => is_divided(text),
        Wire::List(items) => !explode && items.iter().any(is_divided),
        Wire::Members(members) => {
            !explode && members.iter().any(|(key, value)| is_divided(key) || is_divided(value))
        }
    };
    if is_ambiguous {
        return Err(unfit(
            name,
            &format!("must not have {delimiter:?} in its parts: that is what divides them"),
        ));
    }
    Ok(form(name, value, explode, encoding, &component(delimiter)))
}

/// `name[key]=a`. OpenAPI defines no more than one level; what is deeper goes on in brackets, items of arrays with their
/// index: `name[key][0]=a`.
fn deep(
    out: &mut Vec<Member>,
    name: &str,
    key: &str,
    value: &RawJson,
    encoding: Encoding,
    depth: usize,
) -> Result<(), CallError> {
    if depth > DEEPEST {
        return Err(unfit(name, &format!("must not be nested more than {DEEPEST} levels deep")));
    }
    match value.kind() {
        JsonKind::Object => {
            for (part, value) in members(name, value)?.iter() {
                if part.contains(['[', ']']) {
                    return Err(unfit(name, "must not have brackets in its names: they divide them"));
                }
                deep(out, name, &format!("{key}[{part}]"), &value, encoding, depth + 1)?;
            }
        }
        JsonKind::Array => {
            let items = value.elements(usize::MAX).unwrap_or_default();
            for (index, value) in items.iter().enumerate() {
                deep(out, name, &format!("{key}[{index}]"), value, encoding, depth + 1)?;
            }
        }
        _ => out.extend(text(value).map(|text| Member::free(key, &encoding.value(&text)))),
    }
    Ok(())
}
