//! Streams of sessions that are gone on with (protocol.md §4.5).

use std::{net::SocketAddr, time::Duration};

use gateway_testkit::client::HttpClient;

use crate::{
    asking::{client, serve},
    support::{Raw, raw, until},
};

fn get(addr: SocketAddr, client: &HttpClient, more: &str) -> String {
    let session = client.session().unwrap();
    format!(
        "GET /mcp HTTP/1.1\r\nHost: {addr}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n{more}\r\n"
    )
}

/// What is said until it is quiet for a while; then the connection breaks.
async fn listen(addr: SocketAddr, client: &HttpClient, more: &str) -> Raw {
    let text = get(addr, client, more);
    let bytes = gateway_testkit::client::raw_until(addr, text.as_bytes(), Duration::from_millis(300)).await;
    let text = String::from_utf8(bytes.unwrap()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Raw { status, head: head.to_owned(), body: body.to_owned() }
}

fn step(client: &HttpClient, addr: SocketAddr) -> String {
    let body = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"step","_meta":{"progressToken":7}}}"#;
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {addr}\r\nContent-Type: application/json\r\nMcp-Session-Id: {}\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        client.session().unwrap(),
        body.len()
    )
}

const PROGRESS: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":5,"result":{"content":[],"structuredContent":{}}}"#;

#[tokio::test]
async fn the_answer_to_a_call_whose_connection_broke_is_kept_for_its_client() {
    let (asker, addr) = serve(|config| config.limits.replay_time = Duration::from_millis(400)).await;
    for (revision, primed) in [("2025-11-25", true), ("2025-06-18", false)] {
        let client = client(addr, revision, "{}").await;
        let patience = Duration::from_millis(300);
        let begun = gateway_testkit::client::raw_until(addr, step(&client, addr).as_bytes(), patience).await;
        let begun = String::from_utf8(begun.unwrap()).unwrap();
        let first = if primed { "retry: 1000\nid: 1-0\ndata: \n\n" } else { "retry: 1000\n" };
        assert!(begun.contains(first), "{begun}");
        assert!(begun.contains(&format!("id: 1-1\ndata: {PROGRESS}\n\n")), "{begun}");
        // The connection is gone; the call is not.
        asker.go.notify_one();
        let rest = listen(addr, &client, "Last-Event-ID: 1-1\r\n").await;
        assert!(rest.body.contains(&format!("id: 1-2\ndata: {RESULT}\n\n")), "{rest:?}");
        assert!(!rest.body.contains(PROGRESS) && rest.head.contains("text/event-stream"), "{rest:?}");
        // From the beginning it is all there.
        let all = listen(addr, &client, "Last-Event-ID: 1-0\r\n").await;
        assert!(all.body.contains(PROGRESS) && all.body.contains(RESULT), "{all:?}");
        // In another session there is no such stream, and for ever it is not kept.
        let other = self::client(addr, revision, "{}").await;
        assert_eq!(listen(addr, &other, "Last-Event-ID: 1-1\r\n").await.status, 400);
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(listen(addr, &client, "Last-Event-ID: 1-1\r\n").await.status, 400);
    }
}

#[tokio::test]
async fn a_stream_is_gone_on_with_while_its_call_runs() {
    let (asker, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", "{}").await;
    let patience = Duration::from_millis(200);
    gateway_testkit::client::raw_until(addr, step(&client, addr).as_bytes(), patience).await.unwrap();
    let go = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        asker.go.notify_one();
    };
    let (rest, ()) = tokio::join!(listen(addr, &client, "Last-Event-ID: 1-1\r\n"), go);
    assert!(rest.body.contains(RESULT), "{rest:?}");
}

#[tokio::test]
async fn a_session_hears_what_happened_while_its_stream_was_broken() {
    let (asker, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", "{}").await;
    let opened = listen(addr, &client, "").await;
    assert!(opened.body.contains("retry: 1000\nid: 0-0\ndata: \n\n"), "{opened:?}");
    asker.world.change();
    let rest = listen(addr, &client, "Last-Event-ID: 0-0\r\n").await;
    assert!(
        rest.body
            .contains("id: 0-1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"),
        "{rest:?}"
    );
    // Who begins anew is told once more only of what is new.
    let anew = listen(addr, &client, "").await;
    assert!(!anew.body.contains("list_changed") && anew.body.contains("id: 0-1\ndata: \n\n"), "{anew:?}");
}

#[tokio::test]
async fn going_on_takes_the_place_of_the_broken_connection() {
    let (_, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", "{}").await;
    let mut stream = client.listen().await.unwrap();
    let ended = async {
        assert_eq!(stream.next().await.unwrap(), None, "another one reads now");
    };
    let (again, ()) = tokio::join!(listen(addr, &client, "Last-Event-ID: 0-0\r\n"), ended);
    assert_eq!(again.status, 200);
    until(|| true).await;
}

#[tokio::test]
async fn ids_that_were_never_given_are_refused_without_an_end_of_the_session() {
    let (_, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", "{}").await;
    let mut stream = client.listen().await.unwrap();
    for id in ["x", "1-1", "7-0", "0", "0-1-1", "0-1", "0-18446744073709551615"] {
        let text = get(addr, &client, &format!("Connection: close\r\nLast-Event-ID: {id}\r\n"));
        let refused = raw(addr, &text).await;
        assert!(refused.status == 400 && refused.body.contains("event_unknown"), "{id}: {refused:?}");
    }
    let silent = tokio::time::timeout(Duration::from_millis(50), stream.next()).await;
    assert!(silent.is_err(), "the stream that is read goes on");
    assert!(client.call("1", "echo", "{}").await.unwrap().result().is_some());
}
