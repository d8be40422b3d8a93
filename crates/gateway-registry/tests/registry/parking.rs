//! Calls that ask, and what goes on with their answers.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use async_trait::async_trait;
use gateway_domain::{
    Asker, CallerError, ClientLink, Dispatcher, DownstreamFault, DownstreamName, Error, Execution,
    InputRequired, Notice, Outcome, RawObject, Sessions, State,
};
use gateway_registry::{HealthConfig, Manager, ManagerConfig, PoolConfig, SupervisorConfig};
use tokio::time::Duration;

use crate::{
    ailing::Ailing,
    fake::{Fake, SECOND, Speaks, fault, name},
    fixture::{Client, PerClient, Shared, answered_by, downstream, legacy, manager, modern, stats},
};

const MINUTE: Duration = Duration::from_secs(60);

/// What a call of `tool` asks.
async fn ask(manager: &Manager, client: &Client, tool: &str) -> Outcome {
    let asked = manager.dispatch(client.to("fake", tool)).await.unwrap();
    assert!(
        matches!(&asked, Outcome::InputRequired(asked) if asked.asker == Some(Asker::Downstream(name("fake"))))
    );
    asked
}

async fn answer(
    manager: &Manager,
    client: &Client,
    asked: &Outcome,
    answer: Option<&str>,
) -> Result<Outcome, Error> {
    manager.dispatch(client.answering(client.to("fake", "ask"), asked, answer)).await
}

