//! More clients than places: idle ones make room.

use std::sync::atomic::Ordering::SeqCst;

use gateway_domain::{CallerError, Dispatcher, DownstreamFault, Error, Sessions};
use gateway_registry::{Manager, PoolConfig};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    fake::{Fake, SECOND, Speaks, fault, name},
    fixture::{Client, PerClient, Shared, crowd, downstream, legacy, manager, modern, stats},
};

fn evicted(manager: &Manager) -> u64 {
    manager.counts(&name("fake")).unwrap().evicted
}

fn slow(manager: &Manager, client: &Client) -> tokio::task::JoinHandle<Result<i64, Error>> {
    let (manager, client) = (manager.clone(), client.clone());
    tokio::spawn(async move { client.call(&manager, "slow").await })
}

#[tokio::test(start_paused = true)]
async fn more_idle_clients_than_places_are_all_served() {
    for client in [legacy as fn(&str) -> Client, modern] {
        let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND / 10);
        let manager = manager(&fake, PerClient, 16);
        for round in 0..3 {
            for n in 0..20 {
                client(&n.to_string()).call(&manager, "whoami").await.unwrap();
            }
            let counts = manager.counts(&name("fake")).unwrap();
            assert_eq!((counts.in_use, counts.idle, counts.exhausted), (16, 0, 0), "round {round}");
            assert_eq!(counts.opened, counts.evicted + 16);
        }
        let at_once = (0..20).map(|n| client(&n.to_string()));
        crowd(&manager, at_once, "whoami").await;
        assert_eq!(fake.most_live.load(SeqCst), 16, "R-W14");
    }
}

#[tokio::test(start_paused = true)]
async fn who_used_it_longest_ago_makes_room_and_loses_no_more_than_that() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 3);
    let clients = ["a", "b", "c"].map(legacy);
    for client in [&clients[0], &clients[1], &clients[2], &clients[0]] {
        client.call(&manager, "whoami").await.unwrap();
        tokio::time::sleep(SECOND).await;
    }
    // Its use begins before the others' and ends after.
    let call = slow(&manager, &clients[1]);
    tokio::time::sleep(SECOND / 2).await;
    clients[2].call(&manager, "whoami").await.unwrap();
    call.await.unwrap().unwrap();
    assert_eq!(legacy("d").call(&manager, "whoami").await.unwrap(), 4);
    assert_eq!(clients[1].call(&manager, "whoami").await.unwrap(), 2, "R-33");
    assert_eq!(clients[2].call(&manager, "whoami").await.unwrap(), 3);
    assert_eq!(evicted(&manager), 1);
    assert_eq!(clients[0].call(&manager, "whoami").await.unwrap(), 5, "begins anew");
    assert_eq!((evicted(&manager), fake.counts()), (2, (5, 2, 3)));
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_keeps_its_session_whoever_waits() {
    let fake = Fake::new(Speaks::Legacy);
    let config = PoolConfig { max: 2, acquire_timeout: SECOND / 2, ..PoolConfig::default() };
    let manager = Manager::new(vec![downstream("fake", &fake, PerClient, config)]).unwrap();
    let busy = ["a", "b"].map(|client| slow(&manager, &legacy(client)));
    tokio::time::sleep(SECOND / 4).await;
    let begun = Instant::now();
    let refused = fault(legacy("c").call(&manager, "whoami").await);
    assert_eq!((refused, begun.elapsed()), (DownstreamFault::Exhausted { max: 2 }, SECOND / 2), "R-3");
    let counts = manager.counts(&name("fake")).unwrap();
    assert_eq!((counts.exhausted, counts.evicted), (1, 0), "R-74");
    // Whoever still waits when a call ends gets the place then.
    let begun = Instant::now();
    let waiting = ["c", "d"].map(|client| {
        let manager = manager.clone();
        tokio::spawn(async move { legacy(client).call(&manager, "whoami").await })
    });
    for call in busy {
        call.await.unwrap().unwrap();
    }
    for call in waiting {
        call.await.unwrap().unwrap();
    }
    assert_eq!(begun.elapsed(), SECOND / 4, "at once, not at the end of the time-to-live");
    assert_eq!((evicted(&manager), fake.most_live.load(SeqCst)), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn waiters_are_served_in_the_order_they_came() {
    let fake = Fake::new(Speaks::Legacy);
    let config = PoolConfig { max: 1, acquire_timeout: 60 * SECOND, ..PoolConfig::default() };
    let manager = Manager::new(vec![downstream("fake", &fake, PerClient, config)]).unwrap();
    let mut calls = Vec::new();
    for n in 0..10 {
        calls.push(slow(&manager, &legacy(&n.to_string())));
        tokio::time::sleep(SECOND / 100).await;
    }
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().unwrap(), n as i64 + 1, "session {n} is the {n}th client's");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_just_opened_is_used_before_it_makes_room() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND / 100).closing_takes(SECOND / 100);
    let config = PoolConfig { max: 1, acquire_timeout: 600 * SECOND, ..PoolConfig::default() };
    let manager = Manager::new(vec![downstream("fake", &fake, PerClient, config)]).unwrap();
    let sessions = crowd(&manager, (0..20).map(|n| legacy(&n.to_string())), "whoami").await;
    assert_eq!((sessions.len(), fake.calls.load(SeqCst), fake.counts().0), (20, 20, 20), "none for nothing");
}

