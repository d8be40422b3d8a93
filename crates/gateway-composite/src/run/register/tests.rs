use std::time::SystemTime;

use tokio::sync::watch;

use super::*;

fn running(id: &str) -> Running {
    let record = RunRecord {
        id: id.into(),
        workflow: "w".into(),
        caller: "c".into(),
        status: RunStatus::Running,
        steps: Vec::new(),
        started: SystemTime::UNIX_EPOCH,
        updated: SystemTime::UNIX_EPOCH,
        error: None,
    };
    Running { stop: Stop::new(), record: watch::channel(record).1 }
}

fn limits(max_runs: usize, max_runs_per_caller: usize) -> ComposerConfig {
    ComposerConfig { max_runs, max_runs_per_caller, ..ComposerConfig::default() }
}

#[test]
fn there_are_so_many_runs_in_all_and_of_each_caller() {
    let (register, limits) = (Arc::new(Register::default()), limits(3, 2));
    let enter = |caller, id| register.enter(&Caller::client(caller), running(id), &limits);
    let overloaded = |limit| CallerError::Overloaded { what: "workflows", limit };
    let first = enter("a", "1").unwrap();
    let _second = enter("a", "2").unwrap();
    assert_eq!(enter("a", "3").unwrap_err(), overloaded(2));
    let _third = enter("b", "3").unwrap();
    assert_eq!(enter("c", "4").unwrap_err(), overloaded(3));
    drop(first);
    assert!(register.get("1").is_none());
    let _fourth = enter("c", "4").unwrap();
    assert_eq!(register.records().len(), 3);
}

#[test]
fn callers_that_have_left_leave_nothing() {
    let register = Arc::new(Register::default());
    drop(register.enter(&Caller::client("a"), running("1"), &limits(1, 1)).unwrap());
    let runs = register.locked();
    assert!(runs.by_id.is_empty() && runs.per_caller.is_empty());
}

#[tokio::test]
async fn closing_cancels_all_takes_no_more_and_waits() {
    let (register, limits) = (Arc::new(Register::default()), limits(2, 2));
    let run = running("1");
    let place = register.enter(&Caller::anonymous(), run.clone(), &limits).unwrap();
    let closing = tokio::spawn({
        let register = register.clone();
        async move { register.close().await }
    });
    run.stop.cancelled().await;
    assert!(!closing.is_finished());
    let refused = register.enter(&Caller::anonymous(), running("2"), &limits);
    assert_eq!(refused.unwrap_err(), CallerError::SessionClosed);
    drop(place);
    closing.await.unwrap();
}

#[test]
fn a_run_either_ends_or_is_cancelled() {
    let stop = Stop::new();
    assert!(stop.end(RunStatus::Completed));
    assert_eq!(stop.cancel(), Err(RunStatus::Completed));
    let stop = Stop::new();
    assert_eq!(stop.cancel(), Ok(()));
    assert_eq!(stop.cancel(), Ok(()));
    assert!(!stop.end(RunStatus::Completed));
}
