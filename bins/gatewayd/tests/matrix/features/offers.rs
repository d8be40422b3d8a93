//! What a client asks for and gets: tools, prompts, resources, completion, words of the era.

use serde_json::{Value, json};

use crate::{
    cell::Cell,
    world::{Setup, World, error, result},
};

features!(tools, prompts, resources, completion, instructions, views, unknown_methods, words_of_the_era);

async fn tools(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let arguments = r#"{"n":1.0,"text":"é\u0041","deep":[[{}]]}"#;
    let answer = w.tool("echo", arguments).await;
    let wanted: Value = serde_json::from_str(arguments).unwrap();
    assert_eq!(result(&answer)["structuredContent"], wanted, "{}", answer.text);
    let seen = w.fake.calls("echo");
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0]["params"]["arguments"], wanted);
    let failed = w.tool("fail", "{}").await;
    assert_eq!(result(&failed)["isError"], true, "{}", failed.text);
    let unknown = w.tool("nothing", "{}").await;
    assert_eq!(unknown.error_code(), Some(-32602), "{}", unknown.text);
    assert_eq!(w.fake.calls("nothing").len(), usize::from(cell.is_direct()), "an unknown tool goes nowhere");
    w.judge();
}

async fn prompts(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let listed = w.list("prompts/list", "prompts").await;
    let named = |name: &str| listed.iter().find(|prompt| prompt["name"] == w.name(name)).cloned();
    let greet = named("greet").unwrap_or_else(|| panic!("{listed:?}"));
    assert_eq!(greet["arguments"][0], json!({"name":"name","description":"whom","required":true}));
    let get = |name: &str, more: &str| format!(r#"{{"name":"{}"{more}}}"#, w.name(name));
    let got = w.call("prompts/get", &get("greet", r#","arguments":{"name":"Ada"}"#)).await;
    assert_eq!(result(&got)["messages"][0]["content"]["text"], "Greet Ada", "{}", got.text);
    let seen = w.fake.saw("prompts/get");
    assert_eq!(seen[0]["params"]["name"], "greet");
    assert_eq!(seen[0]["params"]["arguments"], json!({"name":"Ada"}));
    let illustrated = w.call("prompts/get", &get("illustrated", "")).await;
    let resource = &result(&illustrated)["messages"][0]["content"]["resource"];
    assert_eq!(resource["text"], "one", "{}", illustrated.text);
    let personal = w.call("prompts/get", &get("personal", "")).await;
    assert!(result(&personal)["messages"][0]["content"]["text"].to_string().contains("Ada"));
    assert_eq!(w.peer.asked().len(), 1, "a prompt may ask too");
    let unknown = w.call("prompts/get", &get("nothing", "")).await;
    assert_eq!(unknown.error_code(), Some(-32602), "{}", unknown.text);
    w.judge();
}

async fn resources(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let listed = w.list("resources/list", "resources").await;
    let one = listed.iter().find(|resource| resource["uri"] == "note://one");
    assert_eq!(one.unwrap_or_else(|| panic!("{listed:?}"))["title"], "The first");
    let templates = w.list("resources/templates/list", "resourceTemplates").await;
    assert_eq!(templates[0]["uriTemplate"], "note://{name}", "{templates:?}");
    // Listed, matched by the template, with bytes.
    for (uri, member, value) in
        [("note://two", "text", "two"), ("note://far", "text", "far"), ("note://picture", "blob", "aW1hZ2U=")]
    {
        let read = w.call("resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).await;
        let content = &result(&read)["contents"][0];
        assert_eq!((&content["uri"], &content[member]), (&json!(uri), &json!(value)), "{}", read.text);
        assert_eq!(w.fake.saw("resources/read").last().unwrap()["params"]["uri"], uri);
    }
    let personal = w.call("resources/read", r#"{"uri":"note://personal"}"#).await;
    assert!(result(&personal)["contents"][0]["text"].to_string().contains("Ada"), "{}", personal.text);
    let missing = w.call("resources/read", r#"{"uri":"note://missing"}"#).await;
    let error = error(&missing);
    assert_eq!(error["code"], if cell.modern_client() { -32602 } else { -32002 }, "{}", missing.text);
    assert_eq!(error["data"]["uri"], "note://missing", "{}", missing.text);
    w.judge();
}

async fn completion(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let complete = |reference: &str, context: &str| {
        format!(r#"{{"ref":{reference},"argument":{{"name":"name","value":"A"}}{context}}}"#)
    };
    let prompt = format!(r#"{{"type":"ref/prompt","name":"{}"}}"#, w.name("greet"));
    let context = r#","context":{"arguments":{"greeting":"Hi"}}"#;
    let answer = w.call("completion/complete", &complete(&prompt, context)).await;
    let values = &result(&answer)["completion"]["values"];
    assert_eq!(*values, json!(["Ada", "Alan", "Hi"]), "{}", answer.text);
    assert_eq!(w.fake.saw("completion/complete")[0]["params"]["ref"]["name"], "greet");
    let template = r#"{"type":"ref/resource","uri":"note://{name}"}"#;
    let answer = w.call("completion/complete", &complete(template, "")).await;
    assert_eq!(result(&answer)["completion"]["values"], json!(["Ada", "Alan"]), "{}", answer.text);
    assert_eq!(w.fake.saw("completion/complete")[1]["params"]["ref"]["uri"], "note://{name}");
    let unknown = r#"{"type":"ref/prompt","name":"nothing"}"#;
    let answer = w.call("completion/complete", &complete(unknown, "")).await;
    assert_eq!(answer.error_code(), Some(-32602), "{}", answer.text);
    w.judge();
}

async fn instructions(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    // Only once the server is known can its words be told.
    let greeting = match cell.modern_client() || cell.is_direct() {
        true => w.peer.greeting().await.unwrap(),
        false => {
            let gateway = w.gateway.as_ref().unwrap();
            match gateway.url() {
                Some(_) => {
                    let manner = gateway_testkit::client::peer::Manner::willing(cell.speaks("2025-11-25"));
                    gateway.connect(manner, "").await.greeting().await.unwrap()
                }
                // Over stdio the handshake is the first thing that happens at all.
                None => w.peer.greeting().await.unwrap(),
            }
        }
    };
    let greeting = result(&greeting);
    if cell.modern_client() || cell.http_client() {
        assert!(greeting["instructions"].to_string().contains("a fake"), "{greeting}");
    }
    let capabilities = &greeting["capabilities"];
    for (kind, member) in [("tools", "listChanged"), ("prompts", "listChanged"), ("resources", "subscribe")] {
        if cell.modern_client() || cell.http_client() {
            assert_eq!(capabilities[kind][member], true, "{kind}: {greeting}");
        }
    }
    let info = match cell.modern_client() {
        true => &greeting["_meta"]["io.modelcontextprotocol/serverInfo"],
        false => &greeting["serverInfo"],
    };
    assert_eq!(info["name"] == "fake-mcp", cell.is_direct(), "the gateway names itself: {greeting}");
    w.judge();
}

/// A tool's view can be read as the tool names it.
async fn views(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let tools = w.list("tools/list", "tools").await;
    let tool = tools.iter().find(|tool| tool["name"] == w.name("view")).unwrap();
    let uri = tool["_meta"]["ui"]["resourceUri"].as_str().unwrap_or_else(|| panic!("{tool}")).to_owned();
    assert!(uri.starts_with("ui://"), "{uri}");
    let read = w.call("resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).await;
    let content = &result(&read)["contents"][0];
    assert_eq!(content["uri"], uri, "{}", read.text);
    assert_eq!(content["mimeType"], "text/html;profile=mcp-app", "{}", read.text);
    assert_eq!(w.fake.saw("resources/read")[0]["params"]["uri"], "ui://fake/view");
    w.judge();
}

/// Refused where many servers are one, passed on where there is only one.
async fn unknown_methods(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    let answer = w.call("vendor/echo", r#"{"say":"hi"}"#).await;
    if cell.is_direct() {
        assert_eq!(result(&answer)["echo"], "hi", "{}", answer.text);
    } else {
        assert_eq!(answer.error_code(), Some(-32601), "{}", answer.text);
        let status = if cell.modern_client() && cell.http_client() { 404 } else { 200 };
        assert_eq!(answer.status, status, "{}", answer.text);
        assert!(w.fake.saw("vendor/echo").is_empty());
    }
    w.judge();
    if !cell.http_client() || cell.is_direct() {
        return;
    }
    let w = World::start(cell, Setup::willing().view()).await;
    let answer = w.call("vendor/echo", r#"{"say":"hi"}"#).await;
    assert_eq!(result(&answer)["echo"], "hi", "{}", answer.text);
    assert_eq!(w.fake.saw("vendor/echo").len(), 1);
    let answer = w.call("vendor/nothing", "{}").await;
    assert_eq!(answer.error_code(), Some(-32601), "{}", answer.text);
    w.judge();
}

async fn words_of_the_era(cell: Cell) {
    let w = World::start(cell, Setup::willing()).await;
    for (method, params) in [
        ("ping", "{}"),
        ("logging/setLevel", r#"{"level":"info"}"#),
        ("resources/subscribe", r#"{"uri":"note://one"}"#),
        ("resources/unsubscribe", r#"{"uri":"note://one"}"#),
    ] {
        let answer = w.call(method, params).await;
        match cell.modern_client() {
            true => assert_eq!(answer.error_code(), Some(-32601), "{method}: {}", answer.text),
            false => assert_eq!(result(&answer), json!({}), "{method}: {}", answer.text),
        }
    }
    w.judge();
}
