use std::sync::atomic::Ordering::SeqCst;

use gateway_domain::{CallerError, Dispatcher, DownstreamFault, Era, Error, Sessions};
use gateway_registry::{Manager, ManagerError, PoolConfig};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    fake::{Fake, SECOND, Speaks, fault, name, unreachable},
    fixture::{Client, PerClient, Shared, crowd, downstream, legacy, manager, modern, stats, without_tasks},
};

#[tokio::test]
async fn a_name_is_taken_once() {
    let fake = Fake::new(Speaks::Legacy);
    let managed = ["a", "b", "a"].map(|name| downstream(name, &fake, PerClient, PoolConfig::default()));
    let error = Manager::new(managed.into()).unwrap_err();
    assert_eq!(error, ManagerError::DuplicateName { name: name("a") }, "R-29");
    assert_eq!(error.to_string(), "two downstreams are named `a`");
}

fn of_both_eras(count: usize) -> impl Iterator<Item = Client> {
    (0..count).flat_map(|n| [modern(&n.to_string()), legacy(&n.to_string())])
}

#[tokio::test(start_paused = true)]
async fn a_modern_session_serves_all_callers() {
    for mode in [PerClient, Shared] {
        let fake = Fake::new(Speaks::Modern).opening_takes(SECOND);
        let manager = manager(&fake, mode, 4);
        let sessions = crowd(&manager, of_both_eras(50), "whoami").await;
        assert_eq!(sessions.len(), 1, "one for all, whoever asked first");
        assert_eq!(fake.counts().2, 1, "what was opened to find out the era is closed");
        assert!(fake.counts().0 <= 2);
        let again = crowd(&manager, of_both_eras(10), "slow").await;
        assert_eq!(again, sessions, "calls overlap on it");
        assert_eq!(stats(&manager).in_use, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_crowd_opens_one_session() {
    for speaks in [Speaks::Modern, Speaks::Both] {
        let fake = Fake::new(speaks).opening_takes(SECOND);
        let manager = manager(&fake, PerClient, 4);
        let clients = (0..50).map(|n| modern(&n.to_string()));
        assert_eq!(crowd(&manager, clients, "whoami").await, [1]);
        assert_eq!(fake.counts(), (1, 0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_crowd_finds_the_one_session_of_a_modern_downstream() {
    let fake = Fake::new(Speaks::Modern).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 4);
    let clients = (0..50).map(|n| legacy(&n.to_string()));
    assert_eq!(crowd(&manager, clients, "whoami").await, [1]);
    assert_eq!(fake.counts(), (1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_session_for_all_that_ends_while_another_is_opened_gives_way() {
    let fake = Fake::new(Speaks::Modern);
    let manager = manager(&fake, PerClient, 4);
    assert_eq!(modern("a").call(&manager, "whoami").await.unwrap(), 1);
    let fake = fake.opening_takes(SECOND);
    let call = tokio::spawn({
        let manager = manager.clone();
        async move { legacy("a").call(&manager, "whoami").await }
    });
    tokio::time::sleep(SECOND / 2).await;
    fake.kill(1);
    assert_eq!(call.await.unwrap().unwrap(), 2);
    assert_eq!(modern("a").call(&manager, "whoami").await.unwrap(), 2);
    tokio::time::sleep(SECOND).await;
    assert_eq!(fake.counts(), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_downstream_of_both_eras_is_spoken_to_in_the_callers() {
    let fake = Fake::new(Speaks::Both).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 16);
    let (a, b) = (legacy("a"), legacy("b"));
    let shared = modern("a").call(&manager, "whoami").await.unwrap();
    let own = [a.call(&manager, "whoami").await.unwrap(), b.call(&manager, "whoami").await.unwrap()];
    assert!(own[0] != own[1] && !own.contains(&shared), "R-47: {shared} {own:?}");
    assert_eq!(modern("b").call(&manager, "whoami").await.unwrap(), shared);
    assert_eq!(a.call(&manager, "whoami").await.unwrap(), own[0]);
    assert_eq!(manager.listing(&name("fake")).await.unwrap().session().peer().era, Era::Modern);
    assert_eq!(fake.counts(), (3, 0, 3));
}

#[tokio::test(start_paused = true)]
async fn a_crowd_at_a_legacy_downstream_does_not_open_one_after_the_other() {
    for client in [legacy as fn(&str) -> Client, modern] {
        let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
        let manager = manager(&fake, PerClient, 20);
        let begun = Instant::now();
        let clients = (0..20).map(|n| client(&n.to_string()));
        assert_eq!(crowd(&manager, clients, "whoami").await.len(), 20);
        assert!(begun.elapsed() < 3 * SECOND, "the first finds out the era: {:?}", begun.elapsed());
    }

    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 20);
    modern("a").call(&manager, "whoami").await.unwrap();
    let begun = Instant::now();
    crowd(&manager, (0..19).map(|n| legacy(&n.to_string())), "whoami").await;
    assert!(begun.elapsed() < 2 * SECOND, "it is known already: {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_downstream_that_is_replaced_by_one_of_another_era_is_found_out() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 16);
    crowd(&manager, of_both_eras(3), "whoami").await;
    fake.replace(Speaks::Modern);
    // Only now is it known: the first to ask finds out.
    let serving = legacy("0").call(&manager, "whoami").await.unwrap();
    assert_eq!(crowd(&manager, of_both_eras(3), "whoami").await, [serving]);
    fake.replace(Speaks::Modern);
    let serving = crowd(&manager, (0..9).map(|n| modern(&n.to_string())), "whoami").await;
    assert_eq!((serving.len(), fake.counts().0), (1, 8), "again one for all, and one at a time");
    fake.replace(Speaks::Legacy);
    assert_eq!(crowd(&manager, of_both_eras(3), "whoami").await.len(), 6);
    tokio::time::sleep(SECOND).await;
    assert_eq!((fake.counts().2, stats(&manager).in_use), (6, 6));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_client_ends_what_it_held_and_no_more() {
    let fake = Fake::new(Speaks::Both);
    let manager = manager(&fake, PerClient, 16);
    let (a, b) = (legacy("a"), legacy("b"));
    let shared = modern("a").call(&manager, "whoami").await.unwrap();
    a.call(&manager, "whoami").await.unwrap();
    let others = b.call(&manager, "whoami").await.unwrap();
    for client in [&a, &modern("a"), &legacy("unknown")] {
        manager.end(client.key()).await;
    }
    assert_eq!((fake.counts(), stats(&manager).in_use), ((3, 1, 2), 2));
    assert_eq!(modern("a").call(&manager, "whoami").await.unwrap(), shared);
    assert_eq!(b.call(&manager, "whoami").await.unwrap(), others);

    let modern_only = Fake::new(Speaks::Modern);
    let manager = self::manager(&modern_only, PerClient, 1);
    a.call(&manager, "whoami").await.unwrap();
    manager.end(a.key()).await;
    assert_eq!(modern_only.counts(), (1, 0, 1), "a legacy client does not end what serves everybody");
}

#[tokio::test(start_paused = true)]
async fn the_reaper_ends_idle_sessions_and_the_next_call_opens_another() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = without_tasks(|| manager(&fake, PerClient, 16));
    let kept = manager.new_client_session().unwrap();
    assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 1);
    assert_eq!(legacy("b").call(&*kept, "whoami").await.unwrap(), 2);
    tokio::time::advance(90 * SECOND).await;
    manager.reap().await;
    assert_eq!(fake.counts(), (2, 0, 2), "not yet longer than its time-to-live");
    tokio::time::advance(SECOND / 1000).await;
    manager.reap().await;
    assert_eq!((fake.counts(), stats(&manager).in_use), ((2, 2, 0), 0), "R-31, R-34");
    assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 3);
    assert_eq!(legacy("b").call(&*kept, "whoami").await.unwrap(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_background_reaper_takes_half_the_shortest_time_to_live() {
    let fakes = [Fake::new(Speaks::Legacy), Fake::new(Speaks::Legacy)];
    let ttl = |ttl| PoolConfig { idle_ttl: ttl, ..PoolConfig::default() };
    let managed = vec![
        downstream("short", &fakes[0], PerClient, ttl(10 * SECOND)),
        downstream("long", &fakes[1], PerClient, ttl(60 * SECOND)),
    ];
    let manager = Manager::new(managed).unwrap();
    for name in ["short", "long"] {
        tokio::time::sleep(SECOND).await;
        manager.dispatch(legacy("a").to(name, "whoami")).await.unwrap();
    }
    tokio::time::sleep(8 * SECOND).await;
    assert_eq!(fakes[0].counts().2, 1, "R-35: at 10 seconds it was idle for 9");
    tokio::time::sleep(6 * SECOND).await;
    assert_eq!((fakes[0].counts().2, fakes[1].counts().2), (0, 1), "each by its own time-to-live");
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(fakes[1].counts().2, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_is_never_idle_and_its_end_counts() {
    let fake = Fake::new(Speaks::Legacy);
    let ttl = SECOND / 2;
    let config = PoolConfig { idle_ttl: ttl, ..PoolConfig::default() };
    let manager = Manager::new(vec![downstream("fake", &fake, PerClient, config)]).unwrap();
    let client = legacy("a");
    client.call(&manager, "whoami").await.unwrap();
    let call = tokio::spawn({
        let (manager, client) = (manager.clone(), client.clone());
        async move { client.call(&manager, "slow").await }
    });
    tokio::time::sleep(SECOND * 9 / 10).await;
    manager.reap().await;
    assert_eq!(call.await.unwrap().unwrap(), 1, "R-32");
    tokio::time::sleep(ttl - SECOND / 10).await;
    manager.reap().await;
    assert_eq!(fake.counts().2, 1, "R-33");
    // A call that is given up ends too.
    assert!(tokio::time::timeout(ttl, client.call(&manager, "slow")).await.is_err());
    tokio::time::sleep(ttl - SECOND / 10).await;
    manager.reap().await;
    assert_eq!(fake.counts().2, 1);
    tokio::time::sleep(SECOND / 5).await;
    manager.reap().await;
    assert_eq!(fake.counts(), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_reaper_waits_for_no_slow_closer_and_frees_ended_sessions() {
    let fake = Fake::new(Speaks::Legacy).closing_takes(10 * SECOND);
    let manager = manager(&fake, PerClient, 16);
    crowd(&manager, (0..10).map(|n| legacy(&n.to_string())), "whoami").await;
    fake.kill_all();
    let begun = Instant::now();
    manager.reap().await;
    assert_eq!(begun.elapsed(), 10 * SECOND, "R-W22");
    assert_eq!((fake.counts(), stats(&manager).in_use), ((10, 10, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_while_the_reaper_closes_keeps_its_new_session() {
    let fake = Fake::new(Speaks::Legacy).closing_takes(10 * SECOND);
    let manager = manager(&fake, PerClient, 16);
    let client = legacy("a");
    tokio::time::sleep(SECOND).await;
    client.call(&manager, "whoami").await.unwrap();
    // The background task has its steps at 45, 90 and 135 seconds.
    tokio::time::sleep(135 * SECOND).await;
    assert_eq!(stats(&manager).in_use, 1, "it is being closed");
    assert_eq!(client.call(&manager, "whoami").await.unwrap(), 2);
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(client.call(&manager, "whoami").await.unwrap(), 2);
    assert_eq!(fake.counts(), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_reaper_leaves_a_session_that_is_being_opened() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 16);
    let call = tokio::spawn({
        let manager = manager.clone();
        async move { legacy("a").call(&manager, "whoami").await }
    });
    tokio::time::sleep(SECOND / 2).await;
    manager.reap().await;
    assert_eq!(call.await.unwrap().unwrap(), 1);
    assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn lists_are_read_from_a_session_no_client_is_given() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 16);
    let mut readers = JoinSet::new();
    for _ in 0..10 {
        let manager = manager.clone();
        readers.spawn(async move { manager.listing(&name("fake")).await.unwrap() });
    }
    let listed = readers.join_all().await;
    let same = listed.iter().all(|held| held.session().peer().protocol == "session 1");
    assert!(same && fake.counts() == (1, 0, 1), "one for all readers");
    drop(listed);
    assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 2, "R-W24");
    tokio::time::sleep(1000 * SECOND).await;
    assert_eq!(fake.counts(), (2, 1, 1), "it is kept when a client's own is not");
    fake.kill_all();
    let replaced = manager.listing(&name("fake")).await.unwrap();
    assert_eq!(replaced.session().peer().protocol, "session 3");
    drop(replaced);
    tokio::time::sleep(SECOND).await;
    assert_eq!(
        (fake.counts(), stats(&manager)),
        ((3, 2, 1), gateway_registry::Stats { in_use: 1, idle: 0, created: 3 })
    );
    let error = manager.listing(&name("absent")).await.unwrap_err();
    assert_eq!(error, CallerError::UnknownDownstream { name: "absent".into() }.into());
}

#[tokio::test(start_paused = true)]
async fn the_session_for_lists_takes_no_clients_place() {
    for mode in [PerClient, Shared] {
        for lists_first in [true, false] {
            let fake = Fake::new(Speaks::Legacy);
            let manager = manager(&fake, mode, 1);
            if lists_first {
                manager.listing(&name("fake")).await.unwrap();
            }
            let client = legacy("a").call(&manager, "whoami").await.unwrap();
            let listed = manager.listing(&name("fake")).await.unwrap();
            let others = [
                Client::call(&modern("b"), &manager, "whoami").await,
                legacy("a").call(&manager, "whoami").await,
            ];
            assert!(others.iter().all(Result::is_ok), "{others:?}");
            if mode == PerClient {
                assert_ne!(listed.session().peer().protocol, format!("session {client}"));
                assert_eq!(manager.counts(&name("fake")).unwrap().evicted, 2, "each time another client");
            }
            assert!(fake.most_live.load(SeqCst) <= 2, "one beyond the bound, and no more");
            drop(listed);
            manager.close().await;
            assert_eq!((fake.counts().2, stats(&manager).in_use), (0, 0), "it ends with the pool");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_crowd_before_a_downstream_that_hangs_waits_once() {
    for (speaks, mode) in [(Speaks::Modern, PerClient), (Speaks::Modern, Shared), (Speaks::Both, PerClient)] {
        let fake = Fake::new(speaks);
        let manager = manager(&fake, mode, 16);
        modern("a").call(&manager, "whoami").await.unwrap();
        fake.kill_all();
        let fake = fake.opening_takes(30 * SECOND).failing(usize::MAX);
        let begun = Instant::now();
        let mut calls = JoinSet::new();
        for n in 0..64 {
            let manager = manager.clone();
            calls.spawn(async move { modern(&n.to_string()).call(&manager, "whoami").await.unwrap_err() });
        }
        let listed = manager.listing(&name("fake")).await;
        assert_eq!(listed.unwrap_err(), unreachable(), "lists wait for the same");
        for error in calls.join_all().await {
            assert_eq!(error, unreachable());
        }
        assert_eq!((begun.elapsed(), fake.attempts.load(SeqCst)), (30 * SECOND, 2), "{speaks:?} {mode:?}");
        fake.fail(0, unreachable());
        modern("a").call(&manager, "whoami").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_caller_who_gives_up_leaves_the_opening_to_the_others() {
    let fake = Fake::new(Speaks::Modern).opening_takes(10 * SECOND);
    let manager = manager(&fake, PerClient, 1);
    let begun = Instant::now();
    assert!(tokio::time::timeout(SECOND, modern("a").call(&manager, "whoami")).await.is_err());
    assert_eq!(modern("b").call(&manager, "whoami").await.unwrap(), 1);
    assert_eq!((begun.elapsed(), fake.attempts.load(SeqCst)), (10 * SECOND, 1));
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_for_lists_gives_its_place_to_the_next() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 1);
    drop(manager.listing(&name("fake")).await.unwrap());
    fake.kill_all();
    let listed = manager.listing(&name("fake")).await.unwrap();
    assert_eq!(listed.session().peer().protocol, "session 2");
}

#[tokio::test(start_paused = true)]
async fn lists_of_a_modern_downstream_are_read_from_the_session_for_all() {
    let fake = Fake::new(Speaks::Modern);
    let manager = manager(&fake, PerClient, 1);
    let listed = manager.listing(&name("fake")).await.unwrap();
    assert_eq!(listed.session().peer().era, Era::Modern);
    assert_eq!(modern("a").call(&manager, "whoami").await.unwrap(), 1);
    fake.kill_all();
    drop(listed);
    let listed = manager.listing(&name("fake")).await.unwrap();
    assert_eq!(listed.session().peer().protocol, "session 2", "with the one place there is");
}

#[tokio::test(start_paused = true)]
async fn a_failed_opening_is_told_to_each_and_the_next_tries_again() {
    for (speaks, mode) in [(Speaks::Legacy, PerClient), (Speaks::Modern, Shared)] {
        let fake = Fake::new(speaks).failing(2);
        let manager = manager(&fake, mode, 16);
        for _ in 0..2 {
            assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap_err(), unreachable());
        }
        assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn closing_ends_everything_side_by_side_and_refuses_what_follows() {
    let fakes = [Speaks::Legacy, Speaks::Modern, Speaks::Legacy, Speaks::Both]
        .map(|speaks| Fake::new(speaks).closing_takes(5 * SECOND));
    let names = ["legacy", "modern", "shared", "both"];
    let managed = names.iter().zip(&fakes).map(|(&name, fake)| {
        let mode = if name == "shared" { Shared } else { PerClient };
        downstream(name, fake, mode, PoolConfig::default())
    });
    let manager = Manager::new(managed.collect()).unwrap();
    let handed_out = manager.new_client_session().unwrap();
    for downstream in names {
        manager.listing(&name(downstream)).await.unwrap();
        for client in [legacy("a"), legacy("b"), modern("c")] {
            manager.dispatch(client.to(downstream, "whoami")).await.unwrap();
            handed_out.dispatch(client.to(downstream, "whoami")).await.unwrap();
        }
    }
    let begun = Instant::now();
    manager.close().await;
    assert_eq!(begun.elapsed(), 5 * SECOND, "P-W19: one that takes long does not delay the others");
    for (fake, name) in fakes.iter().zip(names) {
        let (opened, closed, live) = fake.counts();
        assert_eq!((closed, live), (opened, 0), "{name}");
    }
    assert!(manager.stats().iter().all(|(_, stats)| stats.in_use + stats.idle == 0));
    manager.close().await;
    let closed: Error = CallerError::SessionClosed.into();
    assert_eq!(manager.new_client_session().unwrap_err(), closed, "R-W23");
    for downstream in names {
        let call = modern("d").to(downstream, "whoami");
        assert_eq!(manager.dispatch(call.clone()).await.unwrap_err(), closed);
        assert_eq!(handed_out.dispatch(call).await.unwrap_err(), closed);
        assert_eq!(fault(manager.listing(&name(downstream)).await), DownstreamFault::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_opened_while_the_manager_closes_is_ended() {
    for speaks in [Speaks::Legacy, Speaks::Modern] {
        let fake = Fake::new(speaks).opening_takes(SECOND);
        let manager = manager(&fake, PerClient, 16);
        let mut calls = JoinSet::new();
        for client in of_both_eras(2) {
            let manager = manager.clone();
            calls.spawn(async move { client.call(&manager, "whoami").await.unwrap_err() });
        }
        let listing = tokio::spawn({
            let manager = manager.clone();
            async move { manager.listing(&name("fake")).await.unwrap_err() }
        });
        tokio::time::sleep(SECOND / 2).await;
        manager.close().await;
        let (opened, closed, live) = fake.counts();
        assert_eq!((closed, live, fake.calls.load(SeqCst)), (opened, 0, 0), "{speaks:?}");
        calls.join_all().await;
        listing.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_threads_do_while_all_is_closed_nothing_is_left() {
    for round in 0..200_usize {
        let fake = Fake::new([Speaks::Legacy, Speaks::Modern, Speaks::Both][round % 3]);
        let mode = if round % 2 == 0 { PerClient } else { Shared };
        let manager = manager(&fake, mode, 4);
        let mut busy = JoinSet::new();
        for client in of_both_eras(2) {
            let (manager, key) = (manager.clone(), client.key().clone());
            busy.spawn(async move {
                let called = client.call(&manager, "whoami").await;
                manager.end(&key).await;
                called.is_ok()
            });
        }
        busy.spawn({
            let manager = manager.clone();
            async move { manager.listing(&name("fake")).await.is_ok() }
        });
        for _ in 0..round % 10 {
            tokio::task::yield_now().await;
        }
        tokio::join!(manager.close(), manager.close());
        let (opened, closed, live) = fake.counts();
        assert_eq!((closed, live), (opened, 0), "round {round}: each was closed, none just dropped");
        busy.join_all().await;
        assert_eq!(fake.counts().0, opened, "round {round}: none was opened since");
    }
}

#[tokio::test(start_paused = true)]
async fn the_background_task_ends_with_the_manager() {
    let fake = Fake::new(Speaks::Legacy);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (closed, dropped) = (manager(&fake, PerClient, 1), manager(&fake, PerClient, 1));
    assert_eq!(tasks(), 6, "one each, one for each pool and one for the parks of each");
    closed.close().await;
    drop(dropped);
    tokio::time::sleep(46 * SECOND).await;
    assert_eq!(tasks(), 0, "R-36");
}

#[tokio::test(start_paused = true)]
async fn the_session_for_all_takes_no_clients_place() {
    let fake = Fake::new(Speaks::Both);
    let manager = manager(&fake, PerClient, 1);
    for round in 0..3 {
        let (all, own) =
            (modern("a").call(&manager, "whoami").await, legacy("a").call(&manager, "whoami").await);
        assert_ne!(all.unwrap(), own.unwrap(), "round {round}");
        fake.kill_all();
    }
}
