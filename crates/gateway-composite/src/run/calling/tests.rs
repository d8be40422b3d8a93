use std::time::Duration;

use tokio::time::timeout;

use super::*;

async fn is_quiet(calls: &Calls) -> bool {
    timeout(Duration::from_secs(1), calls.none()).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_waits_for_all_calls() {
    let calls = Calls::default();
    assert!(is_quiet(&calls).await);
    let (one, other) = (calls.begin(), calls.clone().begin());
    drop(one);
    assert!(!is_quiet(&calls).await);
    drop(other);
    assert!(is_quiet(&calls).await);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_out_before_its_work_is_polled_and_not_when_that_is_dropped() {
    let calls = Calls::default();
    let work = calls.begin().during(std::future::pending::<()>());
    assert!(!is_quiet(&calls).await);
    let task = tokio::spawn(work);
    tokio::task::yield_now().await;
    assert!(!is_quiet(&calls).await);
    task.abort();
    assert!(is_quiet(&calls).await);
    assert_eq!(calls.begin().during(async { 7 }).await, 7);
    assert!(is_quiet(&calls).await);
}
