use std::sync::atomic::Ordering;

use gateway_server::ClientKey;
use gateway_testkit::client::{HttpClient, Speaks};

use crate::support::{MODERN, OURS, QUIET, envelope, start};

/// Requests that break one rule each, in the order in which the rules are looked at; every error has the
/// request's id.
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table, one row a rule")]
async fn checks_come_in_their_order_with_their_codes() {
    let server = start(|_| {}).await;
    let call = |id: &str, method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
    };
    let good = envelope(MODERN);
    let both = "MCP-Protocol-Version: 2026-07-28\r\n";
    let lists = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";
    let calls = |name: &str| format!("{both}Mcp-Method: tools/call\r\nMcp-Name: {name}\r\n");
    let named = |name: &str, more: &str| format!(r#""name":"{name}",{more}{good}"#);
    for (headers, body, status, code) in [
        // 3, 4: size, JSON, one object.
        (both.to_owned(), "{".to_owned(), 400, "-32700"),
        (both.to_owned(), "7".to_owned(), 400, "-32600"),
        (both.to_owned(), format!("[{}]", call("\"i\"", "tools/list", &good)), 400, "-32600"),
        (both.to_owned(), r#"{"jsonrpc":"2.0","id":"i","id":1,"method":"x"}"#.to_owned(), 400, "-32600"),
        (both.to_owned(), r#"{"jsonrpc":"1.0","id":"i","method":"x"}"#.to_owned(), 400, "-32600"),
        // 5, 6: the version header is missing, or differs; that wins over an unsupported one.
        (String::new(), call("\"i\"", "tools/list", &good), 400, "-32020"),
        (
            "MCP-Protocol-Version: 2025-11-25\r\n".to_owned(),
            call("\"i\"", "tools/list", &good),
            400,
            "-32020",
        ),
        (both.to_owned(), call("\"i\"", "tools/list", &envelope("2099-01-01")), 400, "-32020"),
        (format!("{both}{both}"), call("\"i\"", "tools/list", &good), 400, "-32020"),
        (both.to_owned(), call("\"i\"", "tools/list", &envelope("2025-11-25")), 400, "-32020"),
        // 7: members of `_meta`.
        (both.to_owned(), call("\"i\"", "tools/list", ""), 400, "-32602"),
        (
            both.to_owned(),
            call(
                "\"i\"",
                "tools/list",
                r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
            ),
            400,
            "-32602",
        ),
        (
            both.to_owned(),
            call("\"i\"", "tools/list", r#""_meta":{"io.modelcontextprotocol/protocolVersion":7}"#),
            400,
            "-32602",
        ),
        // 8: a revision that is not spoken.
        (
            "MCP-Protocol-Version: 2099-01-01\r\n".to_owned(),
            call("\"i\"", "tools/list", &envelope("2099-01-01")),
            400,
            "-32022",
        ),
        (String::new(), call("\"i\"", "tools/list", &envelope("2025-11-25")), 400, "-32022"),
        // 9: mirrored method and name.
        (both.to_owned(), call("\"i\"", "tools/list", &good), 400, "-32020"),
        (lists.to_owned(), call("\"i\"", "tools/call", &named("files__echo", "")), 400, "-32020"),
        (lists.to_owned(), call("\"i\"", "Tools/List", &good), 400, "-32020"),
        (calls("files__other"), call("\"i\"", "tools/call", &named("files__echo", "")), 400, "-32020"),
        (
            format!("{both}Mcp-Method: tools/call\r\n"),
            call("\"i\"", "tools/call", &named("files__echo", "")),
            400,
            "-32020",
        ),
        // 10: unknown and removed methods.
        (format!("{both}Mcp-Method: tools/eat\r\n"), call("\"i\"", "tools/eat", &good), 404, "-32601"),
        (format!("{both}Mcp-Method: initialize\r\n"), call("\"i\"", "initialize", &good), 404, "-32601"),
        (format!("{both}Mcp-Method: ping\r\n"), call("\"i\"", "ping", &good), 404, "-32601"),
        (
            format!("{both}Mcp-Method: logging/setLevel\r\n"),
            call("\"i\"", "logging/setLevel", &good),
            404,
            "-32601",
        ),
        // 11: params.
        (format!("{both}Mcp-Method: tools/call\r\n"), call("\"i\"", "tools/call", &good), 200, "-32602"),
        (
            calls("files__echo"),
            call("\"i\"", "tools/call", &named("files__echo", r#""arguments":[],"#)),
            200,
            "-32602",
        ),
        (lists.to_owned(), call("\"i\"", "tools/list", &format!(r#""cursor":"x",{good}"#)), 200, "-32602"),
        (lists.to_owned(), call("\"i\"", "tools/list", &format!(r#""cursor":7,{good}"#)), 200, "-32602"),
        (calls("nosuch"), call("\"i\"", "tools/call", &named("nosuch", "")), 200, "-32602"),
        // 12: mirrored arguments.
        (
            calls("files__mirrored"),
            call("\"i\"", "tools/call", &named("files__mirrored", r#""arguments":{"region":"eu"},"#)),
            400,
            "-32020",
        ),
        (
            format!("{}Mcp-Param-Region: us\r\n", calls("files__mirrored")),
            call("\"i\"", "tools/call", &named("files__mirrored", r#""arguments":{"region":"eu"},"#)),
            400,
            "-32020",
        ),
    ] {
        let answer = server.post(&headers, &body).await;
        let seen = (answer.status, answer.body.contains(&format!(r#""error":{{"code":{code},"#)));
        assert_eq!(seen, (status, true), "{headers}{body}\n{answer:?}");
        let readable = body.starts_with('{') && body.contains(r#""id":"i","method""#);
        assert_eq!(answer.body.contains(r#""id":"i""#), readable, "{body}\n{answer:?}");
        assert!(!answer.head.contains("mcp-session-id"));
    }
    for name in ["files__mirrored", "=?base64?ZmlsZXNfX21pcnJvcmVk?="] {
        let headers = format!("{}mcp-param-region: =?base64?ZXU=?=\r\n", calls(name));
        let body = call("7", "tools/call", &named("files__mirrored", r#""arguments":{"region":"eu"},"#));
        assert_eq!(server.post(&headers, &body).await.status, 200);
    }
}

#[tokio::test]
async fn the_supported_revisions_are_named() {
    let server = start(|_| {}).await;
    let client = server.modern();
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{{}}}}}"#, envelope("2030-01-01"));
    let answer = client.post(&body, &[("mcp-protocol-version", "2030-01-01")]).await.unwrap();
    let expected = r#""supported":["2026-07-28"],"requested":"2030-01-01""#;
    assert!(answer.text.contains(expected), "{}", answer.text);
}

#[tokio::test]
async fn discover_and_lists_say_how_long_and_for_whom_they_hold() {
    let server = start(|config| config.instructions = Some("use \"it\"".to_owned())).await;
    let client = server.modern();
    let answer = client.request("1", "server/discover", "{}").await.unwrap();
    assert_eq!(
        answer.result().unwrap(),
        format!(
            r#"{{"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{"listChanged":true}}}},"instructions":"use \"it\"","resultType":"complete","ttlMs":5000,"cacheScope":"public",{OURS}}}"#
        )
    );
    let page = r#""tools":[{"name":"files__echo","n":1.0}]"#;
    let tail = format!(r#""resultType":"complete","ttlMs":5000,"cacheScope":"public",{OURS}}}"#);
    let answer = client.request("2", "tools/list", "{}").await.unwrap();
    let cursor = answer.result_member("nextCursor").unwrap();
    let begins = format!(r#"{{{page},"nextCursor":"#);
    assert_eq!(answer.result().unwrap(), format!("{begins}{cursor},{tail}"));
    let params = format!(r#"{{"cursor":{cursor}}}"#);
    let answer = client.request("3", "tools/list", &params).await.unwrap();
    assert_eq!(answer.result().unwrap(), format!("{{{page},{tail}"));
    // No cursor that was ever given, but what some clients write for the beginning.
    let answer = client.request("3", "tools/list", r#"{"cursor":""}"#).await.unwrap();
    assert!(answer.result().unwrap().starts_with(&begins));
    // A page that is not copied is the same page.
    let big = format!(r#"[{{"name":"{}"}}]"#, "x".repeat(200_000));
    *server.world.page.lock().unwrap() = gateway_domain::RawJson::parse(big.clone()).unwrap();
    let answer = client.request("4", "tools/list", "{}").await.unwrap();
    assert_eq!(answer.result_member("tools").unwrap(), big);
    assert_eq!(answer.headers["content-length"], answer.text.len().to_string());
    let events = [("accept", "text/event-stream")];
    let answer = client.request_with("5", "tools/list", "{}", &events).await.unwrap();
    assert_eq!(answer.result_member("tools").unwrap(), big);
}

#[tokio::test]
async fn a_cursor_is_good_for_the_caller_and_the_list_that_it_was_given_for() {
    let server = start(|config| {
        config.clients = vec![ClientKey::new("desk", "k"), ClientKey::new("lab", "l")];
    })
    .await;
    let desk = server.modern();
    let lab =
        HttpClient::new(&server.url(), Speaks::modern()).unwrap().with_header("authorization", "Bearer l");
    let first = desk.request("1", "tools/list", "{}").await.unwrap();
    let given = first.result_member("nextCursor").unwrap();
    let middle = given.len() / 2;
    let (head, rest) = given.split_at(middle);
    let tampered = format!("{head}{}{}", if rest.starts_with('A') { 'B' } else { 'A' }, &rest[1..]);
    for (client, method, cursor, code) in [
        (&desk, "tools/list", &given, None),
        (&lab, "tools/list", &given, Some(-32602)),
        (&desk, "tools/list", &tampered, Some(-32602)),
        (&desk, "tools/list", &r#""c\"1""#.to_owned(), Some(-32602)),
        (&desk, "resources/list", &given, Some(-32602)),
    ] {
        server.world.offer_all();
        let params = format!(r#"{{"cursor":{cursor}}}"#);
        let answer = client.request("2", method, &params).await.unwrap();
        assert_eq!(answer.error_code(), code, "{method} with {cursor}: {answer:?}");
    }
}

#[tokio::test]
async fn a_result_passes_byte_for_byte() {
    let server = start(|_| {}).await;
    let odd = r#"{ "content":[{"type":"hologram","x":1.0}],"structuredContent":{"n":[9007199254740993,1e400]},"q":null }"#;
    let answer = server.modern().call("1", "files__strange", odd).await.unwrap();
    let kept = &odd[..odd.len() - 1];
    assert_eq!(answer.result().unwrap(), format!(r#"{kept},"resultType":"complete",{OURS}}}"#));
    assert_eq!(answer.headers["content-type"], "application/json");
    let answer = server.legacy("2025-11-25").await.call("1", "files__strange", odd).await.unwrap();
    assert_eq!(answer.result().unwrap(), odd);
}

#[tokio::test]
async fn ids_come_back_as_they_were_and_answers_go_to_their_callers() {
    let server = start(|config| {
        config.limits.in_flight_per_caller = 1000;
        config.limits.connections_per_peer = 1000;
    })
    .await;
    let long = format!("\"{}\"", "é".repeat(100));
    let ids = ["1", "\"1\"", "\"\"", "-7", r#""\u0041\n""#, long.as_str()];
    let clients: Vec<_> = (0..64)
        .map(|caller| {
            let speaks = Speaks::modern();
            (caller, HttpClient::new(&server.url(), speaks).unwrap())
        })
        .collect();
    let mut waiting = Vec::new();
    for (caller, client) in &clients {
        for (place, id) in ids.iter().enumerate() {
            waiting.push(async move {
                let arguments = format!(r#"{{"who":"{caller}/{place}"}}"#);
                let answer = client.call(id, "files__yield", &arguments).await.unwrap();
                assert_eq!(answer.id().as_deref(), Some(*id));
                assert_eq!(answer.result_member("structuredContent").as_deref(), Some(arguments.as_str()));
            });
        }
    }
    let all = waiting.len();
    let mut done = 0;
    let mut tasks: Vec<_> = waiting.into_iter().map(Box::pin).collect();
    std::future::poll_fn(|cx| {
        tasks.retain_mut(|task| {
            let ready = task.as_mut().poll(cx).is_ready();
            done += usize::from(ready);
            !ready
        });
        if tasks.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    assert_eq!(done, all);
}

#[tokio::test]
async fn failures_are_answers_too() {
    let server = start(|_| {}).await;
    let client = server.modern();
    for (tool, expected) in [
        (
            "files__nosuch",
            r#"{"code":-32602,"message":"Unknown tool: files__nosuch","data":{"kind":"unknown_tool","retryable":false,"may_have_executed":false}}"#,
        ),
        (
            "files__panic_at_once",
            r#"{"code":-32603,"message":"Internal error","data":{"kind":"internal","retryable":false,"may_have_executed":true}}"#,
        ),
        (
            "files__panic",
            r#"{"code":-32603,"message":"Internal error","data":{"kind":"internal","retryable":false,"may_have_executed":true}}"#,
        ),
        (
            "files__down",
            r#"{"code":-32603,"message":"downstream `files` ended before it answered","data":{"kind":"downstream_ended","downstream":"files","retryable":true,"may_have_executed":false}}"#,
        ),
        ("files__refuse", r#"{"code":7,"message":"no","data":1.0}"#),
    ] {
        let answer = client.call("\"f\"", tool, "{}").await.unwrap();
        assert_eq!((answer.status, answer.error().as_deref()), (200, Some(expected)), "for {tool}");
        assert_eq!(answer.id().as_deref(), Some("\"f\""));
    }
}

#[tokio::test]
async fn progress_turns_the_answer_into_a_stream_for_clients_that_take_one() {
    let server = start(|_| {}).await;
    let client = server.modern();
    let with_token = r#"{"name":"files__progress","_meta":{"progressToken":"p\"1"}}"#;
    let answer = client.request("1", "tools/call", with_token).await.unwrap();
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    assert_eq!(answer.headers["x-accel-buffering"], "no");
    let progress =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
    assert_eq!(
        answer.before,
        [
            progress(r#"{"progressToken":"p\"1","progress":1,"x":1.0}"#),
            progress(r#"{"progressToken":"p\"1","progress":2.5,"x":1.0}"#),
            progress(r#"{"progressToken":"p\"1","progress":3,"x":1.0}"#),
            progress(r#"{"progressToken":"p\"1","progress":4}"#),
        ]
    );
    assert!(answer.result().is_some());

    // Not asked for, or not acceptable: one JSON object.
    for (params, accept) in [
        (r#"{"name":"files__progress"}"#, "application/json, text/event-stream"),
        (with_token, "application/json"),
    ] {
        let answer = client.request_with("2", "tools/call", params, &[("accept", accept)]).await.unwrap();
        assert_eq!(
            (answer.headers["content-type"].to_str().unwrap(), answer.before.len()),
            ("application/json", 0)
        );
    }
    let only_events = [("accept", "text/event-stream")];
    let answer = client.request_with("3", "tools/list", "{}", &only_events).await.unwrap();
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    assert!(answer.result().is_some());
    let neither = client.request_with("4", "tools/list", "{}", &[("accept", "text/html")]).await.unwrap();
    assert_eq!(neither.status, 406);
}

#[tokio::test]
async fn logs_come_with_the_request_that_asks_for_their_level() {
    let server = start(|_| {}).await;
    for (level, expected) in [("info", 1), ("debug", 1), ("error", 0)] {
        let params = format!(
            r#"{{"name":"files__progress","_meta":{{"io.modelcontextprotocol/logLevel":"{level}"}}}}"#
        );
        let answer = server.modern().request("1", "tools/call", &params).await.unwrap();
        let logs = answer.before.iter().filter(|text| text.contains("notifications/message")).count();
        assert_eq!((logs, answer.before.len()), (expected, expected), "at {level}");
    }
}

#[tokio::test]
async fn events_that_do_not_fit_are_dropped_and_counted() {
    let server = start(|config| config.limits.event_queue = 4).await;
    let params = r#"{"name":"files__flood","_meta":{"progressToken":1}}"#;
    let answer = server.modern().request("1", "tools/call", params).await.unwrap();
    assert_eq!(answer.before.len(), 4);
    assert!(answer.result().is_some());
    let metrics = server
        .raw(&format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.addr))
        .await;
    assert!(metrics.body.contains("gateway_events_dropped_total 996\n"), "{metrics:?}");
}

#[tokio::test]
async fn events_that_wait_are_bounded_in_bytes_and_make_room_when_they_are_taken() {
    let server = start(|config| config.limits.event_queue_bytes = 250).await;
    let params = r#"{"name":"files__log","_meta":{"io.modelcontextprotocol/logLevel":"info"}}"#;
    let answer = server.modern().request("1", "tools/call", params).await.unwrap();
    // Two of 92 bytes fit at a time.
    assert_eq!(answer.before.len(), 4);
    assert!(answer.result().is_some());
    let metrics = server
        .raw(&format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.addr))
        .await;
    assert!(metrics.body.contains("gateway_events_dropped_total 6\n"), "{metrics:?}");
}

#[tokio::test]
async fn a_second_holds_so_many_events() {
    let server = start(|config| {
        config.limits.event_queue = 1000;
        config.limits.events_per_second = 7;
    })
    .await;
    let params = r#"{"name":"files__flood","_meta":{"progressToken":1}}"#;
    let answer = server.modern().request("1", "tools/call", params).await.unwrap();
    assert!((7..=14).contains(&answer.before.len()), "{} events", answer.before.len());
    assert!(answer.result().is_some());
}

#[tokio::test]
async fn leaving_cancels() {
    let server = start(|_| {}).await;
    let client = server.modern();
    // Before anything was answered, and in mid-stream.
    let call = client.call("1", "files__hang", "{}");
    tokio::select! {
        _ = call => panic!("this call does not end"),
        () = server.world.reaches(&server.world.begun, 1) => {}
    }
    server.world.reaches(&server.world.dropped, 1).await;
    let params = r#"{"name":"files__progress_then_hang","_meta":{"progressToken":1}}"#;
    let mut stream = client.open("2", "tools/call", params).await.unwrap();
    assert!(stream.next().await.unwrap().unwrap().contains("notifications/progress"));
    assert_eq!(server.world.dropped.load(Ordering::SeqCst), 1);
    drop(stream);
    server.world.reaches(&server.world.dropped, 2).await;
}

#[tokio::test]
async fn notifications_are_accepted_and_sessions_ignored() {
    let server = start(|_| {}).await;
    let client = server.modern();
    let answer = client.notify("notifications/cancelled", r#"{"requestId":1}"#).await.unwrap();
    assert_eq!((answer.status, answer.text.as_str()), (202, ""));
    for (header, value, status) in [
        ("mcp-method", "notifications/other", 400),
        ("mcp-protocol-version", "2025-11-25", 400),
        ("mcp-protocol-version", MODERN, 202),
    ] {
        let body =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{{}}}}}"#, envelope(MODERN));
        let answer = client.post(&body, &[(header, value)]).await.unwrap();
        assert_eq!(answer.status, status, "with {header}: {value}");
    }
    client.use_session(Some("made-up"));
    let answer = client.call("1", "files__echo", "{}").await.unwrap();
    assert_eq!((answer.status, answer.headers.get("mcp-session-id")), (200, None));
    client.use_session(None);
    let ignored = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Session-Id: x\r\n";
    for (method, headers) in [("GET", ""), ("DELETE", ""), ("GET", ignored), ("DELETE", ignored)] {
        let text = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nConnection: close\r\n{headers}\r\n",
            server.addr
        );
        let answer = server.raw(&text).await;
        assert_eq!(answer.status, 405);
        assert!(answer.head.contains("allow: get, post, delete"), "{answer:?}");
    }
    tokio::time::sleep(QUIET).await;
    assert!(server.world.ended.lock().unwrap().is_empty());
}

#[tokio::test]
async fn one_downstream_has_a_path_of_its_own() {
    let server = start(|_| {}).await;
    let client = |name: &str| HttpClient::new(&format!("{}/{name}", server.url()), Speaks::modern()).unwrap();
    let answer = client("files").request("1", "tools/list", "{}").await.unwrap();
    assert_eq!(answer.result_member("nextCursor"), None);
    for unknown in ["nosuch", "a__b", "files/x"] {
        assert_eq!(client(unknown).request("1", "tools/list", "{}").await.unwrap().status, 404);
    }
}
