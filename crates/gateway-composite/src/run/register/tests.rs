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
fn a_run_goes_on_until_its_entry_is_dropped_and_has_a_place_until_that_is_too() {
    let (register, limits) = (Arc::new(Register::default()), limits(1, 1));
    let entry = register.enter(None, running("1"), &limits).unwrap();
    let place = entry.place();
    assert_eq!(register.records().len(), 1);
    drop(entry);
    assert!(register.get("1").is_none());
    let full = CallerError::Overloaded { what: "workflows", limit: 1 };
    assert_eq!(register.enter(None, running("2"), &limits).unwrap_err(), full);
    drop(place);
    register.enter(None, running("2"), &limits).unwrap();
    assert!(register.locked().by_id.is_empty());
}

#[tokio::test]
async fn closing_cancels_all_takes_no_more_and_waits() {
    let (register, limits) = (Arc::new(Register::default()), limits(2, 2));
    let run = running("1");
    let entry = register.enter(None, run.clone(), &limits).unwrap();
    let _place = entry.place();
    let closing = tokio::spawn({
        let register = register.clone();
        async move { register.close().await }
    });
    run.stop.cancelled().await;
    assert!(!closing.is_finished());
    let refused = register.enter(None, running("2"), &limits);
    assert_eq!(refused.unwrap_err(), CallerError::SessionClosed);
    drop(entry);
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
