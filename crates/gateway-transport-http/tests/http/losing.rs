//! Sessions that a server does not know any more, and servers that go away and come back.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use gateway_domain::{DownstreamSession, Era, Execution, Outcome, Session};
use gateway_testkit::{Era as Serves, Profile, http::HttpFake};
use tokio::time::{Instant, timeout};

use crate::support::{ACCEPTED, Act, Raw, answer, factory, fault, id, json, legacy, params, profile, quiet};

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// An error object; ours is the id of the request.
fn error(id: &str, code: i32, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// A server whose calls are all answered like this, `OURS` standing for the id of the request.
async fn answering(status: &'static str, kind: &'static str, body: String) -> Raw {
    legacy("2025-11-25", move |request| {
        Act::Send(answer(status, kind, "", &body.replace("\"OURS\"", id(request))))
    })
    .await
}

fn calls(raw: &Raw) -> usize {
    raw.requests().iter().filter(|request| request.contains("\"tools/call\"")).count()
}

#[tokio::test]
async fn every_way_to_say_that_a_session_is_gone_ends_it_and_the_call_was_not_made() {
    let stream = format!("event: message\ndata: {}\n\n", error("null", -32000, "Server not initialized"));
    for (status, kind, body) in [
        ("404 Not Found", TEXT, String::new()),
        ("404 Not Found", "text/html", "<html>404</html>".into()),
        ("404 Not Found", JSON, error("null", -32001, "Session not found")),
        ("404 Not Found", JSON, error("null", -32603, "whatever")),
        ("404 Not Found", JSON, error("\"OURS\"", -32001, "whatever")),
        ("400 Bad Request", JSON, error("null", -32000, "Bad Request: No valid session ID provided")),
        ("400 Bad Request", JSON, error("\"server-error\"", -32600, "Bad Request: Missing session ID")),
        ("400 Bad Request", JSON, error("\"OURS\"", -32600, "Session terminated")),
        ("400 Bad Request", JSON, error("null", -32001, "Unknown session")),
        ("400 Bad Request", JSON, r#"{"error":"Invalid or expired session"}"#.into()),
        ("400 Bad Request", TEXT, "Invalid session ID\n".into()),
        ("400 Bad Request", "text/event-stream", stream),
        ("401 Unauthorized", TEXT, "Unauthorized: Session not found".into()),
        ("401 Unauthorized", JSON, error("\"OURS\"", -32001, "Session not found")),
    ] {
        let raw = answering(status, kind, body.clone()).await;
        let (factory, observer) = factory(&raw.url(), |_| {});
        let session = factory.open(&profile(Era::Legacy)).await.unwrap();
        let called = session.call_tool("t", &[], &params("{}"), &quiet()).await;
        let (text, execution) = fault(called.unwrap_err());
        assert!(text.contains("no longer knows the session (HTTP status 40"), "{text} for {status} {body}");
        assert_eq!(execution, Execution::NotStarted, "{status} {body}");
        assert!(!session.is_open(), "{status} {body}");
        assert_eq!(observer.lost().len(), 1, "{status} {body}");
        // Whoever comes late costs the server nothing.
        let asked = raw.requests().len();
        let (_, execution) = fault(session.ping().await.unwrap_err());
        assert_eq!((execution, calls(&raw)), (Execution::NotStarted, 1));
        assert_eq!(raw.requests().len(), asked, "{status} {body}");
    }
}

#[tokio::test]
async fn what_may_have_run_is_answered_even_if_the_session_is_gone() {
    for (status, kind, code, message, open) in [
        // TypeScript's clients and servers say this of a request that took too long.
        ("200 OK", JSON, -32001, "Request timed out", true),
        ("200 OK", JSON, -32001, "Session not found", false),
        ("200 OK", "text/event-stream", -32001, "Session not found", false),
        ("200 OK", JSON, -32000, "Session not found", true),
        ("200 OK", JSON, -32600, "Session not found", true),
        ("400 Bad Request", JSON, -32000, "Session not found", false),
        ("400 Bad Request", JSON, -32001, "Session not found", false),
        ("400 Bad Request", JSON, -32602, "Session not found", true),
        // A status for sessions with an answer to the call: so it was looked at.
        ("404 Not Found", JSON, -32603, "whatever", false),
        ("404 Not Found", JSON, -32601, "Method not found", false),
        ("404 Not Found", TEXT, -32602, "no such customer", false),
        ("400 Bad Request", JSON, -32600, "Invalid request", true),
    ] {
        let body = error("\"OURS\"", code, message);
        let body = if kind.contains("stream") { format!("data: {body}\n\n") } else { body };
        let raw = answering(status, kind, body).await;
        let (factory, observer) = factory(&raw.url(), |_| {});
        let session = factory.open(&profile(Era::Legacy)).await.unwrap();
        let called = session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap();
        let Outcome::Failed(error) = called else { panic!("{called:?}") };
        assert_eq!((error.code, error.message().as_str()), (i64::from(code), message));
        assert_eq!(session.is_open(), open, "{status} {code} {message}");
        assert_eq!(
            (observer.lost().len(), calls(&raw)),
            (usize::from(!open), 1),
            "{status} {code} {message}"
        );
        session.close().await;
        let ended = raw.requests().iter().filter(|request| request.starts_with("DELETE")).count();
        assert_eq!(ended, 1, "{status} {code} {message}: it may still be there");
    }
}

#[tokio::test]
async fn words_of_a_tool_under_another_type_are_no_proof_that_it_did_not_run() {
    for (kind, body) in [
        (TEXT, error("\"OURS\"", -32001, "Session not found")),
        ("text/event-stream", format!("data: {}\n\n", error("\"OURS\"", -32001, "Session not found"))),
        (TEXT, error("\"\"OURS\"\"", -32000, "Session expired")),
        (TEXT, error("1000", -32001, "Session not found")),
    ] {
        let raw = answering("400 Bad Request", kind, body.clone()).await;
        let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
        let called = session.call_tool("t", &[], &params("{}"), &quiet()).await;
        let (text, execution) = fault(called.unwrap_err());
        assert_eq!((execution, session.is_open()), (Execution::Possible, false), "{text} for {body}");
    }
}

#[tokio::test]
async fn refusals_for_other_reasons_leave_the_session() {
    for (status, body, expected) in [
        ("400 Bad Request", "Bad Request", "HTTP status 400"),
        ("400 Bad Request", "<html>your session has expired</html>", "HTTP status 400"),
        ("401 Unauthorized", "invalid token", "HTTP status 401"),
        ("403 Forbidden", "session not found", "HTTP status 403"),
        ("409 Conflict", "session not found", "HTTP status 409"),
        ("500 Internal Server Error", "session not found", "HTTP status 500"),
    ] {
        let raw = answering(status, TEXT, body.into()).await;
        let (factory, observer) = factory(&raw.url(), |_| {});
        let session = factory.open(&profile(Era::Legacy)).await.unwrap();
        let called = session.call_tool("t", &[], &params("{}"), &quiet()).await;
        let (text, _) = fault(called.unwrap_err());
        assert!(text.contains(expected), "{text} for {status} {body}");
        assert!(session.is_open() && observer.lost().is_empty(), "{status} {body}");
    }
}

#[tokio::test]
async fn a_server_without_session_ids_may_have_forgotten_the_handshake() {
    for (status, kind, body, open) in [
        ("400 Bad Request", JSON, error("null", -32000, "Bad Request: Server not initialized"), false),
        ("400 Bad Request", TEXT, "Missing session ID".to_owned(), false),
        ("404 Not Found", TEXT, "404 page not found".to_owned(), true),
        ("200 OK", JSON, error("\"OURS\"", -32001, "Session not found"), true),
    ] {
        let said = body.clone();
        let raw = Raw::start(move |request| {
            if request.contains(r#""method":"initialize""#) {
                let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
                let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(request));
                Act::Send(json(&text))
            } else if request.contains("tools/call") {
                Act::Send(answer(status, kind, "", &said.replace("\"OURS\"", id(request))))
            } else {
                Act::Send(ACCEPTED.to_owned())
            }
        })
        .await;
        let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
        let called = session.call_tool("t", &[], &params("{}"), &quiet()).await;
        assert_eq!(session.is_open(), open, "{status} {body}: {called:?}");
        if !open {
            assert_eq!(fault(called.unwrap_err()).1, Execution::NotStarted, "{status} {body}");
        }
    }
}

#[tokio::test]
async fn callers_side_by_side_all_learn_of_the_loss_and_it_is_told_once() {
    let fake = HttpFake::start(Profile { era: Serves::Legacy, ..Profile::default() });
    let (factory, observer) = factory(&fake.url(), |_| {});
    let session = Arc::new(factory.open(&profile(Era::Legacy)).await.unwrap());
    fake.forget_sessions();
    let callers: Vec<_> = (0..50)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.call_tool("echo", &[], &params("{}"), &quiet()).await })
        })
        .collect();
    for caller in callers {
        assert_eq!(fault(caller.await.unwrap().unwrap_err()).1, Execution::NotStarted);
    }
    assert_eq!(observer.lost().len(), 1);
}

