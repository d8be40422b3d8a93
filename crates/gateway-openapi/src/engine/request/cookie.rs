//! The `Cookie` header out of arguments (E-W7).

use gateway_domain::RawJson;
use http::HeaderValue;

use super::{
    encode::component,
    query::{self, Member},
    value::{Wire, unfit},
};
use crate::{
    engine::CallError,
    ir::{Param, ParamFormat, Style},
};

/// What a parameter becomes: members, and what stands between them.
///
/// In form style values are percent-encoded, and what is exploded stands in one cookie with `&` between, as OpenAPI has
/// it. In cookie style (OpenAPI 3.2) nothing is encoded; what cannot stand in a cookie is refused.
///
/// # Errors
/// [`CallError::Arguments`].
pub(super) fn param(param: &Param, value: &RawJson) -> Result<(Vec<Member>, &'static str), CallError> {
    let name = &param.name;
    if let ParamFormat::Styled { style: Style::Cookie, explode, .. } = param.format {
        return Ok((plain(name, &Wire::of(name, value)?, explode)?, "; "));
    }
    Ok((query::named(name, &param.format, value)?, "&"))
}

/// The names in a `Cookie` header, as they stand there.
pub(in crate::engine) fn names(line: &HeaderValue) -> impl Iterator<Item = String> {
    let pairs = line.as_bytes().split(|byte| *byte == b';');
    let name = |pair: &[u8]| {
        let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
        String::from_utf8_lossy(name).into_owned()
    };
    pairs.map(name).filter(|name| !name.is_empty())
}

/// `name=a,b`; exploded `name=a; name=b` and `k=v`.
fn plain(name: &str, value: &Wire, explode: bool) -> Result<Vec<Member>, CallError> {
    let octets = |text: &String| match text.bytes().all(is_octet) {
        true => Ok(()),
        false => Err(unfit(
            name,
            "must not have spaces, quotes, ',', ';', '\\' or other than ASCII: it is a cookie",
        )),
    };
    let parts: Vec<&String> = match value {
        Wire::Undefined => Vec::new(),
        Wire::Text(text) => vec![text],
        Wire::List(items) => items.iter().collect(),
        Wire::Members(members) => members.iter().flat_map(|(key, value)| [key, value]).collect(),
    };
    parts.iter().try_for_each(|part| octets(part))?;
    let cookie = |key: &str, value: &str, is_free| Member {
        key: key.to_owned(),
        text: format!("{}={value}", component(key)),
        is_free,
    };
    Ok(match value {
        Wire::Undefined => Vec::new(),
        Wire::List(items) if explode => items.iter().map(|item| cookie(name, item, false)).collect(),
        Wire::Members(members) if explode => {
            members.iter().map(|(key, value)| cookie(key, value, true)).collect()
        }
        _ => {
            let parts: Vec<_> = parts.into_iter().map(String::as_str).collect();
            vec![cookie(name, &parts.join(","), false)]
        }
    })
}

/// RFC 6265 §4.1.1, `cookie-octet`.
fn is_octet(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e)
}
