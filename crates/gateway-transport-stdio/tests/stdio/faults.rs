use std::time::Duration;

use gateway_domain::{DownstreamFault, DownstreamSession, Era, Execution, Session};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::*;

#[tokio::test]
async fn a_crash_fails_what_is_in_flight_and_says_why() {
    for era in [Era::Legacy, Era::Modern] {
        let (factory, ear) = factory(config("--hang-on add --crash-on echo", |_| {}));
        let session = factory.open(&profile(era)).await.unwrap();
        let (hanging, crashing) = tokio::join!(call(&session, "add", "{}"), call(&session, "echo", "{}"));
        for outcome in [hanging, crashing] {
            let error = fault(outcome);
            assert_eq!(error.execution, Execution::Possible);
            assert!(error.to_string().contains("ended: killed by signal 6 (SIGABRT)"), "{error}");
        }
        assert!(!session.is_open());
        until("the loss was told", || ear.losses.lock().unwrap().len() == 1).await;
        let told = ear.losses.lock().unwrap()[0].clone();
        assert!(told.starts_with("killed by signal 6 (SIGABRT)"), "{told}");
        let after = fault(call(&session, "echo", "{}").await);
        assert!(matches!(after.fault, DownstreamFault::Ended { .. }));
        assert_eq!(after.execution, Execution::NotStarted);
    }
}

#[tokio::test]
async fn what_was_answered_before_the_exit_is_delivered() {
    let session = open(Era::Legacy, "--exit-after 1").await;
    result(&session, "echo", "{}").await;
    let error = fault(call(&session, "echo", "{}").await);
    assert!(error.to_string().contains("exit status 1"), "{error}");
}

#[tokio::test]
async fn a_server_that_closes_its_stdout_is_lost() {
    let session = open(Era::Modern, "--close-stdout --ignore-eof").await;
    let error = fault(call(&session, "echo", "{}").await);
    assert!(error.to_string().contains("it closed its stdout"), "{error}");
    assert!(!session.is_open());
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nobody() {
    let session = open(Era::Modern, "--stderr-flood unlimited").await;
    for _ in 0..20 {
        let call = tokio::time::timeout(SOON, result(&session, "echo", "{}"));
        assert!(call.await.is_ok());
    }
    session.close().await;
}

#[tokio::test]
async fn noise_is_skipped_up_to_a_limit() {
    let fake = |noise| config(&format!("--noise {noise}"), |c| c.noise_limit = 5);
    let (bearable, _) = factory(fake(5));
    result(&bearable.open(&profile(Era::Legacy)).await.unwrap(), "echo", "{}").await;

    let error = fault(factory(fake(6)).0.open(&profile(Era::Legacy)).await);
    assert!(error.to_string().contains("6 lines in a row on its stdout are no messages"), "{error}");
}

#[tokio::test]
async fn an_overlong_answer_fails_its_call_and_no_other() {
    let fake = config("--long-line 300000", |c| {
        c.max_line_bytes = 100_000;
        c.call_timeout = Duration::from_millis(500);
    });
    let session = factory(fake).0.open(&profile(Era::Legacy)).await.unwrap();
    // Alone it fails at once; among others, none of which is answered in time here, at its timeout.
    let alone = fault(call(&session, "echo", "{}").await);
    assert_eq!(alone.fault, DownstreamFault::TooLarge { limit: 100_000 });
    let (one, two) = tokio::join!(call(&session, "echo", "{}"), call(&session, "echo", "{}"));
    let faults = [fault(one).fault, fault(two).fault];
    assert!(faults.contains(&DownstreamFault::TooLarge { limit: 100_000 }), "{faults:?}");
    assert!(session.is_open());
    session.ping().await.unwrap();
}

#[tokio::test]
async fn a_server_that_stops_reading_does_not_block_callers_for_ever() {
    let fake = config("--stop-reading", |c| {
        c.call_timeout = Duration::from_millis(500);
        c.write_queue = 4;
    });
    let session = factory(fake).0.open(&profile(Era::Legacy)).await.unwrap();
    let big = format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000));
    let calls: Vec<_> = (0..12).map(|_| Box::pin(call(&session, "echo", &big))).collect();
    let mut executions = Vec::new();
    for outcome in all(calls).await {
        let error = fault(outcome);
        assert!(matches!(error.fault, DownstreamFault::TimedOut { .. }), "{error}");
        executions.push(error.execution);
    }
    assert!(executions.contains(&Execution::Possible) && executions.contains(&Execution::NotStarted));
    assert!(tokio::time::timeout(SOON, session.close()).await.is_ok());
}

#[tokio::test]
async fn what_was_never_written_is_known_not_to_have_run() {
    let fake = config("--stop-reading", |c| c.call_timeout = SOON);
    let session = factory(fake).0.open(&profile(Era::Legacy)).await.unwrap();
    let big = format!(r#"{{"text":"{}"}}"#, "x".repeat(200_000));
    // The second fills the pipe, the third stays in the queue.
    let calls: Vec<_> = (0..3).map(|_| Box::pin(call(&session, "echo", &big))).collect();
    let killed = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let late = call(&session, "echo", "{}");
        let kill = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let pid = Pid::from_raw(i32::try_from(session.pid()).unwrap()).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
        };
        tokio::join!(late, kill).0
    };
    let (outcomes, late) = tokio::join!(all(calls), killed);
    let first = fault(outcomes.into_iter().next().unwrap());
    assert!(first.to_string().contains("killed by signal 9"), "{first}");
    assert_eq!(first.execution, Execution::Possible);
    assert_eq!(fault(late).execution, Execution::NotStarted);
}

async fn all<F: Future + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut outputs: Vec<_> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none() {
                match std::pin::Pin::new(future).poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
