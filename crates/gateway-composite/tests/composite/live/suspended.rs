use std::{sync::Arc, time::Duration};

use gateway_domain::{
    Asker, Call, Caller, CallerError, Dispatcher, DownstreamName, Exchange, FollowUp, InputRequired, Outcome,
    ParkId, RawJson, RawObject, Sessions, State,
};

use super::fakes::*;

/// Begins the workflow `q`, which asks.
pub(super) async fn asked(world: &World, call: Call) -> InputRequired {
    match world.live.dispatch(call).await {
        Ok(Outcome::InputRequired(asked)) => asked,
        other => panic!("nothing is asked: {other:?}"),
    }
}

fn park(asked: &InputRequired) -> ParkId {
    match &asked.state {
        State::Parked(park) => park.clone(),
        other => panic!("nothing waits: {other:?}"),
    }
}

/// The same call with an answer to everything that was asked.
pub(super) fn answering(asked: &InputRequired, call: Call) -> Call {
    let requests = asked.requests.clone().expect("there are questions");
    let answer = r#"{"action":"accept","content":{"sure":true}}"#;
    let members: Vec<_> =
        requests.iter().map(|(key, _)| format!("{}:{answer}", RawJson::string(&key))).collect();
    let responses = RawObject::parse(format!("{{{}}}", members.join(","))).expect("an object");
    let asker = asked.asker.clone().expect("it is known");
    Call { follow_up: Some(FollowUp { asker, state: asked.state.clone(), responses }), ..call }
}

fn q() -> Call {
    call("q", "{}")
}

fn by(caller: Caller, exchange: Exchange) -> Call {
    Call { caller, exchange, ..q() }
}

fn in_session(id: &str) -> Call {
    by(caller(), legacy(id))
}

