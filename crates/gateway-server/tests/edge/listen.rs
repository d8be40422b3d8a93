use std::time::Duration;

use gateway_server::ClientKey;
use gateway_testkit::client::{HttpClient, Speaks};
use tokio::time::timeout;

use crate::support::{QUIET, keys, start, until};

const TOOLS: &str = r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b"]}}"#;

fn tag(id: &str) -> String {
    format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#)
}

#[tokio::test]
async fn a_modern_stream_acknowledges_then_tells_and_ends_with_a_result() {
    let mut server = start(|_| {}).await;
    let client = server.modern();
    for id in ["\"L1\"", "1", "\"1\""] {
        let mut stream = client.open(id, "subscriptions/listen", TOOLS).await.unwrap();
        assert_eq!(stream.headers["x-accel-buffering"], "no");
        let tag = tag(id);
        assert_eq!(
            stream.next().await.unwrap().unwrap(),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{{tag},"notifications":{{"toolsListChanged":true}}}}}}"#
            )
        );
        let changed =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{{tag}}}}}"#);
        for _ in 0..3 {
            assert!(timeout(QUIET, stream.next()).await.is_err(), "nothing has changed");
            server.world.change();
            assert_eq!(stream.next().await.unwrap().unwrap(), changed);
        }
        if id == "\"1\"" {
            drop(server.stop.take());
            assert_eq!(
                stream.next().await.unwrap().unwrap(),
                format!(r#"{{"jsonrpc":"2.0","id":"1","result":{{"resultType":"complete",{tag}}}}}"#)
            );
            assert_eq!(stream.next().await.unwrap(), None);
        }
    }
    assert!(server.served.await.unwrap());
}

/// The messages of a stream until it says nothing for a while.
async fn heard(stream: &mut gateway_testkit::client::Messages<'_>) -> Vec<String> {
    let mut all = Vec::new();
    while let Ok(message) = timeout(3 * QUIET, stream.next()).await {
        all.push(message.unwrap().unwrap());
    }
    all
}

#[tokio::test]
async fn every_kind_that_is_offered_and_asked_for_is_told() {
    let server = start(|config| config.limits.subscriptions_per_listen = 3).await;
    server.world.offer_all();
    let client = server.modern();
    let all = r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:1","a:missing","a:1","a:2","a:3"],"x":1}}"#;
    let mut stream = client.open("7", "subscriptions/listen", all).await.unwrap();
    let mut tools = client.open("8", "subscriptions/listen", TOOLS).await.unwrap();
    let acknowledged = stream.next().await.unwrap().unwrap();
    assert!(
        acknowledged.ends_with(
            r#""notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:1","a:2"]}}}"#
        ),
        "{acknowledged}"
    );
    assert!(tools.next().await.unwrap().unwrap().ends_with(
        r#""notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b"]}}}"#
    ));
    // Several changes at once are one, and one of nothing that is shown is none.
    for _ in 0..5 {
        server.world.change_list(|lists| &mut lists.resources);
        server.world.change_list(|lists| &mut lists.prompts);
    }
    server.world.generation.send_modify(|generation| *generation += 1);
    let tag = tag("7");
    let notification = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{params}}}}}"#)
    };
    assert_eq!(
        heard(&mut stream).await,
        [
            notification("notifications/prompts/list_changed", &tag),
            notification("notifications/resources/list_changed", &tag),
        ]
    );
    assert_eq!(heard(&mut tools).await.len(), 1);
    for _ in 0..3 {
        server.world.update("a:1", r#"{"uri":"a:1/below","x":1.0,"_meta":{"k":1}}"#);
    }
    assert_eq!(
        heard(&mut stream).await,
        [notification(
            "notifications/resources/updated",
            r#""uri":"a:1/below","x":1.0,"_meta":{"k":1,"io.modelcontextprotocol/subscriptionId":7}"#
        )]
    );
    assert!(heard(&mut tools).await.is_empty());
    assert_eq!(server.world.watching(), 3);
    drop(stream);
    until(|| server.world.watching() == 1).await;
}

