use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use gateway_domain::{CallerError, DownstreamFault, Error, Factory, SessionProfile};
use gateway_registry::{Pool, PoolConfig, SupervisedFactory, SupervisorConfig};
use tokio::{task::JoinSet, time::Instant};

use crate::fake::{Fake, SECOND, Speaks, fault, name, unreachable};

fn supervised(fake: &Fake, limit: u32, cooldown: Option<Duration>) -> Arc<SupervisedFactory<Fake>> {
    let config = SupervisorConfig {
        max_consecutive_failures: limit,
        broken_cooldown: cooldown,
        ..SupervisorConfig::default()
    };
    Arc::new(SupervisedFactory::new(name("fake"), fake.clone(), &config))
}

async fn create(factory: &SupervisedFactory<Fake>) -> Result<(), Error> {
    factory.create(&SessionProfile::default()).await.map(drop)
}

async fn is_broken(factory: &SupervisedFactory<Fake>) -> bool {
    matches!(create(factory).await, Err(Error::Downstream(e)) if matches!(e.fault, DownstreamFault::Broken { .. }))
}

#[tokio::test(start_paused = true)]
async fn the_limit_and_the_cooldown_hold() {
    let fake = Fake::new(Speaks::Legacy).failing(usize::MAX);
    // Zero takes the default limit, 5.
    let factory = supervised(&fake, 0, Some(30 * SECOND));
    for _ in 0..5 {
        assert_eq!(create(&factory).await.unwrap_err(), unreachable(), "R-21: the delegate's own error");
    }
    let refused = fault(create(&factory).await);
    let reason = fault::<()>(Err(unreachable())).to_string();
    assert!(
        matches!(&refused, DownstreamFault::Broken { retry_in, reason: why } if *why == reason && *retry_in <= 30 * SECOND && *retry_in > 29 * SECOND),
        "{refused:?}"
    );
    tokio::time::sleep(29 * SECOND).await;
    assert!(is_broken(&factory).await, "R-22, R-80");
    assert_eq!(fake.attempts.load(SeqCst), 5);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(create(&factory).await.unwrap_err(), unreachable(), "the probe");
    tokio::time::sleep(20 * SECOND).await;
    assert!(is_broken(&factory).await, "R-24: re-armed");
    fake.fail(0, unreachable());
    tokio::time::sleep(11 * SECOND).await;
    create(&factory).await.unwrap();
    create(&factory).await.unwrap();
    assert_eq!(fake.attempts.load(SeqCst), 8);
}

