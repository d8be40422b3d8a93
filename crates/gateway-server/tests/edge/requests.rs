//! Requests of 2026-07-28 for everything but tools.

use crate::support::{MODERN, OURS, object, start};

#[tokio::test]
async fn everything_that_is_offered_can_be_asked_for() {
    let server = start(|_| {}).await;
    server.world.offer_all();
    let client = server.modern();
    for (method, params, expected) in [
        ("prompts/get", r#"{"name":"p"}"#, r#"Prompt { name: \"p\" }"#),
        ("resources/read", r#"{"uri":"a:b"}"#, r#"Resource { uri: \"a:b\" }"#),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}"#,
            r#"Completion(Prompt(\"p\"))"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/resource","uri":"a:{b}"},"argument":{"name":"a","value":"v"}}"#,
            r#"Completion(Resource(\"a:{b}\"))"#,
        ),
    ] {
        let answer = client.request("1", method, params).await.unwrap();
        let hints = if method == "resources/read" { r#""ttlMs":0,"cacheScope":"private","# } else { "" };
        assert_eq!(
            answer.result().unwrap(),
            format!(r#"{{"subject":"{expected}","resultType":"complete",{hints}{OURS}}}"#),
            "for {method}"
        );
    }
    for (method, member) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let answer = client.request("1", method, "{}").await.unwrap();
        let items = answer.result_member(member).unwrap();
        assert_eq!(items, format!(r#"[{{"name":"files__{member}","n":1.0}}]"#));
        assert_eq!(answer.result_member("ttlMs").as_deref(), Some("5000"));
    }
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_refused_by_rule() {
    let server = start(|_| {}).await;
    let client = server.modern();
    let prompt = r#"{"name":"p"}"#;
    let reference = r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}"#;
    let read = r#"{"uri":"a:b"}"#;
    let gated = [
        ("prompts/list", "{}"),
        ("prompts/get", prompt),
        ("resources/list", "{}"),
        ("resources/templates/list", "{}"),
        ("resources/read", read),
        ("completion/complete", reference),
    ];
    for (method, params) in gated {
        let answer = client.request("1", method, params).await.unwrap();
        assert_eq!((answer.status, answer.error_code()), (404, Some(-32601)), "nobody offers {method}");
    }
    server.world.offer_all();
    for (method, params, status, code) in [
        ("prompts/get", "{}", 200, -32602),
        ("prompts/get", r#"{"name":"p","arguments":[]}"#, 200, -32602),
        ("prompts/get", r#"{"name":"missing"}"#, 200, -32602),
        ("resources/read", "{}", 200, -32602),
        ("resources/read", r#"{"uri":"a:missing"}"#, 200, -32602),
        ("completion/complete", "{}", 200, -32602),
        ("completion/complete", r#"{"ref":{"type":"ref/tool","name":"p"}}"#, 200, -32602),
        ("resources/subscribe", read, 404, -32601),
        ("resources/unsubscribe", read, 404, -32601),
        ("logging/setLevel", r#"{"level":"info"}"#, 404, -32601),
        ("tasks/list", "{}", 404, -32601),
        ("tasks/result", r#"{"taskId":"t"}"#, 404, -32601),
        ("roots/list", "{}", 404, -32601),
        ("elicitation/create", "{}", 404, -32601),
        ("x/y", "{}", 404, -32601),
    ] {
        let answer = client.request("1", method, params).await.unwrap();
        assert_eq!((answer.status, answer.error_code()), (status, Some(code)), "for {method} {params}");
    }
    let answer = client.request("1", "resources/read", r#"{"uri":"a:missing"}"#).await.unwrap();
    assert!(answer.error().unwrap().contains(r#""uri":"a:missing"}"#), "{answer:?}");
}

#[tokio::test]
async fn names_are_repeated_in_headers_by_every_method_that_has_them() {
    let server = start(|_| {}).await;
    server.world.offer_all();
    let tasks = format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/tasks":{{}}}}}}}}"#
    );
    for (method, member) in [
        ("prompts/get", "name"),
        ("resources/read", "uri"),
        ("tasks/get", "taskId"),
        ("tasks/update", "taskId"),
        ("tasks/cancel", "taskId"),
    ] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"{member}":"a:b","inputResponses":{{}},{tasks}}}}}"#
        );
        for (name, mismatch) in [
            ("", true),
            ("Mcp-Name: a:c\r\n", true),
            ("Mcp-Name: a:b\r\n", false),
            ("mcp-name: =?base64?YTpi?=\r\n", false),
        ] {
            let headers = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n{name}");
            let answer = server.post(&headers, &body).await;
            assert_eq!(answer.body.contains("-32020"), mismatch, "{headers}: {answer:?}");
            assert_eq!(answer.status == 400, mismatch, "{headers}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn what_is_discovered_is_what_is_offered_and_let_through() {
    let server = start(|config| config.instructions = Some("ours".to_owned())).await;
    server.world.offer_all();
    server.world.offer.lock().unwrap().instructions = Some("## files".to_owned());
    let answer = server.modern().request("1", "server/discover", "{}").await.unwrap();
    assert_eq!(
        answer.result_member("capabilities").unwrap(),
        r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#
    );
    assert_eq!(answer.result_member("instructions").unwrap(), r#""ours\n\n## files""#);
    server.world.offer.lock().unwrap().capabilities = object(r#"{"extensions":{"x.y/z":{}}}"#);
    let answer = server.modern().request("1", "server/discover", "{}").await.unwrap();
    assert_eq!(answer.result_member("capabilities").unwrap(), "{}");
}

#[tokio::test]
async fn clients_that_can_do_the_same_have_the_same_sessions() {
    let server = start(|_| {}).await;
    for capabilities in [
        r#"{"elicitation":{}}"#,
        r#"{"elicitation":{"form":{"x":1}},"experimental":{"y":{}}}"#,
        r#"{"elicitation":{"form":{}},"extensions":{"x.y/z":{}}}"#,
        r#"{"elicitation":{"url":{}}}"#,
    ] {
        assert!(server.able(capabilities).call("1", "files__echo", "{}").await.unwrap().result().is_some());
    }
    let calls = server.world.calls.lock().unwrap();
    assert_eq!(calls[0].1, calls[1].1);
    assert_eq!(calls[0].1, calls[2].1);
    assert_ne!(calls[0].1, calls[3].1);
}
