//! Watched resources, and changes of all lists.

use std::{sync::Arc, time::Duration};

use gateway_domain::{DownstreamSession, Era, ListKind, Session};
use gateway_transport_http::{HttpConfig, HttpSession};

use crate::support::{Exchanged, Heard, Observer, Wire, answer, eventually, factory, profile};

const EVERYTHING: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}"#;
const LISTS: [ListKind; 3] = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];

async fn open(wire: &Wire, change: impl FnOnce(&mut HttpConfig)) -> (HttpSession, Arc<Observer>) {
    let (factory, observer) = factory(&wire.url(), |config| {
        config.max_reconnect_delay = Duration::from_millis(20);
        change(config);
    });
    (factory.open(&profile(Era::Modern)).await.unwrap(), observer)
}

fn changed(list: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#)
}

fn updated(uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{uri}","_meta":{{"io.modelcontextprotocol/subscriptionId":1}}}}}}"#
    )
}

/// Begins a modern stream that grants this filter.
async fn granting(wire: &mut Wire, granted: &str) -> Exchanged {
    let mut stream = wire.next().await;
    assert!(stream.is("subscriptions/listen"), "{}", stream.request);
    stream.stream().await;
    stream
        .event(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{granted}}}}}"#
        ))
        .await;
    stream
}

#[tokio::test]
async fn changes_of_all_lists_are_heard_and_a_loss_counts_as_one_of_each() {
    for era in [Era::Legacy, Era::Modern] {
        let mut wire = match era {
            Era::Legacy => Wire::legacy(EVERYTHING).await,
            Era::Modern => Wire::modern(EVERYTHING).await,
        };
        let (session, observer) = open(&wire, |config| config.change_stream = true).await;
        let mut stream = match era {
            Era::Legacy => wire.next().await,
            Era::Modern => granting(&mut wire, "{}").await,
        };
        if era == Era::Legacy {
            stream.stream().await;
        } else {
            let filter = r#""notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}"#;
            assert!(stream.is(filter), "{}", stream.request);
        }
        for list in ["resources", "tools", "prompts"] {
            stream.event(&changed(list)).await;
        }
        let [tools, prompts, resources] = LISTS;
        eventually("the changes", || observer.changed() == [resources, tools, prompts]).await;
        drop(stream);
        let mut stream = match era {
            Era::Legacy => wire.next().await,
            Era::Modern => granting(&mut wire, "{}").await,
        };
        if era == Era::Legacy {
            stream.stream().await;
        }
        eventually("the loss", || observer.changed()[3..] == LISTS).await;
        session.close().await;
    }
}

