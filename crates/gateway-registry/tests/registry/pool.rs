use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use gateway_domain::{
    CallerError, ClientCapabilities, DownstreamFault, DownstreamSession, Era, Error, RawObject,
    SessionProfile,
};
use gateway_registry::{Pool, PoolConfig, Pooled, Stats};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    fake::{Fake, SECOND, Speaks, fault, name, number, unreachable},
    fixture::without_tasks,
};

type FakePool = Pool<Fake>;

fn pool(fake: &Fake, max: usize) -> FakePool {
    Pool::new(name("fake"), Arc::new(fake.clone()), PoolConfig { max, ..PoolConfig::default() })
}

fn profile(era: Era) -> SessionProfile {
    SessionProfile { era, capabilities: ClientCapabilities::none(), ..SessionProfile::default() }
}

async fn take(pool: &FakePool) -> Pooled<Arc<dyn DownstreamSession>> {
    pool.acquire(&profile(Era::Legacy)).await.unwrap()
}

/// Lets everything run that can run now.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn stats(in_use: usize, idle: usize, created: u64) -> Stats {
    Stats { in_use, idle, created }
}

#[tokio::test(start_paused = true)]
async fn settings_of_zero_take_the_defaults() {
    let fake = Fake::new(Speaks::Legacy);
    let none = Duration::ZERO;
    let zero = PoolConfig { max: 0, acquire_timeout: none, idle_ttl: none, close_timeout: none };
    let pool = Pool::new(name("fake"), Arc::new(fake), zero);
    assert_eq!(pool.idle_ttl(), 90 * SECOND, "R-1, R-14");
    let mut held = Vec::new();
    for _ in 0..16 {
        held.push(take(&pool).await);
    }
    let begun = Instant::now();
    assert_eq!(fault(pool.acquire(&profile(Era::Legacy)).await), DownstreamFault::Exhausted { max: 16 });
    assert!((2 * SECOND..3 * SECOND).contains(&begun.elapsed()), "R-3: {:?}", begun.elapsed());
    let begun = Instant::now();
    pool.close().await;
    assert_eq!(begun.elapsed(), 8 * SECOND, "they are not given back");
}