#[tokio::test(start_paused = true)]
async fn without_a_cooldown_it_grows_from_one_second_to_fifteen() {
    for cooldown in [None, Some(Duration::ZERO)] {
        let fake = Fake::new(Speaks::Legacy).failing(usize::MAX);
        let factory = supervised(&fake, 1, cooldown);
        create(&factory).await.unwrap_err();
        for expected in [1, 2, 4, 8, 15, 15] {
            let DownstreamFault::Broken { retry_in, .. } = fault(create(&factory).await) else {
                panic!("not broken")
            };
            let full = expected * SECOND;
            assert!(
                retry_in <= full && retry_in >= full * 3 / 4,
                "up to a quarter less by chance: {retry_in:?}"
            );
            tokio::time::sleep(retry_in).await;
            assert_eq!(create(&factory).await.unwrap_err(), unreachable());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_longer_than_any_clock_is_no_panic() {
    let fake = Fake::new(Speaks::Legacy).failing(usize::MAX);
    let factory = supervised(&fake, 1, Some(Duration::MAX));
    create(&factory).await.unwrap_err();
    tokio::time::sleep(7 * 24 * 3600 * SECOND).await;
    assert!(is_broken(&factory).await);
}

#[tokio::test(start_paused = true)]
async fn a_crowd_after_the_cooldown_sends_one_probe() {
    let fake = Fake::new(Speaks::Legacy).failing(1);
    let factory = supervised(&fake, 1, Some(SECOND));
    create(&factory).await.unwrap_err();
    tokio::time::sleep(SECOND).await;
    let fake = fake.opening_takes(SECOND);
    let mut crowd = JoinSet::new();
    for _ in 0..32 {
        let factory = factory.clone();
        crowd.spawn(async move { is_broken(&factory).await });
    }
    let broken = crowd.join_all().await.into_iter().filter(|broken| *broken).count();
    assert_eq!((broken, fake.attempts.load(SeqCst)), (31, 2), "R-23");
    create(&factory).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_of_failures_breaks_it() {
    let fake = Fake::new(Speaks::Legacy).failing(usize::MAX);
    let factory = supervised(&fake, 5, Some(3600 * SECOND));
    let mut crowd = JoinSet::new();
    for _ in 0..64 {
        let factory = factory.clone();
        crowd.spawn(async move { create(&factory).await.unwrap_err() });
    }
    crowd.join_all().await;
    let attempts = fake.attempts.load(SeqCst);
    assert!((5..=64).contains(&attempts));
    assert!(is_broken(&factory).await, "R-27");
    assert_eq!(fake.attempts.load(SeqCst), attempts, "the delegate was not asked");
}

#[tokio::test(start_paused = true)]
async fn creations_run_side_by_side_while_healthy() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
    let factory = supervised(&fake, 5, None);
    let begun = Instant::now();
    let mut crowd = JoinSet::new();
    for _ in 0..20 {
        let factory = factory.clone();
        crowd.spawn(async move { create(&factory).await.unwrap() });
    }
    crowd.join_all().await;
    assert_eq!((begun.elapsed(), fake.attempts.load(SeqCst)), (SECOND, 20), "R-20");
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_gives_up_is_no_failure() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(10 * SECOND);
    let factory = supervised(&fake, 1, Some(SECOND));
    for _ in 0..3 {
        assert!(tokio::time::timeout(SECOND, create(&factory)).await.is_err());
    }
    fake.fail(3, CallerError::Cancelled.into());
    for _ in 0..3 {
        assert_eq!(create(&factory).await.unwrap_err(), CallerError::Cancelled.into(), "R-W5");
    }
    create(&factory).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_broke_it_is_told_without_naming_it_twice() {
    let fake = Fake::new(Speaks::Legacy).failing(1);
    let factory = supervised(&fake, 1, Some(SECOND));
    create(&factory).await.unwrap_err();
    let text = create(&factory).await.unwrap_err().to_string();
    let expected = "downstream `fake` is broken and not tried again for 1 s: cannot be reached: as set";
    assert_eq!(text, expected);
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_nobody_waits_for_counts_by_what_comes_of_it() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(2 * SECOND);
    let factory = supervised(&fake, 1, Some(3600 * SECOND));
    let pool = Pool::new(name("fake"), factory, PoolConfig::default());
    let profile = SessionProfile::default();
    for failures in [0, 1] {
        fake.fail(failures, unreachable());
        assert!(tokio::time::timeout(SECOND, pool.acquire(&profile)).await.is_err());
        tokio::time::sleep(2 * SECOND).await;
        let next = pool.acquire(&profile).await;
        if failures == 0 {
            next.unwrap().discard().await;
        } else {
            assert!(matches!(fault(next), DownstreamFault::Broken { .. }), "what failed by itself counts");
        }
    }
    assert_eq!(fake.attempts.load(SeqCst), 2, "R-W5");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_given_up_leaves_its_place() {
    let fake = Fake::new(Speaks::Legacy).failing(1);
    let factory = supervised(&fake, 1, Some(SECOND));
    create(&factory).await.unwrap_err();
    tokio::time::sleep(SECOND).await;
    let fake = fake.opening_takes(10 * SECOND);
    assert!(tokio::time::timeout(SECOND, create(&factory)).await.is_err());
    fake.fail(1, CallerError::Cancelled.into());
    assert_eq!(create(&factory).await.unwrap_err(), CallerError::Cancelled.into());
    create(&factory).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_late_success_does_not_mend_what_broke_meanwhile() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(10 * SECOND);
    let factory = supervised(&fake, 1, Some(3600 * SECOND));
    let late = tokio::spawn({
        let factory = factory.clone();
        async move { create(&factory).await }
    });
    tokio::time::sleep(SECOND).await;
    let fake = fake.opening_takes(SECOND).failing(1);
    create(&factory).await.unwrap_err();
    late.await.unwrap().unwrap();
    assert!(is_broken(&factory).await, "R-W6");
    drop(fake);
}

#[tokio::test(start_paused = true)]
async fn it_composes_with_the_pool_whose_own_refusals_count_for_nothing() {
    let fake = Fake::new(Speaks::Legacy);
    let factory = supervised(&fake, 1, Some(3600 * SECOND));
    let config = PoolConfig { max: 1, ..PoolConfig::default() };
    let pool = Pool::new(name("fake"), factory, config);
    let profile = SessionProfile::default();
    let held = pool.acquire(&profile).await.unwrap();
    for _ in 0..3 {
        assert!(matches!(fault(pool.acquire(&profile).await), DownstreamFault::Exhausted { .. }), "R-74");
    }
    held.discard().await;
    pool.acquire(&profile).await.unwrap().discard().await;
    fake.fail(1, unreachable());
    assert_eq!(pool.acquire(&profile).await.unwrap_err(), unreachable());
    assert!(matches!(fault(pool.acquire(&profile).await), DownstreamFault::Broken { .. }), "R-18");
    assert_eq!(pool.stats().in_use, 0);
}