fn sure(outcome: Result<Outcome, gateway_domain::Error>) -> String {
    let result = completed(outcome);
    let structured = result.get("structuredContent").map(|output| output.to_string());
    structured.unwrap_or_else(|| result.as_str().to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_run_that_asks_goes_on_with_the_answers() {
    let world = World::new(&[], &[&asking("q")]);
    for begin in [q as fn() -> Call, || in_session("s")] {
        let asked = asked(&world, begin()).await;
        assert_eq!(asked.asker, Some(Asker::Workflow("q".into())));
        let requests = asked.requests.clone().expect("there are questions");
        assert_eq!(requests.len(), 1);
        assert!(requests.as_str().contains("Sure?"), "{requests:?}");
        assert_eq!(world.runs().await, 1);
        assert_eq!(sure(world.live.dispatch(answering(&asked, begin())).await), r#"{"sure":true}"#);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(world.runs().await, 0);
    }
    assert!(world.calls.called().is_empty(), "what answers other calls has not heard of it");
}

#[tokio::test(start_paused = true)]
async fn only_its_owner_goes_on_with_a_run() {
    let world = World::new(&[], &[&asking("q"), &asking("r")]);
    let downstream = Asker::Downstream(DownstreamName::parse("d").expect("a name"));
    let other = || Caller::client("bob");
    let asked = asked(&world, in_session("s")).await;
    let follow_up = |call: Call| answering(&asked, call);
    let with = |change: fn(&mut FollowUp)| {
        let mut call = follow_up(in_session("s"));
        change(call.follow_up.as_mut().expect("it is one"));
        call
    };
    let of_downstream = {
        let mut call = follow_up(in_session("s"));
        call.follow_up.as_mut().expect("it is one").asker = downstream;
        call
    };
    let of_the_other = {
        let mut call = Call { target: call("r", "{}").target, ..follow_up(in_session("s")) };
        call.follow_up.as_mut().expect("it is one").asker = Asker::Workflow("r".into());
        call
    };
    let cases = [
        ("another workflow, as the one that asked", of_the_other),
        ("another session", follow_up(in_session("t"))),
        ("another caller in a session of that name", follow_up(by(other(), legacy("s")))),
        ("the caller without a session", follow_up(by(caller(), modern(&caller(), FORMS)))),
        ("another caller", follow_up(by(other(), modern(&other(), FORMS)))),
        ("nobody", follow_up(by(Caller::anonymous(), modern(&Caller::anonymous(), FORMS)))),
        ("another workflow", Call { target: call("r", "{}").target, ..follow_up(in_session("s")) }),
        ("a tool", Call { target: call("d__t", "{}").target, ..follow_up(in_session("s")) }),
        ("another asker", with(|follow_up| follow_up.asker = Asker::Workflow("r".into()))),
        ("a downstream", of_downstream),
        ("a guess", with(|follow_up| follow_up.state = State::Parked(ParkId("guess".into())))),
        ("no state", with(|follow_up| follow_up.state = State::None)),
        ("a call made afresh", with(|follow_up| follow_up.state = State::Afresh)),
    ];
    for (whose, call) in cases {
        let outcome = world.live.dispatch(call).await;
        let Err(error) = outcome else { panic!("{whose} has gone on: {outcome:?}") };
        assert_eq!(error, CallerError::UnknownState.into(), "{whose}");
    }
    assert_eq!(sure(world.live.dispatch(follow_up(in_session("s"))).await), r#"{"sure":true}"#);
}

#[tokio::test(start_paused = true)]
async fn a_modern_caller_may_declare_other_capabilities_than_before() {
    let world = World::new(&[], &[&asking("q")]);
    let asked = asked(&world, q()).await;
    let more = modern(&caller(), r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#);
    assert_eq!(sure(world.live.dispatch(answering(&asked, by(caller(), more))).await), r#"{"sure":true}"#);
}

#[tokio::test(start_paused = true)]
async fn of_two_follow_ups_one_goes_on() {
    let world = World::new(&[], &[&asking("q")]);
    let asked = asked(&world, q()).await;
    let again = || world.live.dispatch(answering(&asked, q()));
    let (first, second) = tokio::join!(again(), again());
    assert_eq!(sure(first), r#"{"sure":true}"#);
    refused(second, &CallerError::UnknownState);
    refused(again().await, &CallerError::UnknownState);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_answered_is_asked_again_under_another_name() {
    let world = World::new(&[], &[&asking("q")]);
    let first = asked(&world, q()).await;
    let mut nothing = answering(&first, q());
    nothing.follow_up.as_mut().expect("it is one").responses = RawObject::empty();
    let second = asked(&world, nothing).await;
    assert_eq!(second.requests, first.requests);
    assert_ne!(park(&second), park(&first));
    refused(world.live.dispatch(answering(&first, q())).await, &CallerError::UnknownState);
    assert_eq!(sure(world.live.dispatch(answering(&second, q())).await), r#"{"sure":true}"#);
}

/// A workflow that asks, and calls a tool whether it is answered or not.
fn asking_on(name: &str) -> String {
    let question = r#""id":"ask","type":"elicitation","message":"Sure?","schema":{"type":"object","properties":{}},"onCancel":"continue""#;
    format!(
        r#"{{"name":"{name}","description":"d","steps":[{{{question}}},
            {{"id":"t","tool":"d__t","dependsOn":["ask"],"arguments":{{"action":"{{{{ steps.ask.output.action }}}}"}}}}]}}"#
    )
}

fn unanswered(asked: &InputRequired) -> Call {
    let mut nothing = answering(asked, q());
    nothing.follow_up.as_mut().expect("it is one").responses = RawObject::empty();
    nothing
}

#[tokio::test(start_paused = true)]
async fn a_run_that_nobody_answers_in_time_goes_on_with_its_handlers() {
    let world = World::new(&[("d__t", "")], &[&asking_on("q")]);
    let first = asked(&world, q()).await;
    tokio::time::sleep(QUESTION_TIME - Duration::from_millis(1)).await;
    // Asked again just before, it waits as long again.
    let second = asked(&world, unanswered(&first)).await;
    tokio::time::sleep(QUESTION_TIME - Duration::from_millis(1)).await;
    assert!(!world.live.is_over(&park(&second)) && world.calls.called().is_empty());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(world.calls.params()[0].contains(r#"{"action":"cancel"}"#), "{:?}", world.calls.params());
    assert_eq!(world.runs().await, 0);
    assert!(world.live.is_over(&park(&second)), "what came of it can be had for a while");
    assert_eq!(sure(world.live.dispatch(unanswered(&second)).await), r#"{"by":"d__t"}"#);
}

#[tokio::test(start_paused = true)]
async fn what_came_of_a_run_that_nobody_answered_is_kept_for_a_while_only() {
    let world = World::new(&[("d__t", "")], &[&asking_on("q")]);
    let asked = asked(&world, q()).await;
    tokio::time::sleep(QUESTION_TIME + Duration::from_secs(12)).await;
    refused(world.live.dispatch(unanswered(&asked)).await, &CallerError::UnknownState);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_goes_on_without_its_client_is_cancelled_with_its_session() {
    let world = World::new(&[("d__hangs", "")], &[&asking_on("q").replace("d__t", "d__hangs")]);
    asked(&world, in_session("s")).await;
    tokio::time::sleep(QUESTION_TIME + Duration::from_secs(1)).await;
    assert_eq!((world.runs().await, *world.calls.open.borrow()), (1, 1));
    world.live.end(&legacy("s").session).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((world.runs().await, *world.calls.open.borrow()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_abandoned_is_cancelled() {
    let world = World::new(&[], &[&asking("q")]);
    let asked = asked(&world, q()).await;
    world.live.abandon(&park(&asked));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.runs().await, 0);
    refused(world.live.dispatch(answering(&asked, q())).await, &CallerError::UnknownState);
    assert!(world.told.take().is_empty());
    world.live.abandon(&ParkId("inner".into()));
    assert_eq!(world.told.take(), ["abandon inner"], "what is no workflow's is passed on");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_cancels_its_runs_and_no_others() {
    let world = World::new(&[], &[&asking("q")]);
    let session = asked(&world, in_session("s")).await;
    let other = asked(&world, in_session("t")).await;
    let modern_one = asked(&world, q()).await;
    let bob = Caller::client("bob");
    let bobs = asked(&world, by(bob.clone(), modern(&bob, FORMS))).await;
    assert_eq!(world.runs().await, 4);

    world.live.end(&legacy("s").session).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((world.runs().await, world.told.take()), (3, vec!["end s".to_owned()]));
    refused(world.live.dispatch(answering(&session, in_session("s"))).await, &CallerError::UnknownState);

    world.live.end_caller(&caller()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((world.runs().await, world.told.take()), (2, vec!["end caller ann".to_owned()]));
    refused(world.live.dispatch(answering(&modern_one, q())).await, &CallerError::UnknownState);

    assert_eq!(sure(world.live.dispatch(answering(&other, in_session("t"))).await), r#"{"sure":true}"#);
    let answer = answering(&bobs, by(bob.clone(), modern(&bob, FORMS)));
    assert_eq!(sure(world.live.dispatch(answer).await), r#"{"sure":true}"#);

    world.live.roots_changed(&legacy("t").session).await;
    assert_eq!(world.told.take(), ["roots t"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_over_when_no_answer_is_waited_for() {
    let quick = asking("q")
        .replace(r#""type":"elicitation""#, r#""type":"elicitation","timeout":"2s","onCancel":"continue""#);
    let quick = quick.replace("steps.ask.output.content.sure", "steps.ask.output.action == 'cancel'");
    let world = World::new(&[], &[&quick]);
    let asked = asked(&world, q()).await;
    assert!(!world.live.is_over(&park(&asked)));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(world.live.is_over(&park(&asked)), "the question has been taken back");
    // Whoever waits then comes for the result without any answer.
    let mut nothing = answering(&asked, q());
    nothing.follow_up.as_mut().expect("it is one").responses = RawObject::empty();
    assert_eq!(sure(world.live.dispatch(nothing).await), r#"{"sure":true}"#);
    assert!(!world.live.is_over(&ParkId("waiting".into())), "of others the catalogue knows");
    assert!(world.live.is_over(&ParkId("over".into())));
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_as_it_began_though_its_workflow_is_gone() {
    let world = World::new(&[], &[&asking("q")]);
    let (gone, replaced) = (asked(&world, q()).await, asked(&world, q()).await);
    world.live.replace(definitions(&[])).expect("it can be");
    assert_eq!(sure(world.live.dispatch(answering(&gone, q())).await), r#"{"sure":true}"#);
    world.live.replace(definitions(&[&calling("q", &["d__t"])])).expect("it can be");
    assert_eq!(sure(world.live.dispatch(answering(&replaced, q())).await), r#"{"sure":true}"#);
    refused(world.call("q").await, &unknown("q"));
}

#[tokio::test(start_paused = true)]
async fn runs_that_wait_end_with_whoever_keeps_them() {
    let world = World::new(&[], &[&asking("q")]);
    asked(&world, q()).await;
    let World { live, composer, .. } = world;
    drop(live);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(composer.active().await.expect("the store works").is_empty());
}

#[tokio::test(start_paused = true)]
async fn names_of_runs_that_wait_cannot_be_guessed() {
    let world = Arc::new(World::new(&[], &[&asking("q")]));
    let (first, second) = (asked(&world, q()).await, asked(&world, q()).await);
    assert_ne!(park(&first), park(&second));
    assert_eq!(park(&first).0.len(), 36, "122 bits");
}
