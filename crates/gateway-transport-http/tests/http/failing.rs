use std::time::Duration;

use gateway_domain::{DownstreamSession, Era, Execution, Session};
use gateway_testkit::{
    Profile,
    http::{Faults, HttpFake, Shape},
};

use crate::support::{Act, factory, fault, legacy, params, profile, quiet};

const LIMIT: usize = 256 << 10;

/// What a fault of the server makes of a call, in both eras.
async fn check(switch: impl Fn(&mut Faults), expected: &str, execution: Execution) {
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile::default());
        let (factory, _) = factory(&fake.url(), |config| {
            config.call_timeout = Duration::from_millis(500);
            config.max_message_bytes = LIMIT;
        });
        let session = factory.open(&profile(era)).await.unwrap();
        fake.set(|faults| {
            faults.only = Some("tools/call".into());
            switch(faults);
        });
        let error = session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap_err();
        let (text, possible) = fault(error);
        assert!(text.contains(expected), "{era:?}: {text}, expected {expected}");
        assert_eq!(possible, execution, "{era:?}: {text}");
        assert_eq!(fake.requests_of("tools/call").len(), 1, "{era:?}: {expected}: sent once (R-76)");
        fake.heal();
        let session = if session.is_open() { session } else { factory.open(&profile(era)).await.unwrap() };
        session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
    }
}

#[tokio::test]
async fn statuses_are_told_apart() {
    const MAYBE: Execution = Execution::Possible;
    check(|f| f.status = Some(500), "answered HTTP status 500", MAYBE).await;
    for status in [408, 409, 422, 429, 501, 502, 503, 504] {
        let expected = format!("answered HTTP status {status}");
        check(|f| f.status = Some(status), &expected, MAYBE).await;
    }
    check(|f| f.status = Some(400), "answered HTTP status 400", MAYBE).await;
    check(|f| f.status = Some(401), "refused the credentials (HTTP status 401)", Execution::NotStarted).await;
    check(|f| f.status = Some(403), "refused the credentials (HTTP status 403)", Execution::NotStarted).await;
    check(|f| f.status = Some(202), "HTTP status 202 in place of an answer", MAYBE).await;
}

#[tokio::test]
async fn bodies_that_are_no_answers_are_refused() {
    const MAYBE: Execution = Execution::Possible;
    check(|f| f.body = Some("not json".into()), "gave no valid answer: not valid JSON", MAYBE).await;
    check(|f| f.body = Some("".into()), "gave no valid answer", MAYBE).await;
    check(|f| f.content_type = Some("text/html".into()), "a body of type", MAYBE).await;
    check(|f| f.headers = vec![("content-encoding".into(), "gzip".into())], "a compressed body", MAYBE).await;
    check(|f| f.filler_headers = 200, "gave no valid answer", MAYBE).await;
    let filler = vec![("x-filler".to_owned(), "x".repeat(100 << 10))];
    check(|f| f.headers = filler.clone(), "answered with more than 65536 bytes", MAYBE).await;
    let filler = vec![("x-filler".to_owned(), "x".repeat(1 << 20))];
    check(|f| f.headers = filler.clone(), "gave no valid answer", MAYBE).await;
    let large = format!("answered with more than {LIMIT} bytes");
    check(|f| f.endless_body = true, &large, MAYBE).await;
    check(|f| (f.endless_body, f.shape) = (true, Shape::Sse), &large, MAYBE).await;
    check(|f| f.body = Some(vec![b' '; LIMIT + 1].into()), &large, MAYBE).await;
}

#[tokio::test]
async fn a_broken_connection_leaves_it_open_whether_the_call_ran() {
    const MAYBE: Execution = Execution::Possible;
    check(|f| f.drop_before = true, "ended: ", MAYBE).await;
    check(|f| f.drop_mid_answer = true, "ended: ", MAYBE).await;
    check(|f| (f.drop_mid_answer, f.shape) = (true, Shape::Sse), "ended: ", MAYBE).await;
}

#[tokio::test]
async fn answers_that_do_not_come_are_not_waited_for() {
    const MAYBE: Execution = Execution::Possible;
    check(|f| f.hang = true, "did not answer within 500ms", MAYBE).await;
    check(|f| f.endless_comments = true, "did not answer within 500ms", MAYBE).await;
    let drip = Some((1, Duration::from_millis(50)));
    check(|f| f.drip = drip, "did not answer within 500ms", MAYBE).await;
}