#[tokio::test]
async fn while_a_server_is_away_calls_fail_at_once_and_when_it_is_back_they_work_at_once() {
    for (serves, era) in [(Serves::Legacy, Era::Legacy), (Serves::Modern, Era::Modern)] {
        let fake = HttpFake::start(Profile { era: serves, ..Profile::default() });
        let (factory, _) = factory(&fake.url(), |_| {});
        let session = Arc::new(factory.open(&profile(era)).await.unwrap());
        let warm = (0..8).map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.call_tool("echo", &[], &params("{}"), &quiet()).await })
        });
        for call in warm.collect::<Vec<_>>() {
            call.await.unwrap().unwrap();
        }
        fake.close();
        fake.forget_sessions();
        let call = async || {
            let (params, exchange) = (params("{}"), quiet());
            let called = session.call_tool("echo", &[], &params, &exchange);
            fault(timeout(Duration::from_secs(5), called).await.unwrap().unwrap_err())
        };
        // The ends of the pooled connections have to arrive; until then nobody can tell. A new one is only
        // tried when none of those is left.
        let mut tries = 0;
        while !call().await.0.contains("cannot be reached") {
            tries += 1;
            assert!(tries < 500, "{era:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for _ in 0..20 {
            let (text, execution) = call().await;
            assert!(text.contains("cannot be reached"), "{era:?}: {text}");
            assert_eq!(execution, Execution::NotStarted, "{era:?}");
        }
        fake.open();
        let again = session.call_tool("echo", &[], &params("{}"), &quiet()).await;
        let session = match era {
            Era::Modern => session,
            Era::Legacy => {
                assert_eq!(fault(again.unwrap_err()).1, Execution::NotStarted);
                assert!(!session.is_open());
                Arc::new(factory.open(&profile(era)).await.unwrap())
            }
        };
        session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
    }
}

