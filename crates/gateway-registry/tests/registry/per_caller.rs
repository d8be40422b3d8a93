//! Downstreams that are proven to with credentials of the caller.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use gateway_domain::{
    Asker, Call, Caller, Dispatcher, DownstreamFault, Error, Exchange, Grants, Incoming, InputRequired,
    Outcome, Secret, SessionProfile, State, Visit,
};
use gateway_registry::{Manager, Pool, PoolConfig, SessionMode};

use crate::{
    fake::{Fake, SECOND, Speaks, name},
    fixture::{Client, anonymous, answered_by, downstream, legacy, manager, modern},
};

/// The call of a client with something that came with it.
fn with_token(client: &Client, caller: &Caller, token: &str) -> Call {
    let incoming = Incoming { token: Some(Secret::new(token)), ..Incoming::from(caller.clone()) };
    let call = client.to("fake", "whoami");
    Call { exchange: Exchange { incoming: Some(Arc::new(incoming)), ..call.exchange }, ..call }
}

fn opened_for(fake: &Fake) -> Vec<Option<Caller>> {
    let profiles = fake.profiles.lock().unwrap();
    profiles.iter().map(|profile| profile.incoming.as_ref().map(|incoming| incoming.caller.clone())).collect()
}

fn visit() -> Option<Box<Visit>> {
    Some(Box::new(Visit { url: "https://g/x".into(), id: "i".into(), message: "m".into() }))
}

fn lacking(visit: Option<Box<Visit>>) -> DownstreamFault {
    DownstreamFault::Credentials { reason: "none".into(), visit }
}

