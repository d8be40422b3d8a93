//! Downstreams that come, change and go while clients call.

use std::sync::atomic::Ordering::SeqCst;

use gateway_domain::{CallerError, Dispatcher, DownstreamError, DownstreamFault, Error, Execution};
use gateway_registry::{Manager, PoolConfig, SessionMode};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    fake::{Fake, SECOND, Speaks, fault, name},
    fixture::{PerClient, Shared, answered_by, crowd, downstream, legacy, manager, modern},
};

const KINDS: [(Speaks, SessionMode); 4] = [
    (Speaks::Legacy, PerClient),
    (Speaks::Legacy, Shared),
    (Speaks::Modern, PerClient),
    (Speaks::Modern, Shared),
];

fn unknown() -> Error {
    CallerError::UnknownDownstream { name: "fake".into() }.into()
}

async fn insert(manager: &Manager, named: &str, fake: &Fake, mode: SessionMode) {
    manager.insert(downstream(named, fake, mode, PoolConfig::default())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_downstream_comes_and_goes_and_others_notice_nothing() {
    for (speaks, mode) in KINDS {
        let others = Fake::new(speaks);
        let manager = Manager::new(vec![downstream("other", &others, mode, PoolConfig::default())]).unwrap();
        let calls = ["a", "b"].map(|client| legacy(client).to("other", "whoami"));
        let mut before = Vec::new();
        for call in &calls {
            before.push(answered_by(manager.dispatch(call.clone()).await.unwrap()));
        }
        let handed_out = manager.new_client_session().unwrap();
        assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap_err(), unknown());
        let fake = Fake::new(speaks);
        insert(&manager, "fake", &fake, mode).await;
        for _ in 0..2 {
            legacy("a").call(&manager, "whoami").await.unwrap();
            legacy("a").call(&*handed_out, "whoami").await.unwrap();
            manager.listing(&name("fake")).await.unwrap();
        }
        assert!(manager.remove(&name("fake")).await);
        assert_eq!((fake.counts().1, fake.counts().2), (fake.counts().0, 0), "{speaks:?} {mode:?}");
        for refused in [
            legacy("a").call(&manager, "whoami").await.err(),
            legacy("a").call(&*handed_out, "whoami").await.err(),
            manager.listing(&name("fake")).await.err(),
        ] {
            assert_eq!(refused, Some(unknown()));
        }
        assert!(!manager.remove(&name("fake")).await);
        assert_eq!(manager.counts(&name("fake")), None);
        let mut after = Vec::new();
        for call in &calls {
            after.push(answered_by(manager.dispatch(call.clone()).await.unwrap()));
        }
        assert_eq!((after, others.closes.load(SeqCst)), (before, 0), "{speaks:?} {mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_old_one_is_gone_before_the_new_one_starts() {
    for (speaks, mode) in KINDS {
        let old = Fake::new(speaks).closing_takes(SECOND);
        let manager = manager(&old, mode, 16);
        for client in [legacy("a"), legacy("b"), modern("c")] {
            client.call(&manager, "whoami").await.unwrap();
        }
        manager.listing(&name("fake")).await.unwrap();
        let new = Fake::new(speaks);
        let begun = Instant::now();
        let inserting = tokio::spawn({
            let (manager, new) = (manager.clone(), new.clone());
            async move { insert(&manager, "fake", &new, mode).await }
        });
        tokio::time::sleep(SECOND / 2).await;
        assert_eq!(new.attempts.load(SeqCst), 0);
        let call = tokio::spawn({
            let manager = manager.clone();
            async move { legacy("a").call(&manager, "whoami").await }
        });
        tokio::time::sleep(SECOND / 4).await;
        assert_eq!((new.attempts.load(SeqCst), call.is_finished()), (0, false), "{speaks:?} {mode:?}");
        call.await.unwrap().unwrap();
        inserting.await.unwrap();
        assert_eq!(begun.elapsed(), SECOND, "calls meanwhile wait: {speaks:?} {mode:?}");
        assert_eq!((old.counts().2, new.calls.load(SeqCst)), (0, 1));
        let again = crowd(&manager, [legacy("a"), legacy("b"), modern("c")], "whoami").await;
        assert!(!again.is_empty() && new.calls.load(SeqCst) == 4, "{speaks:?} {mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_stubborn_old_one_is_told_in_time() {
    let old = Fake::new(Speaks::Legacy).closing_takes(60 * SECOND);
    let manager = manager(&old, PerClient, 16);
    legacy("a").call(&manager, "whoami").await.unwrap();
    let new = Fake::new(Speaks::Legacy);
    let begun = Instant::now();
    let inserting = tokio::spawn({
        let (manager, new) = (manager.clone(), new.clone());
        async move { insert(&manager, "fake", &new, PerClient).await }
    });
    tokio::time::sleep(SECOND).await;
    let Err(Error::Downstream(error)) = legacy("a").call(&manager, "whoami").await else {
        panic!("the old one is still there")
    };
    let DownstreamError { fault, execution, .. } = *error;
    assert_eq!((execution, begun.elapsed()), (Execution::NotStarted, 3 * SECOND), "the time for a place");
    assert!(matches!(fault, DownstreamFault::Unreachable { .. }), "{fault}");
    inserting.await.unwrap();
    assert_eq!(begun.elapsed(), 8 * SECOND, "the time for closing");
    assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_on_a_removed_downstream_end_and_say_so() {
    for (speaks, mode) in KINDS {
        for tool in ["slow", "deaf"] {
            for replaced in [false, true] {
                let row = format!("{speaks:?} {mode:?} {tool} {replaced}");
                let fake = Fake::new(speaks);
                let manager = manager(&fake, mode, 16);
                let handed_out = manager.new_client_session().unwrap();
                legacy("a").call(&manager, "whoami").await.unwrap();
                let mut calls = JoinSet::new();
                for client in [legacy("a"), legacy("b"), modern("c")] {
                    let (manager, handed_out) = (manager.clone(), handed_out.clone());
                    calls.spawn({
                        let client = client.clone();
                        async move { client.call(&manager, tool).await }
                    });
                    calls.spawn(async move { client.call(&*handed_out, tool).await });
                }
                tokio::time::sleep(SECOND / 2).await;
                let begun = Instant::now();
                let new = Fake::new(speaks);
                if replaced {
                    insert(&manager, "fake", &new, mode).await;
                } else {
                    assert!(manager.remove(&name("fake")).await);
                }
                for call in calls.join_all().await {
                    let Err(Error::Downstream(error)) = call else { panic!("{row}: {call:?}") };
                    assert_eq!(error.fault, DownstreamFault::Closed, "{row}");
                    assert_eq!(error.execution, Execution::Possible, "{row}");
                }
                assert!(begun.elapsed() < SECOND / 10, "{row}: {:?}", begun.elapsed());
                assert_eq!((fake.counts().2, new.calls.load(SeqCst)), (0, 0), "R-76: {row}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_being_opened_is_given_up_and_tried_with_the_new_one() {
    for (speaks, mode) in KINDS {
        let old = Fake::new(speaks).opening_takes(30 * SECOND);
        let manager = manager(&old, mode, 16);
        let call = tokio::spawn({
            let manager = manager.clone();
            async move { legacy("a").call(&manager, "whoami").await }
        });
        tokio::time::sleep(SECOND).await;
        let new = Fake::new(speaks);
        let begun = Instant::now();
        insert(&manager, "fake", &new, mode).await;
        assert!(call.await.unwrap().is_ok(), "it had not begun: {speaks:?} {mode:?}");
        assert!(begun.elapsed() < SECOND);
        assert_eq!((old.calls.load(SeqCst), new.calls.load(SeqCst), old.counts().2), (0, 1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn changes_in_a_row_leave_the_last_and_never_two_at_once() {
    let fakes: Vec<_> = (0..4).map(|_| Fake::new(Speaks::Legacy).closing_takes(SECOND)).collect();
    let manager = manager(&fakes[0], PerClient, 16);
    legacy("a").call(&manager, "whoami").await.unwrap();
    let begun = Instant::now();
    let mut changes = JoinSet::new();
    for fake in &fakes[1..] {
        let (manager, fake) = (manager.clone(), fake.clone());
        changes.spawn(async move { insert(&manager, "fake", &fake, PerClient).await });
        tokio::time::sleep(SECOND / 10).await;
    }
    legacy("a").call(&manager, "whoami").await.unwrap();
    assert_eq!(begun.elapsed(), SECOND, "the first has to go; the others were never used");
    assert_eq!([0, 1, 2, 3].map(|n: usize| fakes[n].counts().0), [1, 0, 0, 1]);
    changes.join_all().await;
    // Removed and back at once: it is the same to its clients.
    let removing = tokio::spawn({
        let manager = manager.clone();
        async move { manager.remove(&name("fake")).await }
    });
    tokio::task::yield_now().await;
    let back = Fake::new(Speaks::Legacy);
    insert(&manager, "fake", &back, PerClient).await;
    let begun = Instant::now();
    legacy("a").call(&manager, "whoami").await.unwrap();
    assert_eq!((begun.elapsed(), fakes[3].counts().2), (SECOND, 0), "the removed one is gone first");
    assert!(removing.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn changes_go_on_when_nobody_waits_and_end_with_the_manager() {
    let old = Fake::new(Speaks::Legacy).closing_takes(3 * SECOND);
    let manager = manager(&old, PerClient, 16);
    legacy("a").call(&manager, "whoami").await.unwrap();
    assert!(tokio::time::timeout(SECOND, manager.remove(&name("fake"))).await.is_err());
    let begun = Instant::now();
    manager.close().await;
    assert_eq!((begun.elapsed(), old.counts()), (2 * SECOND, (1, 1, 0)), "it waits for that too");
    let refused = manager.insert(downstream("fake", &old, PerClient, PoolConfig::default())).await;
    assert_eq!(refused.unwrap_err(), CallerError::SessionClosed.into());
    assert!(!manager.remove(&name("fake")).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_threads_do_while_downstreams_change_each_call_has_one_answer() {
    let others = Fake::new(Speaks::Legacy);
    let manager = Manager::new(vec![downstream("other", &others, PerClient, PoolConfig::default())]).unwrap();
    let fakes: Vec<_> =
        (0..60).map(|n| Fake::new([Speaks::Legacy, Speaks::Modern, Speaks::Both][n % 3])).collect();
    let mut busy = JoinSet::new();
    for n in 0..8 {
        let manager = manager.clone();
        busy.spawn(async move {
            let client = if n % 2 == 0 { legacy(&n.to_string()) } else { modern(&n.to_string()) };
            for _ in 0..300 {
                let own = answered_by(manager.dispatch(client.to("other", "whoami")).await.unwrap());
                match client.call(&manager, "whoami").await {
                    Ok(_) | Err(Error::Caller(CallerError::UnknownDownstream { .. })) => {}
                    refused => assert_eq!(fault(refused), DownstreamFault::Closed),
                }
                let again = answered_by(manager.dispatch(client.to("other", "whoami")).await.unwrap());
                assert_eq!(own, again, "what concerns one downstream touches no other");
            }
        });
    }
    for (n, fake) in fakes.iter().enumerate() {
        insert(&manager, "fake", fake, if n % 2 == 0 { PerClient } else { Shared }).await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        if n % 5 == 4 {
            manager.remove(&name("fake")).await;
        }
    }
    while let Some(done) = busy.join_next().await {
        done.unwrap();
    }
    manager.close().await;
    for fake in fakes.iter().chain([&others]) {
        let (opened, closed, live) = fake.counts();
        assert_eq!((closed, live), (opened, 0));
    }
}
