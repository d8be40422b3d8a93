//! What sessions are told outside any request.

use std::{sync::Arc, time::Duration};

use gateway_domain::{ClientLink, Notice, NoticeScreen, RawObject, SessionKey};
use gateway_server::{Ports, Server};
use tokio::time::timeout;

use crate::{
    asking::{ALL, asker, client, serve},
    support::{QUIET, config, files, start, start_with, until},
};

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

#[tokio::test]
async fn a_session_hears_which_list_has_changed() {
    let server = start(|_| {}).await;
    let client = server.legacy("2025-11-25").await;
    let mut stream = client.listen().await.unwrap();
    client.notify("notifications/initialized", "{}").await.unwrap();
    let changed = |kind: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/{kind}/list_changed"}}"#);
    server.world.change_list(|generations| &mut generations.prompts);
    assert_eq!(stream.next().await.unwrap().unwrap(), changed("prompts"));
    // Several at once are one, of each kind.
    for _ in 0..3 {
        server.world.change_list(|generations| &mut generations.resources);
        server.world.change();
    }
    let both = [stream.next().await.unwrap().unwrap(), stream.next().await.unwrap().unwrap()];
    assert_eq!(both, [changed("tools"), changed("resources")]);
    assert!(timeout(QUIET, stream.next()).await.is_err());
}

