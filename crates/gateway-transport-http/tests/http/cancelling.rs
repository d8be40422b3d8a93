use std::{sync::Arc, time::Duration};

use gateway_domain::{DownstreamSession, Era, Session};
use gateway_testkit::{
    Era as Serves, Profile,
    http::{HttpFake, Shape},
};

use crate::support::{
    Act, Raw, Sink, eventually, exchange, factory, fault, id, json, legacy, open, params, profile, quiet,
};

const SLOW: &str = r#"{"arguments":{"ms":60000}}"#;

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_the_session_goes_on() {
    for era in [Era::Legacy, Era::Modern] {
        for shape in [Shape::Json, Shape::Sse] {
            let fake = HttpFake::start(Profile::default());
            fake.set(|faults| faults.shape = shape);
            let session = Arc::new(open(&fake, era).await);
            let call = tokio::spawn({
                let session = session.clone();
                async move { drop(session.call_tool("sleep_ms", &[], &params(SLOW), &quiet()).await) }
            });
            eventually("the call", || fake.requests_of("tools/call").len() == 1).await;
            let body = fake.requests_of("tools/call").remove(0).body;
            let called = id(&body).to_owned();
            call.abort();
            eventually("the cancellation", || fake.cancelled() == [called.clone()]).await;
            let told = fake.requests_of("notifications/cancelled");
            assert_eq!(told.len(), usize::from(era == Era::Legacy), "{era:?} {shape:?}");
            assert!(told.iter().all(|told| told.body.contains(r#""reason":"cancelled""#)), "{told:?}");
            assert!(session.is_open());
            session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_call_out_of_time_is_cancelled_and_the_session_goes_on() {
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile::default());
        let (factory, _) = factory(&fake.url(), |config| config.call_timeout = Duration::from_secs(1));
        let session = factory.open(&profile(era)).await.unwrap();
        let error = session.call_tool("sleep_ms", &[], &params(SLOW), &quiet()).await.unwrap_err();
        assert!(fault(error).0.contains("did not answer within 1s"));
        eventually("the cancellation", || fake.cancelled().len() == 1).await;
        let told = fake.requests_of("notifications/cancelled");
        assert!(told.iter().all(|told| told.body.contains(r#""reason":"timed out""#)), "{told:?}");
        session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
    }
}

#[tokio::test]
async fn a_call_that_was_answered_is_not_cancelled() {
    let fake = HttpFake::start(Profile { era: Serves::Legacy, ..Profile::default() });
    let session = open(&fake, Era::Legacy).await;
    session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
    fake.set(|faults| faults.status = Some(500));
    session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap_err();
    fake.heal();
    session.ping().await.unwrap();
    assert_eq!(fake.requests_of("notifications/cancelled").len(), 0);
}

#[tokio::test]
async fn progress_puts_the_end_off_but_not_for_ever() {
    for (most, works) in [(60_000, true), (700, false)] {
        let fake = HttpFake::start(Profile::default());
        let (factory, _) = factory(&fake.url(), |config| {
            config.call_timeout = Duration::from_secs(2);
            config.max_call_time = Duration::from_millis(most);
        });
        let session = factory.open(&profile(Era::Modern)).await.unwrap();
        let call = params(r#"{"arguments":{"n":8,"ms":300}}"#);
        let sink = Arc::<Sink>::default();
        let answer = session.call_tool("progress", &[], &call, &exchange(&sink, true, None)).await;
        assert_eq!(answer.is_ok(), works, "at most {most} ms: {answer:?}");
    }
}

#[tokio::test]
async fn a_server_that_reports_progress_for_ever_is_given_up() {
    let sink = Arc::<Sink>::default();
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile::default());
        let (factory, _) = factory(&fake.url(), |config| {
            config.call_timeout = Duration::from_secs(30);
            config.max_call_time = Duration::from_secs(1);
        });
        let session = factory.open(&profile(era)).await.unwrap();
        let call = params(r#"{"arguments":{"n":100000,"ms":5}}"#);
        let called = session.call_tool("progress", &[], &call, &exchange(&sink, true, None)).await;
        let (text, execution) = fault(called.unwrap_err());
        assert!(text.contains("did not answer within 1s"), "{text}");
        assert_eq!(execution, gateway_domain::Execution::Possible);
        session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
    }
}

#[tokio::test]
async fn a_modern_server_sees_the_connection_close() {
    let raw = Raw::start(|request| {
        if request.contains("server/discover") {
            let result = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#;
            return Act::Send(json(&format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
                id(request)
            )));
        }
        Act::Hang
    })
    .await;
    let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Modern)).await.unwrap();
    let call = tokio::spawn(async move {
        drop(session.call_tool("t", &[], &params("{}"), &quiet()).await);
    });
    eventually("the call", || raw.requests().len() == 2).await;
    assert_eq!(raw.hung_up(), 0);
    call.abort();
    eventually("the end of the connection", || raw.hung_up() == 1).await;
}

#[tokio::test]
async fn cancelling_is_bounded() {
    let raw = legacy("2025-11-25", |_| Act::Hang).await;
    let (factory, _) = factory(&raw.url(), |config| {
        config.call_timeout = Duration::from_millis(100);
        config.max_errands = 3;
    });
    let session = Arc::new(factory.open(&profile(Era::Legacy)).await.unwrap());
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move {
                session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap_err();
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    eventually("a cancellation", || {
        raw.requests().iter().any(|request| request.contains("notifications/cancelled"))
    })
    .await;
    assert!(session.is_open());
}
