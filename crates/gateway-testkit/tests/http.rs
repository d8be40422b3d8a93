//! The HTTP fake does what its switches say, seen through the client.
#![expect(clippy::unwrap_used, reason = "a test stops where its set-up fails")]

use std::time::Duration;

use bytes::Bytes;
use gateway_testkit::{
    Era, Profile,
    client::{HttpClient, Speaks, raw},
    fixtures,
    http::{Faults, HttpFake, LineEnd, Shape},
};
use tokio::time::timeout;

type Flip = fn(&mut Faults);
type Headers = &'static [(&'static str, &'static str)];

const SOON: Duration = Duration::from_secs(10);

fn fake(era: Era) -> HttpFake {
    HttpFake::start(Profile { era, ..Profile::default() })
}

async fn modern(fake: &HttpFake) -> HttpClient {
    HttpClient::connect(&fake.url(), Speaks::modern()).await.unwrap()
}

async fn legacy(fake: &HttpFake) -> HttpClient {
    HttpClient::connect(&fake.url(), Speaks::legacy()).await.unwrap()
}

#[tokio::test]
async fn both_eras_answer_byte_for_byte_in_every_shape() {
    let fake = fake(Era::Dual);
    let shapes: [Flip; 7] = [
        |_| {},
        |f| f.shape = Shape::Sse,
        |f| (f.shape, f.line_end) = (Shape::Sse, LineEnd::Crlf),
        |f| (f.shape, f.line_end, f.bom) = (Shape::Sse, LineEnd::Cr, true),
        |f| (f.shape, f.prime, f.named_events) = (Shape::Sse, Some(10), true),
        |f| f.drip = Some((100, Duration::from_millis(1))),
        |f| (f.shape, f.drip) = (Shape::Sse, Some((100, Duration::from_millis(1)))),
    ];
    for (row, shape) in shapes.into_iter().enumerate() {
        fake.heal();
        fake.set(shape);
        let answer = modern(&fake).await.call("\"1\"", "odd", "{}").await.unwrap();
        assert_eq!(answer.result().as_deref(), Some(fixtures::ODD_RESULT_MODERN), "row {row}");
        let answer = legacy(&fake).await.call("1", "odd", "{}").await.unwrap();
        assert_eq!(answer.result().as_deref(), Some(fixtures::ODD_RESULT), "row {row}");
    }
}