#[tokio::test(start_paused = true)]
async fn a_limit_beyond_what_can_be_counted_is_cut_to_it() {
    let pool = pool(&Fake::new(Speaks::Legacy), usize::MAX);
    let session = take(&pool).await;
    assert_eq!(pool.stats(), stats(1, 0, 1));
    drop(session);
    assert_eq!(pool.stats(), stats(0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_loops_never_have_more_than_max() {
    for (outcome, expected_created) in [("release", 4), ("discard", 1000)] {
        let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND / 100).closing_takes(SECOND / 100);
        let config = PoolConfig { max: 4, acquire_timeout: 3600 * SECOND, ..PoolConfig::default() };
        let pool = Pool::new(name("fake"), Arc::new(fake.clone()), config);
        let mut loops = JoinSet::new();
        for _ in 0..100 {
            let pool = pool.clone();
            loops.spawn(async move {
                for _ in 0..10 {
                    let session = take(&pool).await;
                    settle().await;
                    assert!(session.is_open());
                    if outcome == "discard" {
                        session.discard().await;
                    }
                }
            });
        }
        while let Some(ended) = loops.join_next().await {
            ended.unwrap();
        }
        assert_eq!(fake.most_live.load(SeqCst), 4, "R-2, with {outcome}");
        assert_eq!(pool.stats().created, expected_created, "with {outcome}");
        assert_eq!(pool.stats().in_use, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_never_have_more_than_max_of_any_profiles() {
    let fake = Fake::new(Speaks::Both);
    let config = PoolConfig { max: 3, acquire_timeout: 60 * SECOND, ..PoolConfig::default() };
    let pool = Pool::new(name("fake"), Arc::new(fake.clone()), config);
    let mut loops = JoinSet::new();
    for task in 0..16 {
        let pool = pool.clone();
        loops.spawn(async move {
            for turn in 0..50 {
                let era = if (task + turn) % 3 == 0 { Era::Modern } else { Era::Legacy };
                let session = pool.acquire(&profile(era)).await.unwrap();
                assert_eq!(session.peer().era, era, "profiles are not mixed");
                tokio::task::yield_now().await;
                match turn % 5 {
                    0 => session.discard().await,
                    _ => drop(session),
                }
            }
        });
    }
    while let Some(ended) = loops.join_next().await {
        ended.unwrap();
    }
    assert!(fake.most_live.load(SeqCst) <= 3, "R-2: {}", fake.most_live.load(SeqCst));
    pool.close().await;
    let (opened, closed, live) = fake.counts();
    assert_eq!((closed, live), (opened, 0), "every session was closed");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_gets_what_comes_back_and_may_give_up() {
    let fake = Fake::new(Speaks::Legacy);
    let pool = pool(&fake, 1);
    let held = take(&pool).await;
    let given_up = tokio::time::timeout(SECOND, pool.acquire(&profile(Era::Legacy))).await;
    assert!(given_up.is_err(), "R-4: the caller's own end comes first");
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { number(&*take(&pool).await) }
    });
    settle().await;
    drop(held);
    assert_eq!(waiter.await.unwrap(), 1);
    assert_eq!(pool.stats(), stats(0, 1, 1), "who gave up holds nothing");
}

#[tokio::test(start_paused = true)]
async fn reuse_is_most_recently_returned_first_and_by_profile() {
    let fake = Fake::new(Speaks::Both);
    let pool = pool(&fake, 4);
    let (first, second) = (take(&pool).await, take(&pool).await);
    drop(second);
    drop(first);
    assert_eq!(number(&*take(&pool).await), 1, "R-6");
    let modern = pool.acquire(&profile(Era::Modern)).await.unwrap();
    assert_eq!(number(&modern), 3, "an idle session of another profile is not for this caller");
    let capabilities = RawObject::parse(r#"{"sampling":{}}"#).unwrap().into();
    let sampling = pool
        .acquire(&SessionProfile { era: Era::Legacy, capabilities, ..SessionProfile::default() })
        .await
        .unwrap();
    assert_eq!(number(&sampling), 4);
    assert_eq!(pool.stats(), stats(2, 2, 4));
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_need_no_permit_and_the_oldest_makes_room() {
    let fake = Fake::new(Speaks::Both).closing_takes(SECOND);
    let pool = pool(&fake, 2);
    let (first, second) = (take(&pool).await, take(&pool).await);
    drop(second);
    drop(first);
    assert_eq!(pool.stats(), stats(0, 2, 2));
    let modern = pool.acquire(&profile(Era::Modern)).await.unwrap();
    assert_eq!(number(&modern), 3, "R-12: at once, though both places have idle sessions");
    assert_eq!(fake.counts(), (3, 1, 2));
    assert_eq!(number(&*take(&pool).await), 1, "session 2 was idle longest");
    assert_eq!(fake.most_live.load(SeqCst), 2, "it was gone before the new one was opened");
}

#[tokio::test(start_paused = true)]
async fn a_crowd_that_needs_room_never_has_more_than_max() {
    let fake = Fake::new(Speaks::Both).closing_takes(SECOND).opening_takes(SECOND);
    let pool = pool(&fake, 4);
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(take(&pool).await);
    }
    drop(held);
    let mut crowd = JoinSet::new();
    for _ in 0..4 {
        let pool = pool.clone();
        crowd.spawn(async move { pool.acquire(&profile(Era::Modern)).await.unwrap() });
    }
    let sessions = crowd.join_all().await;
    assert_eq!(sessions.len(), 4);
    assert_eq!(fake.most_live.load(SeqCst), 4, "R-2, R-W14");
    assert_eq!(fake.counts(), (8, 4, 4));
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_while_room_is_made_leaves_nothing_half_closed() {
    let fake = Fake::new(Speaks::Both).closing_takes(10 * SECOND);
    let pool = pool(&fake, 1);
    drop(take(&pool).await);
    let given_up = tokio::time::timeout(SECOND, pool.acquire(&profile(Era::Modern))).await;
    assert!(given_up.is_err());
    assert_eq!(pool.stats(), stats(1, 0, 1), "R-W14: the session that is being closed has the place");
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!((fake.counts(), pool.stats()), ((1, 1, 0), stats(0, 0, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_nobody_waits_for_keeps_its_place_and_is_kept_idle() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(10 * SECOND);
    let pool = pool(&fake, 1);
    assert!(tokio::time::timeout(SECOND, pool.acquire(&profile(Era::Legacy))).await.is_err());
    assert_eq!((pool.stats(), fake.counts()), (stats(1, 0, 0), (0, 0, 1)), "R-W14: it is still there");
    assert!(matches!(fault(pool.acquire(&profile(Era::Legacy)).await), DownstreamFault::Exhausted { .. }));
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!((pool.stats(), fake.counts()), (stats(0, 1, 1), (1, 0, 1)));
    assert_eq!(number(&*take(&pool).await), 1, "good for the next");
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_nobody_waits_for_and_fails_frees_its_place() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(10 * SECOND).failing(1);
    let pool = pool(&fake, 1);
    assert!(tokio::time::timeout(SECOND, pool.acquire(&profile(Era::Legacy))).await.is_err());
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!((pool.stats(), fake.counts()), (stats(0, 0, 0), (0, 0, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_slow_creation_blocks_nobody() {
    let fake = Fake::new(Speaks::Legacy);
    let pool = pool(&fake, 3);
    let held = take(&pool).await;
    let fake = fake.opening_takes(100 * SECOND);
    let slow = tokio::spawn({
        let pool = pool.clone();
        async move { take(&pool).await }
    });
    settle().await;
    let begun = Instant::now();
    assert_eq!(pool.stats(), stats(2, 0, 1), "R-11");
    drop(held);
    drop(take(&pool).await);
    assert_eq!(begun.elapsed(), Duration::ZERO, "R-7");
    drop(slow.await.unwrap());
    assert_eq!((pool.stats(), fake.counts()), (stats(0, 2, 2), (2, 0, 2)));
}

#[tokio::test(start_paused = true)]
async fn a_failed_creation_is_told_and_frees_the_place() {
    let fake = Fake::new(Speaks::Legacy).failing(1);
    let pool = pool(&fake, 1);
    assert_eq!(pool.acquire(&profile(Era::Legacy)).await.unwrap_err(), unreachable(), "R-8");
    assert_eq!(pool.stats(), stats(0, 0, 0));
    assert_eq!(number(&*take(&pool).await), 1);
}

#[tokio::test(start_paused = true)]
async fn a_discarded_session_has_its_place_until_it_is_gone() {
    let fake = Fake::new(Speaks::Legacy).closing_takes(10 * SECOND);
    let pool = pool(&fake, 1);
    let session = take(&pool).await;
    // A caller who gives up leaves it to be closed to its end.
    assert!(tokio::time::timeout(SECOND, session.discard()).await.is_err());
    assert_eq!(pool.stats(), stats(1, 0, 1), "R-10");
    assert!(matches!(fault(pool.acquire(&profile(Era::Legacy)).await), DownstreamFault::Exhausted { .. }));
    tokio::time::sleep(8 * SECOND).await;
    assert_eq!(number(&*take(&pool).await), 2, "never used again");
    assert_eq!((fake.counts(), fake.most_live.load(SeqCst)), ((2, 1, 1), 1));
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_is_closed_and_not_used_again() {
    let fake = Fake::new(Speaks::Legacy);
    let pool = pool(&fake, 2);
    let session = take(&pool).await;
    fake.kill_all();
    drop(session);
    settle().await;
    assert_eq!((fake.counts(), pool.stats()), ((1, 1, 0), stats(0, 0, 1)), "it ended while in use");

    drop(take(&pool).await);
    fake.kill_all();
    assert_eq!(number(&*take(&pool).await), 3, "R-W12: it ended while idle");
    assert_eq!(fake.counts(), (3, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn what_has_ended_makes_room_before_what_is_oldest() {
    let fake = Fake::new(Speaks::Both);
    let pool = pool(&fake, 2);
    let (first, second) = (take(&pool).await, take(&pool).await);
    drop(first);
    drop(second);
    fake.kill(2);
    pool.acquire(&profile(Era::Modern)).await.unwrap();
    assert_eq!(number(&*take(&pool).await), 1);
    assert_eq!(fake.counts(), (3, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_comes_back_to_be_closed_has_its_place_until_it_is_gone() {
    let fake = Fake::new(Speaks::Legacy).closing_takes(10 * SECOND);
    let pool = pool(&fake, 1);
    let session = take(&pool).await;
    fake.kill_all();
    drop(session);
    settle().await;
    assert_eq!(pool.stats(), stats(1, 0, 1), "R-W14");
    assert!(matches!(fault(pool.acquire(&profile(Era::Legacy)).await), DownstreamFault::Exhausted { .. }));
    tokio::time::sleep(9 * SECOND).await;
    assert_eq!((pool.stats(), fake.counts()), (stats(0, 0, 1), (1, 1, 0)));
}

#[tokio::test(start_paused = true)]
async fn the_reaper_closes_what_is_idle_longer_than_the_time_to_live() {
    let fake = Fake::new(Speaks::Legacy);
    let pool = pool(&fake, 2);
    let held = take(&pool).await;
    tokio::time::sleep(SECOND).await;
    drop(take(&pool).await);
    // Its steps are at 45, 90 and 135 seconds.
    tokio::time::sleep(134 * SECOND).await;
    assert_eq!(pool.stats(), stats(1, 1, 2), "R-13: at 90 it was idle for 89");
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!((pool.stats(), fake.counts()), (stats(1, 0, 2), (2, 1, 1)), "who is in use is not idle");
    drop(held);
    assert_eq!(number(&*take(&pool).await), 1);
}

#[tokio::test(start_paused = true)]
async fn the_reaper_closes_strictly_later_and_side_by_side_within_the_bound() {
    let fake = Fake::new(Speaks::Legacy).closing_takes(10 * SECOND);
    let config = PoolConfig { max: 3, idle_ttl: 3600 * SECOND, ..PoolConfig::default() };
    let pool = without_tasks(|| Pool::new(name("fake"), Arc::new(fake.clone()), config));
    drop([take(&pool).await, take(&pool).await, take(&pool).await]);
    tokio::time::advance(3600 * SECOND).await;
    let begun = Instant::now();
    pool.reap().await;
    assert_eq!(begun.elapsed(), Duration::ZERO, "R-13: strictly longer");
    tokio::time::advance(Duration::from_millis(1)).await;
    let begun = Instant::now();
    let reaping = tokio::spawn({
        let pool = pool.clone();
        async move { pool.reap().await }
    });
    settle().await;
    assert_eq!(pool.stats(), stats(3, 0, 3), "R-W14: what is being closed has its place");
    reaping.await.unwrap();
    assert_eq!(begun.elapsed(), 10 * SECOND, "R-W22");
    assert_eq!((pool.stats(), fake.counts()), (stats(0, 0, 3), (3, 3, 0)));
}

#[tokio::test(start_paused = true)]
async fn the_reaper_removes_what_has_ended() {
    let fake = Fake::new(Speaks::Legacy);
    let pool = pool(&fake, 1);
    drop(take(&pool).await);
    fake.kill_all();
    pool.reap().await;
    assert_eq!((pool.stats(), fake.counts()), (stats(0, 0, 1), (1, 1, 0)));
}

#[tokio::test(start_paused = true)]
async fn closing_wakes_waiters_and_ends_everything_once() {
    let fake = Fake::new(Speaks::Legacy).closing_takes(SECOND);
    let pool = pool(&fake, 3);
    let sessions = [take(&pool).await, take(&pool).await, take(&pool).await];
    let begun = Instant::now();
    let waiter = tokio::spawn({
        let pool = pool.clone();
        async move { fault(pool.acquire(&profile(Era::Legacy)).await) }
    });
    settle().await;
    let [held, idle, another] = sessions;
    let closing = tokio::spawn({
        let pool = pool.clone();
        async move { pool.close().await }
    });
    assert_eq!(waiter.await.unwrap(), DownstreamFault::Closed, "R-W13");
    assert!(begun.elapsed() < SECOND, "at once");
    assert_eq!(fault(pool.acquire(&profile(Era::Legacy)).await), DownstreamFault::Closed, "R-5");
    assert_eq!(pool.stats(), stats(3, 0, 3), "what is in use stays so");
    assert!(!closing.is_finished());
    drop([held, idle, another]);
    closing.await.unwrap();
    assert_eq!((pool.stats(), fake.counts()), (stats(0, 0, 3), (3, 3, 0)), "R-9, R-15: closed on return");
    pool.close().await;
    assert_eq!(fake.closes.load(SeqCst), 3, "idempotent");
}

#[tokio::test(start_paused = true)]
async fn closing_ends_idle_sessions_side_by_side_even_if_its_caller_gives_up() {
    let fake = Fake::new(Speaks::Legacy).closing_takes(10 * SECOND);
    let pool = pool(&fake, 3);
    drop([take(&pool).await, take(&pool).await, take(&pool).await]);
    assert!(tokio::time::timeout(SECOND, pool.close()).await.is_err());
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!((pool.stats(), fake.counts()), (stats(0, 0, 3), (3, 3, 0)));
}

#[tokio::test(start_paused = true)]
async fn what_is_being_opened_is_given_up_when_the_pool_closes() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(10 * SECOND);
    let pool = pool(&fake, 1);
    let opening = tokio::spawn({
        let pool = pool.clone();
        async move { fault(pool.acquire(&profile(Era::Legacy)).await) }
    });
    tokio::time::sleep(9 * SECOND).await;
    pool.close().await;
    assert_eq!(fake.counts(), (0, 0, 0));
    assert_eq!(opening.await.unwrap(), DownstreamFault::Closed);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_pool_is_the_end_of_whatever_is_there_whoever_asks() {
    for caller_stays in [true, false] {
        for left in ["idle", "in use", "being discarded", "being opened"] {
            let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND).closing_takes(3 * SECOND);
            let pool = pool(&fake, 2);
            let user = tokio::spawn({
                let pool = pool.clone();
                async move {
                    let session = pool.acquire(&profile(Era::Legacy)).await.unwrap();
                    match left {
                        "idle" => drop(session),
                        "in use" => tokio::time::sleep(5 * SECOND).await,
                        "being discarded" => session.discard().await,
                        _ => {}
                    }
                }
            });
            let opened = if left == "being opened" { SECOND / 2 } else { 2 * SECOND };
            tokio::time::sleep(opened).await;
            if !caller_stays {
                user.abort();
            }
            settle().await;
            let [first, second] = [(); 2].map(|()| {
                let (pool, fake) = (pool.clone(), fake.clone());
                tokio::spawn(async move {
                    pool.close().await;
                    let counts = if left == "being opened" { (0, 0, 0) } else { (1, 1, 0) };
                    assert_eq!((fake.counts(), pool.stats().in_use), (counts, 0), "{left} {caller_stays}");
                })
            });
            first.await.unwrap();
            second.await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_opening_that_hangs_is_given_up_in_time_for_its_end() {
    for (winding_up, expected) in [(0, 0), (3, 3), (60, 7)] {
        let fake = Fake::new(Speaks::Legacy).opening_takes(3600 * SECOND).closing_takes(winding_up * SECOND);
        let pool = pool(&fake, 1);
        let opening = tokio::spawn({
            let pool = pool.clone();
            async move { fault(pool.acquire(&profile(Era::Legacy)).await) }
        });
        settle().await;
        let begun = Instant::now();
        let closing = tokio::spawn({
            let pool = pool.clone();
            async move { pool.close().await }
        });
        settle().await;
        assert_eq!(fake.counts().2, 0, "the factory's future is dropped");
        closing.await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), expected, "what the transport does then has its time");
        assert_eq!(opening.await.unwrap(), DownstreamFault::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn sessions_that_never_come_back_do_not_keep_the_pool_from_closing() {
    let pool = pool(&Fake::new(Speaks::Legacy), 1);
    let _held = take(&pool).await;
    let begun = Instant::now();
    tokio::join!(pool.close(), async {
        tokio::time::sleep(6 * SECOND).await;
        pool.close().await;
    });
    assert_eq!(begun.elapsed(), 8 * SECOND, "the bound is the first caller's");
}

#[tokio::test(start_paused = true)]
async fn the_background_task_ends_with_the_pool() {
    let fake = Fake::new(Speaks::Legacy);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (closed, dropped) = (pool(&fake, 1), pool(&fake, 1));
    assert_eq!(tasks(), 2);
    closed.close().await;
    drop(dropped);
    tokio::time::sleep(46 * SECOND).await;
    assert_eq!(tasks(), 0, "R-15");
}

#[test]
fn a_pool_works_outside_a_runtime_until_it_is_used() {
    let pool = pool(&Fake::new(Speaks::Legacy), 1);
    assert_eq!(pool.stats(), stats(0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn errors_tell_the_downstream_the_fault_and_that_nothing_ran() {
    let pool = pool(&Fake::new(Speaks::Legacy), 1);
    let _held = take(&pool).await;
    let error = pool.acquire(&profile(Era::Legacy)).await.unwrap_err();
    assert_eq!(error.to_string(), "downstream `fake` has no free session: all 1 are in use");
    let Error::Downstream(error) = error else { panic!("a downstream's fault") };
    assert_eq!(error.execution, gateway_domain::Execution::NotStarted);
    assert_eq!(error.fault.kind(), "downstream_pool_exhausted", "R-74");
    assert_ne!(Error::from(*error), CallerError::Cancelled.into(), "R-73");
}