#[tokio::test]
async fn what_the_rules_refuse_from_now_on_is_watched_no_longer() {
    let server = start(|_| {}).await;
    server.world.offer_all();
    let (modern, session) = (server.modern(), server.legacy("2025-11-25").await);
    session.notify("notifications/initialized", "{}").await.unwrap();
    let mut told = session.listen().await.unwrap();
    for uri in ["a:1", "a:2", "a:3"] {
        session.request("1", "resources/subscribe", &format!(r#"{{"uri":"{uri}"}}"#)).await.unwrap();
    }
    let filter = r#"{"notifications":{"resourceSubscriptions":["a:1","a:2","a:3"]}}"#;
    let mut listening = modern.open("7", "subscriptions/listen", filter).await.unwrap();
    listening.next().await.unwrap();
    assert_eq!(server.world.watching(), 6);

    server.world.refused.lock().unwrap().push("a:1");
    server.world.down.lock().unwrap().push("a:2");
    server.settings.rules_changed();
    until(|| server.world.watching() == 4).await;
    // Those that stay are those of before, or have taken their place.
    until(|| server.world.watched.lock().unwrap().len() == 8).await;
    for stream in [&mut told, &mut listening] {
        for uri in ["a:1", "a:2", "a:3"] {
            server.world.update(uri, &format!(r#"{{"uri":"{uri}"}}"#));
        }
        let heard = heard(stream).await.concat();
        let heard = ["a:1", "a:2", "a:3"].map(|uri| heard.contains(uri));
        assert_eq!(heard, [false, true, true], "the streams go on");
    }
    server.settings.rules_changed();
    server.world.refused.lock().unwrap().clear();
    tokio::time::sleep(QUIET).await;
    assert_eq!(server.world.watching(), 4, "what is gone has to be asked for");
}

#[tokio::test]
async fn who_is_shown_the_same_as_before_is_told_nothing() {
    let server = start(|config| {
        config.clients = keys();
        config.clients.push(ClientKey::new("blind", "b"));
    })
    .await;
    server.world.change();
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    for (key, is_told) in [("k", true), ("b", false)] {
        for speaks in [Speaks::modern(), Speaks::legacy()] {
            let client = HttpClient::new(&server.url(), speaks.clone()).unwrap();
            let client = client.with_header("authorization", &format!("Bearer {key}"));
            client.shake_hands().await.unwrap();
            let mut stream = match &speaks {
                Speaks::Modern(_) => client.open("7", "subscriptions/listen", filter).await.unwrap(),
                Speaks::Legacy(_) => client.listen().await.unwrap(),
            };
            if speaks == Speaks::modern() {
                stream.next().await.unwrap();
            }
            assert!(heard(&mut stream).await.is_empty(), "{key} {speaks:?}: nothing has changed");
            server.world.change();
            assert_eq!(!heard(&mut stream).await.is_empty(), is_told, "{key} {speaks:?}");
        }
    }
}

#[tokio::test]
async fn each_resource_that_a_stream_does_not_get_is_on_record() {
    let server = start(|config| config.limits.subscriptions_per_listen = 3).await;
    server.world.offer_all();
    server.world.down.lock().unwrap().push("a:3");
    let filter = r#"{"notifications":{"resourceSubscriptions":["missing:1","a:3","missing:1","missing:2","missing:4"]}}"#;
    let client = server.modern();
    client.open("7", "subscriptions/listen", filter).await.unwrap().next().await.unwrap();
    let refusals = server.world.refusals.lock().unwrap().clone();
    let mut found: Vec<_> =
        refusals.into_iter().map(|(.., method, name, reason)| (method, name, reason)).collect();
    found.sort();
    let refused = |uri: &str| {
        (Some("subscriptions/listen".to_owned()), Some(uri.to_owned()), "unknown_resource".to_owned())
    };
    assert_eq!(found, [refused("missing:1"), refused("missing:2")]);
}

#[tokio::test]
async fn a_resource_that_is_not_watched_in_time_is_not_granted() {
    let server = start(|_| {}).await;
    server.world.offer_all();
    let client = server.modern();
    let filter = r#"{"notifications":{"resourceSubscriptions":["a:hang","a:1"]}}"#;
    let mut stream = client.open("7", "subscriptions/listen", filter).await.unwrap();
    let acknowledged = timeout(Duration::from_secs(4), stream.next()).await.unwrap().unwrap().unwrap();
    assert!(
        acknowledged.ends_with(r#""notifications":{"resourceSubscriptions":["a:1"]}}}"#),
        "{acknowledged}"
    );
}

#[tokio::test]
async fn tasks_are_listened_for_by_those_who_declare_them_only() {
    let server = start(|_| {}).await;
    let client = server.modern();
    let filter = r#"{"notifications":{"taskIds":["t"]}}"#;
    let answer = client.request("1", "subscriptions/listen", filter).await.unwrap();
    assert_eq!((answer.status, answer.error_code()), (400, Some(-32021)));
    let client = server.able(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
    let mut stream = client.open("1", "subscriptions/listen", filter).await.unwrap();
    assert!(stream.next().await.unwrap().unwrap().ends_with(r#""notifications":{}}}"#));
}

#[tokio::test]
async fn what_is_not_asked_for_is_not_told() {
    let server = start(|_| {}).await;
    let client = server.modern();
    for filter in [r#"{"notifications":{}}"#, r#"{"notifications":{"toolsListChanged":false,"x":[1]}}"#] {
        let mut stream = client.open("1", "subscriptions/listen", filter).await.unwrap();
        assert!(stream.next().await.unwrap().unwrap().ends_with(r#""notifications":{}}}"#));
        server.world.change();
        assert!(timeout(QUIET, stream.next()).await.is_err());
    }
    for filter in [
        "{}",
        r#"{"notifications":[]}"#,
        r#"{"notifications":{"toolsListChanged":1}}"#,
        r#"{"notifications":{"resourceSubscriptions":"a:b"}}"#,
        r#"{"notifications":{"resourceSubscriptions":[1]}}"#,
    ] {
        let answer = client.request("1", "subscriptions/listen", filter).await.unwrap();
        assert_eq!((answer.status, answer.error_code()), (200, Some(-32602)), "for {filter}");
    }
    let json = [("accept", "application/json")];
    let answer = client.request_with("1", "subscriptions/listen", TOOLS, &json).await.unwrap();
    assert_eq!((answer.status, answer.id().as_deref()), (406, Some("1")));
}

#[tokio::test]
async fn a_caller_has_so_many_streams_and_no_more() {
    let server = start(|config| {
        config.clients = keys();
        config.limits.listens_per_caller = 2;
    })
    .await;
    let client = server.modern();
    let one = client.open("1", "subscriptions/listen", TOOLS).await.unwrap();
    let two = client.open("2", "subscriptions/listen", TOOLS).await.unwrap();
    let three = client.request("3", "subscriptions/listen", TOOLS).await.unwrap();
    assert_eq!((three.status, three.headers["retry-after"].to_str().unwrap()), (429, "1"));
    drop(one);
    let again = async {
        while client.open("4", "subscriptions/listen", TOOLS).await.unwrap().status != 200 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(Duration::from_secs(5), again).await.expect("the place of a stream that is gone is free");
    drop(two);
}

#[tokio::test]
async fn a_legacy_session_has_one_stream() {
    let mut server = start(|_| {}).await;
    let client = server.legacy("2025-11-25").await;
    let mut stream = client.listen().await.unwrap();
    assert_eq!((stream.status, stream.is_stream()), (200, true));
    assert_eq!(client.listen().await.unwrap().status, 409);
    server.world.change();
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert_eq!(stream.next().await.unwrap().unwrap(), changed);
    drop(stream);
    let again = async {
        loop {
            let stream = client.listen().await.unwrap();
            if stream.status == 200 {
                break stream;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let mut stream = timeout(Duration::from_secs(5), again).await.unwrap();
    drop(server.stop.take());
    assert_eq!(stream.next().await.unwrap(), None);
    assert!(server.served.await.unwrap());
}

#[tokio::test]
async fn a_get_without_a_stream_is_refused_by_rule() {
    let server = start(|_| {}).await;
    let client = server.legacy("2025-11-25").await;
    let id = client.session().unwrap();
    let get = |headers: String| {
        format!("GET /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", server.addr)
    };
    for (headers, status) in [
        ("Accept: text/event-stream\r\n".to_owned(), 405),
        ("Accept: text/event-stream\r\nMcp-Session-Id: unknown\r\n".to_owned(), 404),
        (format!("Accept: application/json\r\nMcp-Session-Id: {id}\r\n"), 406),
        (format!("Accept: text/event-stream\r\nMcp-Session-Id: {id}\r\nMCP-Protocol-Version: x\r\n"), 400),
    ] {
        assert_eq!(server.raw(&get(headers.clone())).await.status, status, "with {headers:?}");
    }
}

#[tokio::test]
async fn quiet_streams_are_kept_open_with_comments() {
    let server = start(|config| config.limits.keep_alive = Duration::from_millis(20)).await;
    let client = server.legacy("2025-11-25").await;
    let text = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {}\r\n\r\n",
        server.addr,
        client.session().unwrap()
    );
    let addr = server.addr;
    let read = tokio::spawn(async move {
        let quiet = Duration::from_millis(400);
        gateway_testkit::client::raw_until(addr, text.as_bytes(), quiet).await.unwrap()
    });
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(client.delete().await.unwrap().status, 204);
    let text = String::from_utf8(read.await.unwrap()).unwrap();
    assert!(text.matches(":\n\n").count() >= 2, "{text}");
    until(|| server.world.ended.lock().unwrap().len() == 1).await;
}