fn unknown() -> Error {
    CallerError::UnknownState.into()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_goes_on_in_its_session_with_the_answer() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    for client in [legacy("a"), modern("b")] {
        let other = legacy("other");
        other.call(&manager, "whoami").await.unwrap();
        let session = client.call(&manager, "whoami").await.unwrap();
        let asked = ask(&manager, &client, "ask twice").await;
        assert_eq!(manager.counts(&name("fake")).unwrap().parked, 1);
        assert_eq!(client.call(&manager, "whoami").await.unwrap(), session, "others go on meanwhile");
        let again = answer(&manager, &client, &asked, Some("yes")).await.unwrap();
        let again = answer(&manager, &client, &again, None).await.unwrap();
        let end = answer(&manager, &client, &again, Some("yes")).await.unwrap();
        assert_eq!(answered_by(end), session);
        let counts = manager.counts(&name("fake")).unwrap();
        assert_eq!((counts.parked, fake.parked.load(SeqCst), fake.abandoned.load(SeqCst)), (0, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_park_is_good_once_and_for_its_owner_alone() {
    let fake = Fake::new(Speaks::Legacy);
    let other = Fake::new(Speaks::Legacy);
    let [one, two] = [("fake", &fake), ("other", &other)]
        .map(|(named, fake)| downstream(named, fake, PerClient, PoolConfig::default()));
    let manager = Manager::new(vec![one, two]).unwrap();
    let owner = legacy("a").named("alice");
    let asked = ask(&manager, &owner, "ask").await;
    for stranger in [legacy("b").named("alice"), legacy("a").named("bob"), modern("alice"), legacy("a")] {
        let refused = answer(&manager, &stranger, &asked, Some("yes")).await;
        assert_eq!(refused.unwrap_err(), unknown());
    }
    let elsewhere = owner.answering(owner.to("other", "ask"), &asked, Some("yes"));
    assert_eq!(manager.dispatch(elsewhere).await.unwrap_err(), unknown(), "another downstream");
    assert_eq!((fake.calls.load(SeqCst), other.calls.load(SeqCst)), (1, 0), "nothing was called");
    answer(&manager, &owner, &asked, Some("yes")).await.unwrap();
    assert_eq!(answer(&manager, &owner, &asked, Some("yes")).await.unwrap_err(), unknown(), "replayed");
    assert_eq!(fake.calls.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn what_ends_gives_up_what_waits_there() {
    for case in 0..8 {
        let fake = Fake::new(Speaks::Legacy);
        let mut manager = manager(&fake, PerClient, 4);
        let client = if case == 1 { modern("m") } else { legacy("a") };
        let asked = ask(&manager, &client, "ask").await;
        let Outcome::InputRequired(InputRequired { state: State::Parked(park), .. }) = &asked else {
            panic!()
        };
        match case {
            0 => manager.end(client.key()).await,
            1 => manager.end_caller(&gateway_domain::Caller::client("m")).await,
            2 => assert!(manager.remove(&name("fake")).await),
            3 => manager.insert(downstream("fake", &fake, PerClient, PoolConfig::default())).await.unwrap(),
            4 => manager.close().await,
            5 => manager.abandon(park),
            6 => manager = Manager::new(vec![]).unwrap(),
            _ => tokio::time::sleep(10 * MINUTE + SECOND).await,
        }
        assert_eq!((fake.parked.load(SeqCst), fake.abandoned.load(SeqCst)), (0, 1), "case {case}");
        assert!(answer(&manager, &client, &asked, Some("yes")).await.is_err());
        assert_eq!((fake.calls.load(SeqCst), fake.abandoned.load(SeqCst)), (1, 1), "case {case}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_ends_while_a_call_goes_on_leaves_no_park() {
    for mode in [PerClient, Shared] {
        let fake = Fake::new(Speaks::Legacy);
        let manager = manager(&fake, mode, 4);
        let client = legacy("a");
        let asked = ask(&manager, &client, "ask").await;
        let resumed = tokio::spawn({
            let (manager, client) = (manager.clone(), client.clone());
            async move { answer(&manager, &client, &asked, Some("ask slowly")).await }
        });
        tokio::time::sleep(SECOND / 2).await;
        manager.end(client.key()).await;
        assert!(resumed.await.unwrap().is_err(), "{mode:?}");
        assert_eq!((fake.parked.load(SeqCst), manager.counts(&name("fake")).unwrap().parked), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_handed_out_session_takes_its_parks_along() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    let session = manager.new_client_session().unwrap();
    let client = legacy("a");
    let call = || client.to("fake", "ask");
    let asked = session.dispatch(call()).await.unwrap();
    session.dispatch(client.answering(call(), &asked, Some("yes"))).await.unwrap();
    let asked = session.dispatch(call()).await.unwrap();
    session.close().await;
    assert_eq!((fake.parked.load(SeqCst), fake.counts().2), (0, 0));
    let late = session.dispatch(client.answering(call(), &asked, Some("yes"))).await;
    assert_eq!(late.unwrap_err(), CallerError::SessionClosed.into());
}

#[tokio::test(start_paused = true)]
async fn a_resumed_call_is_never_run_again() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    let client = legacy("a");
    let asked = ask(&manager, &client, "ask").await;
    // The session ends just then, and the error says that the request never reached it.
    let Err(Error::Downstream(error)) = answer(&manager, &client, &asked, Some("die")).await else {
        panic!()
    };
    assert_eq!(error.execution, Execution::Possible);
    let asked = ask(&manager, &client, "ask").await;
    fake.kill_all();
    let lost = answer(&manager, &client, &asked, Some("yes")).await;
    assert!(matches!(fault(lost), DownstreamFault::Ended { .. }));
    assert_eq!((fake.calls.load(SeqCst), fake.parked.load(SeqCst)), (2, 0));
    assert_eq!(client.call(&manager, "whoami").await.unwrap(), 3, "the next call has a new session");
    // A client that gives up while it goes on.
    let asked = ask(&manager, &client, "ask").await;
    let hangs = answer(&manager, &client, &asked, Some("hang"));
    assert!(tokio::time::timeout(SECOND, hangs).await.is_err());
    assert_eq!(fake.parked.load(SeqCst), 0);
    assert_eq!(answer(&manager, &client, &asked, Some("yes")).await.unwrap_err(), unknown());
}

#[tokio::test(start_paused = true)]
async fn a_session_with_a_park_is_not_idle() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 1);
    let (client, other) = (legacy("a"), legacy("b"));
    let asked = ask(&manager, &client, "ask").await;
    tokio::time::sleep(SECOND).await;
    let refused = other.call(&manager, "whoami").await;
    assert!(matches!(fault(refused), DownstreamFault::Exhausted { .. }), "people get their time");
    let end = answer(&manager, &client, &asked, Some("yes")).await.unwrap();
    assert_eq!(answered_by(end), 1);
    let asked = ask(&manager, &client, "ask").await;
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(stats(&manager).in_use, 1, "not reaped");
    assert_eq!(answered_by(answer(&manager, &client, &asked, Some("yes")).await.unwrap()), 1);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_answer_makes_room_for_who_has_waited() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 2);
    let first = ask(&manager, &legacy("a"), "ask").await;
    tokio::time::sleep(SECOND).await;
    let second = ask(&manager, &legacy("b"), "ask").await;
    tokio::time::sleep(MINUTE).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(legacy("c").call(&manager, "whoami").await.unwrap(), 3);
    assert_eq!(begun.elapsed(), 2 * SECOND, "the time for a place");
    assert_eq!(
        manager.counts(&name("fake")).unwrap().parked,
        1,
        "the one of the session that had to go is gone"
    );
    let late = answer(&manager, &legacy("a"), &first, Some("yes")).await;
    assert_eq!((late.unwrap_err(), fake.calls.load(SeqCst)), (unknown(), 3), "it is not run again");
    assert_eq!(answered_by(answer(&manager, &legacy("b"), &second, Some("yes")).await.unwrap()), 2);
    // One that works besides it keeps its session.
    let _third = ask(&manager, &legacy("b"), "ask").await;
    tokio::time::sleep(2 * MINUTE).await;
    let busy = [legacy("b"), legacy("c")].map(|client| {
        let manager = manager.clone();
        tokio::spawn(async move { client.call(&manager, "deaf").await })
    });
    tokio::time::sleep(SECOND).await;
    let refused = legacy("d").call(&manager, "whoami").await;
    assert!(matches!(fault(refused), DownstreamFault::Exhausted { .. }));
    for call in busy {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn parks_are_bounded_per_caller_and_in_all() {
    let fake = Fake::new(Speaks::Legacy);
    let config = ManagerConfig { max_parks: 3, max_parks_per_caller: 2, ..ManagerConfig::default() };
    let pool = PoolConfig::default();
    let manager = Manager::with_config(vec![downstream("fake", &fake, PerClient, pool)], config).unwrap();
    let refused = async |client: &Client| match manager.dispatch(client.to("fake", "ask")).await {
        Err(Error::Caller(CallerError::Overloaded { limit, .. })) => limit,
        other => panic!("not refused: {other:?}"),
    };
    let (a, b) = (legacy("a"), legacy("b"));
    let first = ask(&manager, &a, "ask").await;
    tokio::time::sleep(MINUTE / 2).await;
    let second = ask(&manager, &a, "ask").await;
    assert_eq!(refused(&a).await, 2, "nobody has had the time to answer");
    tokio::time::sleep(MINUTE / 2).await;
    let third = ask(&manager, &a, "ask").await;
    assert_eq!(answer(&manager, &a, &first, Some("yes")).await.unwrap_err(), unknown(), "its oldest");
    let fourth = ask(&manager, &b, "ask").await;
    assert_eq!((refused(&a).await, refused(&legacy("c")).await), (2, 3));
    for (client, asked) in [(&a, second), (&a, third), (&b, fourth)] {
        answer(&manager, client, &asked, Some("yes")).await.unwrap();
    }
    // Of a caller that is known, all sessions count together.
    let [x, y, z] = ["x", "y", "z"].map(|id| legacy(id).named("alice"));
    let asked = ask(&manager, &x, "ask").await;
    ask(&manager, &y, "ask").await;
    assert_eq!(refused(&z).await, 2);
    tokio::time::sleep(MINUTE).await;
    ask(&manager, &z, "ask").await;
    assert_eq!(answer(&manager, &x, &asked, Some("yes")).await.unwrap_err(), unknown());
}

#[tokio::test(start_paused = true)]
async fn callers_that_cannot_be_told_apart_have_the_bound_of_all() {
    let fake = Fake::new(Speaks::Legacy);
    let config = ManagerConfig { max_parks: 3, max_parks_per_caller: 1, ..ManagerConfig::default() };
    let pool = PoolConfig::default();
    let manager = Manager::with_config(vec![downstream("fake", &fake, PerClient, pool)], config).unwrap();
    let nobody = Client::nobody();
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(ask(&manager, &nobody, "ask").await);
    }
    let refused = manager.dispatch(nobody.to("fake", "ask")).await;
    assert!(matches!(refused, Err(Error::Caller(CallerError::Overloaded { limit: 3, .. }))), "{refused:?}");
    for asked in &all {
        answer(&manager, &nobody, asked, Some("yes")).await.unwrap();
    }
    let oldest = ask(&manager, &nobody, "ask").await;
    tokio::time::sleep(MINUTE).await;
    for _ in 0..3 {
        ask(&manager, &nobody, "ask").await;
    }
    assert_eq!(answer(&manager, &nobody, &oldest, Some("yes")).await.unwrap_err(), unknown());
}

#[tokio::test(start_paused = true)]
async fn a_modern_caller_may_answer_with_other_capabilities() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    let client = modern("m");
    let asked = ask(&manager, &client, "ask twice").await;
    let more = client.declaring(r#"{"elicitation":{"form":{}},"sampling":{}}"#);
    let again = answer(&manager, &more, &asked, Some("yes")).await.unwrap();
    assert_eq!(answer(&manager, &modern("other"), &again, Some("yes")).await.unwrap_err(), unknown());
    assert_eq!(answered_by(answer(&manager, &client, &again, Some("yes")).await.unwrap()), 1);
    assert_eq!(fake.counts().0, 1, "in the same session");
}

#[tokio::test(start_paused = true)]
async fn a_modern_downstream_gets_its_state_back_byte_for_byte() {
    let fake = Fake::new(Speaks::Modern);
    let manager = manager(&fake, PerClient, 4);
    for client in [legacy("a"), modern("b")] {
        let asked = ask(&manager, &client, "ask").await;
        let Outcome::InputRequired(InputRequired { state: State::Own(own), .. }) = &asked else { panic!() };
        assert_eq!(own.as_str(), r#""mine \u00e9""#);
        // As often as one likes: single use is the server's business.
        for _ in 0..2 {
            answer(&manager, &client, &asked, Some("yes")).await.unwrap();
        }
        for (state, params) in [
            (
                State::Own(own.clone()),
                r#"{"a":1e400,"inputResponses":{"q":"x"},"requestState":"mine \u00e9"}"#,
            ),
            (State::None, r#"{"a":1e400,"inputResponses":{"q":"x"}}"#),
            (State::Afresh, r#"{"a":1e400}"#),
        ] {
            let mut call = client.answering(client.to("fake", "echo"), &asked, Some("x"));
            call.params.object = RawObject::parse(r#"{"a":1e400}"#).unwrap();
            call.follow_up.as_mut().unwrap().state = state;
            manager.dispatch(call).await.unwrap();
            assert_eq!(fake.echoed.lock().unwrap().pop().unwrap().as_str(), params);
        }
        let mut elsewhere = client.answering(client.to("fake", "echo"), &asked, Some("x"));
        elsewhere.follow_up.as_mut().unwrap().asker = Asker::Downstream(name("other"));
        assert_eq!(manager.dispatch(elsewhere).await.unwrap_err(), unknown());
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_downstream_is_not_given_a_state_it_cannot_know() {
    let modern_one = Fake::new(Speaks::Modern);
    let asked = ask(&manager(&modern_one, PerClient, 1), &modern("m"), "ask").await;
    let fake = Fake::new(Speaks::Legacy);
    for mode in [PerClient, Shared] {
        let manager = manager(&fake, mode, 1);
        let refused = answer(&manager, &modern("m"), &asked, Some("yes")).await;
        assert_eq!((refused.unwrap_err(), fake.calls.load(SeqCst)), (unknown(), 0));
    }
}

#[derive(Debug)]
struct Link;

#[async_trait]
impl ClientLink for Link {
    fn tell(&self, _: &DownstreamName, _: Notice) {}

    async fn roots(&self) -> Option<RawObject> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_told_once_whose_it_is_and_of_roots() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    let mut client = legacy("a");
    client.link = Some(Arc::new(Link));
    for _ in 0..3 {
        client.call(&manager, "whoami").await.unwrap();
    }
    assert_eq!(fake.attended.load(SeqCst), 1);
    fake.kill_all();
    client.call(&manager, "whoami").await.unwrap();
    assert_eq!(fake.attended.load(SeqCst), 2, "a new session is told too");
    legacy("b").call(&manager, "whoami").await.unwrap();
    manager.roots_changed(client.key()).await;
    assert_eq!((fake.attended.load(SeqCst), fake.roots_changes.load(SeqCst)), (2, 1));
    manager.roots_changed(legacy("unknown").key()).await;
}

#[tokio::test(start_paused = true)]
async fn sessions_are_opened_with_what_their_client_can_do() {
    let elicits = r#"{"elicitation":{"form":{}}}"#;
    for (mode, client, expected) in [
        (PerClient, legacy("a").declaring(elicits), elicits),
        (PerClient, modern("a").declaring(elicits), elicits),
        (PerClient, legacy("a"), "{}"),
        (Shared, legacy("a").declaring(elicits), "{}"),
        (Shared, modern("a").declaring(elicits), "{}"),
    ] {
        let fake = Fake::new(Speaks::Legacy);
        let manager = manager(&fake, mode, 4);
        client.call(&manager, "whoami").await.unwrap();
        let profiles: Vec<_> = fake
            .profiles
            .lock()
            .unwrap()
            .iter()
            .map(|it| it.capabilities.raw().as_str().to_owned())
            .collect();
        assert_eq!(profiles, [expected], "{mode:?}");
        // Lists are read as by one who can do everything.
        manager.listing(&name("fake")).await.unwrap();
        let lists = fake.profiles.lock().unwrap().last().unwrap().capabilities.clone();
        assert!(
            ["roots", "sampling", "elicitation"].iter().all(|one| lists.raw().contains(one)),
            "{lists:?}"
        );
    }
    // One who gives up leaves a session, which nobody gets who can do something else.
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
    let manager = manager(&fake, PerClient, 4);
    let first = modern("a").declaring(elicits);
    assert!(tokio::time::timeout(SECOND / 2, first.call(&manager, "whoami")).await.is_err());
    tokio::time::sleep(SECOND).await;
    assert_eq!(modern("b").call(&manager, "whoami").await.unwrap(), 2);
    assert_eq!(modern("c").declaring(elicits).call(&manager, "count").await.unwrap(), 1);
    assert!(fake.counts().0 <= 3);
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_are_watched_over_too() {
    let ailing = Ailing::new(Speaks::Legacy);
    let (manager, _) = ailing.managed(PerClient, &SupervisorConfig::default(), HealthConfig::default());
    let client = legacy("a");
    for _ in 0..2 {
        let asked = ask(&manager, &client, "ask").await;
        let end = answer(&manager, &client, &asked, Some("die")).await;
        assert!(matches!(fault(end), DownstreamFault::Ended { .. }));
    }
    assert_eq!(manager.counts(&name("fake")).unwrap().lost, 2);
}
