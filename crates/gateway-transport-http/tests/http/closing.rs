//! Ends of sessions, many at once.

use std::{sync::Arc, time::Duration};

use gateway_domain::{DownstreamSession, Era, Session};
use gateway_testkit::{Era as Serves, Profile, http::HttpFake};
use gateway_transport_http::HttpSession;
use tokio::time::{Instant, timeout};

use crate::support::{ACCEPTED, Act, Raw, answer, factory, id, params, profile, quiet};

/// Closes all of them side by side; how long it took.
async fn close_all(sessions: Vec<HttpSession>) -> Duration {
    let begun = Instant::now();
    let closing: Vec<_> =
        sessions.into_iter().map(|session| tokio::spawn(async move { session.close().await })).collect();
    for closed in closing {
        timeout(Duration::from_secs(30), closed).await.unwrap().unwrap();
    }
    begun.elapsed()
}

#[tokio::test]
async fn a_thousand_sessions_end_side_by_side() {
    let fake = HttpFake::start(Profile { era: Serves::Legacy, ..Profile::default() });
    let (factory, _) = factory(&fake.url(), |config| config.close_timeout = Duration::from_secs(20));
    let mut sessions = Vec::new();
    for _ in 0..1000 {
        sessions.push(factory.open(&profile(Era::Legacy)).await.unwrap());
    }
    assert_eq!(fake.sessions().len(), 1000);
    close_all(sessions).await;
    assert_eq!(fake.sessions().len(), 0);
    assert_eq!(fake.requests().iter().filter(|request| request.method == "DELETE").count(), 1000);
}

#[tokio::test]
async fn a_server_that_does_not_take_the_end_holds_nobody_up() {
    for refusal in ["405 Method Not Allowed", "404 Not Found", "500 Internal Server Error"] {
        let refused = answer(refusal, "text/plain", "", "no");
        let raw = Raw::start(move |request| match request {
            opening if opening.contains(r#""method":"initialize""#) => {
                let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
                let id = id(opening);
                let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                Act::Send(answer("200 OK", "application/json", "mcp-session-id: s-1\r\n", &body))
            }
            ending if ending.starts_with("DELETE") => Act::Send(refused.clone()),
            _ => Act::Send(ACCEPTED.to_owned()),
        })
        .await;
        let (factory, _) = factory(&raw.url(), |config| config.close_timeout = Duration::from_secs(20));
        let session = factory.open(&profile(Era::Legacy)).await.unwrap();
        assert!(close_all(vec![session]).await < Duration::from_secs(10), "{refusal}");
    }
}

#[tokio::test]
async fn closes_on_a_dead_server_take_no_longer_than_their_bound() {
    let fake = HttpFake::start(Profile { era: Serves::Legacy, ..Profile::default() });
    let limit = Duration::from_millis(300);
    let (factory, _) = factory(&fake.url(), |config| config.close_timeout = limit);
    let open = async || {
        let mut sessions = Vec::new();
        for _ in 0..100 {
            sessions.push(factory.open(&profile(Era::Legacy)).await.unwrap());
        }
        sessions
    };
    let hung = open().await;
    fake.set(|faults| faults.hang = true);
    let took = close_all(hung).await;
    assert!(took >= limit && took < Duration::from_secs(10), "one bound for all: {took:?}");
    fake.heal();
    let gone = open().await;
    fake.close();
    let took = close_all(gone).await;
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn a_warm_call_is_one_round_trip() {
    for (serves, era) in [(Serves::Legacy, Era::Legacy), (Serves::Modern, Era::Modern)] {
        let fake = HttpFake::start(Profile { era: serves, ..Profile::default() });
        let session = Arc::new(factory(&fake.url(), |_| {}).0.open(&profile(era)).await.unwrap());
        let opening = fake.request_count();
        for calls in 1..=20 {
            session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
            assert_eq!(fake.request_count() - opening, calls, "{era:?}");
        }
        assert_eq!(fake.connection_count(), 1, "{era:?}");
        let many: Vec<_> = (0..50)
            .map(|_| {
                let session = session.clone();
                tokio::spawn(async move { session.call_tool("echo", &[], &params("{}"), &quiet()).await })
            })
            .collect();
        for call in many {
            call.await.unwrap().unwrap();
        }
        assert_eq!(fake.request_count() - opening, 70, "{era:?}");
    }
}