#[tokio::test(start_paused = true)]
async fn room_is_made_within_one_downstream_only() {
    let fakes = [Fake::new(Speaks::Legacy), Fake::new(Speaks::Legacy)];
    let managed = ["fake", "other"].iter().zip(&fakes);
    let config = PoolConfig { max: 1, ..PoolConfig::default() };
    let managed = managed.map(|(name, fake)| downstream(name, fake, PerClient, config.clone()));
    let manager = Manager::new(managed.collect()).unwrap();
    for client in ["a", "b"] {
        legacy(client).call(&manager, "whoami").await.unwrap();
        let call = legacy("a").to("other", "whoami");
        manager.dispatch(call).await.unwrap();
    }
    assert_eq!((fakes[0].counts(), fakes[1].counts()), ((2, 1, 1), (1, 0, 1)));
}

#[tokio::test(start_paused = true)]
async fn the_old_process_is_gone_before_the_client_has_a_new_one() {
    for (speaks, mode) in [(Speaks::Legacy, PerClient), (Speaks::Modern, PerClient), (Speaks::Modern, Shared)]
    {
        for closing in [3 * SECOND, 20 * SECOND] {
            let fake = Fake::new(speaks).closing_takes(closing);
            let manager = manager(&fake, mode, 16);
            legacy("a").call(&manager, "whoami").await.unwrap();
            fake.kill_all();
            let begun = Instant::now();
            let before = fake.most_live.load(SeqCst);
            crowd(&manager, (0..5).map(|_| legacy("a")), "whoami").await;
            let waited = closing.min(8 * SECOND);
            assert_eq!(begun.elapsed(), waited, "{speaks:?} {mode:?}: no longer than the time for closing");
            if waited == closing {
                assert_eq!(fake.most_live.load(SeqCst), before, "{speaks:?} {mode:?}");
            }
        }
    }
    // The same for one that was lost under a call, that made room, or that was idle too long.
    let fake = Fake::new(Speaks::Legacy).closing_takes(3 * SECOND);
    let manager = manager(&fake, PerClient, 16);
    fake.deaths.store(1, SeqCst);
    let begun = Instant::now();
    legacy("a").call(&manager, "die before").await.unwrap();
    assert_eq!((begun.elapsed(), fake.most_live.load(SeqCst)), (3 * SECOND, 1));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_client_passes_its_place_on() {
    let fake = Fake::new(Speaks::Legacy);
    let config = PoolConfig { max: 1, acquire_timeout: 10 * SECOND, ..PoolConfig::default() };
    let manager = Manager::new(vec![downstream("fake", &fake, PerClient, config)]).unwrap();
    let busy = slow(&manager, &legacy("a"));
    tokio::time::sleep(SECOND / 4).await;
    let waiting = slow(&manager, &legacy("b"));
    tokio::time::sleep(SECOND / 4).await;
    manager.end(legacy("a").key()).await;
    assert!(matches!(fault(busy.await.unwrap()), DownstreamFault::Ended { .. }));
    assert_eq!(waiting.await.unwrap().unwrap(), 2);
    assert_eq!(evicted(&manager), 0, "nobody had to make room");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_that_need_more_places_than_there_are_are_all_served() {
    for round in 0..20_usize {
        let fake = Fake::new(Speaks::Legacy);
        let config = PoolConfig { max: 3, acquire_timeout: 60 * SECOND, ..PoolConfig::default() };
        let manager = Manager::new(vec![downstream("fake", &fake, PerClient, config)]).unwrap();
        let mut calls = JoinSet::new();
        for n in 0..16_usize {
            let manager = manager.clone();
            calls.spawn(async move {
                let client = legacy(&(n % 8).to_string());
                for step in 0..20 {
                    match client.call(&manager, "whoami").await {
                        // The other with the same key has ended it.
                        Ok(_) | Err(Error::Caller(CallerError::SessionClosed)) => {}
                        lost => assert!(matches!(fault(lost), DownstreamFault::Ended { .. })),
                    }
                    if (n + step + round) % 7 == 0 {
                        manager.end(client.key()).await;
                    }
                }
            });
        }
        while let Some(done) = calls.join_next().await {
            done.unwrap();
        }
        assert!(fake.most_live.load(SeqCst) <= 3, "round {round}");
        manager.close().await;
        let (opened, closed, live) = fake.counts();
        assert_eq!((closed, live, stats(&manager).in_use), (opened, 0, 0), "round {round}");
    }
}
