//! Starts of processes: one at a time until they are of use, spaced while they are not.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use gateway_domain::{DownstreamFault, Factory as _, SessionProfile};
use gateway_registry::{HealthConfig, RestartBudget, SupervisedFactory, SupervisorConfig};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    ailing::{Ailing, Ailment},
    fake::{Fake, SECOND, Speaks, fault, name, unreachable},
    fixture::{PerClient, crowd, legacy},
};

fn config() -> SupervisorConfig {
    SupervisorConfig { restarts: Some(RestartBudget::default()), ..SupervisorConfig::default() }
}

#[tokio::test(start_paused = true)]
async fn a_crowd_waits_for_what_comes_of_the_first_start() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND / 4).failing(1);
    let factory = Arc::new(SupervisedFactory::new(name("fake"), fake.clone(), &config()));
    let create = |factory: &Arc<SupervisedFactory<Fake>>| {
        let factory = factory.clone();
        async move { factory.create(&SessionProfile::default()).await.map(drop) }
    };
    let mut crowd = JoinSet::new();
    for _ in 0..32 {
        crowd.spawn(create(&factory));
    }
    tokio::task::yield_now().await;
    // Who gives up waiting takes nothing along.
    assert!(tokio::time::timeout(SECOND / 10, create(&factory)).await.is_err());
    let ended = crowd.join_all().await;
    let own = ended.iter().filter(|ended| **ended == Err(unreachable())).count();
    assert_eq!((own, fake.attempts.load(SeqCst)), (1, 1), "one start, and its own error to its caller");
    let broken = fault(ended.into_iter().find(|ended| *ended != Err(unreachable())).unwrap());
    assert!(
        matches!(&broken, DownstreamFault::Broken { reason, retry_in } if reason == "cannot be reached: as set" && *retry_in <= SECOND),
        "{broken:?}"
    );
    tokio::time::sleep(SECOND).await;
    let begun = Instant::now();
    let mut crowd = JoinSet::new();
    for _ in 0..20 {
        crowd.spawn(create(&factory));
    }
    assert!(crowd.join_all().await.into_iter().all(|created| created.is_ok()));
    assert_eq!(begun.elapsed(), SECOND / 2, "side by side once one was of use");
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_kills_delays_nobody() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, health) = ailing.managed(PerClient, &config(), HealthConfig::default());
    for round in 0..120 {
        let begun = Instant::now();
        crowd(&manager, (0..25).map(|n| legacy(&n.to_string())), "whoami").await;
        assert!(begun.elapsed() < SECOND, "round {round}: {:?}", begun.elapsed());
        ailing.fake.kill_all();
        // As often as that costs nothing.
        tokio::time::sleep(5 * SECOND / 2).await;
    }
    assert_eq!((ailing.heard().len(), health.counts().broken), (0, 0));
    assert!(health.counts().lost >= 25 * 119, "{:?}", health.counts());
}

#[tokio::test(start_paused = true)]
async fn sessions_that_end_before_they_answer_are_starts_in_vain() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, _) = ailing.managed(PerClient, &config(), HealthConfig::default());
    ailing.falls_ill(Ailment::LosesSessions);
    let begun = Instant::now();
    while begun.elapsed() < 120 * SECOND {
        let ended = fault(legacy("a").call(&manager, "whoami").await);
        if let DownstreamFault::Broken { reason, retry_in } = &ended {
            assert_eq!(reason, "ended: exit status 1");
            assert!(*retry_in <= 16 * SECOND, "{retry_in:?}");
        }
        tokio::time::sleep(SECOND / 5).await;
    }
    assert_eq!(ailing.most_a_minute(begun), 5);
    assert_eq!(ailing.heard(), ["broken"]);
    ailing.gets_well();
    tokio::time::sleep(16 * SECOND).await;
    legacy("a").call(&manager, "whoami").await.unwrap();
    assert_eq!(ailing.heard(), ["broken", "recovered"]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_truly_when_the_next_start_is_possible() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, _) = ailing.managed(PerClient, &config(), HealthConfig::default());
    ailing.falls_ill(Ailment::Gone);
    let mut starts = 0;
    for _ in 0..40 {
        let refused = fault(manager.listing(&name("fake")).await);
        if let DownstreamFault::Broken { retry_in, .. } = refused {
            // As the catalogue does.
            tokio::time::sleep(retry_in).await;
            let own = fault(manager.listing(&name("fake")).await);
            assert!(matches!(own, DownstreamFault::Unreachable { .. }), "{own:?}");
        }
        assert!(ailing.started() > starts, "each was a start");
        starts = ailing.started();
    }
}

#[tokio::test(start_paused = true)]
async fn the_observer_hears_once_that_nothing_can_be_opened_and_once_that_it_can() {
    for restarts in [None, Some(RestartBudget::default())] {
        let ailing = Ailing::new(Speaks::Legacy);
        let supervisor = SupervisorConfig { restarts, ..SupervisorConfig::default() };
        let (manager, health) = ailing.managed(PerClient, &supervisor, HealthConfig::default());
        ailing.falls_ill(Ailment::Gone);
        for _ in 0..100 {
            legacy("a").call(&manager, "whoami").await.unwrap_err();
            tokio::time::sleep(SECOND).await;
        }
        assert_eq!((ailing.heard(), health.counts().broken), (vec!["broken"], 1), "{restarts:?}");
        assert_eq!(health.counts().failed as usize, ailing.started());
        ailing.gets_well();
        let begun = Instant::now();
        while legacy("a").call(&manager, "whoami").await.is_err() {
            tokio::time::sleep(SECOND / 10).await;
        }
        assert!(begun.elapsed() <= 16 * SECOND, "{restarts:?}: {:?}", begun.elapsed());
        assert_eq!(ailing.heard(), ["broken", "recovered"], "{restarts:?}");
    }
}
