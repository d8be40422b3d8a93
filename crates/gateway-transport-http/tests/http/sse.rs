//! Servers of the HTTP+SSE transport (2024-11-05).

use std::{sync::Arc, time::Duration};

use gateway_domain::{
    DownstreamSession, Era, InputRequired, ListKind, Outcome, RawObject, Session, SessionProfile, State,
};
use gateway_transport_http::HttpSession;

use crate::support::{Exchanged, Heard, Sink, Wire, can, eventually, exchange, factory, fault, params};

/// A server that takes messages at `/messages` only.
async fn server() -> Wire {
    Wire::start(|request| {
        if request.starts_with("POST /mcp") {
            return Some(
                "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into(),
            );
        }
        if request.contains(r#""id":"slow""#) {
            // It leaves us to wait.
            return None;
        }
        let accepted = "HTTP/1.1 202 Accepted\r\ncontent-length: 8\r\nconnection: close\r\n\r\nAccepted";
        request.starts_with("POST /messages?s=1 ").then(|| accepted.into())
    })
    .await
}

/// The raw id of the request with this text.
async fn id(wire: &Wire, method: &str) -> String {
    let text = format!(r#""method":"{method}""#);
    wire.sees(&text).await;
    crate::support::id(&wire.last(&text)).to_owned()
}

async fn answer(wire: &Wire, stream: &mut Exchanged, method: &str, result: &str) {
    let id = id(wire, method).await;
    stream.event(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
}

async fn open(wire: &mut Wire) -> (Arc<HttpSession>, Exchanged, Arc<crate::support::Observer>) {
    let (factory, observer) = factory(&wire.url(), |_| {});
    let profile = SessionProfile {
        era: Era::Modern,
        capabilities: can(r#"{"elicitation":{"form":{}},"roots":{}}"#),
        ..SessionProfile::default()
    };
    let opening = tokio::spawn(async move { factory.open(&profile).await.unwrap() });
    let mut stream = wire.next().await;
    assert!(stream.is("GET /mcp") && stream.is("accept: text/event-stream"), "{}", stream.request);
    stream.stream().await;
    stream.write("event: endpoint\ndata: /messages?s=1\n\n").await;
    stream.event(r#"{"jsonrpc":"2.0","id":"early","method":"ping"}"#).await;
    let capabilities = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#;
    wire.sees("POST /messages?s=1").await;
    let sent = crate::support::id(&wire.last(r#""method":"initialize""#)).to_owned();
    stream
        .event(&format!(
            r#"{{"jsonrpc":"2.0","id":{sent},"result":{{"protocolVersion":"2024-11-05","capabilities":{capabilities}}}}}"#
        ))
        .await;
    let session = Arc::new(opening.await.unwrap());
    wire.sees(r#""id":"early","result":{}"#).await;
    wire.sees("notifications/initialized").await;
    (session, stream, observer)
}

#[tokio::test]
async fn calls_and_questions_work_over_one_stream() {
    let mut wire = server().await;
    let (session, mut stream, observer) = open(&mut wire).await;
    assert_eq!(session.peer().protocol, "2024-11-05");
    assert_eq!(session.peer().era, Era::Legacy);

    let sink = Arc::<Sink>::default();
    let able = gateway_domain::Exchange {
        capabilities: can(r#"{"elicitation":{}}"#),
        ..exchange(&sink, true, None)
    };
    let running = tokio::spawn({
        let (session, able) = (session.clone(), able.clone());
        async move { session.call_tool("t", &[], &params("{}"), &able).await.unwrap() }
    });
    let call = id(&wire, "tools/call").await;
    stream.event(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{call},"progress":1}}}}"#)).await;
    stream
        .event(r#"{"jsonrpc":"2.0","id":"f","method":"elicitation/create","params":{"message":"m"}}"#)
        .await;
    let Outcome::InputRequired(InputRequired { requests, state: State::Waiting(parked), .. }) =
        running.await.unwrap()
    else {
        panic!("not asked")
    };
    assert_eq!(
        requests.unwrap().as_str(),
        r#"{"q1":{"method":"elicitation/create","params":{"message":"m"}}}"#
    );
    let going = tokio::spawn(async move {
        parked.resume(&RawObject::parse(r#"{"q1":{"action":"accept"}}"#).unwrap(), &able).await.unwrap()
    });
    wire.sees(r#""id":"f","result":{"action":"accept"}"#).await;
    stream.event(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
    stream.event(&format!(r#"{{"jsonrpc":"2.0","id":{call},"result":{{"ok":1}}}}"#)).await;
    let Outcome::Complete(result) = going.await.unwrap() else { panic!("no result") };
    assert_eq!(result.as_str(), r#"{"ok":1}"#);
    assert_eq!(sink.events().len(), 1);
    assert_eq!(observer.changed(), [ListKind::Tools]);
    assert_eq!(wire.count("GET /mcp"), 1);
}

#[tokio::test]
async fn lists_watches_and_cancellations_work_over_one_stream() {
    let mut wire = server().await;
    let (session, mut stream, observer) = open(&mut wire).await;
    let listing = tokio::spawn({
        let session = session.clone();
        async move { session.list(ListKind::Prompts, None).await.unwrap() }
    });
    answer(&wire, &mut stream, "prompts/list", r#"{"prompts":[{"name":"p"}]}"#).await;
    assert_eq!(listing.await.unwrap().items.len(), 1);

    let heard = Arc::<Heard>::default();
    let watching = tokio::spawn({
        let (session, heard) = (session.clone(), heard.clone());
        async move { session.subscribe("a:", heard).await.unwrap() }
    });
    answer(&wire, &mut stream, "resources/subscribe", "{}").await;
    let watch = watching.await.unwrap();
    stream
        .event(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:"}}"#)
        .await;
    eventually("the update", || heard.all().len() == 1).await;

    // A call that is given up is cancelled, and its late answer is nobody's.
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.call_tool("slow", &[], &params("{}"), &crate::support::quiet()).await }
    });
    wire.sees("\"slow\"").await;
    let call = crate::support::id(&wire.last("\"slow\"")).to_owned();
    running.abort();
    wire.sees(&format!(r#""method":"notifications/cancelled","params":{{"requestId":{call},"#)).await;
    stream.event(&format!(r#"{{"jsonrpc":"2.0","id":{call},"result":{{}}}}"#)).await;
    assert_eq!(wire.count("GET /mcp"), 1);
    assert!(session.is_open());
    session.close().await;
    stream.gone().await;
    assert_eq!(observer.lost(), [""; 0]);
    drop(watch);
}

#[tokio::test]
async fn the_session_ends_with_its_stream() {
    let mut wire = server().await;
    let (session, stream, observer) = open(&mut wire).await;
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.call_tool("t", &[], &params("{}"), &crate::support::quiet()).await.unwrap_err() }
    });
    wire.sees("tools/call").await;
    drop(stream);
    let (text, _) = fault(running.await.unwrap());
    assert!(text.contains("its event stream ended"), "{text}");
    eventually("the loss", || observer.lost().len() == 1).await;
    assert!(!session.is_open());
}

#[tokio::test]
async fn messages_are_sent_to_no_other_server() {
    let mut wire = server().await;
    let (factory, _) = factory(&wire.url(), |config| config.startup_timeout = Duration::from_secs(5));
    let opening =
        tokio::spawn(async move { factory.open(&crate::support::profile(Era::Legacy)).await.unwrap_err() });
    let mut stream = wire.next().await;
    stream.stream().await;
    stream.write("event: endpoint\ndata: http://127.0.0.1:9/steal\n\n").await;
    let (text, _) = fault(opening.await.unwrap());
    assert!(text.contains("did not open a session"), "{text}");
    assert_eq!(wire.count("/messages"), 0);
}

#[tokio::test]
async fn the_stream_is_read_while_a_reply_is_on_its_way() {
    let mut wire = server().await;
    let (session, mut stream, _) = open(&mut wire).await;
    stream.event(r#"{"jsonrpc":"2.0","id":"slow","method":"ping"}"#).await;
    let _waiting = wire.next().await;
    let running = tokio::spawn(async move {
        session.call_tool("t", &[], &params("{}"), &crate::support::quiet()).await.unwrap()
    });
    answer(&wire, &mut stream, "tools/call", r#"{"content":[]}"#).await;
    let outcome = tokio::time::timeout(Duration::from_secs(2), running).await.expect("an answer").unwrap();
    assert!(matches!(outcome, Outcome::Complete(_)), "{outcome:?}");
}
