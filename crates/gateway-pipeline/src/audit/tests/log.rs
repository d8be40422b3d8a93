//! The writer: batches, durability, errors, the end (P-58, P-61 to P-64).

use gateway_domain::{Decision, Dispatcher};
use tokio::time::timeout;
use tracing::Level;

use super::*;
use crate::testing::{Fake, Log, call, complete};

fn fine(log: &AuditLog) -> Audit<Fake> {
    Audit::new(log.clone(), Fake::now(|_| complete("{}")))
}

async fn calls(log: &AuditLog, count: usize) {
    for _ in 0..count {
        fine(log).dispatch(call("t")).await.unwrap();
    }
}

/// Of what a sink did, how long after `begun` and how many lines.
fn writes(memory: &Memory, begun: Instant) -> Vec<(u128, usize)> {
    memory.with(|state| state.writes.iter().map(|(at, lines)| ((*at - begun).as_millis(), *lines)).collect())
}

fn syncs(memory: &Memory, begun: Instant) -> Vec<u128> {
    memory.with(|state| state.syncs.iter().map(|at| (*at - begun).as_millis()).collect())
}

#[tokio::test(start_paused = true)]
async fn records_are_written_after_fifty_milliseconds_or_a_hundred_of_them() {
    let (log, memory) = started(&AuditConfig::default());
    let begun = Instant::now();
    calls(&log, 1).await;
    sleep(30 * MILLI).await;
    calls(&log, 98).await;
    sleep(30 * MILLI).await;
    assert_eq!(writes(&memory, begun), [(50, 99)]);
    calls(&log, 1).await;
    sleep(10 * MILLI).await;
    calls(&log, 99).await;
    sleep(10 * MILLI).await;
    assert_eq!(writes(&memory, begun), [(50, 99), (70, 100)]);
    assert_eq!(counts(&log), [199, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn what_was_written_is_durable_within_a_second() {
    let (log, memory) = started(&AuditConfig::default());
    let begun = Instant::now();
    calls(&log, 1).await;
    sleep(5000 * MILLI).await;
    assert_eq!(syncs(&memory, begun), [1050], "once, and not again where nothing is new");
    memory.with(|state| state.delay = 60 * MILLI);
    for _ in 0..400 {
        calls(&log, 1).await;
        sleep(10 * MILLI).await;
    }
    let later: Vec<_> = syncs(&memory, begun).into_iter().skip(1).collect();
    assert!(later.len() >= 3, "under load too: {later:?}");
    assert!(later.windows(2).all(|pair| pair[1] - pair[0] <= 1300), "{later:?}");
}

#[tokio::test(start_paused = true)]
async fn close_writes_everything_makes_it_durable_and_may_be_repeated() {
    let (log, memory) = started(&AuditConfig::default());
    let begun = Instant::now();
    calls(&log, 250).await;
    tokio::join!(log.close(), log.close());
    log.close().await;
    assert_eq!(begun.elapsed(), Duration::ZERO, "without waiting for more");
    assert_eq!((memory.records().len(), syncs(&memory, begun)), (250, vec![0]));
    assert_eq!(counts(&log), [250, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn close_does_not_wait_for_a_wedged_sink_for_ever() {
    let (log, memory) = started(&AuditConfig { close_wait: 700 * MILLI, ..AuditConfig::default() });
    memory.wedge(true);
    calls(&log, 1).await;
    let begun = Instant::now();
    log.close().await;
    assert_eq!(begun.elapsed(), 700 * MILLI);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_log_writes_what_was_handed_over() {
    let (log, memory) = started(&AuditConfig::default());
    calls(&log, 3).await;
    drop(log);
    sleep(MILLI).await;
    assert_eq!((memory.records().len(), memory.with(|state| state.syncs.len())), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_counted_logged_once_and_loses_nothing() {
    let (log, memory) = started(&room(100, 10));
    let told = Arc::new(Log::default());
    let _telling = tracing::subscriber::set_default(told.clone());
    memory.with(|state| (state.failures, state.takes) = (3, 100));
    for _ in 0..5 {
        calls(&log, 1).await;
        sleep(400 * MILLI).await;
    }
    assert_eq!(counts(&log), [0, 0, 0, 2]);
    assert_eq!(told.of(Level::ERROR).len(), 1);
    sleep(2000 * MILLI).await;
    log.close().await;
    assert_eq!(counts(&log), [5, 0, 0, 3]);
    assert_eq!(memory.records().len(), 5, "whole lines, though they were taken in parts");
    assert_eq!((told.of(Level::ERROR).len(), told.of(Level::INFO).len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_stays_full_refuses_what_must_be_recorded_and_the_end_counts_what_is_lost() {
    let (log, memory) = started(&room(4, 1));
    memory.with(|state| state.failures = usize::MAX);
    calls(&log, 8).await;
    let denied = || {
        Fake::now(|call| {
            call.exchange.notes.decided(Decision::Denied);
            Err(unknown("t"))
        })
    };
    assert_eq!(error(Audit::new(log.clone(), denied()).dispatch(call("t")).await), unknown("t"));
    assert_eq!(error(Audit::new(log.clone(), denied()).dispatch(call("t")).await), unrecorded(false));
    log.close().await;
    let [written, shed, unrecordable, _] = counts(&log);
    assert_eq!([written, shed, unrecordable], [0, 4, 1 + 5]);
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_fails_does_not_repeat_what_another_has() {
    let (good, bad) = (Memory::new(), Memory::new());
    let log = AuditLog::start(&AuditConfig::default(), vec![Box::new(bad.clone()), Box::new(good.clone())]);
    bad.with(|state| (state.failures, state.takes) = (1, 0));
    calls(&log, 2).await;
    sleep(100 * MILLI).await;
    assert_eq!((good.records().len(), bad.records().len(), counts(&log)), (2, 0, [0, 0, 0, 1]));
    sleep(1000 * MILLI).await;
    assert_eq!((good.records().len(), bad.records().len(), counts(&log)), (2, 2, [2, 0, 0, 1]));
    assert_eq!(good.with(|state| state.writes.len()), 1, "it is not asked again");
}

#[tokio::test(start_paused = true)]
async fn a_failed_sync_is_counted_and_tried_again() {
    let (log, memory) = started(&AuditConfig::default());
    memory.with(|state| state.sync_fails = true);
    let begun = Instant::now();
    calls(&log, 1).await;
    sleep(2500 * MILLI).await;
    memory.with(|state| state.sync_fails = false);
    sleep(5000 * MILLI).await;
    assert_eq!(syncs(&memory, begun), [1050, 2050, 3050]);
    assert_eq!(counts(&log), [1, 0, 0, 2]);
}

#[tokio::test(start_paused = true)]
async fn sinks_are_opened_again_when_somebody_asks_even_while_they_fail() {
    let (log, memory) = started(&AuditConfig::default());
    log.reopen();
    sleep(MILLI).await;
    assert_eq!(memory.with(|state| state.reopened), 1);
    memory.with(|state| state.failures = 1);
    calls(&log, 1).await;
    sleep(100 * MILLI).await;
    log.reopen();
    sleep(MILLI).await;
    assert_eq!((memory.with(|state| state.reopened), memory.records().len()), (2, 1), "and tried at once");
    assert!(timeout(1000 * MILLI, log.close()).await.is_ok());
}
