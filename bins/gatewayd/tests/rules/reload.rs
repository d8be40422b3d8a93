//! What goes on when the rules become others: over stdio, and tasks that were begun before.

use std::time::Instant;

use gateway_testkit::client::{Answer, HttpClient, Speaks, StdioClient};
use serde_json::Value;

use crate::{
    support::{Folder, PATIENCE, Serving, WATCHED, fake, gatewayd, has, until, write},
    world::{client, eras, json, key},
};

async fn over_stdio(folder: &Folder, speaks: &Speaks) -> StdioClient {
    let mut command: tokio::process::Command = gatewayd().into();
    command.args(["stdio", "--as", "desk"]).args(WATCHED).arg("--config").arg(folder.config());
    StdioClient::spawn(command, speaks.clone()).await.unwrap()
}

/// How often a client was told that this resource has changed.
fn updates(client: &StdioClient, uri: &str) -> usize {
    let is_of = |line: &&String| line.contains("notifications/resources/updated") && line.contains(uri);
    client.others().iter().filter(is_of).count()
}

/// Has the server say that both resources have changed, and waits until the client has heard of the second.
async fn update(client: &StdioClient) {
    let before = updates(client, "note://two");
    for uri in ["note://one", "note://two"] {
        let arguments = format!(r#"{{"uri":"{uri}"}}"#);
        client.call(&client.next_id(), "files__update_resource", &arguments).await.unwrap();
    }
    let end = Instant::now() + PATIENCE;
    while updates(client, "note://two") == before {
        assert!(Instant::now() < end, "nothing is told:\n{}", client.stderr());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_what_is_denied_from_now_on_is_watched_no_longer() {
    let rules = |deny: &str| {
        let desk = client("desk", &format!("allow = [\"files__*\"]\ndeny = [{deny}]"));
        [fake("files", &["--whole"]), desk].concat()
    };
    for speaks in eras() {
        let folder = Folder::with(&rules(""));
        let client = over_stdio(&folder, &speaks).await;
        if speaks == Speaks::modern() {
            let filter = r#"{"notifications":{"resourceSubscriptions":["note://one","note://two"]}}"#;
            // Answered when the stream ends.
            tokio::select! {
                ended = client.request("\"L\"", "subscriptions/listen", filter) => panic!("{ended:?}"),
                acknowledged = client.wait_for("subscriptions/acknowledged", PATIENCE) => drop(acknowledged.unwrap()),
            }
        } else {
            for uri in ["note://one", "note://two"] {
                let params = format!(r#"{{"uri":"{uri}"}}"#);
                let answer = client.request("\"s\"", "resources/subscribe", &params).await.unwrap();
                assert!(answer.result().is_some(), "{}", answer.text);
            }
        }
        update(&client).await;
        assert!(updates(&client, "note://one") > 0, "{speaks:?}");

        write(&folder, &rules("\"note://one\""));
        client.wait_for_stderr("configuration reloaded", PATIENCE).await.unwrap();
        let end = Instant::now() + PATIENCE;
        loop {
            let before = updates(&client, "note://one");
            update(&client).await;
            if updates(&client, "note://one") == before {
                break;
            }
            assert!(Instant::now() < end, "{speaks:?}: it is still watched:\n{}", client.stderr());
        }
        client.close_stdin().await;
        assert_eq!(client.exited(PATIENCE).await.unwrap().code(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_a_client_that_is_there_no_more_has_nothing_of_other_rules() {
    let servers = fake("d", &[]);
    for speaks in eras() {
        let folder = Folder::with(&[servers.clone(), client("desk", "allow = [\"d__echo\"]")].concat());
        let desk = over_stdio(&folder, &speaks).await;
        assert!(desk.call("1", "d__echo", "{}").await.unwrap().result().is_some());
        // Without clients nobody has to say who it is, and whoever comes may do everything.
        write(&folder, &servers);
        assert_eq!(desk.exited(PATIENCE).await.unwrap().code(), Some(0), "{speaks:?}");
        let log = desk.stderr();
        assert!(log.contains("the client is not in the configuration any more"), "{log}");
        assert!(!log.contains("configuration reloaded"), "{log}");
    }
}

const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// What a client can tell an answer about a task by.
fn face(answer: &Answer, task: &str) -> String {
    format!("{} {}", answer.status, answer.text).replace(task, "TASK")
}

/// The answers about a task to requests of these methods.
async fn about(client: &HttpClient, task: &str, methods: &[&str]) -> Vec<String> {
    let mut faces = Vec::new();
    for method in methods {
        let params = format!(r#"{{"taskId":{},"inputResponses":{{}}}}"#, Value::String(task.to_owned()));
        faces.push(face(&client.request("1", method, &params).await.unwrap(), task));
    }
    faces
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_tool_is_denied_from_now_on_is_as_one_that_is_not_there() {
    let all = ["tasks/get", "tasks/update", "tasks/cancel"];
    for era in ["legacy", "modern"] {
        let rules = |deny: &str| {
            let desk = client("desk", &format!("allow = [\"d__*\"]\ndeny = [{deny}]"));
            [fake("d", &["--whole", "--era", era]), desk].concat()
        };
        let folder = Folder::with(&rules(""));
        let serving = Serving::start(&folder, &WATCHED);
        let client = HttpClient::new(&serving.url, Speaks::Modern(TASKS.to_owned())).unwrap();
        let client = client.with_header("authorization", &format!("Bearer {}", key("desk")));
        let client = client.declaring(TASKS);
        until("the tool", &serving, async || has(&client, "d__slow_task").await).await;
        let created = client.call("1", "d__slow_task", r#"{"ms":60000}"#).await.unwrap();
        let task = json(&created.text)["result"]["taskId"].as_str().unwrap_or_default().to_owned();
        assert!(!task.is_empty(), "{era}: {}", created.text);
        let mut other: Vec<char> = task.chars().collect();
        let middle = other.len() / 2;
        other[middle] = if other[middle] == 'A' { 'B' } else { 'A' };
        let other: String = other.into_iter().collect();
        let known = about(&client, &task, &all[..1]).await;
        assert!(known[0].contains(r#""status":"working""#), "{era}: {known:?}");

        write(&folder, &rules("\"d__slow_task\""));
        until("the denial", &serving, async || !has(&client, "d__slow_task").await).await;
        let unknown = about(&client, &other, &all).await;
        assert!(unknown.iter().all(|face| face.contains(r#""error""#)), "{era}: {unknown:?}");
        assert_eq!(about(&client, &task, &all).await, unknown, "{era}");
        // Nothing of that has reached it.
        write(&folder, &rules(""));
        until("the permission", &serving, async || has(&client, "d__slow_task").await).await;
        let known = about(&client, &task, &all[..1]).await;
        assert!(known[0].contains(r#""status":"working""#), "{era}: {known:?}");
    }
}
