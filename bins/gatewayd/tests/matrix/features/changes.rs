//! Lists that change and resources that are updated.

use std::time::Duration;

use serde_json::Value;

use crate::{
    cell::Cell,
    world::{Setup, World, is_raw, result},
};

features!(
    tools_changed,
    prompts_changed,
    resources_changed,
    resource_updated,
    nothing_changed,
    several_listens
);

async fn changed(cell: Cell, kind: &str, key: &str, late: &str) {
    let w = World::start(cell, Setup::willing()).await;
    let list = format!("{kind}/list");
    assert!(!names(&w, &list, kind, key).await.contains(&late_name(&w, kind, late)));
    let listening = w.watch(&[]).await;
    let before = calm(&w).await;
    w.tool(&format!("touch_{kind}"), "{}").await;
    let heard = one_more(&w, &before, kind).await;
    if let Some(listening) = &listening {
        let id = &heard["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert!(is_raw(id, &listening.id), "{heard}");
    }
    assert!(names(&w, &list, kind, key).await.contains(&late_name(&w, kind, late)));
    let after = counts(&w);
    let others =
        |counts: [usize; 3]| KINDS.into_iter().zip(counts).filter(|(k, _)| *k != kind).collect::<Vec<_>>();
    assert_eq!(others(before), others(after), "only {kind} changed");
    w.judge();
}

const KINDS: [&str; 3] = ["tools", "prompts", "resources"];

/// How often each list was said to have changed.
fn counts(w: &World) -> [usize; 3] {
    KINDS.map(|kind| w.peer.notifications(&format!("notifications/{kind}/list_changed")).len())
}

/// The same once nothing more comes of the server's first appearance.
async fn calm(w: &World) -> [usize; 3] {
    tokio::time::sleep(Duration::from_secs(1)).await;
    counts(w)
}

/// Waits for the next change of this kind, and returns it.
async fn one_more(w: &World, before: &[usize; 3], kind: &str) -> Value {
    let at = KINDS.iter().position(|k| *k == kind).unwrap();
    let method = format!("notifications/{kind}/list_changed");
    w.peer.heard(&method, WAIT, |_| w.peer.notifications(&method).len() > before[at]).await.unwrap();
    w.peer.notifications(&method).pop().unwrap()
}

async fn names(w: &World, list: &str, kind: &str, key: &str) -> Vec<Value> {
    w.list(list, kind).await.iter().map(|item| item[key].clone()).collect()
}

fn late_name(w: &World, kind: &str, late: &str) -> Value {
    Value::String(if kind == "resources" { late.to_owned() } else { w.name(late) })
}

async fn tools_changed(cell: Cell) {
    changed(cell, "tools", "name", "late").await;
}

async fn prompts_changed(cell: Cell) {
    changed(cell, "prompts", "name", "late").await;
}

async fn resources_changed(cell: Cell) {
    changed(cell, "resources", "uri", "note://late").await;
}

/// What a server announces is told only if the visible list differs.
async fn nothing_changed(cell: Cell) {
    if cell.is_direct() {
        return;
    }
    let w = World::start(cell, Setup::willing()).await;
    let listening = w.watch(&[]).await;
    let before = calm(&w).await;
    let lists = w.fake.saw("tools/list").len();
    w.tool("cry_wolf", "{}").await;
    w.fake.until("its list is read again", |fake| fake.saw("tools/list").len() > lists).await;
    assert_eq!(calm(&w).await, before);
    w.tool("touch_tools", "{}").await;
    one_more(&w, &before, "tools").await;
    drop(listening);
    w.judge();
}

async fn resource_updated(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let listening = w.watch(&["note://one"]).await;
    let watched = |message: &Value, uri: &str| match message["method"].as_str() {
        Some("resources/subscribe") => message["params"]["uri"] == uri,
        Some("subscriptions/listen") => {
            message["params"]["notifications"]["resourceSubscriptions"].to_string().contains(uri)
        }
        _ => false,
    };
    w.fake
        .until("the resource is watched", |fake| fake.came().iter().any(|m| watched(m, "note://one")))
        .await;
    w.tool("update_resource", r#"{"uri":"note://two"}"#).await;
    w.tool("update_resource", r#"{"uri":"note://one"}"#).await;
    let method = "notifications/resources/updated";
    let heard = w.peer.heard(method, WAIT, |_| true).await.unwrap();
    assert_eq!(heard["uri"], "note://one", "nobody asked for another: {heard}");
    match listening {
        Some(listening) => {
            let id = &heard["_meta"]["io.modelcontextprotocol/subscriptionId"];
            assert_eq!(id.to_string(), listening.id, "{heard}");
            w.peer.cancel(&listening).await.unwrap();
        }
        None => {
            let answer = w.call("resources/unsubscribe", r#"{"uri":"note://one"}"#).await;
            assert!(result(&answer).is_object(), "{}", answer.text);
        }
    }
    if !cell.modern_server() {
        let gone = |fake: &crate::fake::Fake| !fake.saw("resources/unsubscribe").is_empty();
        w.fake.until("nobody watches any more", gone).await;
    }
    let before = w.peer.notifications(method).len();
    w.tool("update_resource", r#"{"uri":"note://one"}"#).await;
    w.tool("echo", "{}").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let after = w.peer.notifications(method).len();
    // Without a gateway a modern client over stdio depends on the server to be quick.
    assert_eq!(before, after, "told though nobody watches");
    w.judge();
}

/// Each subscription is told for itself; a legacy client watches twice and is told once.
async fn several_listens(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let method = "notifications/resources/updated";
    if !cell.modern_client() {
        let _stream = w.watch(&["note://one", "note://one"]).await;
        w.tool("update_resource", "{}").await;
        w.peer.heard(method, WAIT, |_| true).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(w.peer.notifications(method).len(), 1);
        return w.judge();
    }
    let one = w.peer.listen(r#"{"resourceSubscriptions":["note://one"]}"#).await.unwrap();
    let both = w.peer.listen(r#"{"resourceSubscriptions":["note://one","note://two"]}"#).await.unwrap();
    let none = w.peer.listen(r#"{"promptsListChanged":true}"#).await.unwrap();
    w.tool("update_resource", r#"{"uri":"note://one"}"#).await;
    w.tool("update_resource", r#"{"uri":"note://two"}"#).await;
    for (listening, uri) in [(&one, "note://one"), (&both, "note://one"), (&both, "note://two")] {
        let heard = w.peer.heard(method, WAIT, |params| {
            let id = &params["_meta"]["io.modelcontextprotocol/subscriptionId"];
            is_raw(id, &listening.id) && params["uri"] == uri
        });
        heard.await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let told = w.peer.notifications(method);
    assert_eq!(told.len(), 3, "{told:?}");
    let subscription = |params: &Value| params["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    assert!(told.iter().all(|params| !is_raw(&subscription(params), &none.id)));
    w.judge();
}

const WAIT: Duration = Duration::from_secs(15);
