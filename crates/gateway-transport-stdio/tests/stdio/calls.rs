use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use gateway_domain::{DownstreamFault, DownstreamSession, Era, Execution, Outcome, Session, State, Tool};
use gateway_testkit::fixtures;

use crate::support::*;

#[tokio::test]
async fn results_and_definitions_come_byte_for_byte() {
    for (era, odd) in [(Era::Legacy, fixtures::ODD_RESULT), (Era::Modern, fixtures::ODD_RESULT_MODERN)] {
        let session = open(era, "").await;
        assert_eq!(result(&session, "odd", "{}").await.as_str(), odd);
        let arguments = r#"{ "b":1e400,"a":1.0,"big":9007199254740993 }"#;
        let echoed = result(&session, "echo", arguments).await;
        assert_eq!(echoed.get("structuredContent").unwrap().as_str(), arguments);
        let page = session.list_tools(None).await.unwrap();
        let listed: Vec<_> = page.tools.iter().map(|tool| tool.definition().as_str()).collect();
        assert_eq!(listed, fixtures::DEFAULT_TOOLS);
        session.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_caller_gets_its_own_answer() {
    for era in [Era::Legacy, Era::Modern] {
        let session = Arc::new(open(era, "--shuffle --foreign-id --answer-twice --noise 2 --crlf").await);
        let callers: Vec<_> = (0..64)
            .map(|caller| {
                let session = Arc::clone(&session);
                tokio::spawn(async move {
                    for turn in 0..4 {
                        let arguments = format!(r#"{{"caller":{caller},"turn":{turn}}}"#);
                        let answer = result(&session, "echo", &arguments).await;
                        assert_eq!(answer.get("structuredContent").unwrap().as_str(), arguments);
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
        // Foreign ids, second answers and noise.
        assert!(session.dropped() >= 64 * 4 * 4, "{}", session.dropped());
        session.close().await;
    }
}

#[tokio::test]
async fn a_downstreams_error_is_an_answer() {
    let session = open(Era::Modern, "").await;
    assert_eq!(result(&session, "fail", "{}").await.get("isError").unwrap().as_str(), "true");
    match call(&session, "ask", "{}").await.unwrap() {
        Outcome::InputRequired(asked) => {
            assert!(asked.requests.unwrap().contains("q"));
            match asked.state {
                State::Own(state) => assert_eq!(state.as_str(), r#""v1.\u0061\/=\"+""#),
                other => panic!("{other:?}"),
            }
        }
        other => panic!("{other:?}"),
    }
    match call(&session, "no-such-tool", "{}").await.unwrap() {
        Outcome::Failed(error) => assert_eq!(error.code, -32602),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn lists_come_in_pages() {
    for era in [Era::Legacy, Era::Modern] {
        let session = open(era, "--tools 25 --page-size 10").await;
        let (mut names, mut cursor, mut pages) = (Vec::new(), None::<String>, 0);
        loop {
            let page = session.list_tools(cursor.as_deref()).await.unwrap();
            names.extend(page.tools.iter().map(Tool::name).map(str::to_owned));
            pages += 1;
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((pages, names.len()), (3, 25));
        let error = fault(session.list_tools(Some("no cursor of its")).await);
        assert!(error.to_string().contains("-32602"), "{error}");
    }
}

#[tokio::test]
async fn changes_of_the_list_are_heard() {
    for era in [Era::Legacy, Era::Modern] {
        let (factory, ear) = factory(config("--list-changed-after 300", |_| {}));
        let session = factory.open(&profile(era)).await.unwrap();
        until("the change was heard", || ear.changes.load(Ordering::Relaxed) > 0).await;
        let page = session.list_tools(None).await.unwrap();
        assert!(page.tools.iter().any(|tool| tool.name() == "late"));
    }
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_its_siblings_live() {
    for era in [Era::Legacy, Era::Modern] {
        let session = open(era, "--hang-on never").await;
        let sibling = call(&session, "sleep_ms", r#"{"ms":300,"who":"sibling"}"#);
        let dropped = async {
            let slow = call(&session, "sleep_ms", r#"{"ms":60000}"#);
            assert!(tokio::time::timeout(Duration::from_millis(100), slow).await.is_err());
        };
        let (sibling, ()) = tokio::join!(sibling, dropped);
        let sibling = complete(sibling);
        assert!(sibling.get("structuredContent").unwrap().as_str().contains("sibling"));
        let cancelled = report(&session).await.get("cancelled").unwrap();
        assert_eq!(cancelled.elements(9).unwrap().len(), 1, "{}", cancelled.as_str());
        assert!(session.is_open());
    }
}

#[tokio::test]
async fn a_timeout_cancels_one_call_and_keeps_the_session() {
    let fake = config("--hang-on add", |c| c.call_timeout = Duration::from_millis(300));
    let session = factory(fake).0.open(&profile(Era::Legacy)).await.unwrap();
    let (late, sibling) =
        tokio::join!(call(&session, "add", "{}"), call(&session, "sleep_ms", r#"{"ms":150}"#));
    let error = fault(late);
    assert!(matches!(error.fault, DownstreamFault::TimedOut { .. }), "{error}");
    assert_eq!(error.execution, Execution::Possible);
    complete(sibling);
    let cancelled = report(&session).await.get("cancelled").unwrap();
    assert_eq!(cancelled.elements(9).unwrap().len(), 1);
    assert!(session.is_open());
}

#[tokio::test]
async fn progress_is_passed_on_and_extends_the_wait_within_bounds() {
    let open = async |total| {
        let fake = config("", |c| {
            c.call_timeout = Duration::from_millis(700);
            c.max_call_time = Duration::from_millis(total);
        });
        factory(fake).0.open(&profile(Era::Modern)).await.unwrap()
    };
    let slow = params(r#"{"n":6,"ms":200}"#);
    let session = open(60_000).await;
    let events = Arc::new(Events::default());
    complete(session.call_tool("progress", &[], &slow, &exchange(Some(Arc::clone(&events)))).await);
    let seen = events.0.lock().unwrap().clone();
    assert_eq!(seen.len(), 6);
    for (n, event) in seen.iter().enumerate() {
        assert!(event.contains(&format!(r#""progress":{},"#, n + 1)), "{event}");
    }
    // Nobody asks for progress that is not wanted.
    complete(session.call_tool("progress", &[], &params(r#"{"n":6,"ms":1}"#), &exchange(None)).await);
    assert_eq!(session.dropped(), 0);

    let session = open(900).await;
    let error = fault(session.call_tool("progress", &[], &slow, &exchange(Some(Arc::default()))).await);
    assert!(matches!(error.fault, DownstreamFault::TimedOut { .. }), "{error}");
}

#[tokio::test]
async fn requests_of_the_server_are_answered() {
    let session = open(Era::Legacy, "--request-roots").await;
    let answered = async {
        loop {
            if let Some(answer) = report(&session).await.get_object("roots_answer") {
                break answer;
            }
        }
    };
    let answer = tokio::time::timeout(SOON, answered).await.unwrap();
    assert_eq!(answer.get("id").unwrap().as_str(), r#""roots-1""#);
    assert_eq!(answer.get_object("error").unwrap().get("code").unwrap().as_str(), "-32601");
    // One that asks in mid-call is not left hanging either.
    let asked = result(&session, "ask", "{}").await;
    assert_eq!(asked.get("structuredContent").unwrap().as_str(), r#"{"answer":null}"#);
}

#[tokio::test]
async fn no_more_may_wait_than_the_limit() {
    let fake = config("--hang-on add", |c| c.max_pending = 2);
    let session = factory(fake).0.open(&profile(Era::Legacy)).await.unwrap();
    let hanging = async { tokio::join!(call(&session, "add", "{}"), call(&session, "add", "{}")) };
    let third = async {
        tokio::task::yield_now().await;
        call(&session, "echo", "{}").await
    };
    tokio::select! {
        _ = hanging => panic!("a hanging call was answered"),
        refused = third => {
            let error = refused.unwrap_err().to_string();
            assert_eq!(error, "too many requests on one downstream session at once; the limit is 2");
        }
    }
}
