//! What a session says, whoever asks.

use std::sync::atomic::Ordering::Relaxed;

use gateway_domain::{CallerError, DownstreamFault, Era, Error, ListKind, Outcome, Session as _, Subject};

use crate::support::{Scene, call, get, listed};

#[tokio::test]
async fn one_modern_session_shows_all_tools_on_one_page() {
    let scene = Scene::new(vec![get("b"), get("a")], |_| {});
    let session = scene.open().await.unwrap();
    let peer = session.peer();
    assert_eq!((peer.era, peer.protocol.as_str()), (Era::Modern, "2026-07-28"));
    assert_eq!(peer.capabilities.as_str(), r#"{"tools":{"listChanged":true}}"#);
    assert_eq!(peer.server.as_ref().unwrap().as_str(), r#"{"name":"shop","version":"0"}"#);
    assert!(session.is_open());
    assert_eq!(listed(&session).await, (vec!["b".to_owned(), "a".to_owned()], Vec::new()));
    for list in [ListKind::Prompts, ListKind::Resources, ListKind::ResourceTemplates] {
        assert!(session.list(list, None).await.unwrap().items.is_empty(), "{list:?}");
    }
    let beyond = session.list(ListKind::Tools, Some("x")).await.unwrap_err();
    assert_eq!(beyond, Error::Caller(CallerError::InvalidCursor));
    session.ping().await.unwrap();
}

#[tokio::test]
async fn what_the_api_calls_itself_is_shown_without_tricks() {
    let mut listing = gateway_openapi::ir::Listing::from(vec![get("a")]);
    listing.title = Some(format!("Shop\u{202e}\"{}", "x".repeat(300)));
    listing.version = Some("1.0\n".into());
    let session = Scene::new(listing, |_| {}).open().await.unwrap();
    let server = session.peer().server.clone().unwrap();
    assert!(server.as_str().starts_with(r#"{"name":"Shop \"xxx"#), "{server}");
    assert!(server.as_str().ends_with(r#"x…","version":"1.0 "}"#), "{server}");
}

#[tokio::test]
async fn what_is_no_tool_is_answered_as_a_server_would() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let session = scene.open().await.unwrap();
    let rows = [
        (Subject::tool("nope"), "{}", r#"{"code":-32602,"message":"Unknown tool: nope"}"#),
        (
            Subject::tool("a"),
            r#"{"arguments":[]}"#,
            r#"{"code":-32602,"message":"`arguments` must be an object"}"#,
        ),
        (
            Subject::tool("a"),
            r#"{"arguments":{"q":"a","q":"b"}}"#,
            r#"{"code":-32602,"message":"`arguments`: member \"q\" stands twice"}"#,
        ),
        (Subject::Prompt { name: "p".into() }, "{}", r#"{"code":-32601,"message":"Method not found"}"#),
        (Subject::Resource { uri: "u".into() }, "{}", r#"{"code":-32601,"message":"Method not found"}"#),
        (Subject::Other { method: "m".into() }, "{}", r#"{"code":-32601,"message":"Method not found"}"#),
    ];
    for (subject, params, expected) in rows {
        match call(&session, subject.clone(), params).await {
            Ok(Outcome::Failed(error)) => assert_eq!(error.raw.as_str(), expected, "{subject:?}"),
            other => panic!("{subject:?}: {other:?}"),
        }
    }
    assert_eq!(scene.api.requests.load(Relaxed), 0);
}

#[tokio::test]
async fn a_call_ends_in_the_tools_result_with_arguments_or_without() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let session = scene.open().await.unwrap();
    for params in ["{}", r#"{"arguments":null}"#, r#"{"arguments":{}}"#, r#"{"arguments":{"unknown":1}}"#] {
        match call(&session, Subject::tool("a"), params).await {
            Ok(Outcome::Complete(result)) => {
                assert!(result.as_str().contains(r#"{"a":1.0}"#), "{params}: {}", result.as_str());
            }
            other => panic!("{params}: {other:?}"),
        }
    }
    assert_eq!(scene.api.requests.load(Relaxed), 4);
}

#[tokio::test]
async fn closing_ends_calls_in_flight_and_no_other_session() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let (session, other) = (scene.open().await.unwrap(), scene.open().await.unwrap());
    scene.api.hangs.store(true, Relaxed);
    let calling = tokio::spawn({
        let session = session.clone();
        async move { call(&session, Subject::tool("a"), "{}").await }
    });
    while scene.api.requests.load(Relaxed) == 0 && !calling.is_finished() {
        tokio::task::yield_now().await;
    }
    session.close().await;
    session.close().await;
    let closed = |ended: Result<Outcome, Error>| match ended {
        Err(Error::Downstream(error)) => assert_eq!(error.fault, DownstreamFault::Closed),
        other => panic!("{other:?}"),
    };
    closed(calling.await.unwrap());
    closed(call(&session, Subject::tool("a"), "{}").await);
    assert!(!session.is_open() && other.is_open());
}
