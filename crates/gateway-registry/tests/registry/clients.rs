//! Who holds what: bounds of client sessions, and that nobody sees another's.

use gateway_domain::{CallerError, Error, Sessions};
use gateway_registry::{Manager, ManagerConfig, PoolConfig, SessionMode};

use crate::{
    fake::{Fake, SECOND, Speaks, name},
    fixture::{Client, PerClient, Shared, crowd, downstream, legacy, manager, modern, stats},
};

fn bounded(fake: &Fake, mode: SessionMode, max_clients: usize, max_clients_per_caller: usize) -> Manager {
    let managed = downstream("fake", fake, mode, PoolConfig::default());
    let config = ManagerConfig { max_clients, max_clients_per_caller, ..ManagerConfig::default() };
    Manager::with_config(vec![managed], config).unwrap()
}

fn overloaded(what: &'static str, limit: usize) -> Error {
    CallerError::Overloaded { what, limit }.into()
}

async fn call_in_turn(manager: &Manager, clients: impl IntoIterator<Item = Client>) -> Vec<i64> {
    let mut sessions = Vec::new();
    for client in clients {
        sessions.push(client.call(manager, "whoami").await.unwrap());
        tokio::time::sleep(SECOND).await;
    }
    sessions
}

#[tokio::test(start_paused = true)]
async fn two_clients_never_see_each_others_count_and_share_it_where_that_is_said() {
    for client in [legacy as fn(&str) -> Client, modern] {
        for (mode, expected) in [(PerClient, [1, 1, 2, 2, 3, 3]), (Shared, [1, 2, 3, 4, 5, 6])] {
            let manager = manager(&Fake::new(Speaks::Legacy), mode, 16);
            let mut counts = Vec::new();
            for name in ["a", "b", "a", "b", "a", "b"] {
                counts.push(client(name).call(&manager, "count").await.unwrap());
            }
            assert_eq!(counts, expected, "{mode:?}");
        }
    }
    // Also the same caller with other capabilities is another client.
    let manager = manager(&Fake::new(Speaks::Legacy), PerClient, 16);
    for client in [modern("a"), modern("a").with_profile("x"), legacy("a")] {
        assert_eq!(client.call(&manager, "count").await.unwrap(), 1);
    }
    // And who made room for another begins anew, never with the other's.
    let manager = self::manager(&Fake::new(Speaks::Legacy), PerClient, 1);
    for name in ["a", "b", "a", "b"] {
        assert_eq!(legacy(name).call(&manager, "count").await.unwrap(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn beyond_the_bound_the_oldest_idle_client_is_ended() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = bounded(&fake, PerClient, 3, 100);
    assert_eq!(call_in_turn(&manager, ["a", "b", "c", "a", "d"].map(legacy)).await, [1, 2, 3, 1, 4]);
    assert_eq!((manager.clients(), fake.counts()), (3, (4, 1, 3)));
    assert_eq!(call_in_turn(&manager, ["a", "c"].map(legacy)).await, [1, 3]);
    assert_eq!(call_in_turn(&manager, [legacy("b"), modern("e")]).await, [5, 6]);
    assert_eq!(call_in_turn(&manager, [legacy("c"), modern("e"), legacy("b")]).await, [3, 6, 5]);
}

#[tokio::test(start_paused = true)]
async fn bounds_may_change_while_it_runs() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = bounded(&fake, PerClient, 1, 100);
    assert_eq!(call_in_turn(&manager, ["a", "b"].map(legacy)).await, [1, 2]);
    manager.set_config(ManagerConfig { max_clients: 2, ..ManagerConfig::default() });
    assert_eq!(call_in_turn(&manager, ["a", "b", "a"].map(legacy)).await, [3, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn clients_with_a_call_in_flight_are_not_ended() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = bounded(&fake, PerClient, 2, 1);
    let busy = [legacy("a"), modern("b")].map(|client| {
        let manager = manager.clone();
        tokio::spawn(async move { client.call(&manager, "slow").await })
    });
    tokio::time::sleep(SECOND / 2).await;
    let error = legacy("c").call(&manager, "whoami").await.unwrap_err();
    assert_eq!(error, overloaded("client sessions", 2));
    let error = modern("b").with_profile("x").call(&manager, "whoami").await.unwrap_err();
    assert_eq!(error, overloaded("client sessions of one caller", 1));
    for call in busy {
        call.await.unwrap().unwrap();
    }
    legacy("c").call(&manager, "whoami").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_caller_with_many_profiles_ends_its_own_oldest_and_nobody_elses() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = bounded(&fake, PerClient, 100, 2);
    let profiles = ["x", "y", "z"].map(|profile| modern("a").with_profile(profile));
    let [x, y, z] = &profiles;
    let others = [modern("b"), legacy("c")];
    let first = call_in_turn(&manager, others.iter().chain([x, y, x, z]).cloned()).await;
    assert_eq!(first, [1, 2, 3, 4, 3, 5]);
    assert_eq!((manager.clients(), fake.counts()), (4, (5, 1, 4)));
    assert_eq!(call_in_turn(&manager, others.iter().chain([x, z, y]).cloned()).await, [1, 2, 3, 5, 6]);
    assert_eq!(call_in_turn(&manager, [z.clone(), x.clone()]).await, [5, 7], "each time the oldest");
}

#[tokio::test(start_paused = true)]
async fn clients_that_hold_nothing_are_in_nobodys_way() {
    // Nothing is kept for a failed call, a shared session, or one that serves everybody.
    for (speaks, mode, failures) in
        [(Speaks::Legacy, PerClient, usize::MAX), (Speaks::Legacy, Shared, 0), (Speaks::Modern, PerClient, 0)]
    {
        let fake = Fake::new(speaks).failing(failures);
        let manager = bounded(&fake, mode, 10, 3);
        for n in 0..50 {
            for client in [legacy(&n.to_string()), modern("a").with_profile(&format!("p{n}"))] {
                let error = client.call(&manager, "whoami").await.err();
                assert!(!matches!(error, Some(Error::Caller(_))), "{speaks:?} {mode:?} {n}: {error:?}");
                assert!(manager.clients() <= 10);
            }
        }
        manager.reap().await;
        assert_eq!(manager.clients(), 0, "{speaks:?} {mode:?}");
    }
    let fake = Fake::new(Speaks::Legacy);
    let manager = bounded(&fake, PerClient, 2, 100);
    legacy("holds").call(&manager, "whoami").await.unwrap();
    fake.fail(10, crate::fake::unreachable());
    for n in 0..10 {
        legacy(&n.to_string()).call(&manager, "whoami").await.unwrap_err();
    }
    assert_eq!(legacy("holds").call(&manager, "whoami").await.unwrap(), 1, "though its use is oldest");
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_clients_that_never_say_goodbye_leave_nothing() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 16);
    for n in 0..10_000 {
        legacy(&n.to_string()).call(&manager, "whoami").await.unwrap();
    }
    let counts = manager.counts(&name("fake")).unwrap();
    assert_eq!((counts.opened, counts.evicted, counts.exhausted), (10_000, 9_984, 0));
    tokio::time::sleep(200 * SECOND).await;
    assert_eq!((manager.clients(), stats(&manager).in_use, fake.counts().2), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn sessions_handed_out_are_bounded_and_counted_while_they_live() {
    let manager = bounded(&Fake::new(Speaks::Legacy), PerClient, 20, 0);
    let mut sessions: Vec<_> = (0..20).map(|_| manager.new_client_session().unwrap()).collect();
    assert_eq!(manager.new_client_session().unwrap_err(), overloaded("client sessions", 20));
    sessions.pop();
    manager.new_client_session().unwrap();
}

#[test]
fn bounds_of_zero_take_the_defaults() {
    let default = ManagerConfig::default();
    assert_eq!((default.max_clients, default.max_clients_per_caller), (10_000, 100));
    let manager = bounded(&Fake::new(Speaks::Legacy), PerClient, 0, 0);
    let _sessions: Vec<_> = (0..10_000).map(|_| manager.new_client_session().unwrap()).collect();
    assert_eq!(manager.new_client_session().unwrap_err(), overloaded("client sessions", 10_000));
}

#[tokio::test(start_paused = true)]
async fn a_callers_own_list_is_read_from_what_its_calls_use() {
    for (speaks, mode) in [
        (Speaks::Legacy, PerClient),
        (Speaks::Legacy, Shared),
        (Speaks::Modern, PerClient),
        (Speaks::Modern, Shared),
        (Speaks::Both, PerClient),
    ] {
        let fake = Fake::new(speaks);
        let manager = manager(&fake, mode, 1);
        for client in [legacy("a"), modern("b")] {
            let listed = manager.listing_for(&name("fake"), &client.exchange()).await.unwrap();
            let session: i64 =
                listed.session().peer().protocol.strip_prefix("session ").unwrap().parse().unwrap();
            drop(listed);
            let called = client.call(&manager, "whoami").await.unwrap();
            let same = (speaks, mode) != (Speaks::Legacy, Shared);
            assert_eq!(called == session, same, "{speaks:?} {mode:?}");
            if speaks == Speaks::Both {
                // Its one place is the other's then.
                manager.end(client.key()).await;
            }
        }
    }
    let error = manager(&Fake::new(Speaks::Legacy), PerClient, 1)
        .listing_for(&name("absent"), &legacy("a").exchange())
        .await;
    assert_eq!(error.unwrap_err(), CallerError::UnknownDownstream { name: "absent".into() }.into());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_a_list_is_read_from_does_not_make_room() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 1);
    let listed = manager.listing_for(&name("fake"), &legacy("a").exchange()).await.unwrap();
    legacy("b").call(&manager, "whoami").await.unwrap_err();
    assert!(listed.session().is_open());
    drop(listed);
    assert_eq!(crowd(&manager, [legacy("b")], "whoami").await, [2]);
}