#[tokio::test]
async fn a_connection_that_closes_instead_of_an_answer_may_have_run_the_call_and_it_is_not_sent_again() {
    let count = AtomicUsize::new(0);
    let raw = legacy("2025-11-25", move |request| match count.fetch_add(1, Ordering::SeqCst) {
        // Read, and then the connection ends: after calls that it has answered, and as its first.
        2 | 3 => Act::Last(String::new()),
        _ => Act::Send(json(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id(request)))),
    })
    .await;
    let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
    for (call, works) in [true, true, false, false, true].into_iter().enumerate() {
        let called = session.call_tool("t", &[], &params("{}"), &quiet()).await;
        assert_eq!(calls(&raw), call + 1, "sent once");
        match called {
            Ok(_) => assert!(works),
            Err(error) => {
                let (text, execution) = fault(error);
                assert!(!works && text.contains("ended: "), "{text}");
                assert_eq!(execution, Execution::Possible);
            }
        }
    }
    assert!(session.is_open());
}

/// What a resumption is answered, and what comes of the call.
async fn check_broken_stream(first: &str, resumed: Option<&'static str>, expected: &str, gets: usize) {
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let sent = format!("{events}{first}");
    let raw = legacy("2025-11-25", move |request| {
        if request.starts_with("GET") {
            Act::Last(resumed.unwrap_or_default().into())
        } else {
            Act::Last(sent.clone())
        }
    })
    .await;
    let (factory, _) = factory(&raw.url(), |config| config.call_timeout = Duration::from_secs(30));
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    let called = session.call_tool("t", &[], &params("{}"), &quiet()).await;
    let (text, execution) = fault(called.unwrap_err());
    assert!(text.contains(expected), "{text}, expected {expected}, after {first:?}");
    assert_eq!(execution, Execution::Possible, "{first:?}");
    let asked: Vec<_> = raw.requests().into_iter().filter(|request| request.starts_with("GET")).collect();
    assert_eq!(asked.len(), gets, "{asked:?}");
    assert!(asked.iter().all(|request| request.contains("last-event-id: e-1\r\n")), "{asked:?}");
    assert_eq!(calls(&raw), 1, "never sent again");
}

#[tokio::test]
async fn a_call_whose_stream_breaks_for_good_may_have_run() {
    let primed = "id: e-1\nretry: 1\ndata:\n\n";
    let broke = "its stream ended before the answer came";
    check_broken_stream("", None, broke, 0).await;
    check_broken_stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", None, broke, 0).await;
    check_broken_stream(primed, None, broke, 3).await;
    for (refusal, gets) in [("404 Not Found", 1), ("405 Method Not Allowed", 1), ("503 Busy", 3)] {
        let refusal = format!("HTTP/1.1 {refusal}\r\ncontent-length: 0\r\n\r\n").leak();
        check_broken_stream(primed, Some(refusal), broke, gets).await;
    }
}

