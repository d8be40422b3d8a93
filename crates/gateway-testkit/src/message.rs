//! JSON-RPC messages as text: just enough structure to find ids, methods and parameters without changing a
//! byte of what is echoed.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// The members of an object, each as its raw text.
pub(crate) type Members = HashMap<String, Box<RawValue>>;

/// The `_meta` key that makes a request modern (2026-07-28).
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// One message that came in.
#[derive(Debug)]
pub(crate) struct Message {
    /// Raw text of `id`, so that `1` and `"1"` stay apart.
    pub(crate) id: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) params: Members,
    meta: Members,
    /// The message as it came, without the line end.
    pub(crate) text: String,
}

impl Message {
    /// `None` if the text is not one JSON object.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let members = members(text)?;
        let params = members.get("params").and_then(|p| self::members(p.get())).unwrap_or_default();
        let meta = params.get("_meta").and_then(|m| self::members(m.get())).unwrap_or_default();
        Some(Self {
            id: members.get("id").map(|id| id.get().to_owned()),
            method: members.get("method").and_then(|m| string(m)),
            params,
            meta,
            text: text.to_owned(),
        })
    }

    /// The protocol revision a modern request carries.
    pub(crate) fn version(&self) -> Option<String> {
        self.meta.get(VERSION_KEY).and_then(|v| string(v))
    }

    /// Raw text of a member of `params._meta`.
    pub(crate) fn meta(&self, key: &str) -> Option<&str> {
        self.meta.get(key).map(|v| v.get())
    }

    /// A member of `params`, if it is a string.
    pub(crate) fn param(&self, key: &str) -> Option<String> {
        self.params.get(key).and_then(|v| string(v))
    }

    pub(crate) fn is_call(&self) -> bool {
        self.method.as_deref() == Some("tools/call")
    }
}

/// The members of the object in `text`, or `None` if it is anything else.
pub(crate) fn members(text: &str) -> Option<Members> {
    serde_json::from_str(text).ok()
}

pub(crate) fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// `text` as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

pub(crate) fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

pub(crate) fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// What a request is refused with.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) message: String,
    /// Raw JSON of `data`.
    pub(crate) data: Option<String>,
    /// The status this refusal has over HTTP.
    pub(crate) status: u16,
}

impl Refusal {
    pub(crate) fn new(code: i64, status: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, status }
    }

    /// The whole error message; without an id, for a request whose id is not known.
    pub(crate) fn render(&self, id: Option<&str>) -> String {
        let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
        let data = self.data.as_ref().map(|d| format!(r#","data":{d}"#)).unwrap_or_default();
        let (code, message) = (self.code, quote(&self.message));
        format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"message":{message}{data}}}}}"#)
    }
}