#[tokio::test]
async fn spread_bodies_hold_the_same_tokens() {
    let fake = fake(Era::Dual);
    let client = modern(&fake).await;
    let plain = client.call("1", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    fake.set(|f| f.pretty = true);
    let pretty = client.call("1", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    fake.set(|f| (f.pretty, f.shape, f.multi_line_data) = (false, Shape::Sse, true));
    let lines = client.call("1", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    assert!(pretty.text.lines().count() > 10);
    assert_eq!(lines.text.lines().count(), 3);
    let tight = |text: &str| text.replace([' ', '\r', '\n'], "");
    assert_eq!(tight(&pretty.text), tight(&plain.text));
    assert_eq!(tight(&lines.text), tight(&plain.text));
}

#[tokio::test]
async fn mirrored_headers_must_agree() {
    let fake = fake(Era::Dual);
    let client = modern(&fake).await;
    let call = r#"{"name":"mirror","arguments":{"site":"Zürich","count":42,"dry":null}}"#;
    let rows: [(Headers, Option<i64>); 5] = [
        (&[("mcp-param-site", "=?base64?WsO8cmljaA==?="), ("mcp-param-count", "42.0")], None),
        (&[("mcp-param-site", "=?base64?WsO8cmljaA==?=")], Some(-32020)),
        (&[("mcp-param-site", "Bern"), ("mcp-param-count", "42")], Some(-32020)),
        (&[("mcp-param-site", "=?base64?%%?="), ("mcp-param-count", "42")], Some(-32020)),
        (&[("mcp-method", "tools/list")], Some(-32020)),
    ];
    for (headers, code) in rows {
        let answer = client.request_with("1", "tools/call", call, headers).await.unwrap();
        assert_eq!(answer.error_code(), code, "{headers:?}: {}", answer.text);
        assert_eq!(answer.status, if code.is_some() { 400 } else { 200 });
    }
}

#[tokio::test]
async fn sessions_are_required_forgotten_and_ended() {
    let fake = fake(Era::Legacy);
    let client = legacy(&fake).await;
    assert_eq!(client.call("1", "counter", "{}").await.unwrap().status, 200);
    let second = client.call("2", "counter", "{}").await.unwrap();
    assert_eq!(second.result_member("structuredContent").unwrap(), r#"{"count":2}"#);
    let id = client.session().unwrap();
    client.use_session(None);
    assert_eq!(client.call("3", "counter", "{}").await.unwrap().status, 400);
    client.use_session(Some(&id));
    fake.forget_sessions();
    assert_eq!(client.call("4", "counter", "{}").await.unwrap().status, 404);
    client.shake_hands().await.unwrap();
    let fresh = client.call("5", "counter", "{}").await.unwrap();
    assert_eq!(fresh.result_member("structuredContent").unwrap(), r#"{"count":1}"#);
    assert_eq!(client.delete().await.unwrap().status, 200);
    assert!(fake.sessions().is_empty());
}

#[tokio::test]
async fn probes_meet_each_era() {
    let rows = [(Era::Legacy, 400, Some(-32601)), (Era::Modern, 200, None), (Era::Dual, 200, None)];
    for (era, status, code) in rows {
        let fake = fake(era);
        let answer = modern(&fake).await.request("0", "server/discover", "{}").await.unwrap();
        assert_eq!((answer.status, answer.error_code()), (status, code), "{era:?}");
    }
    let refused = HttpClient::connect(&fake(Era::Modern).url(), Speaks::legacy()).await;
    assert!(refused.unwrap_err().to_string().contains("-32602"));
}

#[tokio::test]
async fn answers_fail_as_told_and_heal() {
    let fake = fake(Era::Dual);
    let client = modern(&fake).await;
    let statuses: [(Flip, u16); 5] = [
        (|f| f.status = Some(500), 500),
        (|f| (f.status, f.headers) = (Some(429), vec![("retry-after".into(), "1".into())]), 429),
        (|f| f.redirect = Some("http://127.0.0.1:9/".into()), 302),
        (|f| f.body = Some(Bytes::from_static(b"<html>")), 200),
        (|f| f.filler_headers = 5000, 200),
    ];
    for (fault, status) in statuses {
        fake.set(fault);
        let answer = client.call("1", "echo", "{}").await.unwrap();
        assert_eq!(answer.status, status);
        assert!(status == 200 || answer.result().is_none());
        fake.heal();
        assert_eq!(client.call("1", "echo", "{}").await.unwrap().status, 200);
    }
    let drops: [Flip; 4] = [
        |f| f.drop_before = true,
        |f| f.drop_mid_answer = true,
        |f| (f.drop_mid_answer, f.shape) = (true, Shape::Sse),
        |f| (f.drop_before, f.only) = (true, Some("tools/call".into())),
    ];
    for fault in drops {
        fake.set(fault);
        assert!(timeout(SOON, client.call("1", "echo", "{}")).await.unwrap().is_err());
        fake.heal();
    }
}

#[tokio::test]
async fn what_never_ends_does_not_end() {
    let fake = fake(Era::Dual);
    let client = modern(&fake).await;
    let endless: [Flip; 4] = [
        |f| f.hang = true,
        |f| f.endless_body = true,
        |f| (f.endless_body, f.shape) = (true, Shape::Sse),
        |f| f.endless_comments = true,
    ];
    for fault in endless {
        fake.set(fault);
        assert!(timeout(Duration::from_millis(100), client.call("1", "echo", "{}")).await.is_err());
        fake.heal();
        assert_eq!(client.call("1", "echo", "{}").await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn the_port_closes_and_comes_back() {
    let fake = fake(Era::Dual);
    let client = modern(&fake).await;
    for _ in 0..3 {
        client.call("1", "echo", "{}").await.unwrap();
        fake.close();
        assert!(client.call("2", "echo", "{}").await.is_err());
        fake.open();
        client.call("3", "echo", "{}").await.unwrap();
    }
    fake.cut();
    client.close_idle();
    client.call("4", "echo", "{}").await.unwrap();
    assert_eq!(fake.connection_count(), 5);
}

#[tokio::test]
async fn streams_carry_progress_changes_and_pushes() {
    let fake = HttpFake::start(Profile { request_roots: true, ..Profile::default() });
    let client = legacy(&fake).await;
    let params = r#"{"name":"progress","arguments":{"n":3},"_meta":{"progressToken":9}}"#;
    assert_eq!(client.request("1", "tools/call", params).await.unwrap().before.len(), 3);

    let mut stream = client.listen().await.unwrap();
    assert!(stream.next().await.unwrap().unwrap().contains("roots/list"));
    fake.add_tool(fixtures::LATE_TOOL);
    assert!(stream.next().await.unwrap().unwrap().contains("tools/list_changed"));
    assert!(fake.push(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#));
    assert!(stream.next().await.unwrap().unwrap().contains("ping"));

    let client = modern(&fake).await;
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    let mut listen = client.open("\"L\"", "subscriptions/listen", filter).await.unwrap();
    assert!(listen.next().await.unwrap().unwrap().contains("acknowledged"));
    fake.set_tools(&fixtures::tools(20));
    assert!(
        listen.next().await.unwrap().unwrap().contains(r#""io.modelcontextprotocol/subscriptionId":"L""#)
    );
    fake.set(|f| f.get_stream = false);
    assert_eq!(client.listen().await.unwrap().status, 405);
}

#[tokio::test]
async fn leaving_a_modern_call_cancels_it() {
    let fake = fake(Era::Dual);
    let client = modern(&fake).await;
    for (shape, id) in [(Shape::Json, "\"a\""), (Shape::Sse, "\"b\"")] {
        fake.set(|f| f.shape = shape);
        let call = client.call(id, "sleep_ms", r#"{"ms":60000}"#);
        assert!(timeout(Duration::from_millis(100), call).await.is_err());
        let noticed = async {
            while !fake.cancelled().contains(&id.to_owned()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, noticed).await.unwrap();
    }
}

#[tokio::test]
async fn raw_bytes_go_through_and_requests_are_recorded() {
    let fake = fake(Era::Dual);
    let answer = raw(fake.addr(), b"PUT /x HTTP/1.1\r\nHost: a\r\nX-Odd: 1\r\nContent-Length: 2\r\n\r\nhi")
        .await
        .unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 405"));
    let seen = fake.requests();
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str(), seen[0].body.as_str()), ("PUT", "/x", "hi"));
    assert_eq!(seen[0].headers["x-odd"], "1");
}

#[tokio::test]
async fn calls_in_flight_together_get_their_own_answers() {
    let fake = fake(Era::Dual);
    let client = std::sync::Arc::new(modern(&fake).await);
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..64 {
        let client = client.clone();
        calls.spawn(async move {
            let id = if n % 2 == 0 { n.to_string() } else { format!("\"{}\"", n - 1) };
            let arguments = format!(r#"{{"ms":{},"n":{n}}}"#, (n * 7) % 20);
            let answer = client.call(&id, "sleep_ms", &arguments).await.unwrap();
            assert_eq!(answer.result_member("structuredContent").unwrap(), arguments);
        });
    }
    assert_eq!(calls.join_all().await.len(), 64);
}

#[tokio::test]
async fn a_legacy_question_is_asked_on_the_stream_of_the_call() {
    let fake = fake(Era::Legacy);
    let client = legacy(&fake).await;
    let mut stream = client.open("7", "tools/call", r#"{"name":"ask"}"#).await.unwrap();
    let asked = stream.next().await.unwrap().unwrap();
    assert!(asked.contains("elicitation/create"));
    let reply = r#"{"jsonrpc":"2.0","id":"ask-1","result":{"action":"cancel"}}"#;
    assert_eq!(client.post(reply, &[]).await.unwrap().status, 202);
    assert!(stream.answer("7").await.unwrap().text.contains(r#""answer":{"action":"cancel"}"#));
}