#[tokio::test]
async fn a_call_outlives_a_server_that_is_busy_when_its_stream_is_taken_up_again() {
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let (called, gets) = (Mutex::new(String::new()), AtomicUsize::new(0));
    let raw = legacy("2025-11-25", move |request| {
        if request.starts_with("POST") {
            *called.lock().unwrap() = id(request).to_owned();
            return Act::Last(format!("{events}id: e-1\nretry: 1\ndata:\n\n"));
        }
        if gets.fetch_add(1, Ordering::SeqCst) == 0 {
            return Act::Last(answer("503 Busy", TEXT, "", "later"));
        }
        let id = called.lock().unwrap();
        Act::Last(format!("{events}data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n"))
    })
    .await;
    let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
    session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap();
    assert_eq!(calls(&raw), 1);
}

#[tokio::test]
async fn a_stream_that_is_taken_up_again_and_again_ends_with_the_deadline() {
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let primed = format!("{events}id: e-1\nretry: 0\ndata:\n\n");
    let raw = legacy("2025-11-25", move |_| Act::Last(primed.clone())).await;
    let (factory, _) = factory(&raw.url(), |config| config.call_timeout = Duration::from_millis(1500));
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    let begun = Instant::now();
    let (text, execution) = fault(session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap_err());
    assert!(text.contains("did not answer within 1.5s"), "{text}");
    assert_eq!(execution, Execution::Possible);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let gets = raw.requests().iter().filter(|request| request.starts_with("GET")).count();
    assert!((1..=15).contains(&gets), "asked {gets} times in 1.5 s, at least 0.1 s apart");
}

#[tokio::test]
async fn a_call_waits_no_longer_than_the_limit_to_take_its_stream_up_again() {
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let called = Mutex::new(String::new());
    let raw = legacy("2025-11-25", move |request| {
        if request.starts_with("POST") {
            *called.lock().unwrap() = id(request).to_owned();
            return Act::Last(format!("{events}id: e-1\nretry: 86400000\n\n"));
        }
        let id = called.lock().unwrap();
        Act::Last(format!("{events}data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n"))
    })
    .await;
    let (factory, _) = factory(&raw.url(), |config| config.max_reconnect_delay = Duration::from_millis(50));
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap();
    assert_eq!(calls(&raw), 1);
}

#[tokio::test]
async fn modern_streams_are_not_taken_up_again() {
    let raw = Raw::start(|request| {
        if request.contains("server/discover") {
            let result = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#;
            return Act::Send(json(&format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
                id(request)
            )));
        }
        let body = "id: e-1\nretry: 1\ndata:\n\n";
        Act::Last(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}"))
    })
    .await;
    let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Modern)).await.unwrap();
    let called = session.call_tool("t", &[], &params("{}"), &quiet()).await;
    let (text, execution) = fault(called.unwrap_err());
    assert!(text.contains("its stream ended before the answer came"), "{text}");
    assert_eq!((execution, raw.requests().len()), (Execution::Possible, 2));
}

#[tokio::test]
async fn a_second_process_of_a_server_is_met_with_a_new_session() {
    // Two processes at one address, one after the other, each with sessions of its own.
    let second = Arc::new(AtomicBool::new(false));
    let opened = Arc::new(Mutex::new(0));
    let (now_second, count) = (second.clone(), opened.clone());
    let raw = Raw::start(move |request| {
        let ours = if now_second.load(Ordering::SeqCst) { "two" } else { "one" };
        if request.contains(r#""method":"initialize""#) {
            *count.lock().unwrap() += 1;
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(request));
            return Act::Send(answer("200 OK", JSON, &format!("mcp-session-id: {ours}\r\n"), &body));
        }
        if !request.contains(&format!("mcp-session-id: {ours}\r\n")) {
            return Act::Send(answer("400 Bad Request", TEXT, "", "Bad Request: Invalid session ID"));
        }
        match request.contains("tools/call") {
            true => Act::Send(json(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id(request)))),
            false => Act::Send(ACCEPTED.to_owned()),
        }
    })
    .await;
    let (factory, _) = factory(&raw.url(), |_| {});
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap();
    second.store(true, Ordering::SeqCst);
    let called = session.call_tool("t", &[], &params("{}"), &quiet()).await;
    assert_eq!(fault(called.unwrap_err()).1, Execution::NotStarted);
    session.close().await;
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap();
    assert_eq!(*opened.lock().unwrap(), 2);
    assert!(
        raw.requests().iter().all(|request| !request.starts_with("DELETE")),
        "there is nothing to delete"
    );
}
