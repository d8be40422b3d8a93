use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gateway_domain::{DownstreamSession, Era, Execution, Session};
use gateway_testkit::{Era as Serves, Probe, Profile, http::HttpFake};

use crate::support::{
    ACCEPTED, Act, Raw, eventually, factory, fault, id, json, legacy, open, params, profile, quiet, us,
};

#[track_caller]
fn serving(era: Serves, probe: Option<Probe>) -> HttpFake {
    HttpFake::start(Profile { era, probe, ..Profile::default() })
}

#[tokio::test]
async fn the_wanted_era_is_spoken_if_the_server_has_it() {
    for (serves, want, expected) in [
        (Serves::Dual, Era::Modern, "2026-07-28"),
        (Serves::Dual, Era::Legacy, "2025-11-25"),
        (Serves::Modern, Era::Modern, "2026-07-28"),
        (Serves::Modern, Era::Legacy, "2026-07-28"),
        (Serves::Legacy, Era::Modern, "2025-11-25"),
        (Serves::Legacy, Era::Legacy, "2025-11-25"),
    ] {
        let fake = serving(serves, None);
        let session = open(&fake, want).await;
        assert_eq!(session.peer().protocol, expected, "{serves:?} wanted {want:?}");
        let server = session.peer().server.as_ref().unwrap();
        assert!(server.as_str().contains("fake-mcp"), "{server:?}");
        assert_eq!(session.peer().instructions.as_deref(), Some("a fake"));
    }
}

#[tokio::test]
async fn every_refusal_of_the_probe_leads_to_the_handshake() {
    let codes = [-32601, -32602, -32600, -32000, -32001, 0, 7].map(Probe::Error);
    for probe in codes.into_iter().chain([Probe::Garbage, Probe::Empty]) {
        let fake = serving(Serves::Legacy, Some(probe));
        let session = open(&fake, Era::Modern).await;
        assert_eq!(session.peer().era, Era::Legacy, "for {probe:?}");
    }
    for status in [400, 404, 405, 406, 415, 422] {
        let fake = serving(Serves::Legacy, None);
        fake.set(|faults| (faults.only, faults.status) = (Some("server/discover".into()), Some(status)));
        let session = open(&fake, Era::Modern).await;
        assert_eq!(session.peer().era, Era::Legacy, "for {status}");
    }
}

#[tokio::test]
async fn what_says_nothing_about_the_era_is_a_fault() {
    for (status, expected) in [
        (401, "refused the credentials (HTTP status 401)"),
        (403, "refused the credentials (HTTP status 403)"),
        (408, "answered HTTP status 408"),
        (425, "answered HTTP status 425"),
        (429, "answered HTTP status 429"),
        (500, "answered HTTP status 500"),
        (503, "answered HTTP status 503"),
    ] {
        let fake = serving(Serves::Dual, None);
        fake.set(|faults| faults.status = Some(status));
        let (factory, _) = factory(&fake.url(), |_| {});
        let (text, execution) = fault(factory.open(&profile(Era::Modern)).await.unwrap_err());
        assert!(text.contains(expected), "{text} for {status}");
        assert_eq!(execution, Execution::NotStarted);
        assert_eq!(fake.requests_of("initialize").len(), 0, "{status} is no verdict");
        fake.heal();
        assert_eq!(factory.open(&profile(Era::Modern)).await.unwrap().peer().era, Era::Modern);
    }
}

#[tokio::test]
async fn a_probe_that_is_not_answered_is_no_verdict_either() {
    let fake = serving(Serves::Dual, Some(Probe::Silent));
    let (factory, _) = factory(&fake.url(), |config| config.startup_timeout = Duration::from_millis(200));
    let (text, _) = fault(factory.open(&profile(Era::Modern)).await.unwrap_err());
    assert!(text.contains("did not answer within 200ms"), "{text}");
    assert_eq!(fake.requests_of("initialize").len(), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let fake = serving(Serves::Dual, None);
    fake.close();
    let (factory, _) = factory(&fake.url(), |_| {});
    let (text, execution) = fault(factory.open(&profile(Era::Modern)).await.unwrap_err());
    assert!(text.starts_with("downstream `fake` cannot be reached: "), "{text}");
    assert_eq!(execution, Execution::NotStarted);
}

#[tokio::test]
async fn a_verdict_is_remembered_until_it_is_old() {
    let fake = serving(Serves::Legacy, None);
    let (factory, _) = factory(&fake.url(), |_| {});
    for _ in 0..3 {
        factory.open(&profile(Era::Modern)).await.unwrap();
    }
    assert_eq!(fake.requests_of("server/discover").len(), 1);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(600)).await;
    tokio::time::resume();
    factory.open(&profile(Era::Modern)).await.unwrap();
    assert_eq!(fake.requests_of("server/discover").len(), 2);
}

