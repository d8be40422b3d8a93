//! Judges every message of a record that the other side wrote.

use std::collections::HashMap;

use serde_json::Value;

use super::{Schema, names};
use crate::{
    message::VERSION_KEY,
    profile::MODERN,
    transcript::{Line, Way},
};

/// Who wrote the messages that are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// A server: the record is a client's.
    Server,
    /// A client: the record is a server's.
    Client,
}

/// What is wrong with the incoming messages of a record, one sentence each. `revision` is what the hop speaks; a
/// modern probe towards a legacy server is judged as what it is.
pub fn audit(lines: &[Line], writer: Writer, revision: &str) -> Vec<String> {
    let mut asked: HashMap<(u32, String), (String, bool)> = HashMap::new();
    let mut faults = Vec::new();
    for line in lines {
        let Ok(message) = serde_json::from_str::<Value>(&line.text) else {
            faults.extend((line.way == Way::In).then(|| format!("no JSON: {}", line.text)));
            continue;
        };
        let modern = revision == MODERN || !message["params"]["_meta"][VERSION_KEY].is_null();
        let id = (line.keeper, message["id"].to_string());
        if line.way == Way::Out {
            if let (Some(method), false) = (message["method"].as_str(), message["id"].is_null()) {
                asked.insert(id, (method.to_owned(), modern));
            }
            continue;
        }
        let judged = match message.get("method").and_then(Value::as_str) {
            Some(method) => sent(&message, method, writer, if modern { MODERN } else { revision }),
            None => match asked.get(&id) {
                Some((method, modern)) => answered(&message, method, if *modern { MODERN } else { revision }),
                // An error that answers an unreadable message names no request.
                None if message["id"].is_null() && message["error"].is_object() => Ok(()),
                None => Err("answers nothing that was asked".to_owned()),
            },
        };
        faults.extend(judged.err().map(|why| format!("{why} in {}", line.text)));
    }
    faults
}

/// A request or notification.
fn sent(message: &Value, method: &str, writer: Writer, revision: &str) -> Result<(), String> {
    let schema = Schema::of(revision);
    let is_request = message.get("id").is_some();
    envelope(message)?;
    if writer == Writer::Server && revision == MODERN && is_request {
        return Err("a modern server asks nothing".to_owned());
    }
    match schema.definition_of(method) {
        Some(definition) if definition.ends_with("Request") != is_request => {
            Err(format!("{method} with the wrong kind of envelope"))
        }
        Some(definition) => schema.check(definition, message),
        None if writer == Writer::Client || OUTSIDE.contains(&method) => Ok(()),
        None => Err(format!("{revision} has no {method}")),
    }
}

fn envelope(message: &Value) -> Result<(), String> {
    if message["jsonrpc"] != "2.0" {
        return Err("no jsonrpc 2.0".to_owned());
    }
    match message.get("id") {
        Some(id) if !(id.is_string() || id.is_i64() || id.is_u64()) => Err(format!("the id {id}")),
        _ => Ok(()),
    }
}

fn answered(message: &Value, method: &str, revision: &str) -> Result<(), String> {
    envelope(message)?;
    match (message.get("result"), message.get("error")) {
        (Some(result), None) => {
            fits(result, method, revision)?;
            if revision == MODERN { Ok(()) } else { old_words(result) }
        }
        (None, Some(error)) => refused(error, revision),
        _ => Err("neither result nor error, or both".to_owned()),
    }
}

fn fits(result: &Value, method: &str, revision: &str) -> Result<(), String> {
    let schema = Schema::of(revision);
    let definition = match result["resultType"].as_str() {
        Some("input_required") if revision == MODERN => {
            if result.get("inputRequests").is_none() && result.get("requestState").is_none() {
                return Err("input_required asks nothing and gives no state".to_owned());
            }
            "InputRequiredResult"
        }
        Some("task") if revision == MODERN && method == "tools/call" => "Result",
        _ if revision != MODERN && !result["task"].is_null() => "CreateTaskResult",
        _ => names::result(method, revision == MODERN).unwrap_or("Result"),
    };
    // A legacy empty result is any result: its definition is but a reference.
    schema.check(definition, result)
}

/// What only the modern era says.
fn old_words(result: &Value) -> Result<(), String> {
    for word in ["resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"] {
        if result.get(word).is_some() {
            return Err(format!("a legacy result with {word}"));
        }
    }
    for word in ["serverInfo", "subscriptionId"] {
        if result["_meta"].get(format!("io.modelcontextprotocol/{word}")).is_some() {
            return Err(format!("a legacy result with {word} in _meta"));
        }
    }
    Ok(())
}

fn refused(error: &Value, revision: &str) -> Result<(), String> {
    let (Some(code), Some(_)) = (error["code"].as_i64(), error["message"].as_str()) else {
        return Err("an error without code or message".to_owned());
    };
    let schema = Schema::of(revision);
    for definition in ["Error", "JSONRPCError"] {
        if definition == "Error" && schema.has(definition) {
            schema.check(definition, error)?;
        }
    }
    let foreign = match revision {
        MODERN => [-32002, -32042].contains(&code),
        _ => (-32022..=-32020).contains(&code) || (code == -32042 && revision != "2025-11-25"),
    };
    if foreign { Err(format!("{revision} has no error {code}")) } else { Ok(()) }
}

/// Notifications of extensions.
const OUTSIDE: [&str; 1] = ["notifications/tasks"];
