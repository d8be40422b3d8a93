//! Clients that lack a capability are refused in the words of their era, and nobody waits.

use gateway_testkit::client::peer::Manner;
use serde_json::Value;

use crate::{
    cell::Cell,
    world::{Setup, World, error, is_refusal, result},
};

features!(missing_capability, narrower_capability, undeclared_question);

async fn refused(w: &World, tool: &str, pointer: &str) {
    let answer = w.tool(tool, "{}").await;
    assert!(is_refusal(&answer), "{tool}: {}", answer.text);
    if w.cell.modern_client() && w.cell.modern_server() {
        let error = error(&answer);
        assert_eq!(error["code"], -32021, "{tool}: {error}");
        assert!(error["data"]["requiredCapabilities"].pointer(pointer).is_some(), "{tool}: {error}");
        if w.cell.http_client() {
            assert_eq!(answer.status, 400, "{tool}: {}", answer.text);
        }
    }
    assert!(w.peer.asked().is_empty(), "{tool}: asked what was not declared");
}

const KINDS: [(&str, &str); 5] = [
    ("ask_form", "/elicitation"),
    ("ask_url", "/elicitation/url"),
    ("sample", "/sampling"),
    ("sample_tools", "/sampling/tools"),
    ("roots", "/roots"),
];

async fn missing_capability(cell: Cell) {
    let w = World::start(cell, Setup::mute()).await;
    for (tool, pointer) in KINDS {
        refused(&w, tool, pointer).await;
    }
    let echoed = w.tool("echo", "{}").await;
    assert!(result(&echoed)["content"].is_array());
    w.judge();
}

/// A mode or an addition that was not declared is missing too.
async fn narrower_capability(cell: Cell) {
    let setup = Setup::with(|speaks| {
        Manner::willing(speaks).declaring(r#"{"elicitation":{"form":{}},"sampling":{}}"#)
    });
    let w = World::start(cell, setup).await;
    for (tool, pointer) in [KINDS[1], KINDS[3], KINDS[4]] {
        refused(&w, tool, pointer).await;
    }
    for tool in ["ask_form", "sample"] {
        let answer = w.tool(tool, "{}").await;
        assert!(result(&answer)["structuredContent"]["answers"].is_object(), "{tool}: {}", answer.text);
    }
    w.judge();
}

/// A server that asks without looking at what was declared.
async fn undeclared_question(cell: Cell) {
    if cell.is_direct() {
        return;
    }
    let w = World::start(cell, Setup::mute()).await;
    let answer = w.tool("ask", "{}").await;
    let message: Value = serde_json::from_str(&answer.text).unwrap();
    let told = message["result"]["structuredContent"]["answer"].is_null() && message["result"].is_object();
    assert!(is_refusal(&answer) || told, "{}", answer.text);
    assert_ne!(message["result"]["resultType"], "input_required", "{}", answer.text);
    assert!(w.peer.asked().is_empty());
    if !cell.modern_server() {
        let refusals = w.fake.came().into_iter().filter(|m| m["error"]["code"] == -32601).count();
        assert_eq!(refusals, 1, "the server is told at once");
    }
    let url_only = World::start(
        cell,
        Setup::with(|speaks| Manner::willing(speaks).declaring(r#"{"elicitation":{"url":{}}}"#)),
    );
    let url_only = url_only.await;
    let answer = url_only.tool("ask", "{}").await;
    assert!(url_only.peer.asked().is_empty(), "a form for who takes only URLs: {}", answer.text);
    w.judge();
}
