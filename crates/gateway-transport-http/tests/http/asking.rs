//! What a legacy server asks, in mid-call and outside.

use std::{sync::Arc, time::Duration};

use gateway_domain::{
    ClientLink, DownstreamSession, Era, Exchange, InputRequired, LogLevel, Outcome, ParkedCall, RawObject,
    Session, SessionKey, SessionProfile, State, Subject,
};
use gateway_transport_http::HttpSession;
use tokio::task::JoinHandle;

use crate::support::{
    Client, Exchanged, Sink, Wire, answer, can, eventually, exchange, factory, fault, params, quiet,
};

const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}"#;

struct Scene {
    wire: Wire,
    session: Arc<HttpSession>,
    /// The stream of what belongs to no request.
    get: Exchanged,
}

/// A session of a client that can do all this, with its GET stream open.
async fn scene(server: &str, era: Era, call_timeout: Duration) -> Scene {
    let mut wire = Wire::legacy(server).await;
    let (factory, _) = factory(&wire.url(), |config| config.call_timeout = call_timeout);
    let profile = SessionProfile { era, capabilities: can(ALL), ..SessionProfile::default() };
    let opening = tokio::spawn(async move { factory.open(&profile).await.unwrap() });
    let mut get = wire.next().await;
    assert!(get.is("GET /mcp") && get.is("mcp-session-id: s-1"), "{}", get.request);
    get.stream().await;
    Scene { session: Arc::new(opening.await.unwrap()), wire, get }
}

async fn plain(server: &str) -> Scene {
    scene(server, Era::Modern, Duration::from_secs(5)).await
}

fn able(sink: &Arc<Sink>) -> Exchange {
    Exchange { capabilities: can(ALL), ..exchange(sink, true, None) }
}

fn call(session: &Arc<HttpSession>, exchange: Exchange) -> JoinHandle<Outcome> {
    let session = session.clone();
    tokio::spawn(async move { session.call_tool("t", &[], &params("{}"), &exchange).await.unwrap() })
}

#[track_caller]
fn asked(outcome: Outcome) -> (String, Arc<dyn ParkedCall>) {
    match outcome {
        Outcome::InputRequired(InputRequired { requests, state: State::Waiting(parked), asker: None }) => {
            (requests.unwrap().as_str().to_owned(), parked)
        }
        other => panic!("{other:?}"),
    }
}

fn responses(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn resume(parked: Arc<dyn ParkedCall>, with: &'static str, exchange: Exchange) -> JoinHandle<Outcome> {
    tokio::spawn(async move { parked.resume(&responses(with), &exchange).await.unwrap() })
}

#[track_caller]
fn result(outcome: Outcome) -> String {
    let Outcome::Complete(result) = outcome else { panic!("{outcome:?}") };
    result.as_str().to_owned()
}

const FORM: &str =
    r#"{"jsonrpc":"2.0","id":"f","method":"elicitation/create","params":{"message":"m","_meta":{"k":1}}}"#;
const SAMPLE: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"maxTokens":1,"task":{}}}"#;

