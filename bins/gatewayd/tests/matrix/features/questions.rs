//! Questions that a server asks in the middle of a request, and the answers on their way back.

use std::time::Duration;

use gateway_testkit::client::peer::{Asked, Manner, Said};
use serde_json::{Value, json};

use crate::{
    cell::Cell,
    world::{Setup, World, is_raw, result},
};

features!(
    form,
    url,
    sampling,
    sampling_with_tools,
    roots,
    two_rounds,
    two_at_once,
    without_state,
    state_alone,
    decline,
    cancel,
    missing_answers,
    abandoned,
    url_first,
);

/// Calls a tool that asks once. The answer must reach the server as the user gave it, and the result the client.
async fn asks(cell: Cell, tool: &str, method: &str, key: &str, judge: fn(&Asked, Cell)) -> World {
    let w = World::start(cell, Setup::willing()).await;
    if !cell.modern_client() {
        // What is said outside any call needs a stream of its own over HTTP.
        w.peer.open_stream().await.unwrap();
    }
    let answer = w.tool(tool, "{}").await;
    let asked = w.peer.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0].method, method);
    judge(&asked[0], cell);
    let given = result(&answer)["structuredContent"]["answers"][key].clone();
    assert!(given.is_object(), "{}", answer.text);
    assert_eq!(w.fake.answers(), [given], "the server got something else");
    assert_eq!(w.fake.calls(tool).len(), if cell.modern_server() { 2 } else { 1 });
    w.judge();
    w
}

async fn form(cell: Cell) {
    asks(cell, "ask_form", "elicitation/create", "name", |asked, _| {
        assert!(asked.params["message"].as_str().unwrap().contains("Your name?"), "{asked:?}");
        let schema = json!({"type":"object","properties":{"name":{"type":"string"}}});
        assert_eq!(asked.params["requestedSchema"], schema);
    })
    .await;
}

async fn url(cell: Cell) {
    let w = asks(cell, "ask_url", "elicitation/create", "consent", |asked, cell| {
        assert_eq!(asked.params["mode"], "url");
        assert_eq!(asked.params["url"], "https://example.com/agree?to=1");
        assert_eq!(asked.params["elicitationId"].is_null(), cell.modern_client(), "{asked:?}");
    })
    .await;
    if !cell.modern_client() && !cell.modern_server() {
        let id = w.peer.asked()[0].params["elicitationId"].clone();
        let complete =
            w.peer.heard("notifications/elicitation/complete", WAIT, |params| params["elicitationId"] == id);
        complete.await.unwrap();
    }
}

async fn sampling(cell: Cell) {
    asks(cell, "sample", "sampling/createMessage", "text", |asked, _| {
        assert_eq!(asked.params["messages"][0]["content"]["text"], "Say hello");
        assert_eq!(asked.params["maxTokens"], 10);
    })
    .await;
}

async fn sampling_with_tools(cell: Cell) {
    asks(cell, "sample_tools", "sampling/createMessage", "text", |asked, _| {
        assert_eq!(asked.params["tools"][0]["name"], "lookup", "a sampling tool keeps its name");
        assert_eq!(asked.params["toolChoice"], json!({"mode":"auto"}));
    })
    .await;
}

async fn roots(cell: Cell) {
    asks(cell, "roots", "roots/list", "roots", |_, _| {}).await;
}

async fn two_rounds(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let answers = result(&w.tool("ask_twice", "{}").await)["structuredContent"]["answers"].clone();
    assert_eq!(answers["name"]["content"], json!({"name":"Ada"}));
    assert_eq!(answers["age"]["content"], json!({"age":36}));
    let asked: Vec<String> = w.peer.asked().iter().map(|asked| asked.params["message"].to_string()).collect();
    assert!(asked.len() == 2 && asked[0].contains("name") && asked[1].contains("age?"), "{asked:?}");
    assert_eq!(w.fake.answers().len(), 2);
    assert_eq!(w.fake.calls("ask_twice").len(), if cell.modern_server() { 3 } else { 1 });
    w.judge();
}

