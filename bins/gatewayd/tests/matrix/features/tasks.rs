//! Tools that run as tasks.

use std::time::Duration;

use gateway_testkit::client::peer::Manner;
use serde_json::{Value, json};

use crate::{
    cell::Cell,
    world::{Setup, World, result},
};

features!(tasks_of_the_extension, tasks_without_the_extension);

const WITH: &str = r#"{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

async fn create(w: &World, tool: &str, arguments: &str) -> String {
    let created = result(&w.tool(tool, arguments).await);
    assert_eq!(created["resultType"], "task", "{tool}: {created}");
    assert!(created["ttlMs"].is_number() && created["createdAt"].is_string(), "{created}");
    let id = created["taskId"].as_str().unwrap().to_owned();
    assert_eq!(id.starts_with("task-"), w.cell.is_direct(), "the server's own id shows: {id}");
    id
}

async fn until(w: &World, id: &str, status: &str) -> Value {
    for _ in 0..200 {
        let task = result(&w.call("tasks/get", &format!(r#"{{"taskId":"{id}"}}"#)).await);
        assert_eq!((&task["taskId"], &task["resultType"]), (&json!(id), &json!("complete")), "{task}");
        if task["status"] == status {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    panic!("the task is never {status}");
}

async fn tasks_of_the_extension(cell: Cell) {
    if !cell.modern_client() {
        return legacy_words(cell).await;
    }
    let w = World::start(cell, Setup::with(|speaks| Manner::willing(speaks).declaring(WITH))).await;
    let id = create(&w, "slow_task", r#"{"ms":150}"#).await;
    let done = until(&w, &id, "completed").await;
    assert_eq!(done["result"]["structuredContent"], json!({"task":"done"}), "{done}");
    let failing = create(&w, "failing_task", "{}").await;
    let failed = until(&w, &failing, "completed").await;
    assert_eq!(failed["result"]["isError"], true, "{failed}");

    let asking = create(&w, "task_ask", "{}").await;
    let task = until(&w, &asking, "input_required").await;
    let requests = task["inputRequests"].as_object().unwrap_or_else(|| panic!("{task}"));
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    let answer =
        json!({"taskId": asking, "inputResponses": {key: {"action":"accept","content":{"name":"Ada"}}}});
    result(&w.call("tasks/update", &answer.to_string()).await);
    let task = until(&w, &asking, "completed").await;
    assert!(task["result"]["structuredContent"].to_string().contains("Ada"), "{task}");

    let long = create(&w, "slow_task", r#"{"ms":60000}"#).await;
    result(&w.call("tasks/cancel", &format!(r#"{{"taskId":"{long}"}}"#)).await);
    until(&w, &long, "cancelled").await;
    let seen = w.fake.saw("tasks/cancel").pop().unwrap()["params"]["taskId"].clone();
    assert!(seen.as_str().unwrap().starts_with("task-"), "the server knows its own ids only: {seen}");
    let unknown = w.call("tasks/get", r#"{"taskId":"nobody's"}"#).await;
    assert_eq!(unknown.error_code(), Some(-32602), "{}", unknown.text);
    w.judge();
}

/// The extension has no meaning in a legacy session, and the gateway offers no tasks there.
async fn legacy_words(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    if !cell.is_direct() {
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let answer = w.call(method, r#"{"taskId":"task-1"}"#).await;
            assert!(answer.error().is_some(), "{method}: {}", answer.text);
            assert!(w.fake.saw(method).is_empty(), "{method} went through");
        }
    }
    w.judge();
}

/// A tool that demands a task works for every client, or says clearly that it cannot.
async fn tasks_without_the_extension(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let slow = w.tool("slow_task", r#"{"ms":100}"#).await;
    let asking = w.tool("task_ask", "{}").await;
    let optional = w.tool("maybe_task", "{}").await;
    assert_eq!(result(&optional)["structuredContent"], json!({"task":"done"}), "{}", optional.text);
    match (cell.is_direct(), cell.modern_client(), cell.modern_server()) {
        (true, modern, _) => {
            let code = if modern { -32021 } else { -32601 };
            assert_eq!((slow.error_code(), asking.error_code()), (Some(code), Some(code)));
        }
        // This client could take the task itself, and has not said that it does.
        (_, true, true) => assert_eq!(slow.error_code(), Some(-32021), "{}", slow.text),
        // The gateway takes the task for the client, and waits for its end.
        (_, _, true) => {
            assert_eq!(result(&slow)["structuredContent"], json!({"task":"done"}), "{}", slow.text);
            assert!(result(&asking)["structuredContent"].to_string().contains("Ada"), "{}", asking.text);
        }
        (_, _, false) => {
            assert_eq!(result(&slow)["structuredContent"], json!({"task":"done"}), "{}", slow.text);
            assert!(result(&asking)["structuredContent"].to_string().contains("Ada"), "{}", asking.text);
            assert!(w.fake.calls("slow_task").iter().all(|call| call["params"]["task"].is_object()));
            let tools = w.list("tools/list", "tools").await;
            assert!(tools.iter().all(|tool| tool["execution"].is_null()), "tasks are not offered");
        }
    }
    w.judge();
}
