//! Results that not every revision can say.

use serde_json::{Value, json};

use crate::{
    cell::Cell,
    world::{Setup, World, result},
};

features!(every_content, newest_2025_06_18, newest_2025_03_26, newest_2024_11_05);

fn kinds(result: &Value) -> Vec<&str> {
    result["content"].as_array().unwrap().iter().filter_map(|block| block["type"].as_str()).collect()
}

/// The newest revision of each era takes everything but structured content that is no object.
async fn every_content(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let everything = result(&w.tool("everything", "{}").await);
    assert_eq!(kinds(&everything), ["text", "image", "audio", "resource_link", "resource"], "{everything}");
    assert_eq!(everything["content"][3]["uri"], "note://one");
    assert_eq!(everything["content"][4]["resource"]["uri"], "note://two");
    let array = result(&w.tool("array", "{}").await);
    let told = &array["structuredContent"];
    match (cell.modern_client(), cell.modern_server()) {
        (_, false) => assert_eq!(*told, json!({"items":[1,"two",null]})),
        (true, true) => assert_eq!(*told, json!([1, "two", null])),
        (false, true) => assert!(told.is_null(), "{array}"),
    }
    assert!(array["content"][0]["text"].as_str().unwrap().contains("two"), "the text stays: {array}");
    w.judge();
}

async fn older(cell: Cell, revision: &'static str) {
    if cell.modern_client() || cell.is_direct() {
        return;
    }
    let w = World::start(cell, Setup::willing().revision(revision)).await;
    assert_eq!(w.peer.revision(), revision);
    let everything = result(&w.tool("everything", "{}").await);
    let kinds = kinds(&everything);
    assert_eq!(kinds.contains(&"resource_link"), revision >= "2025-06-18", "{everything}");
    assert_eq!(kinds.contains(&"audio"), revision >= "2025-03-26", "{everything}");
    assert!(everything.to_string().contains("note://one"), "the link is not lost: {everything}");
    let echoed = result(&w.tool("echo", r#"{"n":1}"#).await);
    assert_eq!(echoed["structuredContent"].is_object(), revision >= "2025-06-18", "{echoed}");
    let asked = w.tool("ask_form", "{}").await;
    match revision >= "2025-06-18" {
        true => assert!(result(&asked)["structuredContent"].to_string().contains("Ada"), "{}", asked.text),
        false => assert!(crate::world::is_refusal(&asked), "{}", asked.text),
    }
    let url = w.tool("ask_url", "{}").await;
    assert!(crate::world::is_refusal(&url), "url mode is younger: {}", url.text);
    let sampled = w.tool("sample", "{}").await;
    let content = result(&sampled)["content"].to_string();
    assert!(content.contains("hello"), "sampling is old: {}", sampled.text);
    let needs = w.tool("needs_url", "{}").await;
    assert!(crate::world::is_refusal(&needs), "{}", needs.text);
    let missing = w.call("resources/read", r#"{"uri":"note://missing"}"#).await;
    assert_eq!(missing.error_code(), Some(-32002), "{}", missing.text);
    w.list("tools/list", "tools").await;
    w.list("prompts/list", "prompts").await;
    w.judge();
}

async fn newest_2025_06_18(cell: Cell) {
    older(cell, "2025-06-18").await;
}

async fn newest_2025_03_26(cell: Cell) {
    older(cell, "2025-03-26").await;
}

async fn newest_2024_11_05(cell: Cell) {
    older(cell, "2024-11-05").await;
}
