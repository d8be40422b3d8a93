use std::sync::atomic::Ordering::SeqCst;

use gateway_domain::{
    CallerError, Dispatcher, DownstreamFault, Error, Execution, InternalError, Outcome, Subject, Target, View,
};
use gateway_registry::PoolConfig;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    fake::{Fake, SECOND, Speaks, fault, unreachable},
    fixture::{PerClient, Shared, crowd, downstream, legacy, manager, modern, stats},
};

#[tokio::test(start_paused = true)]
async fn first_calls_at_once_open_one_session() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 16);
    let sessions = crowd(&manager, (0..50).map(|_| legacy("a")), "whoami").await;
    assert_eq!((sessions, fake.counts()), (vec![1], (1, 0, 1)), "R-43");
    assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 1, "R-42");
}

#[tokio::test(start_paused = true)]
async fn a_first_caller_who_gives_up_does_not_take_it_from_the_others() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 16);
    let first = tokio::spawn({
        let manager = manager.clone();
        async move { legacy("a").call(&manager, "whoami").await }
    });
    tokio::time::sleep(SECOND / 4).await;
    let others = tokio::spawn({
        let manager = manager.clone();
        async move { crowd(&manager, (0..10).map(|_| legacy("a")), "whoami").await }
    });
    tokio::time::sleep(SECOND / 4).await;
    // A waiter can give up as well (R-W15).
    let waiter = legacy("a");
    assert!(tokio::time::timeout(SECOND / 10, waiter.call(&manager, "whoami")).await.is_err());
    first.abort();
    assert_eq!(others.await.unwrap(), [1]);
    assert_eq!((fake.attempts.load(SeqCst), fake.counts()), (1, (1, 0, 1)), "its attempt goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn first_calls_from_threads_open_one_session() {
    for round in 0..300 {
        let fake = Fake::new([Speaks::Legacy, Speaks::Modern][round % 2]);
        let manager = manager(&fake, PerClient, 16);
        crowd(&manager, (0..16).map(|_| modern("a")), "whoami").await;
        assert_eq!(fake.attempts.load(SeqCst), 1, "R-43, in round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn first_calls_at_once_share_a_failure() {
    // Once with the era unknown, once with a legacy downstream that is known and hangs.
    for known in [false, true] {
        let fake = Fake::new(Speaks::Legacy);
        let manager = manager(&fake, PerClient, 16);
        if known {
            modern("b").call(&manager, "whoami").await.unwrap();
        }
        let before = fake.attempts.load(SeqCst);
        let fake = fake.opening_takes(30 * SECOND).failing(usize::MAX);
        let begun = Instant::now();
        let mut calls = JoinSet::new();
        for _ in 0..64 {
            let manager = manager.clone();
            calls.spawn(async move { legacy("a").call(&manager, "whoami").await.unwrap_err() });
        }
        for error in calls.join_all().await {
            assert_eq!(error, unreachable());
        }
        assert_eq!((begun.elapsed(), fake.attempts.load(SeqCst) - before), (30 * SECOND, 1), "{known}");
        fake.fail(0, unreachable());
        legacy("a").call(&manager, "whoami").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_all_of_whose_first_callers_gave_up_is_there_for_the_next() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(10 * SECOND);
    let manager = manager(&fake, PerClient, 1);
    for _ in 0..3 {
        let given_up = tokio::time::timeout(SECOND, legacy("a").call(&manager, "whoami")).await;
        assert!(given_up.is_err());
    }
    assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 1);
    assert_eq!((fake.attempts.load(SeqCst), fake.most_live.load(SeqCst)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn calls_on_one_session_overlap() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 16);
    let begun = Instant::now();
    assert_eq!(crowd(&manager, (0..20).map(|_| legacy("a")), "slow").await, [1]);
    assert!(begun.elapsed() < 2 * SECOND, "R-44: {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_session_on_which_many_calls_fail_is_given_up_once() {
    for (mode, sessions) in [(PerClient, 1), (Shared, 16)] {
        let fake = Fake::new(Speaks::Legacy);
        let manager = manager(&fake, mode, 16);
        let mut calls = JoinSet::new();
        for _ in 0..16 {
            let manager = manager.clone();
            calls.spawn(async move { fault(legacy("a").call(&manager, "slow").await) });
        }
        tokio::time::sleep(SECOND / 2).await;
        fake.kill_all();
        let faults = calls.join_all().await;
        assert!(faults.iter().all(|fault| matches!(fault, DownstreamFault::Ended { .. })), "{faults:?}");
        tokio::time::sleep(SECOND).await;
        assert_eq!((fake.counts(), stats(&manager).in_use), ((sessions, sessions, 0), 0), "R-46, R-41");
        assert_eq!(fake.closes.load(SeqCst), sessions);
        assert_eq!(fake.calls.load(SeqCst), 16, "R-76: what may have run is not tried again");
        legacy("a").call(&manager, "whoami").await.unwrap();
        assert_eq!(fake.counts().0, sessions + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn failures_that_leave_the_session_open_leave_it_to_its_owner() {
    for mode in [PerClient, Shared] {
        let fake = Fake::new(Speaks::Legacy);
        let manager = manager(&fake, mode, 16);
        let client = legacy("a");
        let refused = manager.dispatch(client.to("fake", "refuse")).await.unwrap();
        assert!(matches!(refused, Outcome::Failed(error) if error.code == -32602), "R-45, R-W2");
        assert!(matches!(fault(client.call(&manager, "nonsense").await), DownstreamFault::Nonsense { .. }));
        assert_eq!(client.call(&manager, "never started").await.unwrap_err(), unreachable());
        let cancelled = tokio::time::timeout(SECOND / 2, client.call(&manager, "slow")).await;
        assert!(cancelled.is_err());
        assert_eq!(client.call(&manager, "whoami").await.unwrap(), 1, "R-W3, {mode:?}");
        assert_eq!(fake.calls.load(SeqCst), 5, "none was tried again");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_never_ran_is_tried_again_and_once() {
    // Tool, how many sessions die under it, whether it succeeds, how often it is sent.
    for (tool, deaths, succeeds, calls) in
        [("die before", 1, true, 2), ("die before", 2, false, 2), ("die during", 1, false, 1)]
    {
        for (speaks, mode) in [
            (Speaks::Legacy, PerClient),
            (Speaks::Legacy, Shared),
            (Speaks::Modern, PerClient),
            (Speaks::Modern, Shared),
        ] {
            for warm in [false, true] {
                let row = format!("{tool} {deaths} {speaks:?} {mode:?} {warm}");
                let fake = Fake::new(speaks);
                // The dead session's place is needed for the next.
                let manager = manager(&fake, mode, 1);
                if warm {
                    modern("a").call(&manager, "whoami").await.unwrap();
                }
                fake.deaths.store(deaths, SeqCst);
                fake.calls.store(0, SeqCst);
                let result = modern("a").call(&manager, tool).await;
                assert_eq!(fake.calls.load(SeqCst), calls, "R-76: {row}: {result:?}");
                assert_eq!(result.is_ok(), succeeds, "{row}: {result:?}");
                if let Err(Error::Downstream(error)) = result {
                    assert!(matches!(error.fault, DownstreamFault::Ended { .. }), "{row}: {error}");
                    let started =
                        if tool == "die before" { Execution::NotStarted } else { Execution::Possible };
                    assert_eq!(error.execution, started, "{row}");
                    let lost_again = error.to_string().contains("could not be re-established");
                    assert_eq!(lost_again, deaths == 2, "G-31: {row}: {error}");
                }
                modern("a").call(&manager, "whoami").await.unwrap();
                tokio::time::sleep(SECOND).await;
                assert_eq!(fake.counts().2, 1, "{row}: only the last is alive");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_that_have_all_ended_unnoticed_fail_no_call() {
    for (deaths, succeeds) in [(4, true), (5, false)] {
        let fake = Fake::new(Speaks::Legacy);
        let manager = manager(&fake, Shared, 8);
        crowd(&manager, ["a", "b", "c", "d"].map(legacy), "slow").await;
        assert_eq!(stats(&manager).idle, 4);
        fake.deaths.store(deaths, SeqCst);
        fake.calls.store(0, SeqCst);
        let result = legacy("b").call(&manager, "die before").await;
        assert_eq!(fake.calls.load(SeqCst), 5, "the idle ones and a new one: {result:?}");
        assert_eq!(result.is_ok(), succeeds, "{result:?}");
        if let Err(error) = result {
            assert!(error.to_string().contains("could not be re-established"), "G-31: {error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_is_replaced_before_use() {
    for speaks in [Speaks::Legacy, Speaks::Modern] {
        for mode in [PerClient, Shared] {
            let fake = Fake::new(speaks);
            let manager = manager(&fake, mode, 1);
            assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 1);
            fake.kill_all();
            assert_eq!(legacy("a").call(&manager, "whoami").await.unwrap(), 2, "R-W12");
            tokio::time::sleep(SECOND).await;
            assert_eq!((fake.counts(), fake.calls.load(SeqCst)), ((2, 1, 1), 2), "{speaks:?} {mode:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_for_all_is_kept_by_no_client() {
    let fake = Fake::new(Speaks::Modern).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 1);
    assert_eq!(crowd(&manager, ["a", "b", "c"].map(modern), "whoami").await, [1]);
    fake.kill_all();
    assert_eq!(modern("a").call(&manager, "whoami").await.unwrap(), 2, "its one place is free");
}

#[tokio::test(start_paused = true)]
async fn clients_never_share_a_session_even_after_one_is_gone() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 16);
    let (first, second) = (manager.new_client_session().unwrap(), manager.new_client_session().unwrap());
    // The same identity in all respects.
    let client = legacy("a");
    assert_eq!(client.call(&*first, "whoami").await.unwrap(), 1);
    assert_eq!(client.call(&*second, "whoami").await.unwrap(), 2, "R-47");
    assert_eq!(client.call(&*first, "whoami").await.unwrap(), 1);
    drop(first);
    first_is_gone(&fake).await;
    let third = manager.new_client_session().unwrap();
    assert_eq!(client.call(&*third, "whoami").await.unwrap(), 3, "not the one that was left");
    second.close().await;
    let fourth = manager.new_client_session().unwrap();
    assert_eq!(client.call(&*fourth, "whoami").await.unwrap(), 4);
    assert_eq!(stats(&manager).idle, 0);
}

async fn first_is_gone(fake: &Fake) {
    tokio::time::sleep(SECOND).await;
    assert_eq!(fake.counts(), (2, 1, 1), "a dropped client's session is closed");
}

#[tokio::test(start_paused = true)]
async fn closing_is_idempotent_and_ends_all_side_by_side_and_refuses_what_follows() {
    let fakes = [(); 2].map(|()| Fake::new(Speaks::Legacy).closing_takes(10 * SECOND));
    let managed = ["fake", "other"].iter().zip(&fakes);
    let managed = managed.map(|(name, fake)| downstream(name, fake, PerClient, PoolConfig::default()));
    let manager = gateway_registry::Manager::new(managed.collect()).unwrap();
    let session = manager.new_client_session().unwrap();
    for name in ["fake", "other"] {
        session.dispatch(legacy("a").to(name, "whoami")).await.unwrap();
    }
    let begun = Instant::now();
    session.close().await;
    assert_eq!(begun.elapsed(), 10 * SECOND, "R-49, R-W22");
    for fake in &fakes {
        assert_eq!(fake.counts(), (1, 1, 0));
    }
    assert!(manager.stats().iter().all(|(_, stats)| stats.in_use == 0));
    session.close().await;
    let refused = legacy("a").call(&*session, "whoami").await;
    assert_eq!(refused.unwrap_err(), CallerError::SessionClosed.into(), "R-48");
    assert_eq!(fakes[0].closes.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_closed_session_refuses_whatever_it_would_have_used() {
    for (speaks, mode) in [
        (Speaks::Legacy, PerClient),
        (Speaks::Legacy, Shared),
        (Speaks::Modern, PerClient),
        (Speaks::Modern, Shared),
    ] {
        let fake = Fake::new(speaks);
        let manager = manager(&fake, mode, 16);
        let session = manager.new_client_session().unwrap();
        modern("a").call(&*session, "whoami").await.unwrap();
        session.close().await;
        let refused = modern("a").call(&*session, "whoami").await;
        assert_eq!(
            refused.unwrap_err(),
            CallerError::SessionClosed.into(),
            "R-48, R-W16: {speaks:?} {mode:?}"
        );
        let alive = if (speaks, mode) == (Speaks::Legacy, PerClient) { 0 } else { 1 };
        assert_eq!(fake.counts().2, alive, "what is not its own goes on");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_opened_while_its_client_closes_is_ended() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 16);
    let session = manager.new_client_session().unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..3 {
        let session = session.clone();
        calls.spawn(async move { legacy("a").call(&*session, "whoami").await.unwrap_err() });
    }
    tokio::time::sleep(SECOND / 2).await;
    session.close().await;
    let errors = calls.join_all().await;
    assert!(errors.iter().all(|error| *error == CallerError::SessionClosed.into()), "{errors:?}");
    tokio::time::sleep(SECOND).await;
    assert_eq!((fake.counts(), stats(&manager).in_use), ((1, 1, 0), 0));
    assert_eq!(fake.calls.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn closing_fails_calls_in_flight_and_frees_the_place() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 16);
    let session = manager.new_client_session().unwrap();
    let call = tokio::spawn({
        let session = session.clone();
        async move { legacy("a").call(&*session, "slow").await }
    });
    tokio::time::sleep(SECOND / 2).await;
    session.close().await;
    assert!(matches!(fault(call.await.unwrap()), DownstreamFault::Ended { .. }));
    tokio::time::sleep(SECOND).await;
    assert_eq!((fake.counts(), stats(&manager).in_use), ((1, 1, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn closing_goes_on_when_its_caller_gives_up() {
    let fake = Fake::new(Speaks::Legacy).closing_takes(10 * SECOND);
    let manager = manager(&fake, PerClient, 16);
    let session = manager.new_client_session().unwrap();
    legacy("a").call(&*session, "whoami").await.unwrap();
    assert!(tokio::time::timeout(SECOND, session.close()).await.is_err());
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(
        (fake.counts(), stats(&manager)),
        ((1, 1, 0), gateway_registry::Stats { in_use: 0, idle: 0, created: 1 })
    );
}

#[tokio::test(start_paused = true)]
async fn shared_sessions_rotate_and_come_back() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, Shared, 2);
    for client in ["a", "b", "c"] {
        for client in [modern(client), legacy(client)] {
            assert_eq!(client.call(&manager, "whoami").await.unwrap(), 1, "R-41");
        }
    }
    assert_eq!(stats(&manager).in_use, 0);
    assert_eq!(crowd(&manager, [legacy("a"), legacy("b")], "slow").await.len(), 2, "one call each");
    assert_eq!(fake.most_live.load(SeqCst), 2);
    let busy = [legacy("a"), legacy("a")].map(|client| {
        let manager = manager.clone();
        tokio::spawn(async move { client.call(&manager, "slow").await })
    });
    tokio::time::sleep(SECOND / 2).await;
    assert_eq!(stats(&manager).in_use, 2);
    assert!(legacy("c").call(&manager, "whoami").await.is_ok(), "waits for one to come back");
    for call in busy {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn calls_for_nothing_known_are_clean_errors() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 1);
    let session = manager.new_client_session().unwrap();
    let unknown: Error = CallerError::UnknownDownstream { name: "absent".into() }.into();
    let mut unresolved = legacy("a").to("fake", "whoami");
    unresolved.target = Target::Exposed { view: View::All, subject: Subject::tool("x") };
    for dispatcher in [&manager as &dyn Dispatcher, &*session as &dyn Dispatcher] {
        let error = dispatcher.dispatch(legacy("a").to("absent", "whoami")).await.unwrap_err();
        assert_eq!(error, unknown, "R-39");
        let error = dispatcher.dispatch(unresolved.clone()).await.unwrap_err();
        assert!(matches!(error, Error::Internal(InternalError { .. })), "{error}");
    }
    assert_eq!(fake.attempts.load(SeqCst), 0);
}
