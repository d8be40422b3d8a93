use std::sync::atomic::Ordering;

use gateway_domain::SessionKey;
use gateway_testkit::client::{HttpClient, Speaks};

use crate::support::{QUIET, keys, start, until};

#[tokio::test]
async fn handshakes_agree_on_a_legacy_revision() {
    let server = start(|config| config.instructions = Some("hi".to_owned())).await;
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let client = HttpClient::new(&server.url(), Speaks::Legacy(asked.to_owned())).unwrap();
        let answer = client.shake_hands().await.unwrap();
        assert_eq!(
            answer.result().unwrap(),
            format!(
                r#"{{"protocolVersion":"{agreed}","capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"gateway","title":"Gateway","version":"1"}},"instructions":"hi"}}"#
            )
        );
        assert!(client.session().is_some_and(|id| id.len() >= 22));
        let list = client.request("1", "tools/list", "{}").await.unwrap();
        let cursor = list.result_member("nextCursor").unwrap();
        let page = r#""tools":[{"name":"files__echo","n":1.0}]"#;
        assert_eq!(list.result().unwrap(), format!(r#"{{{page},"nextCursor":{cursor}}}"#));
        let rest = client.request("1", "tools/list", &format!(r#"{{"cursor":{cursor}}}"#)).await.unwrap();
        assert_eq!(rest.result().unwrap(), format!("{{{page}}}"));
        let call = client.call("\"\"", "files__echo", r#"{"n":1.0}"#).await.unwrap();
        // Before 2025-06-18 there is text only.
        let result = match agreed {
            "2024-11-05" | "2025-03-26" => r#"{"content":[{"type":"text","text":"{\"n\":1.0}"}]}"#,
            _ => r#"{"content":[],"structuredContent":{"n":1.0}}"#,
        };
        assert_eq!(call.text, format!(r#"{{"jsonrpc":"2.0","id":"","result":{result}}}"#));
    }
    for params in ["{}", r#"{"protocolVersion":7}"#, r#"{"protocolVersion":"2025-11-25","capabilities":[]}"#]
    {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
        let answer = server.post("", &body).await;
        assert!(answer.status == 200 && answer.body.contains("-32602"), "{params}: {answer:?}");
        assert!(!answer.head.contains("mcp-session-id"));
    }
}

#[tokio::test]
async fn everything_but_a_handshake_needs_a_session() {
    let server = start(|_| {}).await;
    let client = server.legacy("2025-11-25").await;
    let id = client.session().unwrap();
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let with = |session: &str| format!("Mcp-Session-Id: {session}\r\n");
    for (headers, body, status, text) in [
        (String::new(), ping, 400, "-32001"),
        (with("unknown"), ping, 404, "-32001"),
        (format!("{}{}", with(&id), with(&id)), ping, 404, "-32001"),
        (with(&id), ping, 200, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#),
        (format!("{}MCP-Protocol-Version: 2025-06-18\r\n", with(&id)), ping, 200, "result"),
        (format!("{}MCP-Protocol-Version: 2020-01-01\r\n", with(&id)), ping, 400, "-32600"),
        (format!("{}MCP-Protocol-Version: nonsense\r\n", with(&id)), ping, 400, "-32600"),
        (with(&id), r#"{"jsonrpc":"2.0","id":"p","method":"resources/list"}"#, 200, "resources"),
        (with(&id), r#"{"jsonrpc":"2.0","id":"p","method":"nosuch"}"#, 200, "-32601"),
        (with(&id), r#"{"jsonrpc":"2.0","id":"p","method":"server/discover"}"#, 200, "-32601"),
        (with(&id), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 202, ""),
        (with(&id), r#"{"jsonrpc":"2.0","id":9,"result":{}}"#, 202, ""),
        (String::new(), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 400, "-32001"),
        (with("unknown"), r#"{"jsonrpc":"2.0","id":9,"result":{}}"#, 404, "-32001"),
    ] {
        let answer = server.post(&headers, body).await;
        assert_eq!(answer.status, status, "{headers}{body}: {answer:?}");
        assert!(answer.body.contains(text) && (!text.is_empty() || answer.body.is_empty()), "{answer:?}");
        if body.contains("\"p\"") {
            assert!(answer.body.contains(r#""id":"p""#), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_deleted_session_is_gone_here_and_downstream() {
    let server = start(|_| {}).await;
    let client = server.legacy("2025-11-25").await;
    let mut stream = client.listen().await.unwrap();
    let other = server.legacy("2025-11-25").await;
    assert_eq!(client.delete().await.unwrap().status, 204);
    assert_eq!(stream.next().await.unwrap(), None);
    let id = client.session().unwrap();
    let ended = server.world.ended.lock().unwrap().clone();
    assert_eq!(ended, [SessionKey::Legacy { id: id.as_str().into() }]);
    assert_eq!(client.call("1", "files__echo", "{}").await.unwrap().status, 404);
    assert_eq!(client.delete().await.unwrap().status, 404);
    assert_eq!(other.call("1", "files__echo", "{}").await.unwrap().status, 200);
    other.use_session(None);
    assert_eq!(other.delete().await.unwrap().status, 405);
}

#[tokio::test]
async fn the_end_of_a_session_ends_its_calls() {
    let server = start(|_| {}).await;
    let (client, world) = (server.legacy("2025-11-25").await, &server.world);
    let end = async {
        world.reaches(&world.begun, 1).await;
        client.delete().await.unwrap();
        world.reaches(&world.dropped, 1).await;
    };
    let (answer, ()) = tokio::join!(client.call("1", "files__hang", "{}"), end);
    assert!(answer.unwrap().error().is_some());
}

#[tokio::test]
async fn an_idle_session_makes_room_for_a_new_one_and_a_busy_one_does_not() {
    let server = start(|config| {
        config.clients = keys();
        config.limits.sessions_per_caller = 1;
    })
    .await;
    let first = server.legacy("2025-11-25").await;
    let second = server.legacy("2025-11-25").await;
    let evicted = SessionKey::Legacy { id: first.session().unwrap().as_str().into() };
    until(|| *server.world.ended.lock().unwrap() == [evicted.clone()]).await;
    assert_eq!(first.call("1", "files__echo", "{}").await.unwrap().status, 404);
    let stream = second.listen().await.unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let answer = server.post("Authorization: Bearer k\r\n", hello).await;
    assert_eq!((answer.status, answer.head.contains("retry-after: 1")), (503, true), "{answer:?}");
    assert_eq!(stream.status, 200);
}

#[tokio::test]
async fn idle_sessions_end_by_themselves() {
    let server = start(|config| config.limits.session_idle = std::time::Duration::from_millis(80)).await;
    let client = server.legacy("2025-11-25").await;
    until(|| server.world.ended.lock().unwrap().len() == 1).await;
    assert_eq!(client.call("1", "files__echo", "{}").await.unwrap().status, 404);
}

#[tokio::test]
async fn arrays_are_for_one_revision_only() {
    let server = start(|_| {}).await;
    let client = server.legacy("2025-03-26").await;
    let batch = concat!(
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__yield"}},"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"1","method":"ping"},"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-03-26"}},"#,
        r#"{"jsonrpc":"2.0","id":3,"method":7},{"jsonrpc":"2.0","id":4,"method":"nosuch"}]"#
    );
    let answer = client.post(batch, &[]).await.unwrap();
    assert_eq!((answer.status, answer.headers["content-type"].to_str().unwrap()), (200, "application/json"));
    let parts = [
        r#"[{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{}"}]}},{"jsonrpc":"2.0","id":"1","result":{}},"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"#,
        r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"#,
    ];
    for part in parts {
        assert!(answer.text.contains(part), "{part} is not in {}", answer.text);
    }
    let silent =
        r#"[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":1,"result":{}}]"#;
    let answer = client.post(silent, &[]).await.unwrap();
    assert_eq!((answer.status, answer.text.as_str()), (202, ""));
    assert_eq!(client.post("[]", &[]).await.unwrap().status, 400);
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let client = server.legacy(revision).await;
        let answer = client.post(batch, &[]).await.unwrap();
        assert!(answer.status == 400 && answer.text.contains("-32600"), "{revision}: {}", answer.text);
    }
}

#[tokio::test]
async fn leaving_cancels_where_the_operator_says_so() {
    let server = start(|config| config.cancel_on_disconnect = true).await;
    let client = server.legacy("2025-11-25").await;
    let world = &server.world;
    tokio::select! {
        _ = client.call("1", "files__slow", "{}") => panic!("this call waits"),
        () = world.reaches(&world.begun, 1) => {}
    }
    world.reaches(&world.dropped, 1).await;
}

#[tokio::test]
async fn leaving_does_not_cancel_but_saying_so_does() {
    let server = start(|_| {}).await;
    let client = server.legacy("2025-11-25").await;
    let world = &server.world;
    tokio::select! {
        _ = client.call("1", "files__slow", "{}") => panic!("this call waits"),
        () = world.reaches(&world.begun, 1) => {}
    }
    // The connection is gone; the call is not.
    tokio::time::sleep(QUIET).await;
    assert_eq!(world.dropped.load(Ordering::SeqCst), 0);
    world.go.notify_one();
    world.reaches(&world.finished, 1).await;

    for (params, id) in [
        (r#"{"name":"files__hang"}"#, "\"x\""),
        (r#"{"name":"files__progress_then_hang","_meta":{"progressToken":0}}"#, "7"),
    ] {
        let begun = world.begun.load(Ordering::SeqCst);
        let call = client.request(id, "tools/call", params);
        let cancel = async {
            world.reaches(&world.begun, begun + 1).await;
            let other = r#"{"requestId":"another"}"#;
            client.notify("notifications/cancelled", other).await.unwrap();
            tokio::time::sleep(QUIET).await;
            let dropped = world.dropped.load(Ordering::SeqCst);
            let cancel = format!(r#"{{"requestId":{id}}}"#);
            assert_eq!(client.notify("notifications/cancelled", &cancel).await.unwrap().status, 202);
            world.reaches(&world.dropped, dropped + 1).await;
        };
        let (answer, ()) = tokio::join!(call, cancel);
        // A whole response has to say something; a stream just ends.
        match answer {
            Ok(answer) => assert!(answer.text.contains(r#""kind":"cancelled""#), "{}", answer.text),
            Err(error) => assert!(error.to_string().contains("ended before the answer"), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_cancellation_stays_in_its_session() {
    let server = start(|_| {}).await;
    let (one, two) = (server.legacy("2025-11-25").await, server.legacy("2025-11-25").await);
    let world = &server.world;
    let call = one.call("1", "files__slow", "{}");
    let meddle = async {
        world.reaches(&world.begun, 1).await;
        two.notify("notifications/cancelled", r#"{"requestId":1}"#).await.unwrap();
        tokio::time::sleep(QUIET).await;
        world.go.notify_one();
    };
    let (answer, ()) = tokio::join!(call, meddle);
    assert!(answer.unwrap().result().is_some());
}

#[tokio::test]
async fn progress_reaches_legacy_clients_under_their_own_token() {
    let server = start(|_| {}).await;
    let client = server.legacy("2025-06-18").await;
    let params = r#"{"name":"files__progress","_meta":{"progressToken":5}}"#;
    let answer = client.request("1", "tools/call", params).await.unwrap();
    assert_eq!(answer.before.len(), 5, "progress, and a log message of a server that may choose its level");
    let mut progress = answer.before.iter().filter(|text| text.contains("notifications/progress"));
    assert!(
        progress.all(|text| text.contains(r#""progressToken":5,"#) || text.contains(r#""progressToken":5}"#))
    );
    assert_eq!(answer.result().as_deref(), Some(r#"{"content":[]}"#));
}

#[tokio::test]
async fn legacy_and_modern_clients_share_an_address() {
    let server = start(|_| {}).await;
    let (modern, legacy) = (server.modern(), server.legacy("2025-11-25").await);
    let (one, two) = tokio::join!(
        modern.call("1", "files__yield", r#"{"era":"modern"}"#),
        legacy.call("1", "files__yield", r#"{"era":"legacy"}"#)
    );
    assert!(one.unwrap().result().unwrap().contains(r#"{"era":"modern"}"#));
    assert!(two.unwrap().result().unwrap().contains(r#"{"era":"legacy"}"#));
    let keys: Vec<_> = server.world.calls.lock().unwrap().iter().map(|(_, key)| key.clone()).collect();
    let id = legacy.session().unwrap();
    assert!(keys.contains(&SessionKey::Legacy { id: id.as_str().into() }));
    assert!(keys.iter().any(|key| matches!(key, SessionKey::Modern { .. })));
}
