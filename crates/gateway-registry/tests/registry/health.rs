//! Whether a downstream answers: what counts, what is refused, who finds out that it answers again.

use std::sync::atomic::Ordering::SeqCst;

use gateway_domain::{DownstreamFault, Era, ListKind};
use gateway_registry::{HealthConfig, Manager, RestartBudget, SessionMode, SupervisorConfig};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    ailing::{Ailing, Ailment, CALL_TIMEOUT},
    fake::{SECOND, Speaks, fault, name},
    fixture::{Client, PerClient, Shared, crowd, legacy, modern, stats},
};

fn managed(ailing: &Ailing, mode: SessionMode) -> (Manager, std::sync::Arc<gateway_registry::Health>) {
    ailing.managed(mode, &SupervisorConfig::default(), HealthConfig::default())
}

fn is_broken(fault: &DownstreamFault) -> bool {
    matches!(fault, DownstreamFault::Broken { .. })
}

/// How calls at the same time fail.
async fn faults(
    manager: &Manager,
    clients: impl Iterator<Item = Client>,
    tool: &'static str,
) -> Vec<DownstreamFault> {
    let mut calls = JoinSet::new();
    for client in clients {
        let manager = manager.clone();
        calls.spawn(async move { client.call(&manager, tool).await });
    }
    calls.join_all().await.into_iter().map(fault).collect()
}

