//! A small client that knows which answer belongs to which call.
//!
//! It shows raw text: the id, parameters and answers of a test are the bytes on the wire.

mod http;
pub mod peer;
mod raw;
mod sse;
mod stdio;

use std::io;

use ::http::HeaderMap;
use serde_json::value::RawValue;

pub use self::{
    http::{HttpClient, Messages},
    raw::{raw, raw_until},
    stdio::StdioClient,
};
use crate::{
    message::{Members, members},
    profile::{LEGACY, MODERN},
};

/// The era a client speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaks {
    /// `initialize` with this revision.
    Legacy(String),
    /// Requests of 2026-07-28 with this raw JSON of `clientCapabilities`.
    Modern(String),
}

impl Speaks {
    /// The newest legacy revision.
    pub fn legacy() -> Self {
        Self::Legacy(LEGACY[LEGACY.len() - 1].to_owned())
    }

    /// Modern, without any client capability.
    pub fn modern() -> Self {
        Self::Modern("{}".to_owned())
    }

    /// The parameters this era sends: modern ones get the `_meta` envelope, before members of a `_meta` that
    /// is there already.
    pub(crate) fn params(&self, params: &str) -> String {
        let Self::Modern(capabilities) = self else { return params.to_owned() };
        let envelope = format!(
            r#""io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{capabilities},"io.modelcontextprotocol/clientInfo":{CLIENT_INFO}"#
        );
        match find_meta(params) {
            Some(at) => {
                let rest = &params[at + 1..];
                let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
                format!("{}{{{envelope}{comma}{rest}", &params[..at])
            }
            None => {
                let rest = params.trim_start().strip_prefix('{').unwrap_or("}");
                let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
                format!(r#"{{"_meta":{{{envelope}}}{comma}{rest}"#)
            }
        }
    }
}

/// Where the object `_meta` begins in `params`.
fn find_meta(params: &str) -> Option<usize> {
    let members: std::collections::HashMap<String, &RawValue> = serde_json::from_str(params).ok()?;
    let meta = members.get("_meta")?.get();
    // The raw value borrows from `params`, so the distance of the two is its place.
    meta.starts_with('{').then(|| meta.as_ptr() as usize - params.as_ptr() as usize)
}

/// The whole text of one request.
pub(crate) fn request_text(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

pub(crate) fn initialize_params(revision: &str, capabilities: &str) -> String {
    format!(r#"{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{CLIENT_INFO}}}"#)
}

/// One answer.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// HTTP status; 200 over stdio.
    pub status: u16,
    /// HTTP headers; none over stdio.
    pub headers: HeaderMap,
    /// The response message as it came; over HTTP, if there was none, the whole body.
    pub text: String,
    /// Notifications and server requests that came before it, as they came.
    pub before: Vec<String>,
}

impl Answer {
    fn members(&self) -> Members {
        members(&self.text).unwrap_or_default()
    }

    fn member(&self, name: &str) -> Option<String> {
        self.members().get(name).map(|v| v.get().to_owned())
    }

    /// Raw text of `id`.
    pub fn id(&self) -> Option<String> {
        self.member("id")
    }

    /// Raw text of `result`.
    pub fn result(&self) -> Option<String> {
        self.member("result")
    }

    /// Raw text of one member of `result`.
    pub fn result_member(&self, name: &str) -> Option<String> {
        members(&self.result()?)?.get(name).map(|v| v.get().to_owned())
    }

    /// Raw text of `error`.
    pub fn error(&self) -> Option<String> {
        self.member("error")
    }

    /// `error.code`.
    pub fn error_code(&self) -> Option<i64> {
        members(&self.error()?)?.get("code")?.get().parse().ok()
    }
}

fn closed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, what.to_owned())
}

const CLIENT_INFO: &str = r#"{"name":"testkit-client","version":"1.0.0"}"#;