#[tokio::test(start_paused = true)]
async fn what_came_with_a_call_goes_along_where_sessions_are_each_callers() {
    let ann = Caller::client("ann");
    for (mode, expected) in [
        (SessionMode::PerCaller, Some(ann.clone())),
        (SessionMode::PerClient, None),
        (SessionMode::Shared, None),
    ] {
        for speaks in [Speaks::Legacy, Speaks::Modern] {
            let fake = Fake::new(speaks);
            let manager = manager(&fake, mode, 16);
            manager.dispatch(with_token(&modern("ann"), &ann, "t")).await.unwrap();
            assert!(!opened_for(&fake).is_empty());
            assert!(opened_for(&fake).iter().all(|caller| *caller == expected), "{mode:?} {speaks:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_caller_has_a_session_and_keeps_it_with_another_token() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, SessionMode::PerCaller, 16);
    let call = async |client: &Client, caller: &Caller, token: &str| {
        answered_by(manager.dispatch(with_token(client, caller, token)).await.unwrap())
    };
    let (ann, bob) = (Caller::client("ann"), Caller::client("bob"));
    let of_ann = call(&modern("ann"), &ann, "t").await;
    let of_bob = call(&modern("bob"), &bob, "t").await;
    assert_ne!(of_ann, of_bob);
    assert_eq!(call(&modern("ann"), &ann, "other").await, of_ann);
    assert_ne!(call(&legacy("s"), &ann, "t").await, of_ann, "a legacy client has its own");
}

#[tokio::test(start_paused = true)]
async fn a_callers_failure_to_open_is_nobody_elses() {
    let fake = Fake::new(Speaks::Legacy).opening_takes(SECOND);
    let manager = manager(&fake, SessionMode::PerCaller, 16);
    fake.fail(1, lacking(visit()).before(&name("fake")));
    let (ann, bob) = (Caller::client("ann"), Caller::client("bob"));
    let calls = [(modern("ann"), ann), (modern("bob"), bob)]
        .map(|(client, caller)| manager.dispatch(with_token(&client, &caller, "t")));
    let [first, second] = calls;
    let (first, second) = tokio::join!(first, second);
    assert_eq!([first.is_ok(), second.is_ok()].iter().filter(|is_ok| **is_ok).count(), 1);
    assert_eq!(fake.attempts.load(SeqCst), 2);
}

#[tokio::test]
async fn an_idle_session_serves_only_whom_it_was_opened_for() {
    let check = async |first: Option<(Caller, &str)>, second: Option<(Caller, &str)>, is_shared: bool| {
        let of = |who: Option<(Caller, &str)>| {
            let incoming = who.map(|(caller, token)| {
                Arc::new(Incoming { token: Some(Secret::new(token)), ..Incoming::from(caller) })
            });
            SessionProfile { incoming, ..SessionProfile::default() }
        };
        let (first, second) = (of(first), of(second));
        let fake = Fake::new(Speaks::Legacy);
        let pool = Pool::new(name("fake"), Arc::new(fake.clone()), PoolConfig::default());
        drop(pool.acquire(&first).await.unwrap());
        drop(pool.acquire(&second).await.unwrap());
        let opened = fake.attempts.load(SeqCst);
        assert_eq!(opened == 1, is_shared, "{first:?} {second:?}");
    };
    let user = |subject: &str| Caller::user("https://as", subject, Grants::default());
    let client = Caller::client;
    check(None, None, true).await;
    check(Some((client("ann"), "t")), Some((client("ann"), "t")), true).await;
    check(Some((client("ann"), "t")), Some((client("ann"), "other")), true).await;
    check(Some((client("ann"), "t")), Some((client("bob"), "t")), false).await;
    check(Some((user("ann"), "t")), Some((user("ann"), "other")), true).await;
    check(Some((user("ann"), "t")), Some((user("bob"), "t")), false).await;
    check(Some((user("ann"), "t")), Some((client("ann"), "t")), false).await;
    check(Some((client("ann"), "t")), None, false).await;
    check(None, Some((client("ann"), "t")), false).await;
    check(Some((Caller::anonymous(), "t")), Some((Caller::anonymous(), "t")), false).await;
}

#[tokio::test(start_paused = true)]
async fn of_modern_clients_whom_nobody_knows_none_has_the_session_of_another() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, SessionMode::PerCaller, 16);
    let nobody = anonymous();
    let call = async |token: &str| {
        answered_by(manager.dispatch(with_token(&nobody, &Caller::anonymous(), token)).await.unwrap())
    };
    assert_ne!(call("one").await, call("two").await);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_has_to_visit_a_page_is_sent_there_if_the_client_can() {
    let can = r#"{"elicitation":{"url":{}}}"#;
    let check = async |declared: &str, can_be_asked: bool, error: Error, is_sent: bool| {
        for of_manager in [true, false] {
            let fake = Fake::new(Speaks::Legacy);
            let pools = PoolConfig::default();
            let managed = downstream("fake", &fake, SessionMode::PerCaller, pools);
            let manager = Manager::new(vec![managed]).unwrap();
            fake.fail(9, error.clone());
            let mut call = with_token(&modern("ann").declaring(declared), &Caller::client("ann"), "t");
            call.exchange.can_be_asked = can_be_asked;
            let made = match of_manager {
                true => manager.dispatch(call).await,
                false => manager.new_client_session().unwrap().dispatch(call).await,
            };
            match (is_sent, made) {
                (true, Ok(Outcome::InputRequired(InputRequired { asker, requests, state }))) => {
                    assert_eq!(asker, Some(Asker::Downstream(name("fake"))));
                    assert!(matches!(state, State::Afresh));
                    let asked = requests.unwrap();
                    assert!(asked.as_str().contains(r#""url":"https://g/x","elicitationId":"i""#));
                }
                (false, Err(made)) => assert_eq!(made, error),
                (_, made) => panic!("{declared}: {made:?}"),
            }
        }
    };
    let fake = name("fake");
    check(can, true, lacking(visit()).before(&fake), true).await;
    check("{}", true, lacking(visit()).before(&fake), false).await;
    check(r#"{"elicitation":{}}"#, true, lacking(visit()).before(&fake), false).await;
    check(can, false, lacking(visit()).before(&fake), false).await;
    check(can, true, lacking(None).before(&fake), false).await;
    check(can, true, lacking(visit()).during(&fake), false).await;
    check(can, true, DownstreamFault::Unauthorized { status: 401 }.before(&fake), false).await;
}