async fn two_at_once(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let answers = result(&w.tool("ask_two", "{}").await)["structuredContent"]["answers"].clone();
    assert_eq!(answers["name"]["content"], json!({"name":"Ada"}));
    assert_eq!(answers["text"]["content"]["text"], "hello");
    assert_eq!(w.peer.asked().len(), 2);
    let sent = w.peer.transcript();
    let calls = sent.iter().filter(|line| line.text.contains(r#""method":"tools/call""#)).count();
    assert_eq!(calls, if cell.modern_client() { 2 } else { 1 }, "both questions come in one round");
    assert_eq!(w.fake.calls("ask_two").len(), if cell.modern_server() { 2 } else { 1 });
    w.judge();
}

async fn without_state(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let answer = w.tool("ask_stateless", "{}").await;
    let name = &result(&answer)["structuredContent"]["answers"]["name"];
    assert_eq!(name["content"], json!({"name":"Ada"}), "{}", answer.text);
    assert!(w.fake.calls("ask_stateless").iter().all(|call| call["params"]["requestState"].is_null()));
    w.judge();
}

/// A server that only wants to be asked again.
async fn state_alone(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let answer = w.tool("come_again", "{}").await;
    assert!(result(&answer)["structuredContent"].is_object(), "{}", answer.text);
    assert!(w.peer.asked().is_empty());
    let calls = w.fake.calls("come_again");
    assert_eq!(calls.len(), if cell.modern_server() { 2 } else { 1 });
    assert!(calls.iter().all(|call| call["params"]["inputResponses"].is_null()));
    w.judge();
}

async fn says(cell: Cell, action: &'static str) {
    let said = format!(r#"{{"action":"{action}"}}"#);
    let setup = Setup::with(move |speaks| {
        Manner::willing(speaks).saying({
            let said = said.clone();
            move |_| Said::Result(said.clone())
        })
    });
    let w = World::start(cell, setup).await;
    let answer = w.tool("ask_form", "{}").await;
    let given = &result(&answer)["structuredContent"]["answers"]["name"];
    assert_eq!(*given, json!({ "action": action }), "{}", answer.text);
    assert_eq!(w.fake.answers(), [json!({ "action": action })]);
    w.judge();
}

async fn decline(cell: Cell) {
    says(cell, "decline").await;
}

async fn cancel(cell: Cell) {
    says(cell, "cancel").await;
}

/// Modern: who leaves an answer out is asked again. Legacy: an error is an answer.
async fn missing_answers(cell: Cell) {
    let first = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let setup = Setup::with(move |speaks| {
        let first = first.clone();
        Manner::willing(speaks).saying(move |asked| {
            if asked.method == "sampling/createMessage"
                && first.swap(false, std::sync::atomic::Ordering::SeqCst)
            {
                return Said::Error(-1, "not now".to_owned());
            }
            match asked.method.as_str() {
                "elicitation/create" => {
                    Said::Result(r#"{"action":"accept","content":{"name":"Ada"}}"#.to_owned())
                }
                _ => Said::Result(
                    r#"{"role":"assistant","content":{"type":"text","text":"hello"},"model":"m-1"}"#
                        .to_owned(),
                ),
            }
        })
    });
    let w = World::start(cell, setup).await;
    let answer = w.tool("ask_two", "{}").await;
    if cell.modern_client() {
        let answers = &result(&answer)["structuredContent"]["answers"];
        assert_eq!(answers["text"]["content"]["text"], "hello", "{}", answer.text);
        let samples = w.peer.asked().iter().filter(|a| a.method == "sampling/createMessage").count();
        assert_eq!(samples, 2, "asked again for what was left out");
    } else {
        // The legacy server is told the error, the modern one has the question unanswered: both end.
        let text = &answer.text;
        let told = text.contains("null") || crate::world::is_refusal(&answer) || text.contains("hello");
        assert!(told, "{text}");
    }
    w.judge();
}

/// A question that nobody answers hinders no other call of that client, and ends with its call.
async fn abandoned(cell: Cell) {
    let setup = Setup::with(|speaks| Manner::willing(speaks).saying(|_| Said::Nothing));
    let w = World::start(cell, setup).await;
    let params = format!(r#"{{"name":"{}"}}"#, w.name("ask_form"));
    let begun = w.peer.begin("tools/call", &params).await.unwrap();
    if cell.modern_client() {
        let asked = begun.finish().await.unwrap();
        assert_eq!(result(&asked)["resultType"], "input_required", "{}", asked.text);
    } else {
        w.peer.was_asked(1, WAIT).await.unwrap();
        let echoed = w.tool("echo", "{}").await;
        assert!(result(&echoed)["content"].is_array(), "{}", echoed.text);
        w.peer.cancel(&begun).await.unwrap();
        if !cell.is_direct() && !cell.modern_server() {
            let call = w.fake.calls("ask_form").pop().unwrap();
            w.fake.until_cancelled(&call).await;
        }
        if !cell.is_direct() {
            let question = w.peer.asked()[0].id.clone();
            let ended = w
                .peer
                .heard("notifications/cancelled", WAIT, |params| is_raw(&params["requestId"], &question));
            ended.await.unwrap();
        }
    }
    let echoed = w.tool("echo", r#"{"next":1}"#).await;
    assert_eq!(result(&echoed)["structuredContent"], json!({"next":1}), "{}", echoed.text);
    w.judge();
}

/// A tool of 2025-11-25 that fails until a page was visited.
async fn url_first(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let answer = w.tool("needs_url", "{}").await;
    if cell.modern_client() {
        let asked = w.peer.asked();
        assert_eq!(asked.len(), 1, "{}", answer.text);
        assert_eq!(asked[0].params["url"], "https://example.com/agree?to=1");
        assert_eq!(asked[0].params["elicitationId"], Value::Null);
        assert!(result(&answer)["structuredContent"].to_string().contains("consent"), "{}", answer.text);
    } else if cell.modern_server() {
        assert_eq!(w.peer.asked().len(), 1);
        assert!(result(&answer)["structuredContent"].to_string().contains("accept"), "{}", answer.text);
    } else {
        let error = crate::world::error(&answer);
        assert_eq!(error["code"], -32042, "{error}");
        assert_eq!(error["data"]["elicitations"][0]["url"], "https://example.com/agree?to=1");
        assert!(error["data"]["elicitations"][0]["elicitationId"].is_string());
        let again = w.tool("needs_url", "{}").await;
        assert_eq!(result(&again)["structuredContent"], json!({"consented":true}), "{}", again.text);
    }
    assert_eq!(w.fake.calls("needs_url").len(), 2);
    w.judge();
}

const WAIT: Duration = Duration::from_secs(10);
