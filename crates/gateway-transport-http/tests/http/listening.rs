use std::time::Duration;

use gateway_domain::{DownstreamSession, Era, Session};
use gateway_testkit::{Era as Serves, Profile, fixtures::LATE_TOOL, http::HttpFake};

use crate::support::{Act, eventually, factory, legacy, params, profile, quiet};

fn listening(fake: &HttpFake) -> bool {
    let opens = |request: &gateway_testkit::http::Recorded| {
        request.method == "GET" || request.rpc.as_deref() == Some("subscriptions/listen")
    };
    fake.requests().iter().any(opens)
}

#[tokio::test]
async fn changes_are_heard_in_both_eras() {
    for (serves, method) in [(Serves::Legacy, "GET"), (Serves::Modern, "POST")] {
        let fake = HttpFake::start(Profile { era: serves, ..Profile::default() });
        let (factory, observer) = factory(&fake.url(), |config| config.change_stream = true);
        let session = factory.open(&profile(Era::Modern)).await.unwrap();
        eventually("the change stream", || listening(&fake)).await;
        assert_eq!(fake.requests().last().unwrap().method, method);
        // The stream counts from when it is open, which the fake does not tell.
        eventually("a change", || {
            fake.add_tool(LATE_TOOL);
            observer.changes() > 0
        })
        .await;
        session.close().await;
        let heard = observer.changes();
        fake.add_tool(LATE_TOOL);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(observer.changes(), heard, "{serves:?}: nobody listens any more");
        assert_eq!(observer.lost(), [""; 0]);
    }
}

#[tokio::test]
async fn a_lost_stream_is_opened_again_and_counts_as_a_change() {
    for serves in [Serves::Legacy, Serves::Modern] {
        let fake = HttpFake::start(Profile { era: serves, ..Profile::default() });
        let (factory, observer) = factory(&fake.url(), |config| {
            config.change_stream = true;
            config.max_reconnect_delay = Duration::from_millis(50);
        });
        let session = factory.open(&profile(Era::Modern)).await.unwrap();
        eventually("the change stream", || listening(&fake)).await;
        fake.cut();
        eventually("a change", || observer.changes() > 0).await;
        assert!(session.is_open(), "{serves:?}");
        drop(session);
    }
}

#[tokio::test]
async fn a_server_without_a_stream_is_asked_once() {
    let fake = HttpFake::start(Profile { era: Serves::Legacy, ..Profile::default() });
    fake.set(|faults| faults.get_stream = false);
    let (factory, observer) = factory(&fake.url(), |config| {
        config.change_stream = true;
        config.max_reconnect_delay = Duration::from_millis(10);
    });
    let session = factory.open(&profile(Era::Modern)).await.unwrap();
    eventually("the question", || listening(&fake)).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(fake.requests().iter().filter(|request| request.method == "GET").count(), 1);
    session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
    assert_eq!(observer.changes(), 0);
}

#[tokio::test]
async fn a_server_that_knows_no_get_keeps_its_session() {
    let raw = legacy("2025-11-25", |request| {
        let missing = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
        if request.starts_with("GET") { Act::Send(missing.into()) } else { Act::Hang }
    })
    .await;
    let (factory, observer) = factory(&raw.url(), |config| {
        config.change_stream = true;
        config.max_reconnect_delay = Duration::from_millis(10);
    });
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    let asked = || raw.requests().iter().filter(|request| request.starts_with("GET")).count();
    eventually("the question", || asked() == 1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(session.is_open());
    assert_eq!((asked(), observer.lost().len()), (1, 0));
}

#[tokio::test]
async fn one_session_of_a_server_may_listen_for_all() {
    let fake = HttpFake::start(Profile { era: Serves::Legacy, ..Profile::default() });
    let (factory, _) = factory(&fake.url(), |config| config.change_stream = true);
    let quiet = factory.without_change_stream();
    let silent = quiet.open(&profile(Era::Modern)).await.unwrap();
    let listener = factory.open(&profile(Era::Modern)).await.unwrap();
    eventually("the change stream", || listening(&fake)).await;
    silent.ping().await.unwrap();
    assert_eq!(fake.requests_of("server/discover").len(), 1, "what is known is shared");
    assert_eq!(fake.requests().iter().filter(|request| request.method == "GET").count(), 1);
    drop(listener);
}

#[tokio::test]
async fn what_is_asked_on_a_stream_is_answered() {
    let fake = HttpFake::start(Profile { era: Serves::Legacy, request_roots: true, ..Profile::default() });
    let (factory, _) = factory(&fake.url(), |config| config.change_stream = true);
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    let answered = |what: &str| fake.requests().iter().any(|request| request.body.contains(what));
    eventually("the refusal", || answered(r#""id":"roots-1","error":{"code":-32601"#)).await;
    eventually("a stream", || fake.push(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#)).await;
    eventually("the pong", || answered(r#""id":"p","result":{}"#)).await;
    drop(session);
}

#[tokio::test]
async fn a_forgotten_session_is_noticed_by_its_stream() {
    let fake = HttpFake::start(Profile { era: Serves::Legacy, ..Profile::default() });
    let (factory, observer) = factory(&fake.url(), |config| {
        config.change_stream = true;
        config.max_reconnect_delay = Duration::from_millis(50);
    });
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    eventually("the change stream", || listening(&fake)).await;
    fake.forget_sessions();
    fake.cut();
    eventually("the loss", || observer.lost().len() == 1).await;
    assert!(!session.is_open());
}