#[tokio::test]
async fn a_session_that_the_server_has_forgotten_is_over_and_the_call_was_not_made() {
    let fake = HttpFake::start(Profile::default());
    let (factory, observer) = factory(&fake.url(), |_| {});
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    fake.forget_sessions();
    let error = session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap_err();
    let (text, execution) = fault(error);
    assert!(text.contains("no longer knows the session"), "{text}");
    assert_eq!(execution, Execution::NotStarted);
    assert!(!session.is_open());
    assert_eq!(observer.lost().len(), 1);
    session.close().await;
    assert!(fake.requests().iter().all(|request| request.method == "POST"), "nothing is left to delete");
    let again = factory.open(&profile(Era::Legacy)).await.unwrap();
    again.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = HttpFake::start(Profile::default());
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile::default());
        let (factory, _) = factory(&fake.url(), |config| {
            config.headers = vec![("Authorization".into(), "Bearer s3cret".into())];
        });
        let session = factory.open(&profile(era)).await.unwrap();
        fake.set(|faults| faults.redirect = Some(elsewhere.url()));
        let error = session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap_err();
        let (text, _) = fault(error);
        assert!(text.contains("answered HTTP status 302"), "{text}");
        assert!(!text.contains("s3cret"));
    }
    assert_eq!(elsewhere.connection_count(), 0);
}

#[tokio::test]
async fn a_call_to_a_server_that_has_gone_was_not_made() {
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile::default());
        let (factory, _) = factory(&fake.url(), |_| {});
        let session = factory.open(&profile(era)).await.unwrap();
        fake.close();
        // The pool may not have noticed yet that its connection is closed.
        let mut last = None;
        for _ in 0..3 {
            let error = session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap_err();
            last = Some(fault(error));
        }
        let (text, execution) = last.unwrap();
        assert!(text.contains("cannot be reached"), "{text}");
        assert_eq!(execution, Execution::NotStarted);
        assert!(session.is_open(), "it may come back");
        fake.open();
        session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_not_http_is_nonsense() {
    let raw = legacy("2025-11-25", |_| Act::Last("SSH-2.0-OpenSSH_9.6\r\n\r\n".into())).await;
    let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
    let error = session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap_err();
    assert!(fault(error).0.contains("gave no valid answer"));
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_costs_no_call() {
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile::default());
        let (factory, _) = factory(&fake.url(), |_| {});
        let session = factory.open(&profile(era)).await.unwrap();
        fake.cut();
        // The end of the connection has to arrive; until then nobody can tell.
        tokio::time::sleep(Duration::from_millis(50)).await;
        session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
        assert_eq!(fake.requests_of("tools/call").len(), 1, "{era:?}");
    }
}

/// What a server that sends just these bytes makes of a call.
async fn check_raw(sent: &'static str, last: bool, expected: &str) {
    let act = move |_: &str| if last { Act::Last(sent.into()) } else { Act::Send(sent.into()) };
    let raw = legacy("2025-11-25", act).await;
    let (factory, _) = factory(&raw.url(), |config| {
        // Only what does not come at all may run into it, however busy the machine is.
        let brief = expected.contains("300ms");
        config.call_timeout = if brief { Duration::from_millis(300) } else { Duration::from_secs(30) };
    });
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    let called = session.call_tool("t", &[], &params("{}"), &quiet()).await;
    let (text, execution) = fault(called.unwrap_err());
    assert!(text.contains(expected), "{text}, expected {expected}, for {sent:?}");
    assert_eq!(execution, Execution::Possible, "{sent:?}");
    let calls = raw.requests().iter().filter(|request| request.contains("tools/call")).count();
    assert_eq!(calls, 1, "{sent:?}: sent once (R-76)");
    assert!(session.is_open(), "{sent:?}");
}

#[tokio::test]
async fn answers_that_stop_short_are_failures_of_their_kind() {
    const JSON_HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"jso\r\n";
    const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"jsonrpc\":";
    const ERROR: &str =
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 90\r\n\r\nsession";
    let late = "did not answer within 300ms";
    for (sent, cut_off) in [
        ("HTTP/1.1 200 OK\r\ncontent-ty", "ended: "),
        (JSON_HEAD, "ended: its connection broke in the middle of an answer"),
        (CHUNKED, "ended: its connection broke in the middle of an answer"),
        (EVENTS, "ended: its stream ended before the answer came"),
    ] {
        check_raw(sent, true, cut_off).await;
        check_raw(sent, false, late).await;
    }
    check_raw(ERROR, true, "answered HTTP status 400").await;
    check_raw(ERROR, false, "answered HTTP status 400").await;
    check_raw("", false, late).await;
}

#[tokio::test]
async fn a_port_that_accepts_and_says_nothing_is_given_up_in_time() {
    // The system takes the connections; nobody ever reads them.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (factory, _) = factory(&url, |config| config.startup_timeout = Duration::from_millis(300));
    let (text, execution) = fault(factory.open(&profile(Era::Legacy)).await.unwrap_err());
    assert!(text.contains("did not answer within 300ms"), "{text}");
    assert_eq!(execution, Execution::NotStarted, "no call was made");
}