#[tokio::test(start_paused = true)]
async fn refused_arguments_shut_nobody_out() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, health) = managed(&ailing, PerClient);
    for _ in 0..40 {
        // A JSON-RPC error, which the fixture takes for no answer.
        let refused = gateway_domain::Dispatcher::dispatch(&manager, legacy("a").to("fake", "refuse")).await;
        assert!(matches!(refused, Ok(gateway_domain::Outcome::Failed(_))), "R-W2: {refused:?}");
    }
    assert_eq!(legacy("b").call(&manager, "whoami").await.unwrap(), 2);
    assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 1, "R-W2: its session lives on");
    assert_eq!((ailing.heard().len(), health.counts().broken), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stuck_tool_shuts_out_neither_its_siblings_nor_ends_its_session() {
    for (speaks, mode) in [(Speaks::Modern, Shared), (Speaks::Legacy, PerClient)] {
        let ailing = Ailing::new(speaks);
        let (manager, _) = managed(&ailing, mode);
        let a = if speaks == Speaks::Modern { modern("a") } else { legacy("a") };
        for _ in 0..30 {
            let stuck = fault(a.call(&manager, "stuck").await);
            assert_eq!(stuck, DownstreamFault::TimedOut { after: CALL_TIMEOUT }, "P-45: never refused");
        }
        // Those that come when a probe is on its way too.
        tokio::time::sleep(SECOND / 10).await;
        assert_eq!(a.call(&manager, "whoami").await.unwrap(), 1, "R-W3: the session is kept");
        assert!(ailing.heard().is_empty());
        assert_eq!(ailing.started(), 1, "it answers when it is asked, so no other is needed");
        let sibling = tokio::spawn({
            let (manager, a) = (manager.clone(), a.clone());
            async move { a.call(&manager, "slow").await }
        });
        assert!(tokio::time::timeout(SECOND / 2, a.call(&manager, "stuck")).await.is_err());
        assert_eq!(sibling.await.unwrap().unwrap(), 1, "R-W3: nor does a call that is given up end others");
        manager.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_opening_that_hangs_is_not_waited_for_and_given_up_for_the_next() {
    for restarts in [None, Some(RestartBudget::default())] {
        let ailing = Ailing::new(Speaks::Legacy);
        let supervisor = SupervisorConfig { restarts, ..SupervisorConfig::default() };
        let (manager, health) = ailing.managed(PerClient, &supervisor, HealthConfig::default());
        assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 1);
        ailing.falls_ill(Ailment::IsMute);
        let begun = Instant::now();
        let waiting = faults(&manager, (0..5).map(|n| legacy(&n.to_string())), "whoami");
        assert!(waiting.await.iter().all(is_broken));
        assert_eq!(begun.elapsed().as_secs(), 5, "as long as a sign of life may take");
        assert!(is_broken(&fault(legacy("b").call(&manager, "whoami").await)));
        assert_eq!(begun.elapsed().as_secs(), 5, "who comes later does not wait at all");
        assert_eq!((ailing.heard(), health.counts().broken), (vec!["broken"], 1));
        tokio::time::sleep(5 * SECOND).await;
        ailing.gets_well();
        let well = Instant::now();
        while legacy("b").call(&manager, "whoami").await.is_err() {
            tokio::time::sleep(SECOND / 4).await;
        }
        assert!(well.elapsed() < 16 * SECOND, "{:?}", well.elapsed());
        assert_eq!(ailing.heard(), ["broken", "recovered"]);
        manager.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_opening_takes_as_long_as_it_takes() {
    let ailing = Ailing::new(Speaks::Legacy);
    ailing.falls_ill(Ailment::IsMute);
    let (manager, _) = managed(&ailing, PerClient);
    assert!(tokio::time::timeout(60 * SECOND, legacy("a").call(&manager, "whoami")).await.is_err());
    assert_eq!((ailing.started(), ailing.heard().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_times_out_and_does_not_answer_when_asked_is_found_hung() {
    let ailing = Ailing::new(Speaks::Modern);
    let (manager, _) = managed(&ailing, Shared);
    modern("a").call(&manager, "whoami").await.unwrap();
    ailing.falls_ill(Ailment::IsMute);
    let begun = Instant::now();
    loop {
        if faults(&manager, (0..5).map(|_| modern("a")), "whoami").await.iter().any(is_broken) {
            break;
        }
    }
    assert!(begun.elapsed() <= CALL_TIMEOUT + 6 * SECOND, "{:?}", begun.elapsed());
    ailing.gets_well();
    let well = Instant::now();
    while modern("a").call(&manager, "whoami").await.is_err() {
        tokio::time::sleep(SECOND / 4).await;
    }
    assert!(well.elapsed() < 16 * SECOND, "{:?}", well.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_killed_session_is_no_sign_of_a_broken_downstream() {
    for (speaks, mode) in [(Speaks::Modern, Shared), (Speaks::Legacy, PerClient)] {
        let ailing = Ailing::new(speaks);
        let (manager, health) = managed(&ailing, mode);
        let a = if speaks == Speaks::Modern { modern("a") } else { legacy("a") };
        for killed in 1..=10 {
            assert_eq!(a.call(&manager, "whoami").await.unwrap(), killed);
            let mut calls = JoinSet::new();
            for _ in 0..25 {
                let (manager, a) = (manager.clone(), a.clone());
                calls.spawn(async move { a.call(&manager, "slow").await });
            }
            tokio::time::sleep(SECOND / 2).await;
            ailing.fake.kill_all();
            let ended = calls.join_all().await;
            let lost = ended.into_iter().map(fault);
            assert!(lost.into_iter().all(|fault| matches!(fault, DownstreamFault::Ended { .. })));
        }
        assert_eq!(a.call(&manager, "whoami").await.unwrap(), 11, "the next call finds another at once");
        assert_eq!((health.counts().lost, health.counts().broken), (10, 0));
        manager.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn nor_are_many_that_are_killed_at_once() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, health) = managed(&ailing, PerClient);
    let clients = || (0..20).map(|n| legacy(&n.to_string()));
    crowd(&manager, clients(), "whoami").await;
    let mut calls = JoinSet::new();
    for client in clients() {
        let manager = manager.clone();
        calls.spawn(async move { client.call(&manager, "slow").await });
    }
    tokio::time::sleep(SECOND / 2).await;
    ailing.fake.kill_all();
    let ended = calls.join_all().await;
    assert!(ended.into_iter().map(fault).all(|fault| matches!(fault, DownstreamFault::Ended { .. })));
    assert_eq!(crowd(&manager, clients(), "whoami").await.len(), 20);
    assert_eq!((health.counts().lost, health.counts().broken), (20, 0));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_counts_once_for_all_it_carried() {
    let ailing = Ailing::new(Speaks::Modern);
    let (manager, health) = managed(&ailing, Shared);
    modern("a").call(&manager, "whoami").await.unwrap();
    ailing.falls_ill(Ailment::DropsConnections);
    for broken in 1..=5 {
        let mut calls = JoinSet::new();
        for _ in 0..25 {
            let manager = manager.clone();
            calls.spawn(async move { modern("a").call(&manager, "whoami").await });
        }
        let ended = calls.join_all().await;
        assert!(ended.into_iter().map(fault).all(|fault| matches!(fault, DownstreamFault::Ended { .. })));
        assert_eq!(health.counts().broken, u64::from(broken == 5), "after {broken}");
    }
    assert_eq!((ailing.started(), health.counts().lost), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn callers_who_give_up_count_for_nothing() {
    let ailing = Ailing::new(Speaks::Modern);
    let (manager, health) = managed(&ailing, Shared);
    for _ in 0..40 {
        assert!(tokio::time::timeout(SECOND, modern("a").call(&manager, "stuck")).await.is_err());
    }
    assert_eq!(modern("a").call(&manager, "whoami").await.unwrap(), 1, "P-46");
    assert_eq!((health.counts().broken, ailing.started()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn while_broken_calls_are_refused_at_once_and_never_probe() {
    let ailing = Ailing::new(Speaks::Modern);
    let health = HealthConfig { broken_cooldown: Some(30 * SECOND), ..HealthConfig::default() };
    let (manager, health) = ailing.managed(Shared, &SupervisorConfig::default(), health);
    let a = modern("a");
    a.call(&manager, "whoami").await.unwrap();
    let unwell = DownstreamFault::Status { status: 500 };
    ailing.falls_ill(Ailment::Says(unwell.clone()));
    for _ in 0..5 {
        assert_eq!(fault(a.call(&manager, "whoami").await), unwell, "the call's own error");
    }
    let (calls, starts) = (ailing.calls.load(SeqCst), ailing.started());
    let begun = Instant::now();
    for _ in 0..250 {
        let refused = a.call(&manager, "whoami").await.unwrap_err().to_string();
        assert!(refused.ends_with(": answered HTTP status 500"), "{refused}");
        let DownstreamFault::Broken { retry_in, .. } = fault(a.call(&manager, "whoami").await) else {
            panic!("not refused")
        };
        assert!(retry_in <= 30 * SECOND);
        assert!(is_broken(&fault(manager.listing(&name("fake")).await)), "nor lists");
        tokio::time::sleep(SECOND / 2).await;
    }
    assert!(begun.elapsed() < 126 * SECOND, "none waited");
    assert_eq!(ailing.calls.load(SeqCst), calls, "P-47: no call found out");
    assert_eq!(ailing.started() - starts, 4, "one probe every 30 s");
    assert_eq!((ailing.heard(), health.counts().broken), (vec!["broken"], 1), "once");
    assert_eq!(health.counts().failed, 4, "each could not be opened");
    assert_eq!(health.counts().unanswered_pings, 0, "the old session is not asked meanwhile");
}

#[tokio::test(start_paused = true)]
async fn it_recovers_without_any_traffic() {
    for speaks in [Speaks::Modern, Speaks::Legacy] {
        let ailing = Ailing::new(speaks);
        let (manager, _) = managed(&ailing, PerClient);
        manager.listing(&name("fake")).await.unwrap();
        ailing.falls_ill(Ailment::Gone);
        let client = if speaks == Speaks::Modern { modern("a") } else { legacy("a") };
        for _ in 0..5 {
            let listing = manager.listing(&name("fake")).await.unwrap();
            assert!(listing.session().list_tools(None).await.is_err());
        }
        tokio::time::sleep(60 * SECOND).await;
        assert_eq!(ailing.heard(), ["broken"]);
        ailing.gets_well();
        tokio::time::sleep(16 * SECOND).await;
        assert_eq!(ailing.heard(), ["broken", "recovered"], "R-W1");
        let starts = ailing.started();
        manager.listing(&name("fake")).await.unwrap();
        assert_eq!(ailing.started(), starts, "the probe's session has taken the place of the old one");
        client.call(&manager, "whoami").await.unwrap();
        assert!(stats(&manager).in_use <= 2, "what failed has been given up");
        manager.close().await;
        assert_eq!(ailing.fake.counts().2, 0, "nothing is left");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_falls_silent_is_replaced() {
    for speaks in [Speaks::Modern, Speaks::Legacy] {
        let ailing = Ailing::new(speaks);
        let (manager, health) = managed(&ailing, PerClient);
        let first = manager.listing(&name("fake")).await.unwrap();
        first.session().list_tools(None).await.unwrap();
        its_first_ping().await;
        ailing.falls_ill(Ailment::Hangs);
        let listing = tokio::spawn({
            let session = first.session().clone();
            async move { session.list_tools(None).await.map(drop) }
        });
        tokio::time::sleep(SECOND).await;
        // Only that session hangs from now on.
        ailing.gets_well();
        listing.await.unwrap().unwrap_err();
        drop(first);
        tokio::time::sleep(66 * SECOND).await;
        let second = manager.listing(&name("fake")).await.unwrap();
        second.session().list_tools(None).await.unwrap();
        assert_eq!((ailing.started(), stats(&manager).in_use), (2, 1), "{speaks:?}: replaced by the probe's");
        assert_eq!((health.counts().broken, ailing.heard().len()), (0, 0), "not broken");
        let all = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];
        assert_eq!(*ailing.changes.lock().unwrap(), all, "R-W20: to be listed again");
        manager.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_downstream_is_found_broken_without_any_traffic() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, health) = managed(&ailing, PerClient);
    manager.listing(&name("fake")).await.unwrap().session().list_tools(None).await.unwrap();
    its_first_ping().await;
    ailing.falls_ill(Ailment::Hangs);
    tokio::time::sleep(72 * SECOND).await;
    assert_eq!((ailing.heard(), health.counts().unanswered_pings), (vec!["broken"], 1));
    assert!(is_broken(&fault(legacy("a").call(&manager, "whoami").await)));
    ailing.gets_well();
    tokio::time::sleep(16 * SECOND).await;
    assert_eq!(ailing.heard(), ["broken", "recovered"]);
    manager.listing(&name("fake")).await.unwrap().session().list_tools(None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_silent_session_beside_others_that_answer_is_replaced_and_nothing_broken() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, _) = managed(&ailing, PerClient);
    let listing = manager.listing(&name("fake")).await.unwrap();
    listing.session().list_tools(None).await.unwrap();
    its_first_ping().await;
    ailing.falls_ill(Ailment::Hangs);
    let hangs = tokio::time::timeout(SECOND, listing.session().list_tools(None)).await;
    assert!(hangs.is_err());
    drop(listing);
    ailing.gets_well();
    for _ in 0..70 {
        legacy("a").call(&manager, "whoami").await.unwrap();
        tokio::time::sleep(SECOND).await;
    }
    manager.listing(&name("fake")).await.unwrap().session().list_tools(None).await.unwrap();
    assert_eq!((ailing.started(), ailing.heard().len()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn of_a_server_that_ignores_pings_silence_says_nothing() {
    let ailing = Ailing::new(Speaks::Modern);
    ailing.falls_ill(Ailment::IgnoresPings);
    let (manager, _) = managed(&ailing, Shared);
    modern("a").call(&manager, "whoami").await.unwrap();
    tokio::time::sleep(120 * SECOND).await;
    assert_eq!(modern("a").call(&manager, "whoami").await.unwrap(), 1, "the same session");
    assert_eq!((ailing.started(), ailing.heard().len()), (1, 0));
    assert!(ailing.pings.load(SeqCst) <= 2, "it is not asked for ever");
    // One that hangs altogether is found out all the same.
    ailing.falls_ill(Ailment::IsMute);
    let begun = Instant::now();
    while !faults(&manager, (0..5).map(|_| modern("a")), "whoami").await.iter().any(is_broken) {}
    assert!(begun.elapsed() <= CALL_TIMEOUT * 2 + 10 * SECOND, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn one_that_stops_answering_pings_and_answers_all_else_stays_in_use() {
    for speaks in [Speaks::Modern, Speaks::Legacy] {
        for quiet in [true, false] {
            let ailing = Ailing::new(speaks);
            let (manager, _) = managed(&ailing, PerClient);
            manager.listing(&name("fake")).await.unwrap().session().list_tools(None).await.unwrap();
            its_first_ping().await;
            ailing.falls_ill(Ailment::IgnoresPings);
            for _ in 0..120 {
                tokio::time::sleep(SECOND).await;
                if !quiet {
                    legacy("a").call(&manager, "whoami").await.unwrap();
                }
            }
            assert!(ailing.heard().is_empty(), "{speaks:?}, quiet: {quiet}");
            assert!(ailing.started() <= 3, "{}", ailing.started());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_clients_hung_session_is_replaced_while_others_are_answered() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, health) = managed(&ailing, PerClient);
    for client in ["a", "b"] {
        legacy(client).call(&manager, "whoami").await.unwrap();
    }
    its_first_ping().await;
    ailing.falls_ill(Ailment::Hangs);
    let hung = tokio::spawn({
        let manager = manager.clone();
        async move { legacy("a").call(&manager, "whoami").await }
    });
    tokio::time::sleep(SECOND).await;
    ailing.gets_well();
    assert_eq!(fault(hung.await.unwrap()), DownstreamFault::TimedOut { after: CALL_TIMEOUT });
    for _ in 0..6 {
        assert_eq!(legacy("b").call(&manager, "whoami").await.unwrap(), 2);
        tokio::time::sleep(SECOND).await;
    }
    assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 3, "a new one");
    assert_eq!(health.counts().broken, 0);
}

/// Long enough for the ping that shows whether it answers pings.
async fn its_first_ping() {
    tokio::time::sleep(3 * SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_are_asked_for_only_where_there_are_none() {
    let ailing = Ailing::new(Speaks::Modern);
    let (manager, _) = managed(&ailing, Shared);
    tokio::time::sleep(300 * SECOND).await;
    assert_eq!((ailing.started(), ailing.pings.load(SeqCst)), (0, 0), "nothing is opened merely to ask");
    for _ in 0..300 {
        modern("a").call(&manager, "whoami").await.unwrap();
        tokio::time::sleep(SECOND).await;
    }
    assert_eq!(ailing.pings.load(SeqCst), 1, "answers are signs of life, once it is known to answer pings");
    tokio::time::sleep(300 * SECOND).await;
    let pings = ailing.pings.load(SeqCst);
    assert!((5..=10).contains(&pings), "{pings}");

    for interval in [None, Some(std::time::Duration::ZERO)] {
        let ailing = Ailing::new(Speaks::Modern);
        let health = HealthConfig { interval, ..HealthConfig::default() };
        let (manager, _) = ailing.managed(Shared, &SupervisorConfig::default(), health);
        modern("a").call(&manager, "whoami").await.unwrap();
        tokio::time::sleep(300 * SECOND).await;
        assert_eq!(ailing.pings.load(SeqCst), 0, "off");
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_pool_starves_no_probe() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, _) = managed(&ailing, PerClient);
    manager.listing(&name("fake")).await.unwrap();
    crowd(&manager, (0..64).map(|n| legacy(&n.to_string())), "whoami").await;
    assert_eq!(stats(&manager).in_use, 65, "all places are taken");
    let own = legacy("9").call(&manager, "whoami").await.unwrap();
    ailing.falls_ill(Ailment::Says(DownstreamFault::Status { status: 503 }));
    for n in 0..5 {
        legacy(&n.to_string()).call(&manager, "whoami").await.unwrap_err();
    }
    assert!(is_broken(&fault(legacy("0").call(&manager, "whoami").await)));
    ailing.gets_well();
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(ailing.heard(), ["broken", "recovered"]);
    assert_eq!(legacy("9").call(&manager, "whoami").await.unwrap(), own, "R-W3: what did not fail is kept");
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_downstream() {
    for close in [true, false] {
        let ailing = Ailing::new(Speaks::Modern);
        let (manager, health) = managed(&ailing, Shared);
        let listing = manager.listing(&name("fake")).await.unwrap();
        assert_eq!(listing.session().peer().era, Era::Modern);
        drop(listing);
        if close {
            manager.close().await;
        }
        let weak = std::sync::Arc::downgrade(&health);
        drop((manager, health));
        tokio::time::sleep(SECOND).await;
        assert_eq!(weak.strong_count(), 0, "closed first: {close}");
    }
}
