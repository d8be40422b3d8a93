//! What each client sees and may do, and that nobody can tell what is hidden from what is not there.

use std::{process::Output, time::Duration};

use gateway_testkit::client::{Answer, HttpClient, Speaks, StdioClient};
use tokio::time::timeout;

use crate::{
    support::{Folder, PATIENCE, Serving, WATCHED, fake, gatewayd, has, until, write},
    world::{Files as _, at, call, client, eras, good, listed, tools},
};

/// Two servers with everything that the protocol has.
fn servers() -> String {
    [fake("files", &["--whole"]), fake("wiki", &["--whole"])].concat()
}

async fn ready(serving: &Serving, name: &str, tool: &str) {
    let client = at(serving, name, Speaks::modern()).await;
    until(tool, serving, async || has(&client, tool).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_what_its_rules_admit_and_nothing_else() {
    let clients = [
        client(
            "desk",
            "allow = [\"files__e*\", \"files__greet\", \"note://files__one\"]\ndeny = [\"files__ev*\"]",
        ),
        client("wiki", "allow = [\"wiki__*\"]"),
        client("none", ""),
    ];
    let serving = Serving::start(&Folder::with(&[servers(), clients.concat()].concat()), &[]);
    ready(&serving, "desk", "files__echo").await;
    ready(&serving, "wiki", "wiki__echo").await;
    for speaks in eras() {
        let desk = at(&serving, "desk", speaks.clone()).await;
        assert_eq!(tools(&desk).await, ["files__echo"], "{speaks:?}");
        assert_eq!(listed(&desk, "prompts/list", "prompts", "name").await, ["files__greet"]);
        assert_eq!(listed(&desk, "resources/list", "resources", "uri").await, ["note://files__one"]);
        let templates = listed(&desk, "resources/templates/list", "resourceTemplates", "uriTemplate").await;
        assert!(templates.is_empty(), "{templates:?}");
        good(&call(&desk, "files__echo", "{}").await);
        for (method, params) in [
            ("prompts/get", r#"{"name":"files__greet","arguments":{"name":"Ada"}}"#),
            ("resources/read", r#"{"uri":"note://files__one"}"#),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"files__greet"},"argument":{"name":"name","value":"A"}}"#,
            ),
        ] {
            let answer = desk.request("1", method, params).await.unwrap();
            assert!(answer.result().is_some(), "{method} {speaks:?}: {}", answer.text);
        }

        let wiki = at(&serving, "wiki", speaks.clone()).await;
        let all = tools(&wiki).await;
        assert!(all.len() > 10 && all.iter().all(|name| name.starts_with("wiki__")), "{all:?}");
        let templates = listed(&wiki, "resources/templates/list", "resourceTemplates", "uriTemplate").await;
        assert_eq!(templates, ["note://wiki__{name}"], "all that the downstream has");

        let none = at(&serving, "none", speaks.clone()).await;
        assert!(tools(&none).await.is_empty(), "{speaks:?}");
        // To who may use nothing it is a server that has none, which a modern client is told with an error.
        for (method, list) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let answer = none.request("1", method, "{}").await.unwrap();
            let is_empty = answer.text.contains(&format!(r#""{list}":[]"#));
            let is_unknown = answer.text.contains(r#""code":-32601,"#);
            assert!(is_empty || is_unknown, "{method} {speaks:?}: {}", answer.text);
        }
    }
}

/// What a client can tell an answer by.
fn face(answer: &Answer, name: &str) -> String {
    let mut headers: Vec<_> = answer
        .headers
        .iter()
        .filter(|(name, _)| !["date", "content-length"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {value:?}"))
        .collect();
    headers.sort();
    format!("{} {headers:?} {}", answer.status, answer.text).replace(name, "NAME")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hidden_is_answered_like_what_is_not_there() {
    let clients = [
        client("desk", "allow = [\"files__echo\"]\ndeny = [\"files__blob\"]"),
        client("all", "allow = [\"*\"]"),
    ];
    let serving = Serving::start(&Folder::with(&[servers(), clients.concat()].concat()), &[]);
    ready(&serving, "all", "wiki__echo").await;
    ready(&serving, "all", "files__echo").await;
    let call = |name| ("tools/call", format!(r#"{{"name":"{name}","arguments":{{}}}}"#));
    let get = |name| ("prompts/get", format!(r#"{{"name":"{name}"}}"#));
    let read = |uri| ("resources/read", format!(r#"{{"uri":"{uri}"}}"#));
    let subscribe = |uri| ("resources/subscribe", format!(r#"{{"uri":"{uri}"}}"#));
    let complete = |kind, member, name| {
        let params = format!(
            r#"{{"ref":{{"type":"ref/{kind}","{member}":"{name}"}},"argument":{{"name":"name","value":"A"}}}}"#
        );
        ("completion/complete", params)
    };
    // The first of each is there and hidden, the others are not there.
    let rows = [
        ["files__blob", "files__nono", "nowhere__x", "wiki__echo"].map(|name| (name, call(name))),
        ["files__greet", "files__nono", "nowhere__x", "wiki__greet"].map(|name| (name, get(name))),
        ["note://files__one", "note://files__nono", "other://x", "note://wiki__two"]
            .map(|name| (name, read(name))),
        ["note://files__one", "note://files__nono", "other://x", "note://wiki__two"]
            .map(|name| (name, subscribe(name))),
        ["files__greet", "files__nono", "nowhere__x", "wiki__greet"]
            .map(|name| (name, complete("prompt", "name", name))),
        ["note://files__{name}", "note://files__{nono}", "other://{x}", "note://wiki__{n}"]
            .map(|name| (name, complete("resource", "uri", name))),
    ];
    for speaks in eras() {
        let desk = at(&serving, "desk", speaks.clone()).await;
        let all = at(&serving, "all", speaks.clone()).await;
        for row in &rows {
            let mut faces = Vec::new();
            for (name, (method, params)) in row {
                let answer = desk.request("1", method, params).await.unwrap();
                assert!(answer.error().is_some(), "{method} {params} {speaks:?}: {}", answer.text);
                faces.push(face(&answer, name));
            }
            assert!(faces.iter().all(|face| *face == faces[0]), "{speaks:?}: {faces:#?}");
            let (_, (method, params)) = &row[0];
            let there = all.request("1", method, params).await.unwrap();
            if (*method, &speaks) != ("resources/subscribe", &Speaks::modern()) && *method != "prompts/get" {
                assert!(there.result().is_some(), "it is there: {method} {params}: {}", there.text);
            }
        }
    }
    hidden_resources_are_not_listened_to(&serving).await;
}

/// A modern subscription names resources; the answer says which are watched.
async fn hidden_resources_are_not_listened_to(serving: &Serving) {
    let desk = at(serving, "desk", Speaks::modern()).await;
    let mut faces = Vec::new();
    for uri in ["note://files__one", "note://files__nono", "other://x"] {
        let params = format!(r#"{{"notifications":{{"resourceSubscriptions":["{uri}"]}}}}"#);
        let mut stream = desk.open("\"L\"", "subscriptions/listen", &params).await.unwrap();
        let first = timeout(PATIENCE, stream.next()).await.unwrap().unwrap().unwrap();
        faces.push(format!("{} {}", stream.status, first.replace(uri, "NAME")));
    }
    assert!(faces.iter().all(|face| *face == faces[0]), "{faces:#?}");
}

const FLOW: &str = r#"
[workflows.flow]
description = "Adds"
parameters = { type = "object" }
[[workflows.flow.steps]]
id = "one"
tool = "files__add"
arguments = { a = 1, b = 2 }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn rules_go_by_annotations_ways_and_methods() {
    let rules = r#"
[[policy.rules]]
effect = "allow"
clients = ["read*"]
read_only = true
[[policy.rules]]
effect = "allow"
clients = ["flows"]
names = ["files__add"]
through = "workflows"
[[policy.rules]]
effect = "deny"
clients = ["kept"]
names = ["files__add"]
through = "client"
[[policy.rules]]
effect = "allow"
clients = ["gets"]
methods = ["prompts/*"]
downstreams = ["fil*"]
[[policy.rules]]
effect = "deny"
names = ["files__personal"]
"#;
    let clients = [
        client("reader", ""),
        client("flows", "allow = [\"flow\"]"),
        client("kept", "allow = [\"*\"]"),
        client("lacks", "allow = [\"flow\"]"),
        client("gets", ""),
    ];
    let config = [fake("files", &["--whole"]), clients.concat(), rules.to_owned(), FLOW.to_owned()];
    let serving = Serving::start(&Folder::with(&config.concat()), &[]);
    ready(&serving, "kept", "flow").await;
    for speaks in eras() {
        let reader = at(&serving, "reader", speaks.clone()).await;
        assert_eq!(tools(&reader).await, ["files__echo"], "{speaks:?}");
        for name in ["flows", "kept"] {
            let client = at(&serving, name, speaks.clone()).await;
            let names = tools(&client).await;
            assert!(names.iter().any(|name| name == "flow"), "{name} {speaks:?}: {names:?}");
            assert!(!names.iter().any(|name| name == "files__add"), "{name} {speaks:?}: {names:?}");
            good(&call(&client, "flow", "{}").await);
            let direct = call(&client, "files__add", r#"{"a":1,"b":2}"#).await;
            assert!(direct.error().is_some(), "{name} {speaks:?}: {}", direct.text);
        }
        let lacks = at(&serving, "lacks", speaks.clone()).await;
        assert!(tools(&lacks).await.is_empty(), "{speaks:?}: what its steps call is not allowed");
        let gets = at(&serving, "gets", speaks.clone()).await;
        assert!(tools(&gets).await.is_empty(), "{speaks:?}");
        let prompts = listed(&gets, "prompts/list", "prompts", "name").await;
        assert_eq!(prompts, ["files__greet", "files__illustrated"], "{speaks:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_rules_a_default_holds() {
    let deny = "[policy]\ndefault = \"deny\"\n";
    let allow = "[policy]\ndefault = \"allow\"\n";
    let desk = client("desk", "deny = [\"d__add\"]");
    for (config, name, sees_echo, sees_add) in [
        (String::new(), "", true, true),
        (deny.to_owned(), "", false, false),
        (desk.clone(), "desk", false, false),
        ([&*desk, allow].concat(), "desk", true, false),
    ] {
        let all = [fake("d", &[]), config.clone()].concat();
        let serving = Serving::start(&Folder::with(&all), &[]);
        let client = at(&serving, name, Speaks::modern()).await;
        if sees_echo {
            until("echo", &serving, async || has(&client, "d__echo").await).await;
        }
        for (tool, is_seen) in [("d__echo", sees_echo), ("d__add", sees_add)] {
            assert_eq!(has(&client, tool).await, is_seen, "{tool}: {config}");
            let answer = call(&client, tool, r#"{"a":1,"b":2}"#).await;
            assert_eq!(answer.result().is_some(), is_seen, "{tool}: {config}: {}", answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_terminal_a_client_is_tried_out_by_its_name() {
    let config =
        [fake("d", &[]), client("desk", "allow = [\"d__echo\"]"), "[audit]\nsink = \"stdout\"\n".to_owned()];
    let folder = Folder::with(&config.concat());
    let said = |output: &Output| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, _) = said(&folder.run(&["tools", "--as", "desk"]));
    assert_eq!((code, out.lines().count()), (Some(0), 1), "{out}");
    assert!(out.starts_with("d__echo\t"), "{out}");
    let (code, out, _) = said(&folder.run(&["tools"]));
    assert_eq!(code, Some(0));
    assert!(out.lines().count() > 10, "the operator sees all: {out}");
    let (code, out, err) = said(&folder.run(&["call", "--as", "desk", "d__echo", "{}"]));
    assert_eq!((code, out.lines().count()), (Some(0), 1), "records are not among results: {out}{err}");
    let (code, _, err) = said(&folder.run(&["call", "--as", "desk", "d__add", r#"{"a":1,"b":2}"#]));
    assert_eq!(code, Some(1));
    assert!(err.contains("unknown tool"), "{err}");
    let (code, _, err) = said(&folder.run(&["tools", "--as", "nobody"]));
    assert_ne!(code, Some(0));
    assert!(err.contains("there is no client `nobody`"), "{err}");
    let (code, out, err) = said(&folder.run(&["stdio", "--as", "desk"]));
    assert_eq!(code, Some(2));
    assert!(
        out.is_empty() && err.contains("gateway.toml:7: audit.sink: stdout belongs to the protocol here"),
        "{err}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_the_rules_of_the_named_client_hold() {
    let config = [fake("d", &[]), client("desk", "allow = [\"d__echo\"]")];
    for speaks in eras() {
        for (arguments, sees_add) in [(&["--as", "desk"][..], false), (&[], true)] {
            let folder = Folder::with(&config.concat());
            let mut command: tokio::process::Command = gatewayd().into();
            command.arg("stdio").args(arguments).arg("--config").arg(folder.config());
            let client = StdioClient::spawn(command, speaks.clone()).await.unwrap();
            let tools = client.request("1", "tools/list", "{}").await.unwrap();
            assert!(tools.text.contains("d__echo"), "{}", tools.text);
            assert_eq!(tools.text.contains("d__add"), sees_add, "{speaks:?}: {}", tools.text);
            let added = client.call("2", "d__add", r#"{"a":1,"b":2}"#).await.unwrap();
            assert_eq!(added.result().is_some(), sees_add, "{speaks:?}: {}", added.text);
            client.close_stdin().await;
            assert_eq!(client.exited(PATIENCE).await.unwrap().code(), Some(0));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_rules_are_taken_on_and_announced() {
    let rules = |allow: &str| {
        [fake("d", &[]), client("desk", &format!("allow = [{allow}]")), client("lamp", "allow = [\"*\"]")]
            .concat()
    };
    let folder = Folder::with(&rules("\"d__echo\""));
    let serving = Serving::start(&folder, &WATCHED);
    ready(&serving, "desk", "d__echo").await;
    let modern = at(&serving, "desk", Speaks::modern()).await;
    let legacy = at(&serving, "desk", Speaks::legacy()).await;
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    let mut listening = modern.open("\"l\"", "subscriptions/listen", filter).await.unwrap();
    listening.next().await.unwrap();
    let mut stream = legacy.listen().await.unwrap();
    let lamp = at(&serving, "lamp", Speaks::modern()).await;
    let mut unconcerned = lamp.open("\"l\"", "subscriptions/listen", filter).await.unwrap();
    unconcerned.next().await.unwrap();
    assert!(call(&legacy, "d__add", r#"{"a":1,"b":2}"#).await.error().is_some());

    write(&folder, &rules("\"d__add\""));
    for messages in [&mut listening, &mut stream] {
        let told = timeout(PATIENCE, messages.next()).await.unwrap().unwrap().unwrap();
        assert!(told.contains("notifications/tools/list_changed"), "{told}");
    }
    let told = timeout(Duration::from_millis(500), unconcerned.next()).await;
    assert!(told.is_err(), "what it is shown is as before: {told:?}");
    for client in [&modern, &legacy] {
        assert_eq!(tools(client).await, ["d__add"]);
        good(&call(client, "d__add", r#"{"a":1,"b":2}"#).await);
        assert!(call(client, "d__echo", "{}").await.error().is_some());
    }
    // A configuration that is wrong changes nothing.
    write(&folder, &rules("\"flies__*\""));
    until("the rejection", &serving, async || serving.log().contains("there is no downstream")).await;
    assert_eq!(tools(&modern).await, ["d__add"]);
}

#[test]
fn rules_that_cannot_be_meant_stop_the_start() {
    let rule = |members: &str| format!("[[policy.rules]]\neffect = \"allow\"\n{members}\n");
    for (config, expected) in [
        (
            client("desk", "allow = [\"flies__*\"]"),
            "gateway.toml:3: clients.desk.allow[0]: there is no downstream",
        ),
        (client("desk", "allow = [\"\"]"), "gateway.toml:3: clients.desk.allow[0]: must not be empty"),
        (client("desk", "allow = [\"d__\\u0007\"]"), "control character U+0007"),
        (rule("subjects = [\"ada\"]"), "name the `issuers`"),
        (rule("methods = [\"tools/cal\"]"), "matches none of the methods"),
        (rule("names = []"), "gateway.toml:3: policy.rules[0].names: is empty"),
        (rule("nmaes = [\"*\"]"), "nmaes"),
        (client("desk", "alow = []"), "alow"),
        (rule("clients = [\"desk\"]"), "there is no client \"desk\""),
    ] {
        let folder = Folder::with(&[config.clone(), fake("d", &["--starts-file", "starts"])].concat());
        let output = folder.run(&["serve", "--listen", "127.0.0.1:0"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{config}: {err}");
        assert!(err.contains(expected), "{config}: {err}");
        assert!(!folder.file("starts").exists(), "nothing was started");
    }
}

/// A client that is not shown a tool gets no faster answer for it, as far as a test can tell.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_hidden_tools_reach_no_downstream() {
    let folder = Folder::with("");
    let record = folder.file("record");
    let switches = ["--record", record.to_str().unwrap()];
    let all = [client("desk", "allow = [\"d__echo\"]"), fake("d", &switches)].concat();
    write(&folder, &all);
    let serving = Serving::start(&folder, &[]);
    for speaks in eras() {
        let desk: HttpClient = at(&serving, "desk", speaks).await;
        until("echo", &serving, async || has(&desk, "d__echo").await).await;
        assert!(call(&desk, "d__add", r#"{"a":1,"b":2}"#).await.error().is_some());
        good(&timeout(Duration::from_secs(10), call(&desk, "d__echo", "{}")).await.unwrap());
    }
    let taken = std::fs::read_to_string(record).unwrap();
    assert!(taken.contains(r#""name":"echo""#) && !taken.contains(r#""name":"add","arguments""#), "{taken}");
}