#[tokio::test]
async fn the_version_header_is_sent_by_those_revisions_that_have_it() {
    for (version, expected) in
        [("2025-03-26", None), ("2025-06-18", Some("2025-06-18")), ("2025-11-25", Some("2025-11-25"))]
    {
        let serves = Profile { era: Serves::Legacy, protocol: version.into(), ..Profile::default() };
        let fake = HttpFake::start(serves);
        let (factory, _) = factory(&fake.url(), |config| config.change_stream = true);
        let session = factory.open(&profile(Era::Legacy)).await.unwrap();
        eventually("the change stream", || fake.request_count() == 3).await;
        session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
        session.close().await;
        let requests = fake.requests();
        let methods: Vec<_> = requests.iter().map(|request| request.method.as_str()).collect();
        assert_eq!(methods, ["POST", "POST", "GET", "POST", "DELETE"]);
        let us = format!(r#""clientInfo":{}"#, us().as_str());
        assert!(requests[0].body.contains(&us), "{}", requests[0].body);
        assert_eq!(requests[0].headers.get("mcp-protocol-version"), None);
        assert_eq!(requests[0].headers.get("mcp-session-id"), None);
        for later in &requests[1..] {
            let sent = later.headers.get("mcp-protocol-version").map(|value| value.to_str().unwrap());
            assert_eq!(sent, expected, "{version}: {later:?}");
            assert!(later.headers.contains_key("mcp-session-id"), "{later:?}");
        }
        assert_eq!(fake.sessions(), [""; 0]);
    }
}

#[tokio::test]
async fn a_server_without_sessions_is_sent_no_session_and_no_delete() {
    let fake = serving(Serves::Legacy, None);
    fake.set(|faults| faults.sessions = false);
    let session = open(&fake, Era::Legacy).await;
    session.ping().await.unwrap();
    session.close().await;
    assert!(fake.requests().iter().all(|request| !request.headers.contains_key("mcp-session-id")));
    assert!(fake.requests().iter().all(|request| request.method == "POST"));
}

#[tokio::test]
async fn a_session_ends_once_however_often_it_is_closed() {
    let fake = serving(Serves::Legacy, None);
    let session = open(&fake, Era::Legacy).await;
    assert!(session.is_open());
    session.close().await;
    session.close().await;
    assert!(!session.is_open());
    let deletes = fake.requests().iter().filter(|request| request.method == "DELETE").count();
    assert_eq!(deletes, 1);
    let (text, execution) = fault(session.ping().await.unwrap_err());
    assert_eq!((text.as_str(), execution), ("downstream `fake` has been closed", Execution::NotStarted));

    drop(open(&fake, Era::Legacy).await);
    eventually("the end of a dropped session", || fake.sessions().is_empty()).await;

    fake.set(|faults| faults.refuse_delete = true);
    open(&fake, Era::Legacy).await.close().await;
}

#[tokio::test]
async fn no_close_returns_before_the_session_has_ended() {
    let hung = Raw::start(|request| match request.starts_with("DELETE") {
        true => Act::Hang,
        false if request.contains(r#""method":"initialize""#) => {
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(request));
            Act::Send(json(&body).replacen("\r\n", "\r\nmcp-session-id: s-9\r\n", 1))
        }
        false => Act::Send(ACCEPTED.to_owned()),
    })
    .await;
    let limit = Duration::from_millis(300);
    let (factory, _) = factory(&hung.url(), |config| config.close_timeout = limit);
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    let deletes = || hung.requests().iter().filter(|request| request.starts_with("DELETE")).count();
    assert!(tokio::time::timeout(limit / 3, session.close()).await.is_err(), "the server does not answer");
    assert!(!session.is_open());
    let begun = tokio::time::Instant::now();
    let close = async {
        session.close().await;
        begun.elapsed()
    };
    let (one, other) = tokio::join!(close, async {
        session.close().await;
        begun.elapsed()
    });
    assert!(one >= limit && other >= limit, "{one:?} and {other:?}");
    assert_eq!(deletes(), 2, "that of the close that was dropped, and one for both others");
}