#[tokio::test]
async fn a_call_that_asks_is_parked_and_goes_on_with_the_answers() {
    let mut scene = plain("{}").await;
    let [first, second] = [Arc::<Sink>::default(), Arc::<Sink>::default()];
    let running = call(&scene.session, able(&first));
    let mut post = scene.wire.next().await;
    post.stream().await;
    let id = crate::support::id(&post.request).to_owned();
    let progress = |n: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{n}}}}}"#
        )
    };
    post.event(&progress(1)).await;
    post.event(FORM).await;
    post.event(SAMPLE).await;
    let (requests, parked) = asked(running.await.unwrap());
    assert_eq!(
        requests,
        concat!(
            r#"{"q1":{"method":"elicitation/create","params":{"message":"m"}},"#,
            r#""q2":{"method":"sampling/createMessage","params":{"maxTokens":1}}}"#
        )
    );
    // While it waits its stream is read on.
    post.event(&progress(2)).await;
    post.event(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
    scene.wire.sees(r#""id":"p","result":{}"#).await;
    // One of two is answered: the other is asked again.
    let (requests, parked) = asked(
        resume(parked, r#"{"q1":{"action":"accept","content":{"a":1.0}},"x":{}}"#, able(&second))
            .await
            .unwrap(),
    );
    assert_eq!(requests, r#"{"q2":{"method":"sampling/createMessage","params":{"maxTokens":1}}}"#);
    scene.wire.sees(r#"{"jsonrpc":"2.0","id":"f","result":{"action":"accept","content":{"a":1.0}}}"#).await;
    let going = resume(parked, r#"{"q2":{"role":"assistant"}}"#, able(&second));
    scene.wire.sees(r#"{"jsonrpc":"2.0","id":7,"result":{"role":"assistant"}}"#).await;
    post.finish(r#"{"content":[]}"#).await;
    assert_eq!(result(going.await.unwrap()), r#"{"content":[]}"#);
    assert_eq!((first.events().len(), second.events().len()), (1, 1), "each request has its own");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(scene.wire.count("notifications/cancelled"), 0);
}

#[tokio::test]
async fn what_is_given_up_is_answered_and_cancelled() {
    let mut scene = plain("{}").await;
    let running = call(&scene.session, able(&Arc::default()));
    let mut post = scene.wire.next().await;
    let id = crate::support::id(&post.request).to_owned();
    post.stream().await;
    post.event(FORM).await;
    post.event(SAMPLE).await;
    let (_, parked) = asked(running.await.unwrap());
    drop(parked);
    scene.wire.sees(r#"{"jsonrpc":"2.0","id":"f","result":{"action":"cancel"}}"#).await;
    scene.wire.sees(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"not answered"}}"#).await;
    scene.wire.sees(&format!(r#""method":"notifications/cancelled","params":{{"requestId":{id},"#)).await;
    post.gone().await;
    // The session goes on.
    let running = call(&scene.session, quiet());
    let mut post = scene.wire.next().await;
    post.stream().await;
    post.finish("{}").await;
    result(running.await.unwrap());
}

#[tokio::test]
async fn a_park_is_good_once_and_a_resumption_can_be_cancelled() {
    let mut scene = plain("{}").await;
    let running = call(&scene.session, able(&Arc::default()));
    let mut post = scene.wire.next().await;
    post.stream().await;
    post.event(FORM).await;
    let (_, parked) = asked(running.await.unwrap());
    let going = resume(parked.clone(), r#"{"q1":{"action":"decline"}}"#, able(&Arc::default()));
    scene.wire.sees(r#""id":"f","result":{"action":"decline"}"#).await;
    let error = parked.resume(&RawObject::empty(), &quiet()).await.unwrap_err();
    assert!(error.to_string().contains("the interaction has expired"), "{error}");
    going.abort();
    scene.wire.sees("notifications/cancelled").await;
    post.gone().await;
}

#[tokio::test]
async fn time_in_which_a_call_waits_for_answers_does_not_count() {
    let mut scene = scene("{}", Era::Modern, Duration::from_millis(400)).await;
    let running = call(&scene.session, able(&Arc::default()));
    let mut post = scene.wire.next().await;
    post.stream().await;
    post.event(FORM).await;
    let (_, parked) = asked(running.await.unwrap());
    tokio::time::sleep(Duration::from_millis(800)).await;
    let exchange = able(&Arc::default());
    let error = parked.resume(&responses(r#"{"q1":{"action":"accept"}}"#), &exchange).await.unwrap_err();
    assert!(fault(error).0.contains("did not answer within 400ms"));
    assert_eq!(scene.wire.count(r#""action":"accept""#), 1, "there was time for the answer");
    scene.wire.sees("timed out").await;
}

#[tokio::test]
async fn an_answer_that_comes_while_a_call_is_parked_is_not_lost() {
    let mut scene = plain("{}").await;
    let running = call(&scene.session, able(&Arc::default()));
    let mut post = scene.wire.next().await;
    post.stream().await;
    post.event(FORM).await;
    let (_, parked) = asked(running.await.unwrap());
    post.event(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"f"}}"#).await;
    post.finish(r#"{"late":1}"#).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let outcome = resume(parked, r#"{"q1":{"action":"accept"}}"#, able(&Arc::default())).await.unwrap();
    assert_eq!(result(outcome), r#"{"late":1}"#);
    assert_eq!(scene.wire.count(r#""id":"f""#), 0, "the server took its question back");
}

fn of_legacy(id: &str) -> Exchange {
    let session = SessionKey::Legacy { id: id.into() };
    Exchange { era: Era::Legacy, session, ..able(&Arc::default()) }
}

#[tokio::test]
async fn an_answer_is_sent_even_if_the_call_that_was_asked_has_ended() {
    let mut scene = plain("{}").await;
    let running = call(&scene.session, able(&Arc::default()));
    let mut post = scene.wire.next().await;
    post.stream().await;
    scene.get.event(FORM).await;
    let (_, parked) = asked(running.await.unwrap());
    post.finish(r#"{"early":1}"#).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    // It is not in the way of others any more.
    let running = call(&scene.session, able(&Arc::default()));
    let mut post = scene.wire.next().await;
    post.stream().await;
    scene.get.event(SAMPLE).await;
    let (requests, _other) = asked(running.await.unwrap());
    assert!(requests.contains("sampling/createMessage"), "{requests}");
    let outcome = resume(parked, r#"{"q1":{"action":"accept"}}"#, able(&Arc::default())).await.unwrap();
    assert_eq!(result(outcome), r#"{"early":1}"#);
    scene.wire.sees(r#""id":"f","result":{"action":"accept"}"#).await;
}

#[tokio::test]
async fn a_guessed_question_goes_to_another_call_of_the_client_when_its_own_ends() {
    let mut scene = plain("{}").await;
    let first = call(&scene.session, of_legacy("a"));
    let mut one = scene.wire.next().await;
    one.stream().await;
    let second = call(&scene.session, of_legacy("a"));
    let mut other = scene.wire.next().await;
    other.stream().await;
    scene.get.event(FORM).await;
    other.event(SAMPLE).await;
    let (_, parked) = asked(second.await.unwrap());
    other.finish("{}").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    // What came on its own stream ends with it.
    result(resume(parked, "{}", of_legacy("a")).await.unwrap());
    scene.wire.sees(r#""id":7,"error":{"code":-1"#).await;
    let (requests, parked) = asked(first.await.unwrap());
    assert!(requests.contains("elicitation/create") && !requests.contains("sampling"), "{requests}");
    let going = resume(parked, r#"{"q1":{"action":"accept"}}"#, of_legacy("a"));
    scene.wire.sees(r#""id":"f","result":{"action":"accept"}"#).await;
    one.finish("{}").await;
    result(going.await.unwrap());
}

#[tokio::test]
async fn what_cannot_ask_is_not_asked_for_another() {
    let mut scene = plain("{}").await;
    let running = call(&scene.session, able(&Arc::default()));
    let mut post = scene.wire.next().await;
    post.stream().await;
    let looking = tokio::spawn({
        let session = scene.session.clone();
        let looks = Subject::Other { method: "tasks/get".into() };
        async move { session.call(&looks, &params("{}"), &able(&Arc::default())).await.unwrap() }
    });
    let mut look = scene.wire.next().await;
    look.stream().await;
    scene.get.event(FORM).await;
    let (requests, _parked) = asked(running.await.unwrap());
    assert!(requests.contains("elicitation/create"), "{requests}");
    look.finish("{}").await;
    result(looking.await.unwrap());
}

#[tokio::test]
async fn other_roots_are_told_once_more_however_often_they_change_meanwhile() {
    let initialized = format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{}}}"#, "{}");
    let mut wire = Wire::start(move |request| {
        if request.contains(r#""method":"initialize""#) {
            let id = crate::support::id(request);
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{initialized}}}"#);
            return Some(answer("200 OK", "application/json", "connection: close\r\n", &body));
        }
        if request.contains("server/discover") || request.starts_with("GET") {
            return Some(answer("405 No", "text/plain", "connection: close\r\n", "no"));
        }
        if request.contains("roots/list_changed") { None } else { Wire::usual(request) }
    })
    .await;
    let (factory, _) = factory(&wire.url(), |_| {});
    let session = factory
        .open(&SessionProfile { era: Era::Legacy, capabilities: can(ALL), ..SessionProfile::default() })
        .await
        .unwrap();
    for _ in 0..5 {
        // It does not wait for a server that does not answer.
        tokio::time::timeout(Duration::from_millis(200), session.roots_changed()).await.unwrap();
    }
    for _ in 0..2 {
        let mut told = wire.next().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        told.write("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(wire.count("roots/list_changed"), 2);
    session.roots_changed().await;
    assert!(wire.next().await.is("roots/list_changed"));
}

#[tokio::test]
async fn what_a_client_cannot_do_is_refused_at_once() {
    let mut scene = plain("{}").await;
    // The session declared more than this client can.
    let running = call(&scene.session, Exchange { capabilities: can(r#"{"elicitation":{}}"#), ..quiet() });
    let mut post = scene.wire.next().await;
    post.stream().await;
    post.event(SAMPLE).await;
    post.event(r#"{"jsonrpc":"2.0","id":8,"method":"elicitation/create","params":{"mode":"url"}}"#).await;
    post.event(r#"{"jsonrpc":"2.0","id":9,"method":"tasks/list"}"#).await;
    scene.wire.sees(r#""id":7,"error":{"code":-32601"#).await;
    scene.wire.sees(r#""id":8,"error":{"code":-32602"#).await;
    scene.wire.sees(r#""id":9,"error":{"code":-32601"#).await;
    post.finish("{}").await;
    result(running.await.unwrap());
}

#[tokio::test]
async fn a_question_on_the_other_stream_is_of_the_only_call_it_can_be_of() {
    let legacy = |id: &str, sink: &Arc<Sink>| Exchange {
        era: Era::Legacy,
        session: SessionKey::Legacy { id: id.into() },
        ..able(sink)
    };
    let mut scene = plain("{}").await;
    scene.get.event(FORM).await;
    scene.wire.sees(r#""id":"f","error":{"code":-32601"#).await;

    let running = call(&scene.session, able(&Arc::default()));
    let mut post = scene.wire.next().await;
    post.stream().await;
    scene.get.event(SAMPLE).await;
    let (requests, parked) = asked(running.await.unwrap());
    assert!(requests.contains("sampling/createMessage"), "{requests}");
    drop(parked);

    // Of several modern calls nobody knows; of several of one legacy client it is the latest.
    for (exchanges, answered) in [
        ([able(&Arc::default()), able(&Arc::default())], false),
        ([legacy("a", &Arc::default()), legacy("b", &Arc::default())], false),
        ([legacy("a", &Arc::default()), legacy("a", &Arc::default())], true),
    ] {
        let [first, second] = exchanges;
        let first = call(&scene.session, first);
        let mut one = scene.wire.next().await;
        one.stream().await;
        let second = call(&scene.session, second);
        let mut other = scene.wire.next().await;
        other.stream().await;
        let refused = scene.wire.count(r#""id":"f","error""#);
        scene.get.event(FORM).await;
        if answered {
            asked(second.await.unwrap());
        } else {
            eventually("the refusal", || scene.wire.count(r#""id":"f","error""#) > refused).await;
            other.finish("{}").await;
            result(second.await.unwrap());
        }
        one.finish("{}").await;
        result(first.await.unwrap());
    }
}

#[tokio::test]
async fn roots_outside_calls_are_those_of_whose_session_it_is() {
    const ASKED: &str = r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    // It may ask before that is said.
    let mut owned = scene("{}", Era::Legacy, Duration::from_secs(5)).await;
    owned.get.event(ASKED).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let client =
        Arc::new(Client { roots: Some(r#"{"roots":[{"uri":"file:///a"}]}"#.into()), ..Client::default() });
    let client: Arc<dyn ClientLink> = client;
    owned.session.attend(Arc::downgrade(&client));
    owned.wire.sees(r#"{"jsonrpc":"2.0","id":"r","result":{"roots":[{"uri":"file:///a"}]}}"#).await;
    owned.session.roots_changed().await;
    owned.wire.sees(r#""method":"notifications/roots/list_changed""#).await;
    // The client of a modern session cannot be asked outside a call.
    let mut nobodys = plain("{}").await;
    nobodys.get.event(ASKED).await;
    nobodys.wire.sees(r#""id":"r","error":{"code":-32601"#).await;
}

#[tokio::test]
async fn logs_go_to_the_only_call_or_to_whose_session_it_is() {
    let log = |n: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"error","data":{n}}}}}"#
        )
    };
    let mut scene = scene(r#"{"logging":{}}"#, Era::Legacy, Duration::from_secs(5)).await;
    scene.get.event(&log(0)).await;
    let client = Arc::<Client>::default();
    let link: Arc<dyn ClientLink> = client.clone();
    let told = || client.told.lock().unwrap().clone();
    // What came before is dropped: it is heard in order with this.
    scene.get.event(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
    scene.wire.sees(r#""id":"p""#).await;
    scene.session.attend(Arc::downgrade(&link));
    scene.get.event(&log(1)).await;
    eventually("the log", || told() == [r#"fake: log {"level":"error","data":1}"#]).await;
    scene.get.event(r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}"#).await;
    eventually("the completion", || told().len() == 2).await;
    assert_eq!(told()[1], r#"fake: complete {"elicitationId":"e"}"#);

    let sink = Arc::<Sink>::default();
    let running = call(&scene.session, exchange(&sink, false, Some(LogLevel::Info)));
    let mut post = scene.wire.next().await;
    post.stream().await;
    scene.get.event(&log(2)).await;
    eventually("the log", || sink.events().len() == 1).await;
    post.finish("{}").await;
    result(running.await.unwrap());
    assert_eq!(told().len(), 2);
    assert_eq!(scene.wire.count(r#""method":"logging/setLevel","params":{"level":"info"}"#), 1);
}

#[tokio::test]
async fn a_server_is_told_of_the_lowest_level_once() {
    let mut scene = plain(r#"{"logging":{}}"#).await;
    for level in
        [None, Some(LogLevel::Warning), Some(LogLevel::Error), Some(LogLevel::Debug), Some(LogLevel::Info)]
    {
        let running = call(&scene.session, exchange(&Arc::default(), false, level));
        let mut post = scene.wire.next().await;
        post.stream().await;
        post.finish("{}").await;
        result(running.await.unwrap());
    }
    assert_eq!(scene.wire.count("logging/setLevel"), 2);
    assert_eq!(scene.wire.count(r#"{"level":"warning"}"#), 1);
    assert_eq!(scene.wire.count(r#"{"level":"debug"}"#), 1);
    scene.session.close().await;
}