#[tokio::test]
async fn a_legacy_resource_is_watched_once_for_all_and_no_longer_than_somebody_does() {
    let mut wire = Wire::legacy(EVERYTHING).await;
    let (session, _) = open(&wire, |_| {}).await;
    let [one, other] = [Arc::<Heard>::default(), Arc::<Heard>::default()];
    let first = session.subscribe("file:///a", one.clone()).await.unwrap();
    let second = session.subscribe("file:///a", other.clone()).await.unwrap();
    assert_eq!(wire.count(r#""method":"resources/subscribe","params":{"uri":"file:///a"}"#), 1);
    let mut get = wire.next().await;
    get.stream().await;
    get.event(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a/b","x":1.0}}"#).await;
    get.event(&updated("file:///ab")).await;
    eventually("the update", || one.all().len() == 1 && other.all().len() == 1).await;
    assert_eq!(one.all(), [r#"{"uri":"file:///a/b","x":1.0}"#]);
    drop(first);
    // A lost stream counts as a change.
    drop(get);
    let mut get = wire.next().await;
    get.stream().await;
    eventually("the loss", || other.all().len() == 2).await;
    assert_eq!(other.all()[1], r#"{"uri":"file:///a"}"#);
    assert_eq!(wire.count("resources/unsubscribe"), 0);
    drop(second);
    wire.sees(r#""method":"resources/unsubscribe","params":{"uri":"file:///a"}"#).await;
    let third = session.subscribe("file:///a", one.clone()).await.unwrap();
    assert_eq!(wire.count(r#""method":"resources/subscribe""#), 2);
    session.close().await;
    assert_eq!(one.all().last().unwrap(), "lost");
    drop(third);
}

#[tokio::test]
async fn a_server_without_resources_is_not_asked() {
    // One that has some is asked whatever it says of subscriptions: there are such that do not say all they can.
    let wire = Wire::legacy(r#"{"tools":{}}"#).await;
    let (session, _) = open(&wire, |_| {}).await;
    let error = session.subscribe("a:", Arc::<Heard>::default()).await.unwrap_err();
    assert!(error.to_string().contains("is not offered"), "{error}");
    assert_eq!(wire.count("resources/subscribe"), 0);
}

#[tokio::test]
async fn a_modern_stream_takes_the_place_of_another_for_each_resource() {
    let mut wire = Wire::modern(EVERYTHING).await;
    let (session, _) = open(&wire, |_| {}).await;
    let session = Arc::new(session);
    let heard = Arc::<Heard>::default();
    let watch = |uri: &'static str| {
        let (session, heard) = (session.clone(), heard.clone());
        tokio::spawn(async move { session.subscribe(uri, heard).await })
    };
    let watching = watch("a:1");
    let mut first = granting(&mut wire, r#"{"resourceSubscriptions":["a:1"]}"#).await;
    assert!(first.is(r#""notifications":{"resourceSubscriptions":["a:1"]}"#), "{}", first.request);
    let one = watching.await.unwrap().unwrap();
    first.event(&updated("a:1")).await;
    eventually("the update", || heard.all() == [r#"{"uri":"a:1"}"#]).await;

    // The larger set is asked for while the smaller one is still told.
    let watching = watch("b:2");
    let mut second = wire.next().await;
    assert!(second.is("a:1") && second.is("b:2"), "{}", second.request);
    first.event(&updated("a:1")).await;
    eventually("the update", || heard.all().len() == 2).await;
    second.stream().await;
    second.event(r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["a:1","b:2"]}}}"#).await;
    let two = watching.await.unwrap().unwrap();
    first.gone().await;
    second.event(&updated("b:2")).await;
    eventually("the update", || heard.all().last().unwrap() == r#"{"uri":"b:2"}"#).await;

    // What is not granted is refused, and the others are watched on.
    let watching = watch("c:3");
    let third = granting(&mut wire, r#"{"resourceSubscriptions":["a:1","b:2"]}"#).await;
    let error = watching.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("\"c:3\" not found"), "{error}");
    let mut fourth = granting(&mut wire, r#"{"resourceSubscriptions":["a:1","b:2"]}"#).await;
    assert!(!fourth.is("c:3"), "{}", fourth.request);
    fourth.event(&updated("a:1")).await;
    eventually("the update", || heard.all().last().unwrap() == r#"{"uri":"a:1"}"#).await;

    // After a loss everything may have changed, and what is not granted any more is lost.
    let before = heard.all().len();
    drop((third, fourth));
    let _fifth = granting(&mut wire, r#"{"resourceSubscriptions":["a:1"]}"#).await;
    eventually("the loss", || heard.all().len() == before + 2).await;
    assert_eq!(heard.all()[before..], ["lost", r#"{"uri":"a:1"}"#]);
    drop((one, two));
    session.close().await;
}

const REFUSED: &str = "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn a_modern_stream_that_worked_is_asked_for_again_whatever_the_server_says_later() {
    let mut wire = Wire::modern(EVERYTHING).await;
    let (session, observer) = open(&wire, |config| config.change_stream = true).await;
    let session = Arc::new(session);
    drop(granting(&mut wire, "{}").await);
    for status in [400, 404, 405, 501] {
        let mut refused = wire.next().await;
        let head = format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        refused.write(&head).await;
    }
    let mut stream = granting(&mut wire, "{}").await;
    eventually("the loss", || observer.changed() == LISTS).await;
    stream.event(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#).await;
    let _stream = granting(&mut wire, "{}").await;
    eventually("the loss", || observer.changed().len() == 6).await;
    session.close().await;
}

#[tokio::test]
async fn who_watches_a_resource_has_the_server_asked_for_its_lists_again() {
    let mut wire = Wire::modern(EVERYTHING).await;
    let (session, _) = open(&wire, |config| config.change_stream = true).await;
    wire.next().await.write(REFUSED).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let session = Arc::new(session);
    let watching = tokio::spawn({
        let session = session.clone();
        async move { session.subscribe("a:1", Arc::<Heard>::default()).await }
    });
    let stream = granting(&mut wire, r#"{"resourceSubscriptions":["a:1"]}"#).await;
    assert!(stream.is("toolsListChanged") && stream.is("a:1"), "{}", stream.request);
    drop(watching.await.unwrap().unwrap());
}

#[tokio::test]
async fn who_watches_over_a_legacy_stream_that_is_refused_later_has_lost_it() {
    let mut wire = Wire::legacy(EVERYTHING).await;
    let (session, _) = open(&wire, |_| {}).await;
    let heard = Arc::<Heard>::default();
    let _watch = session.subscribe("a:1", heard.clone()).await.unwrap();
    let mut get = wire.next().await;
    get.stream().await;
    get.event(&updated("a:1")).await;
    eventually("the update", || heard.all().len() == 1).await;
    drop(get);
    wire.next().await.write(REFUSED).await;
    eventually("the loss", || heard.all().last().unwrap() == "lost").await;
}

#[tokio::test]
async fn a_watch_that_is_given_up_before_the_server_answers_is_none() {
    let mut wire = Wire::start(|request| match request.contains("initialize\"") {
        true => {
            let result = format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{EVERYTHING}}}"#);
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, crate::support::id(request));
            Some(answer("200 OK", "application/json", "connection: close\r\n", &body))
        }
        false if request.contains(r#""method":"resources/subscribe""#) => None,
        false if request.contains("server/discover") || request.starts_with("GET") => Some(REFUSED.into()),
        false => Wire::usual(request),
    })
    .await;
    let (session, _) = open(&wire, |_| {}).await;
    let first = session.subscribe("a:1", Arc::<Heard>::default());
    assert!(tokio::time::timeout(Duration::from_millis(200), first).await.is_err());
    assert!(wire.next().await.is("resources/subscribe"));
    let again = session.subscribe("a:1", Arc::<Heard>::default());
    let answering = async {
        let mut asked = wire.next().await;
        assert!(asked.is("resources/subscribe"), "{}", asked.request);
        asked.stream().await;
        asked.finish("{}").await;
    };
    let (again, ()) = tokio::join!(again, answering);
    drop(again.unwrap());
}
