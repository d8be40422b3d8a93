use std::time::SystemTime;

use tokio::time::advance;

use super::{super::RunStatus, *};

fn record(id: &str, status: RunStatus) -> RunRecord {
    RunRecord {
        id: id.into(),
        workflow: "w".into(),
        caller: "c".into(),
        status,
        steps: Vec::new(),
        started: SystemTime::UNIX_EPOCH,
        updated: SystemTime::UNIX_EPOCH,
        error: None,
    }
}

fn not_found(id: &str) -> StateError {
    StateError::NotFound { id: id.into() }
}

#[tokio::test]
async fn records_are_saved_loaded_and_deleted() {
    let store = MemoryStore::new();
    store.save(&record("a", RunStatus::Running)).await.unwrap();
    store.save(&record("a", RunStatus::Failed)).await.unwrap();
    assert_eq!(store.load("a").await, Ok(record("a", RunStatus::Failed)));
    store.delete("a").await.unwrap();
    assert_eq!(store.load("a").await, Err(not_found("a")));
    assert_eq!(store.delete("a").await, Err(not_found("a")));
}

#[tokio::test]
async fn a_record_needs_an_id() {
    let store = MemoryStore::new();
    assert_eq!(store.save(&record("", RunStatus::Running)).await, Err(StateError::EmptyId));
    assert_eq!(store.load("").await, Err(StateError::EmptyId));
    assert_eq!(store.delete("").await, Err(StateError::EmptyId));
}

#[tokio::test]
async fn those_that_have_not_ended_are_listed_oldest_first() {
    let store = MemoryStore::new();
    for (id, status, age) in [
        ("a", RunStatus::Running, 1),
        ("b", RunStatus::Completed, 2),
        ("c", RunStatus::WaitingForElicitation, 3),
        ("d", RunStatus::TimedOut, 4),
        ("e", RunStatus::Pending, 5),
    ] {
        let started = SystemTime::now() - Duration::from_secs(age);
        store.save(&RunRecord { started, ..record(id, status) }).await.unwrap();
    }
    let ids: Vec<_> = store.list_active().await.unwrap().into_iter().map(|record| record.id).collect();
    assert_eq!(ids, ["e", "c", "a"].map(Arc::from));
}

#[tokio::test(start_paused = true)]
async fn ended_runs_are_forgotten_after_an_hour_and_others_never() {
    let store = MemoryStore::new();
    store.save(&record("ended", RunStatus::Completed)).await.unwrap();
    store.save(&record("runs", RunStatus::Running)).await.unwrap();
    tokio::time::sleep(KEEP - CLEANUP_EVERY).await;
    assert!(store.load("ended").await.is_ok());
    tokio::time::sleep(CLEANUP_EVERY * 3).await;
    assert_eq!(store.load("ended").await, Err(not_found("ended")));
    tokio::time::sleep(KEEP * 3).await;
    assert!(store.load("runs").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn too_many_records_cost_the_one_that_ended_first() {
    let store = MemoryStore::new();
    store.save(&record("runs", RunStatus::Running)).await.unwrap();
    for number in 0..MAX_RECORDS {
        store.save(&record(&number.to_string(), RunStatus::Completed)).await.unwrap();
        advance(Duration::from_millis(1)).await;
    }
    assert_eq!(store.load("0").await, Err(not_found("0")));
    assert!(store.load("1").await.is_ok());
    assert!(store.load("runs").await.is_ok());
    assert_eq!(lock(&store.kept).by_id.len(), MAX_RECORDS);
}

#[tokio::test(start_paused = true)]
async fn large_records_cost_those_that_ended_first() {
    let store = MemoryStore::new();
    let large =
        |id: &str| RunRecord { error: Some("x".repeat(MAX_BYTES / 4)), ..record(id, RunStatus::Failed) };
    store.save(&record("runs", RunStatus::Running)).await.unwrap();
    for id in ["a", "b", "b", "c", "d", "e"] {
        store.save(&large(id)).await.unwrap();
        advance(Duration::from_millis(1)).await;
    }
    for (id, is_there) in [("a", false), ("b", false), ("c", true), ("d", true), ("e", true), ("runs", true)]
    {
        assert_eq!(store.load(id).await.is_ok(), is_there, "{id}");
    }
    for id in ["c", "d"] {
        store.delete(id).await.unwrap();
    }
    tokio::time::sleep(KEEP + CLEANUP_EVERY * 2).await;
    assert_eq!(lock(&store.kept).bytes, bytes(&record("runs", RunStatus::Running)));
}

#[tokio::test(start_paused = true)]
async fn the_cleanup_stops_with_the_store() {
    let store = MemoryStore::new();
    let (kept, cleanup) = (Arc::downgrade(&store.kept), store.cleanup.clone().unwrap());
    drop(store);
    tokio::task::yield_now().await;
    assert!(kept.upgrade().is_none());
    assert!(cleanup.is_finished());
}

#[test]
fn a_store_can_be_made_outside_a_runtime() {
    assert!(MemoryStore::new().cleanup.is_none());
}
