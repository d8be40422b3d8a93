//! What the demonstration can do.

use std::time::{SystemTime, UNIX_EPOCH};

use gateway_domain::{RawJson, RawObject};
use serde::Deserialize;

/// The value of `tools` in a list, on one line.
pub(super) const DEFINITIONS: &str = concat!(
    r#"[{"name":"echo","title":"Echo","description":"Gives back the text it is given.","#,
    r#""inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"#,
    r#""annotations":{"readOnlyHint":true,"openWorldHint":false}},"#,
    r#"{"name":"add","title":"Add","description":"Adds two numbers.","#,
    r#""inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"#,
    r#""outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]},"#,
    r#""annotations":{"readOnlyHint":true,"openWorldHint":false}},"#,
    r#"{"name":"now","title":"Now","description":"Tells the time as seconds since 1970-01-01 UTC.","#,
    r#""inputSchema":{"type":"object"},"#,
    r#""outputSchema":{"type":"object","properties":{"unixSeconds":{"type":"integer"}},"required":["unixSeconds"]},"#,
    r#""annotations":{"readOnlyHint":true,"openWorldHint":false}}]"#
);

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Deserialize)]
struct Add {
    a: serde_json::Number,
    b: serde_json::Number,
}

/// Answers a call: the members of its result, or why it is no call of a tool.
pub(super) fn call(params: &RawObject) -> Result<String, String> {
    let name = params.get_text("name").ok_or("`name` is missing")?;
    let arguments =
        params.get("arguments").map_or_else(|| "{}".to_owned(), |arguments| arguments.to_string());
    match name.as_str() {
        "echo" => Ok(match serde_json::from_str::<Echo>(&arguments) {
            Ok(Echo { text }) => content(&text),
            Err(error) => refusal(&error),
        }),
        "add" => Ok(match serde_json::from_str(&arguments).map(sum) {
            Ok(sum) => structured(&format!(r#"{{"sum":{sum}}}"#)),
            Err(error) => refusal(&error),
        }),
        "now" => {
            let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            Ok(structured(&format!(r#"{{"unixSeconds":{seconds}}}"#)))
        }
        _ => Err(format!("unknown tool {name:?}")),
    }
}

/// Whole numbers are added as such as long as the sum fits.
fn sum(Add { a, b }: Add) -> String {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) if a.checked_add(b).is_some() => (a + b).to_string(),
        _ => {
            let sum = a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default();
            serde_json::Number::from_f64(sum).map_or_else(|| "null".to_owned(), |sum| sum.to_string())
        }
    }
}

fn content(text: &str) -> String {
    format!(r#""content":[{{"type":"text","text":{}}}]"#, RawJson::string(text))
}

fn structured(object: &str) -> String {
    format!(r#"{},"structuredContent":{object}"#, content(object))
}

fn refusal(error: &serde_json::Error) -> String {
    format!(r#"{},"isError":true"#, content(&format!("bad arguments: {error}")))
}
