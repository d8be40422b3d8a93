//! From the bytes of a document to JSON text: what is JSON stays as it is, YAML is written out once.

mod scalar;
#[cfg(test)]
mod tests;
mod yaml;

use bytes::Bytes;
use gateway_domain::{JsonError, RawJson};

use super::Limits;
use crate::source::SourceError;

/// The document as JSON. It is taken for JSON if it begins with `{`, and for YAML, which may do so too, if it is none.
pub(super) fn parse(bytes: Bytes, source_name: &str, limits: &Limits) -> Result<RawJson, SourceError> {
    let source_name = || source_name.to_owned();
    let too_large = |what, limit| SourceError::TooLarge { source_name: source_name(), what, limit };
    if bytes.len() > limits.document_bytes {
        return Err(too_large("bytes", limits.document_bytes));
    }
    let bytes = if bytes.starts_with(BYTE_ORDER_MARK) { bytes.slice(BYTE_ORDER_MARK.len()..) } else { bytes };
    let json = if bytes.trim_ascii_start().starts_with(b"{") {
        RawJson::parse(bytes.clone()).map_err(Fault::from).or_else(|fault| flow(fault, &bytes, limits))
    } else {
        yaml::to_json(&bytes, limits)
    };
    json.map_err(|fault| match fault {
        Fault::Syntax(reason) => SourceError::Invalid { source_name: source_name(), reason },
        Fault::TooMany { what, limit } => too_large(what, limit),
    })
}

/// YAML that begins like JSON. What is neither is told as what it may have been meant as.
fn flow(as_json: Fault, bytes: &[u8], limits: &Limits) -> Result<RawJson, Fault> {
    let Fault::Syntax(as_json) = as_json else { return Err(as_json) };
    yaml::to_json(bytes, limits).map_err(|fault| match fault {
        Fault::Syntax(as_yaml) => Fault::Syntax(format!("as JSON, {as_json}; as YAML, {as_yaml}")),
        fault => fault,
    })
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why a text cannot be read.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// It is wrong, and where.
    Syntax(String),
    /// There is more of something than is read.
    TooMany { what: &'static str, limit: usize },
}

impl From<JsonError> for Fault {
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::Depth { limit, .. } => Self::TooMany { what: "levels of nesting", limit },
            error => Self::Syntax(error.to_string()),
        }
    }
}
