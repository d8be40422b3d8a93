//! The headers that mirror a modern request's body (2026-07-28, Streamable HTTP, request headers).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderMap;
use serde_json::Value;

use crate::message::{Message, Refusal};

/// Refuses with -32020 what is missing or differs. `definition` is that of the tool called.
pub(crate) fn check(message: &Message, headers: &HeaderMap, definition: Option<&str>) -> Result<(), Refusal> {
    agree("MCP-Protocol-Version", headers, message.version())?;
    agree("Mcp-Method", headers, message.method.clone())?;
    let named = match message.method.as_deref().unwrap_or_default() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    agree("Mcp-Name", headers, message.param(named))?;
    let schema = definition.and_then(|d| serde_json::from_str::<Value>(d).ok());
    let arguments = message.params.get("arguments").and_then(|a| serde_json::from_str::<Value>(a.get()).ok());
    match (schema, arguments) {
        (Some(tool), Some(arguments)) => parameters(&tool["inputSchema"], &arguments, headers),
        _ => Ok(()),
    }
}

fn parameters(schema: &Value, value: &Value, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    for (name, property) in properties {
        let value = &value[name.as_str()];
        if let Some(header) = property["x-mcp-header"].as_str() {
            let text = match value {
                Value::String(text) => Some(text.clone()),
                Value::Null => None,
                other => Some(other.to_string()),
            };
            agree(&format!("Mcp-Param-{header}"), headers, text)?;
        }
        parameters(property, value, headers)?;
    }
    Ok(())
}

fn agree(name: &str, headers: &HeaderMap, body: Option<String>) -> Result<(), Refusal> {
    let Some(body) = body else { return Ok(()) };
    let refuse = |why: &str| Err(Refusal::new(-32020, 400, format!("{name} {why}")));
    let Some(header) = headers.get(name) else { return refuse("is missing") };
    let Some(header) = header.to_str().ok().and_then(|h| decode(h.trim())) else {
        return refuse("is not readable");
    };
    let numbers = || Some(header.parse::<f64>().ok()? == body.parse::<f64>().ok()?);
    if header == body || (name.starts_with("Mcp-Param") && numbers() == Some(true)) {
        return Ok(());
    }
    refuse("differs from the body")
}

/// `=?base64?…?=` stands for what it encodes.
fn decode(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|v| v.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// The header value for `text`: plain where it can be.
pub(crate) fn encode(text: &str) -> String {
    let plain = text.chars().all(|c| (' '..='~').contains(&c)) && text.trim() == text;
    match plain && !(text.starts_with("=?base64?") && text.ends_with("?=")) {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    }
}