#[tokio::test]
async fn an_opening_that_is_given_up_leaves_no_session() {
    let raw = Raw::start(|request| {
        if request.contains(r#""method":"initialize""#) {
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(request));
            return Act::Send(json(&body).replacen("\r\n", "\r\nmcp-session-id: s-9\r\n", 1));
        }
        if request.starts_with("DELETE") { Act::Send(ACCEPTED.to_owned()) } else { Act::Hang }
    })
    .await;
    let (factory, _) = factory(&raw.url(), |_| {});
    let opening = tokio::spawn(async move { drop(factory.open(&profile(Era::Legacy)).await) });
    eventually("initialized", || raw.requests().iter().any(|r| r.contains("notifications/initialized")))
        .await;
    opening.abort();
    eventually("the end of the session", || {
        raw.requests().iter().any(|r| r.starts_with("DELETE") && r.contains("mcp-session-id: s-9"))
    })
    .await;
}

#[tokio::test]
async fn a_modern_session_whose_server_has_become_legacy_is_lost() {
    let fake = serving(Serves::Modern, None);
    let (factory, observer) = factory(&fake.url(), |_| {});
    let session = factory.open(&profile(Era::Modern)).await.unwrap();
    fake.set(|faults| faults.status = Some(400));
    let (text, _) = fault(session.ping().await.unwrap_err());
    assert_eq!(text, "downstream `fake` answered HTTP status 400");
    assert!(!session.is_open());
    assert_eq!(observer.lost().len(), 1);
}

#[tokio::test]
async fn a_server_that_changes_its_era_costs_no_opening() {
    let modern = Arc::new(AtomicBool::new(false));
    let serves = Arc::clone(&modern);
    let raw = Raw::start(move |request| {
        let (method, answer) = if serves.load(Ordering::SeqCst) {
            ("server/discover", r#""result":{"supportedVersions":["2026-07-28"],"capabilities":{}}"#)
        } else {
            ("initialize", r#""result":{"protocolVersion":"2025-11-25","capabilities":{}}"#)
        };
        let answer = match request {
            notified if notified.contains("notifications/") => return Act::Send(ACCEPTED.to_owned()),
            asked if asked.contains(&format!(r#""method":"{method}""#)) => answer,
            _ => r#""error":{"code":-32601,"message":"no such method"}"#,
        };
        Act::Send(json(&format!(r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#, id(request))))
    })
    .await;
    let (factory, _) = factory(&raw.url(), |_| {});
    // The second of each kind is opened with what the first has taught.
    for (now_modern, want) in [
        (false, Era::Modern),
        (true, Era::Modern),
        (false, Era::Legacy),
        (false, Era::Legacy),
        (true, Era::Legacy),
        (true, Era::Modern),
        (false, Era::Legacy),
    ] {
        modern.store(now_modern, Ordering::SeqCst);
        let session = factory.open(&profile(want)).await.unwrap();
        assert_eq!(session.peer().era, if now_modern { Era::Modern } else { Era::Legacy });
    }
}

#[tokio::test]
async fn a_session_id_must_be_visible_ascii() {
    let raw = Raw::start(|request| {
        let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(request));
        Act::Send(json(&body).replacen("\r\n", "\r\nmcp-session-id: a b\r\n", 1))
    })
    .await;
    let (factory, _) = factory(&raw.url(), |_| {});
    let (text, _) = fault(factory.open(&profile(Era::Legacy)).await.unwrap_err());
    assert!(text.contains("session id"), "{text}");
}

#[tokio::test]
async fn a_refused_end_of_the_handshake_is_said_to_be_that() {
    let fake = serving(Serves::Legacy, None);
    fake.set(|faults| (faults.only, faults.status) = (Some("notifications/initialized".into()), Some(400)));
    let (factory, _) = factory(&fake.url(), |_| {});
    let (text, _) = fault(factory.open(&profile(Era::Legacy)).await.unwrap_err());
    assert!(
        text.contains("did not open a session: HTTP status 400 for `notifications/initialized`"),
        "{text}"
    );
    eventually("the end of the session", || fake.sessions().is_empty()).await;
}

#[tokio::test]
async fn arrays_are_read_in_the_one_revision_that_has_them() {
    let call = |request: &str| {
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}}"#, id(request));
        Act::Send(json(&format!("[{log},{answer}]")))
    };
    for (version, expected) in [("2025-03-26", None), ("2025-06-18", Some("an array of messages"))] {
        let raw = legacy(version, call).await;
        let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
        let answer = session.call_tool("t", &[], &params("{}"), &quiet()).await;
        match expected {
            None => drop(answer.unwrap()),
            Some(expected) => assert!(fault(answer.unwrap_err()).0.contains(expected)),
        }
    }
}
