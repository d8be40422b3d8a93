use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use gateway_domain::{DownstreamSession, Era, Session};
use gateway_testkit::{Era as Serves, Profile, fixtures::LATE_TOOL, http::HttpFake};
use tokio::time::Instant;

use crate::support::{Act, Raw, answer, eventually, factory, legacy, params, profile, quiet};

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

/// A legacy server whose GETs are answered by these in turn, the last one again and again, and when they came.
async fn streaming(answers: Vec<String>) -> (Raw, Arc<Mutex<Vec<Instant>>>) {
    let (turn, came) = (AtomicUsize::new(0), Arc::<Mutex<Vec<Instant>>>::default());
    let times = came.clone();
    let raw = legacy("2025-11-25", move |request| {
        if !request.starts_with("GET") {
            return Act::Hang;
        }
        times.lock().unwrap().push(Instant::now());
        let turn = turn.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        Act::Send(answers[turn].clone())
    })
    .await;
    (raw, came)
}

fn events(body: &str) -> String {
    answer("200 OK", "text/event-stream", "", body)
}

fn streams(raw: &Raw) -> Vec<String> {
    raw.requests().into_iter().filter(|request| request.starts_with("GET")).collect()
}

const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

#[tokio::test]
async fn a_stream_goes_on_behind_the_last_event_after_the_rest_the_server_asks_for() {
    let (raw, came) = streaming(vec![
        events(&format!("id: e-1\nretry: 300\ndata: {CHANGED}\n\n")),
        events(&format!("id: zw\u{f6}lf\ndata: {CHANGED}\n\n")),
        events("retry: 60\n\n"),
    ])
    .await;
    let (factory, observer) = factory(&raw.url(), |config| config.change_stream = true);
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    eventually("four streams", || came.lock().unwrap().len() >= 4).await;
    session.close().await;
    let asked = streams(&raw);
    assert!(!asked[0].contains("last-event-id"), "{}", asked[0]);
    assert!(asked[1].contains("last-event-id: e-1\r\n"), "{}", asked[1]);
    assert!(asked[2..].iter().all(|request| request.contains("last-event-id: zw\u{f6}lf\r\n")), "{asked:?}");
    let rests: Vec<_> = came.lock().unwrap().windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(rests[..2].iter().all(|rest| *rest >= Duration::from_millis(300)), "{rests:?}");
    assert!(rests[2] >= Duration::from_millis(100), "never at once: {rests:?}");
    assert!(observer.changes() >= 4, "two told, two because something may have been missed");
    assert_eq!(observer.lost(), [""; 0]);
}

#[tokio::test]
async fn a_server_cannot_ask_for_a_rest_beyond_the_limit() {
    let (raw, came) = streaming(vec![events("retry: 86400000\n\n")]).await;
    let (factory, _) = factory(&raw.url(), |config| {
        config.change_stream = true;
        config.max_reconnect_delay = Duration::from_millis(50);
    });
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    eventually("three streams", || came.lock().unwrap().len() >= 3).await;
    session.close().await;
    assert_eq!(streams(&raw).iter().filter(|request| request.contains("last-event-id")).count(), 0);
}

#[tokio::test]
async fn what_a_stream_meets_when_it_is_opened_again_decides_what_becomes_of_the_session() {
    for (status, body, lost, asked_again) in [
        ("404 Not Found", "", true, false),
        ("400 Bad Request", "Bad Request: No valid session ID provided", true, false),
        ("400 Bad Request", "no", false, false),
        ("405 Method Not Allowed", "", false, false),
        ("401 Unauthorized", "", false, false),
        ("501 Not Implemented", "", false, false),
        ("429 Too Many Requests", "", false, true),
        ("503 Service Unavailable", "", false, true),
    ] {
        let refusal = answer(status, "text/plain", "", body);
        let (raw, came) = streaming(vec![events(&format!("data: {CHANGED}\n\n")), refusal]).await;
        let (factory, observer) = factory(&raw.url(), |config| {
            config.change_stream = true;
            config.max_reconnect_delay = Duration::from_millis(10);
        });
        let session = factory.open(&profile(Era::Legacy)).await.unwrap();
        eventually("the second stream", || came.lock().unwrap().len() >= 2).await;
        if lost {
            eventually("the loss", || observer.lost().len() == 1).await;
        } else if asked_again {
            eventually("the third stream", || came.lock().unwrap().len() > 2).await;
        } else {
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        assert_eq!(session.is_open(), !lost, "{status} {body}");
        assert_eq!(came.lock().unwrap().len() > 2, asked_again, "{status} {body}");
    }
}

#[tokio::test]
async fn rests_grow_while_a_stream_does_not_come_about() {
    let refusal = answer("503 Service Unavailable", "text/plain", "", "");
    let (raw, came) = streaming(vec![refusal]).await;
    let (factory, _) = factory(&raw.url(), |config| config.change_stream = true);
    let begun = Instant::now();
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    // Rests are 1 s at least, then up to 2, 4, 8 s.
    tokio::time::sleep(Duration::from_millis(2300)).await;
    let asked = came.lock().unwrap().len();
    let most = 1 + begun.elapsed().as_secs() as usize;
    assert!((2..=most).contains(&asked), "asked {asked} times");
    session.close().await;
}
