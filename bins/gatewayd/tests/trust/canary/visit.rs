//! A long visit: all that clients can ask for, in both eras, with all that there is to prove who asks.

use gateway_testkit::client::{Answer, HttpClient, Speaks};

use super::{COOKIE, KEY};
use crate::process::{PATIENCE, Serving};

const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// What was asked for, and whether it succeeds whoever asks.
const ASKED: [(&str, &str, bool); 12] = [
    ("tools/list", "{}", true),
    ("prompts/list", "{}", true),
    ("resources/list", "{}", true),
    ("resources/templates/list", "{}", true),
    ("prompts/get", r#"{"name":"child__greet","arguments":{"name":"Ada"}}"#, true),
    ("resources/read", r#"{"uri":"note://one"}"#, true),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"child__greet"},"argument":{"name":"name","value":"A"}}"#,
        true,
    ),
    ("tools/call", r#"{"name":"twice","arguments":{}}"#, true),
    ("tools/call", r#"{"name":"d__tell","arguments":{},"_meta":{META}}"#, true),
    ("tools/call", r#"{"name":"d__tell","arguments":{"fails":true},"_meta":{META}}"#, false),
    ("tools/call", r#"{"name":"d__refresh","arguments":{}}"#, true),
    ("tools/call", r#"{"name":"loud__tell","arguments":{}}"#, false),
];

/// What all that is answered says.
pub(super) async fn everything(serving: &Serving, proofs: &[&str]) -> String {
    let mut answers = String::new();
    for proof in proofs {
        for speaks in [Speaks::Modern(TASKS.to_owned()), Speaks::legacy()] {
            let client =
                serving.client(speaks.clone(), proof).with_header("cookie", &format!("session={COOKIE}"));
            answers += &said(&client.shake_hands().await.unwrap());
            answers += &of_a_client(serving, &client, &speaks).await;
            for tool in ["header", "file", "command", "exchange", "child", "none"] {
                let answer = client.call("2", &format!("{tool}__echo"), r#"{"text":"hello"}"#).await.unwrap();
                let refused = tool == "none" || (tool == "exchange" && *proof == KEY);
                assert_eq!(answer.text.contains("hello"), !refused, "{tool} {}", answer.text);
                answers += &said(&answer);
            }
        }
    }
    answers
}

async fn of_a_client(serving: &Serving, client: &HttpClient, speaks: &Speaks) -> String {
    let is_modern = matches!(speaks, Speaks::Modern(_));
    let mut answers = String::new();
    let meta = match is_modern {
        true => r#"{"progressToken":"p","io.modelcontextprotocol/logLevel":"debug"}"#,
        false => {
            client.notify("notifications/initialized", "{}").await.unwrap();
            answers += &said(&client.request("1", "logging/setLevel", r#"{"level":"debug"}"#).await.unwrap());
            r#"{"progressToken":"p"}"#
        }
    };
    for (method, params, is_good) in ASKED {
        let answer = client.request("3", method, &params.replace("{META}", meta)).await.unwrap();
        assert_eq!(
            answer.result().is_some_and(|result| !result.contains(r#""isError":true"#)),
            is_good,
            "{method} {params} {} {}",
            answer.text,
            serving.log()
        );
        answers += &said(&answer);
    }
    answers += &match is_modern {
        true => of_tasks_and_changes(client).await,
        false => of_the_session(client).await,
    };
    answers
}

async fn of_tasks_and_changes(client: &HttpClient) -> String {
    let created = client.call("4", "child__slow_task", r#"{"ms":1}"#).await.unwrap();
    let id = created.text.split(r#""taskId":""#).nth(1).and_then(|rest| rest.split('"').next());
    let id = id.unwrap_or_else(|| panic!("no task: {}", created.text));
    let task = client.request("5", "tasks/get", &format!(r#"{{"taskId":"{id}"}}"#)).await.unwrap();
    assert!(task.result().is_some(), "{}", task.text);
    let filter = r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["note://one"]}}"#;
    let mut stream = client.open("7", "subscriptions/listen", filter).await.unwrap();
    let first = tokio::time::timeout(PATIENCE, stream.next()).await.unwrap().unwrap().unwrap();
    said(&created) + &said(&task) + &first
}

/// What the session is told outside any call.
async fn of_the_session(client: &HttpClient) -> String {
    let mut all = said(&client.request("8", "resources/subscribe", r#"{"uri":"note://one"}"#).await.unwrap());
    let mut stream = client.listen().await.unwrap();
    while !all.contains("d/outside") {
        all += &tokio::time::timeout(PATIENCE, stream.next()).await.unwrap().unwrap().unwrap();
    }
    all
}

fn said(answer: &Answer) -> String {
    format!("{}\n{}\n", answer.before.join("\n"), answer.text)
}
