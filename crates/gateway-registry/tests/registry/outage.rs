//! Outages from which a downstream gets well: found out fast, over soon after, without a storm of starts.

use gateway_domain::{Dispatcher as _, DownstreamFault};
use gateway_registry::{HealthConfig, Manager, RestartBudget, SessionMode, SupervisorConfig};
use tokio::{
    task::JoinSet,
    time::{Duration, Instant},
};

use crate::{
    ailing::{Ailing, Ailment},
    fake::{SECOND, Speaks},
    fixture::{Client, PerClient, Shared, legacy, modern},
};

const CLIENTS: usize = 8;

fn clients(speaks: Speaks) -> Vec<Client> {
    let client = if speaks == Speaks::Modern { modern } else { legacy };
    (0..CLIENTS).map(|n| client(&n.to_string())).collect()
}

/// All clients call every quarter of a second until the time is over.
async fn traffic(manager: &Manager, speaks: Speaks, time: Duration) {
    let until = Instant::now() + time;
    let mut calling = JoinSet::new();
    for client in clients(speaks) {
        let manager = manager.clone();
        calling.spawn(async move {
            while Instant::now() < until {
                let _ = client.call(&manager, "whoami").await;
                tokio::time::sleep(SECOND / 4).await;
            }
        });
    }
    tokio::time::sleep_until(until).await;
    calling.detach_all();
}

/// How long from now until a call is answered.
async fn until_answered(manager: &Manager, client: &Client) -> Duration {
    let begun = Instant::now();
    while client.call(manager, "whoami").await.is_err() {
        tokio::time::sleep(SECOND / 10).await;
    }
    begun.elapsed()
}

struct Expected {
    /// From the beginning of the outage.
    broken_after: Duration,
    /// Sessions begun while it lasted.
    starts: usize,
}

/// A downstream that is ill for a while.
async fn check(
    ill_for: Duration,
    mode: SessionMode,
    budget: Option<RestartBudget>,
    (ailment, speaks): (Ailment, Speaks),
    expected: Expected,
) {
    let what = format!("{ailment:?} for {ill_for:?}, {speaks:?}, {mode:?}, {budget:?}");
    let ailing = Ailing::new(speaks);
    let supervisor = SupervisorConfig { restarts: budget, ..SupervisorConfig::default() };
    let (manager, health) = ailing.managed(mode, &supervisor, HealthConfig::default());
    traffic(&manager, speaks, 5 * SECOND).await;
    let (ill, before) = (Instant::now(), ailing.started());
    ailing.falls_ill(ailment);
    traffic(&manager, speaks, ill_for).await;
    let broken = ailing.heard.lock().unwrap().first().map(|(at, _)| *at - ill);
    assert!(broken.is_some_and(|broken| broken <= expected.broken_after), "{what}: {broken:?}");

    let begun = ailing.started() - before;
    assert!(begun <= expected.starts, "{what}: {begun} sessions begun");
    ailing.gets_well();
    let others = tokio::spawn({
        let manager = manager.clone();
        async move { traffic(&manager, speaks, 16 * SECOND).await }
    });
    let took = until_answered(&manager, &clients(speaks)[0]).await;
    assert!(took <= 16 * SECOND, "{what}: closed {took:?} after it was well");
    others.await.unwrap();
    for _ in 0..100 / CLIENTS + 1 {
        for client in clients(speaks) {
            let answer = manager.dispatch(client.to("fake", "whoami")).await;
            assert!(answer.is_ok(), "{what}: {answer:?}");
        }
    }
    let again = ailing.started() - before - begun;
    assert!(again <= CLIENTS + 4, "{what}: {again} sessions for {CLIENTS} clients");
    let heard = ailing.heard();
    assert_eq!(heard.last(), Some(&"recovered"), "{what}");
    assert!(heard.chunks(2).all(|pair| pair == ["broken", "recovered"]), "{what}: {heard:?}");
    assert!(health.counts().broken as usize >= heard.len() / 2);
    manager.close().await;
}

/// What it may suffer from, and how long it takes at the most until that is known.
fn ailments() -> [(Ailment, Duration); 8] {
    let reason = "a page of HTML".to_owned();
    [
        (Ailment::Gone, 2 * SECOND),
        (Ailment::Says(DownstreamFault::Status { status: 500 }), 2 * SECOND),
        // Told by the rate alone: half of what was asked in ten seconds.
        (Ailment::Says(DownstreamFault::Status { status: 429 }), 6 * SECOND),
        (Ailment::Says(DownstreamFault::Nonsense { reason }), 2 * SECOND),
        // The time of a call, and of a sign of life that does not come.
        (Ailment::Hangs, 9 * SECOND),
        (Ailment::HangsFromTheStart, 9 * SECOND),
        (Ailment::LosesSessions, 3 * SECOND),
        (Ailment::DropsConnections, 7 * SECOND),
    ]
}

const KINDS: [(Speaks, SessionMode); 3] =
    [(Speaks::Modern, Shared), (Speaks::Legacy, PerClient), (Speaks::Legacy, Shared)];

#[tokio::test(start_paused = true)]
async fn a_remote_server_is_left_alone_and_used_again() {
    for (ailment, broken_after) in ailments() {
        for (speaks, mode) in KINDS {
            for ill_for in [20, 26, 37] {
                let expected = Expected { broken_after, starts: 16 };
                check(ill_for * SECOND, mode, None, (ailment.clone(), speaks), expected).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_is_left_alone_and_used_again_within_its_budget() {
    for (ailment, broken_after) in ailments() {
        for (speaks, mode) in KINDS {
            // Where calls that take their time are taken for busy, each client is given another session first.
            let lasts =
                matches!(ailment, Ailment::Hangs | Ailment::HangsFromTheStart | Ailment::DropsConnections);
            let for_calls = if lasts && speaks == Speaks::Legacy { CLIENTS } else { 0 };
            for ill_for in [20, 26, 37] {
                let expected = Expected { broken_after, starts: 5 + for_calls };
                let budget = Some(RestartBudget::default());
                check(ill_for * SECOND, mode, budget, (ailment.clone(), speaks), expected).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_outage_is_no_storm_of_starts() {
    for (ailment, _) in ailments() {
        for (speaks, mode) in KINDS {
            let ailing = Ailing::new(speaks);
            let supervisor =
                SupervisorConfig { restarts: Some(RestartBudget::default()), ..SupervisorConfig::default() };
            let (manager, _) = ailing.managed(mode, &supervisor, HealthConfig::default());
            traffic(&manager, speaks, 5 * SECOND).await;
            ailing.falls_ill(ailment.clone());
            let ill = Instant::now();
            traffic(&manager, speaks, 300 * SECOND).await;
            // What calls take to be busy at first comes before anything is known.
            let most = ailing.most_a_minute(ill + SECOND);
            assert!(most <= 5, "{ailment:?}, {speaks:?}, {mode:?}: {most} starts within a minute");
            manager.close().await;
        }
    }
}