#[tokio::test]
async fn a_session_hears_of_the_resources_that_it_watches() {
    let server = start(|config| config.limits.subscriptions_per_session = 2).await;
    let client = server.legacy("2025-11-25").await;
    client.notify("notifications/initialized", "{}").await.unwrap();
    let mut stream = client.listen().await.unwrap();
    let ask = async |method: &str, uri: &str| {
        client.request("1", &format!("resources/{method}"), &format!(r#"{{"uri":"{uri}"}}"#)).await.unwrap()
    };
    for uri in ["a:b", "a:b", "a:c"] {
        assert_eq!(ask("subscribe", uri).await.result().as_deref(), Some("{}"));
    }
    assert_eq!(server.world.watched.lock().unwrap().len(), 2, "each once");
    assert_eq!(ask("subscribe", "a:d").await.status, 429);
    assert_eq!(ask("unsubscribe", "a:c").await.result().as_deref(), Some("{}"));
    assert_eq!(ask("unsubscribe", "a:c").await.result().as_deref(), Some("{}"));
    assert_eq!(ask("subscribe", "missing:x").await.error_code(), Some(-32002));
    assert_eq!(client.request("1", "resources/subscribe", "{}").await.unwrap().error_code(), Some(-32602));
    let watched: Vec<_> = server.world.watched.lock().unwrap().iter().map(|(_, it)| it.clone()).collect();
    assert!(watched[1].upgrade().is_none(), "it is let go");
    let updates = watched[0].upgrade().unwrap();
    for _ in 0..3 {
        updates.0.updated(object(r#"{"uri":"a:b/c","_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#));
    }
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b/c"}}"#
    );
    assert!(timeout(QUIET, stream.next()).await.is_err());
    drop(updates);
    client.delete().await.unwrap();
    assert!(watched[0].upgrade().is_none(), "it ends with the session");
}

#[tokio::test]
async fn other_roots_are_passed_on_once_at_a_time_and_of_those_only_who_declared_that() {
    let (asker, addr) = serve(|_| {}).await;
    let roots = || asker.world.roots.load(std::sync::atomic::Ordering::SeqCst);
    for (declared, told) in [("{}", 0), (r#"{"roots":{}}"#, 0), (ALL, 2)] {
        let client = client(addr, "2025-11-25", declared).await;
        client.notify("notifications/roots/list_changed", "{}").await.unwrap();
        let told_first = told.min(1);
        until(|| roots() == told_first).await;
        for _ in 0..20 {
            client.notify("notifications/roots/list_changed", "{}").await.unwrap();
        }
        tokio::time::sleep(QUIET).await;
        assert_eq!(roots(), told_first, "for {declared}");
        if told > 0 {
            asker.world.go.notify_one();
            until(|| roots() == told).await;
            asker.world.go.notify_one();
            tokio::time::sleep(QUIET).await;
            assert_eq!(roots(), told);
        }
    }
}

#[tokio::test]
async fn a_change_between_two_streams_and_before_the_first_is_told() {
    let server = start(|_| {}).await;
    let client = server.legacy("2025-11-25").await;
    client.notify("notifications/initialized", "{}").await.unwrap();
    for _ in 0..2 {
        server.world.change();
        let mut stream = client.listen().await.unwrap();
        while stream.status != 200 {
            drop(stream);
            tokio::time::sleep(Duration::from_millis(2)).await;
            stream = client.listen().await.unwrap();
        }
        let changed = timeout(Duration::from_secs(5), stream.next()).await.unwrap().unwrap().unwrap();
        assert!(changed.contains("notifications/tools/list_changed"), "{changed}");
        assert!(timeout(QUIET, stream.next()).await.is_err(), "once");
    }
}

#[tokio::test]
async fn downstreams_tell_and_ask_the_client_of_their_session() {
    let (asker, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", ALL).await;
    client.call("1", "echo", "{}").await.unwrap();
    let link: Arc<dyn ClientLink> = asker.client.lock().unwrap().clone().unwrap();
    assert!(link.roots().await.is_none(), "there is no stream to ask on");
    let mut stream = client.listen().await.unwrap();
    let roots = {
        let link = link.clone();
        tokio::spawn(async move { link.roots().await })
    };
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}"#
    );
    client.post(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a"}]}}"#, &[]).await.unwrap();
    let known = Some(object(r#"{"roots":[{"uri":"file:///a"}]}"#));
    assert_eq!(roots.await.unwrap(), known);
    assert_eq!(link.roots().await, known, "which is remembered");
    client.notify("notifications/roots/list_changed", "{}").await.unwrap();
    assert!(timeout(QUIET, link.roots()).await.is_err(), "it is asked again");
    let again = stream.next().await.unwrap().unwrap();
    assert!(again.contains("roots/list"), "{again}");
    assert!(stream.next().await.unwrap().unwrap().contains("notifications/cancelled"));

    client.request("2", "logging/setLevel", r#"{"level":"warning"}"#).await.unwrap();
    link.tell(&files(), Notice::Log(object(r#"{"level":"info","data":1}"#)));
    link.tell(&files(), Notice::Log(object(r#"{"level":"error","data":1.0}"#)));
    link.tell(&files(), Notice::ElicitationComplete(object(r#"{"elicitationId":"x"}"#)));
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1.0,"logger":"files"}}"#
    );
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"x"}}"#
    );
    let id = SessionKey::Legacy { id: client.session().unwrap().as_str().into() };
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(!asker.world.ended.lock().unwrap().contains(&id));
}

/// Shows what was said, and that it was looked at.
#[derive(Debug)]
struct Marking;

impl NoticeScreen for Marking {
    fn shown(&self, params: RawObject) -> RawObject {
        RawObject::try_from(params.edit().set("seen", b"true").finish()).unwrap()
    }
}

#[tokio::test]
async fn what_is_said_outside_any_call_is_looked_at_before_it_is_told() {
    let (asker, ports) = asker();
    let ports = Ports { notices: Arc::new(Marking), ..ports };
    let server = Server::bind(config(), ports).await.unwrap();
    let addr = server.local_addr();
    tokio::spawn(server.run(std::future::pending()));
    let client = client(addr, "2025-11-25", ALL).await;
    client.call("1", "echo", "{}").await.unwrap();
    let link: Arc<dyn ClientLink> = asker.client.lock().unwrap().clone().unwrap();
    let mut stream = client.listen().await.unwrap();
    link.tell(&files(), Notice::Log(object(r#"{"level":"error","data":1}"#)));
    link.tell(&files(), Notice::ElicitationComplete(object(r#"{"elicitationId":"x"}"#)));
    for method in ["notifications/message", "notifications/elicitation/complete"] {
        let told = stream.next().await.unwrap().unwrap();
        assert!(told.contains(method) && told.contains(r#""seen":true"#), "{told}");
    }
}

#[tokio::test]
async fn what_is_said_of_resources_is_looked_at_before_it_is_told() {
    let server = start_with(|_, ports| ports.notices = Arc::new(Marking)).await;
    server.world.offer_all();
    let (modern, session) = (server.modern(), server.legacy("2025-11-25").await);
    session.notify("notifications/initialized", "{}").await.unwrap();
    let mut told = session.listen().await.unwrap();
    session.request("1", "resources/subscribe", r#"{"uri":"a:1"}"#).await.unwrap();
    let filter = r#"{"notifications":{"resourceSubscriptions":["a:1"]}}"#;
    let mut listening = modern.open("7", "subscriptions/listen", filter).await.unwrap();
    listening.next().await.unwrap();
    server.world.update("a:1", r#"{"uri":"a:1"}"#);
    for stream in [&mut told, &mut listening] {
        let told = stream.next().await.unwrap().unwrap();
        assert!(told.contains("resources/updated") && told.contains(r#""seen":true"#), "{told}");
    }
}
