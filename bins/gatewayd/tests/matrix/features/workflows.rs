//! Workflows over a server's tools: to a client one tool, whatever its steps ask.

use std::time::Duration;

use gateway_testkit::client::peer::{Manner, Said};
use serde_json::{Value, json};

use crate::{
    cell::Cell,
    world::{Setup, World, is_raw, is_refusal, result},
};

features!(listed, own_question, question_of_a_step, both_at_once, declined, mute, given_up);

const WORKFLOWS: &str = r#"
[workflows.greet]
description = "Asks for a name and says it."
annotations = { title = "Greeter" }
output.properties.said = { type = "string", description = "What was said.", value = "{{ steps.say.output.name }}" }
[[workflows.greet.steps]]
id = "who"
type = "elicitation"
message = "Who is {{ params.whom | default('it') }}?"
schema = { type = "object", properties = { name = { type = "string" } }, required = ["name"] }
[[workflows.greet.steps]]
id = "say"
dependsOn = ["who"]
tool = "d__echo"
arguments = { name = "{{ steps.who.output.content.name }}" }

[workflows.relay]
description = "Has a tool ask."
[[workflows.relay.steps]]
id = "form"
tool = "d__ask_form"

[workflows.both]
description = "Asks itself and has a tool ask, side by side."
output.properties.mine = { type = "object", description = "What was answered here.", value = "{{ steps.mine.output.content }}" }
output.properties.theirs = { type = "object", description = "What was answered there.", value = "{{ steps.theirs.output.answers }}" }
[[workflows.both.steps]]
id = "mine"
type = "elicitation"
message = "Your name?"
schema = { type = "object", properties = { name = { type = "string" } } }
[[workflows.both.steps]]
id = "theirs"
tool = "d__ask_form"
"#;

async fn start(cell: Cell, setup: Setup) -> Option<World> {
    // Without a gateway there are none.
    if cell.is_direct() {
        return None;
    }
    let w = World::start(cell, setup.config(WORKFLOWS)).await;
    if !cell.modern_client() {
        w.peer.open_stream().await.unwrap();
    }
    Some(w)
}

async fn call(w: &World, workflow: &str) -> Value {
    result(&w.peer.tool(workflow, r#"{"whom":"she"}"#).await.unwrap())
}

fn calls_of_the_client(w: &World) -> usize {
    let sent = w.peer.transcript();
    sent.iter().filter(|line| line.text.contains(r#""method":"tools/call""#)).count()
}

async fn listed(cell: Cell) {
    let Some(w) = start(cell, Setup::willing()).await else { return };
    let tools = w.list("tools/list", "tools").await;
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(
        names.is_sorted() && ["both", "greet", "relay"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    let greet = tools.iter().find(|tool| tool["name"] == "greet").unwrap();
    assert_eq!(greet["description"], "Asks for a name and says it.");
    assert_eq!(greet["annotations"]["title"], "Greeter");
    assert_eq!(greet["inputSchema"]["type"], "object");
    w.judge();
}

/// The user is asked by the workflow alone: the server hears of the answer in the step's arguments.
async fn own_question(cell: Cell) {
    let Some(w) = start(cell, Setup::willing()).await else { return };
    let answer = call(&w, "greet").await;
    assert_eq!(answer["structuredContent"], json!({"said": "Ada"}), "{answer}");
    let asked = w.peer.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(
        (asked[0].method.as_str(), &asked[0].params["message"]),
        ("elicitation/create", &json!("Who is she?"))
    );
    assert_eq!(asked[0].params["requestedSchema"]["required"], json!(["name"]));
    assert_eq!(w.fake.calls("echo")[0]["params"]["arguments"], json!({"name": "Ada"}));
    assert!(w.fake.answers().is_empty());
    assert_eq!(calls_of_the_client(&w), if cell.modern_client() { 2 } else { 1 });
    w.judge();
}

/// What a step's tool asks is asked of the workflow's client, and answered to the tool.
async fn question_of_a_step(cell: Cell) {
    let Some(w) = start(cell, Setup::willing()).await else { return };
    let answer = call(&w, "relay").await;
    let given = &answer["structuredContent"]["answers"]["name"];
    assert_eq!(given["content"], json!({"name": "Ada"}), "{answer}");
    assert_eq!(w.peer.asked().len(), 1);
    assert_eq!(w.fake.answers(), std::slice::from_ref(given), "the server got something else");
    assert_eq!(w.fake.calls("ask_form").len(), if cell.modern_server() { 2 } else { 1 });
    w.judge();
}

async fn both_at_once(cell: Cell) {
    let Some(w) = start(cell, Setup::willing()).await else { return };
    let answer = call(&w, "both").await;
    assert_eq!(answer["structuredContent"]["mine"], json!({"name": "Ada"}), "{answer}");
    assert_eq!(answer["structuredContent"]["theirs"]["name"]["content"], json!({"name": "Ada"}), "{answer}");
    assert_eq!(w.peer.asked().len(), 2);
    assert_eq!(w.fake.answers().len(), 1, "the workflow keeps its own answer");
    w.judge();
}

async fn declined(cell: Cell) {
    let setup = Setup::with(|speaks| {
        Manner::willing(speaks).saying(|_| Said::Result(r#"{"action":"decline"}"#.to_owned()))
    });
    let Some(w) = start(cell, setup).await else { return };
    let answer = call(&w, "greet").await;
    assert_eq!(answer["isError"], true, "{answer}");
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("step `who`"), "{answer}");
    assert!(w.fake.calls("echo").is_empty(), "its dependants do not run");
    w.judge();
}

async fn mute(cell: Cell) {
    let Some(w) = start(cell, Setup::mute()).await else { return };
    for workflow in ["greet", "relay", "both"] {
        let answer = w.peer.tool(workflow, "{}").await.unwrap();
        assert!(is_refusal(&answer), "{workflow}: {}", answer.text);
    }
    assert!(w.peer.asked().is_empty(), "asked what was not declared");
    assert!(w.fake.calls("echo").is_empty());
    w.judge();
}

/// A client that gives its call up takes the question back, and the next call is not hindered.
async fn given_up(cell: Cell) {
    let setup = Setup::with(|speaks| Manner::willing(speaks).saying(|_| Said::Nothing));
    let Some(w) = start(cell, setup).await else { return };
    let begun = w.peer.begin("tools/call", r#"{"name":"relay"}"#).await.unwrap();
    if cell.modern_client() {
        let asked = begun.finish().await.unwrap();
        assert_eq!(result(&asked)["resultType"], "input_required", "{}", asked.text);
    } else {
        w.peer.was_asked(1, WAIT).await.unwrap();
        w.peer.cancel(&begun).await.unwrap();
        let question = w.peer.asked()[0].id.clone();
        let taken_back =
            w.peer.heard("notifications/cancelled", WAIT, |params| is_raw(&params["requestId"], &question));
        taken_back.await.unwrap();
        if !cell.modern_server() {
            let call = w.fake.calls("ask_form").pop().unwrap();
            w.fake.until_cancelled(&call).await;
        }
    }
    let echoed = w.tool("echo", r#"{"next":1}"#).await;
    assert_eq!(result(&echoed)["structuredContent"], json!({"next":1}), "{}", echoed.text);
    w.judge();
}

const WAIT: Duration = Duration::from_secs(10);
