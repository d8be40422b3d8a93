//! What comes while a call runs, and its end before its time.

use std::time::Duration;

use gateway_testkit::transcript::Way;
use serde_json::{Value, json};

use crate::{
    cell::{Cell, Wire},
    world::{Setup, World, result},
};

features!(progress, logging, cancellation);

async fn progress(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    for token in [r#""token""#, "7", r#""7""#] {
        let meta = format!(r#""_meta":{{"progressToken":{token}}}"#);
        let before = w.peer.transcript().len();
        let answer = w.tool_with("progress", r#"{"n":3,"ms":5}"#, &meta).await;
        assert!(result(&answer)["content"].is_array(), "{}", answer.text);
        let lines = &w.peer.transcript()[before..];
        let came: Vec<Value> = lines
            .iter()
            .filter(|line| line.way == Way::In)
            .map(|line| serde_json::from_str(&line.text).unwrap())
            .collect();
        let told: Vec<&Value> =
            came.iter().filter(|m| m["method"] == "notifications/progress").map(|m| &m["params"]).collect();
        let of = |member: &str| told.iter().map(|params| params[member].clone()).collect::<Vec<_>>();
        assert_eq!(of("progressToken").iter().map(Value::to_string).collect::<Vec<_>>(), [token; 3]);
        assert_eq!((of("progress"), of("total")), (vec![json!(1), json!(2), json!(3)], vec![json!(3); 3]));
        assert!(came.last().unwrap()["result"].is_object(), "something came after the answer: {came:?}");
    }
    let quiet = w.tool("progress", r#"{"n":3}"#).await;
    assert!(result(&quiet)["content"].is_array());
    assert_eq!(w.peer.notifications("notifications/progress").len(), 9, "told without being asked");
    let calls = w.fake.calls("progress");
    let asked = |call: &Value| !call["params"]["_meta"]["progressToken"].is_null();
    assert_eq!(calls.iter().filter(|call| asked(call)).count(), 3);
    w.judge();
}

async fn logging(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let log = |level: &str| format!(r#"{{"n":2,"level":"{level}"}}"#);
    let heard = || w.peer.notifications("notifications/message");
    if cell.modern_client() {
        w.tool("log", &log("error")).await;
        assert!(heard().is_empty(), "told without being asked: {:?}", heard());
        let meta = r#""_meta":{"io.modelcontextprotocol/logLevel":"warning"}"#;
        w.tool_with("log", &log("info"), meta).await;
        assert!(heard().is_empty(), "less than asked for: {:?}", heard());
        w.tool_with("log", &log("error"), meta).await;
    } else {
        assert_eq!(result(&w.call("logging/setLevel", r#"{"level":"warning"}"#).await), json!({}));
        w.tool("log", &log("info")).await;
        assert!(heard().is_empty(), "less than asked for: {:?}", heard());
        w.tool("log", &log("error")).await;
    }
    let lines: Vec<Value> = heard().iter().map(|params| params["data"]["line"].clone()).collect();
    assert_eq!(lines, [1, 2], "{:?}", heard());
    assert!(heard().iter().all(|params| params["level"] == "error" && params["logger"] == "fake"));
    match cell.modern_server() {
        true => {
            let call = w.fake.calls("log").pop().unwrap();
            let level = &call["params"]["_meta"]["io.modelcontextprotocol/logLevel"];
            assert!(["warning", "error"].iter().any(|l| level == l), "{call}");
        }
        false => assert!(!w.fake.saw("logging/setLevel").is_empty()),
    }
    let wrong = match cell.modern_client() {
        true => {
            let meta = r#""_meta":{"io.modelcontextprotocol/logLevel":"loud"}"#;
            if cell.is_direct() {
                return;
            }
            w.tool_with("log", "{}", meta).await
        }
        false if cell.is_direct() => return w.judge(),
        false => w.call("logging/setLevel", r#"{"level":"loud"}"#).await,
    };
    assert_eq!(wrong.error_code(), Some(-32602), "{}", wrong.text);
    w.judge();
}

async fn cancellation(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let params = format!(r#"{{"name":"{}","arguments":{{"ms":60000}}}}"#, w.name("sleep_ms"));
    let begun = w.peer.begin("tools/call", &params).await.unwrap();
    // A process that may ask cannot say for which call: those of a modern client take turns there.
    let in_turns =
        !cell.is_direct() && cell.modern_client() && !cell.modern_server() && cell.downstream == Wire::Stdio;
    w.fake.until("the call runs", |fake| fake.calls("sleep_ms").len() == 1).await;
    let other = w.peer.begin("tools/call", &params).await.unwrap();
    if !in_turns {
        w.fake.until("both calls run", |fake| fake.calls("sleep_ms").len() == 2).await;
    }
    w.peer.cancel(&begun).await.unwrap();
    let cancelled = async {
        for call in w.fake.calls("sleep_ms") {
            // Which of the two calls was ours the server cannot tell; exactly one is to be taken back.
            tokio::select! {
                () = w.fake.until_cancelled(&call) => return call,
                () = tokio::time::sleep(Duration::from_secs(2)) => {}
            }
        }
        panic!("nothing was taken back");
    };
    let first = cancelled.await;
    if in_turns {
        w.fake.until("the next call runs", |fake| fake.calls("sleep_ms").len() == 2).await;
        w.peer.cancel(&other).await.unwrap();
    }
    let echoed = w.tool("echo", r#"{"still":"here"}"#).await;
    assert_eq!(result(&echoed)["structuredContent"], json!({"still":"here"}), "{}", echoed.text);
    let mut other = other;
    if !in_turns {
        assert!(!other.is_over(), "the other call was taken back too");
        w.peer.cancel(&other).await.unwrap();
    }
    for call in w.fake.calls("sleep_ms") {
        w.fake.until_cancelled(&call).await;
    }
    assert!(!first.is_null());
    w.judge();
}
