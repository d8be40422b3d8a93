//! Towards clients of 2026-07-28.

use gateway_domain::{PeerError, RawJson, RawObject, Subject};

use crate::{Implementation, code, meta};

/// A result's members as they come, in two parts around those of the downstream.
pub fn result(_subject: &Subject, result: &RawObject, identity: &Implementation) -> RawJson {
    let own = result.get_object("_meta").unwrap_or_else(RawObject::empty);
    let mut edit =
        result.edit().set("_meta", own.edit().set(meta::SERVER_INFO, identity.as_str()).finish().as_bytes());
    if !result.contains("resultType") {
        edit = edit.set("resultType", br#""complete""#);
    }
    edit.finish()
}

/// An error object. Codes that describe the hop behind us, or that this era does not have, become -32603 with the
/// original in `data` (protocol.md §2.4).
pub fn error(_subject: &Subject, error: &PeerError) -> RawJson {
    match error.code {
        code::RESOURCE_NOT_FOUND => error.raw.edit().set("code", code::INVALID_PARAMS.to_string()).finish(),
        code::UNSUPPORTED_VERSION..=code::HEADER_MISMATCH | -1 | -32042 | -32019..=-32000 => moved(error),
        _ => error.raw.raw().clone(),
    }
}

/// The same as an error of ours: what the peer wrote stands in `data`.
pub(super) fn moved(error: &PeerError) -> RawJson {
    let mut data = format!(
        r#"{{"kind":"downstream_error","retryable":false,"may_have_executed":true,"code":{}"#,
        error.code
    );
    if let Some(own) = error.raw.get("data") {
        data.push_str(r#","data":"#);
        data.push_str(own.as_str());
    }
    data.push('}');
    error.raw.edit().set("code", code::INTERNAL_ERROR.to_string()).set("data", data).finish()
}
