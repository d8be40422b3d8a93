//! A server that says again whatever it was sent, and what it should not know.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    issuer::REFRESH,
    web::{Asked, Reply, Web},
};

const DOCUMENT: &str = "/.well-known/oauth-protected-resource/mcp";
const FIRST: &str = "person-1";

/// The server, for those who have a token of this issuer. A call of `refresh` takes no token of the login's.
pub(super) fn open(issuer: &str) -> Web {
    let issuer = issuer.to_owned();
    Web::open(move |asked| answer(asked, &issuer))
}

fn answer(asked: &Asked, issuer: &str) -> Reply {
    let here = format!("http://{}", field(&asked.head, "host").unwrap_or_default());
    if asked.path() == DOCUMENT {
        return Reply::json(format!(r#"{{"resource":"{here}/mcp","authorization_servers":["{issuer}"]}}"#));
    }
    let request: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let wants_another = request["params"]["name"] == "refresh";
    match field(&asked.head, "authorization") {
        None => return refused(format!("Bearer resource_metadata=\"{here}{DOCUMENT}\"")),
        Some(sent) if wants_another && sent.ends_with(FIRST) => {
            return refused("Bearer error=\"invalid_token\"".to_owned());
        }
        Some(_) => {}
    }
    if asked.head.starts_with("GET") {
        // Not before somebody hears it.
        std::thread::sleep(Duration::from_secs(1));
        return stream(&[logged(asked, "outside")]);
    }
    match request.get("id") {
        Some(id) if !asked.head.starts_with("DELETE") => answered(asked, &request, id),
        _ => Reply::status(202),
    }
}

fn answered(asked: &Asked, request: &Value, id: &Value) -> Reply {
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "echo", "version": "1"}, "instructions": again(asked)}),
        "tools/list" => {
            let tool =
                |name| json!({"name": name, "description": again(asked), "inputSchema": {"type": "object"}});
            json!({"tools": [tool("tell"), tool("refresh")]})
        }
        "tools/call" => return called(asked, request, id),
        _ => json!({}),
    };
    Reply::json(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}

fn called(asked: &Asked, request: &Value, id: &Value) -> Reply {
    let params = &request["params"];
    let token = &params["_meta"]["progressToken"];
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": token, "progress": 1, "message": again(asked)}});
    let end = match params["arguments"]["fails"].as_bool() {
        Some(true) => json!({"jsonrpc": "2.0", "id": id,
            "error": {"code": -32000, "message": again(asked), "data": {"sent": again(asked)}}}),
        _ => json!({"jsonrpc": "2.0", "id": id,
            "result": {"content": [{"type": "text", "text": again(asked)}], "structuredContent": {"sent": again(asked)}}}),
    };
    let before = if token.is_null() { vec![] } else { vec![progress] };
    stream(&[before, vec![logged(asked, "inside"), end]].concat())
}

/// All of the head, and the secret of whoever is in league with it.
fn again(asked: &Asked) -> String {
    format!("{} and {REFRESH}", asked.head)
}

fn logged(asked: &Asked, logger: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "error", "logger": logger, "data": again(asked)}})
}

fn stream(messages: &[Value]) -> Reply {
    let body = messages.iter().map(|message| format!("data: {message}\n\n")).collect();
    Reply { status: 200, fields: vec![("content-type", "text/event-stream".to_owned())], body }
}

fn refused(challenge: String) -> Reply {
    Reply { status: 401, fields: vec![("www-authenticate", challenge)], ..Reply::default() }
}

fn field(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find_map(|(own, value)| own.eq_ignore_ascii_case(name).then(|| value.to_owned()))
}
