//! What an operator changes while the server runs (P-18 to P-20).

use std::time::Duration;

use gateway_domain::{Caller, SessionKey};
use gateway_server::{BindError, ClientKey, Limits};
use gateway_testkit::client::{HttpClient, Messages, Speaks};
use tokio::time::timeout;

use crate::support::{QUIET, Served, config, keys, start, until};

const TOOLS: &str = r#"{"notifications":{"toolsListChanged":true}}"#;

fn client(server: &Served, speaks: Speaks, key: &str) -> HttpClient {
    HttpClient::new(&server.url(), speaks).unwrap().with_header("authorization", &format!("Bearer {key}"))
}

async fn status(client: &HttpClient) -> u16 {
    client.request("1", "tools/list", "{}").await.unwrap().status
}

async fn next(stream: &mut Messages<'_>) -> Option<String> {
    timeout(Duration::from_secs(5), stream.next()).await.expect("nothing came for 5 s").unwrap()
}

fn two_clients() -> Vec<ClientKey> {
    vec![ClientKey::new("desk", "k"), ClientKey::new("lab", "l")]
}

#[tokio::test]
async fn a_client_that_is_taken_out_has_nothing_left() {
    for (name, clients) in [
        ("removed", vec![ClientKey::new("lab", "l")]),
        ("with another key", vec![ClientKey::new("desk", "k-2"), ClientKey::new("lab", "l")]),
        ("everybody may come", vec![]),
    ] {
        let server = start(|config| config.clients = two_clients()).await;
        let desk = server.legacy("2025-11-25").await;
        let modern = server.modern();
        let mut told = desk.listen().await.unwrap();
        let mut listening = modern.open("1", "subscriptions/listen", TOOLS).await.unwrap();
        listening.next().await.unwrap();

        let other = gateway_server::ServerConfig { clients: clients.clone(), ..config() };
        server.settings.replace(other).unwrap();
        assert_eq!(next(&mut told).await, None, "{name}: the stream of the session ends");
        let last = next(&mut listening).await.unwrap();
        assert!(last.contains(r#""id":1,"result":{"resultType":"complete""#), "{name}: {last}");
        assert_eq!(next(&mut listening).await, None, "{name}");

        let open = clients.is_empty();
        assert_eq!(status(&modern).await, if open { 200 } else { 401 }, "{name}");
        let session = SessionKey::Legacy { id: desk.session().unwrap().into() };
        until(|| server.world.ended.lock().unwrap().contains(&session)).await;
        // Whoever has a good key does not find the session either.
        let heir = client(&server, Speaks::legacy(), if open { "" } else { "k-2" });
        heir.use_session(desk.session().as_deref());
        let expected = if clients.len() == 1 { 401 } else { 404 };
        assert_eq!(status(&heir).await, expected, "{name}");
        let held = SessionKey::Modern {
            caller: Caller::client("desk"),
            capabilities: gateway_domain::ClientCapabilities::none(),
        };
        let is_somebody_else = clients.iter().any(|key| key.name() == "desk");
        if !is_somebody_else {
            until(|| server.world.ended.lock().unwrap().contains(&held)).await;
        }
    }
}

#[tokio::test]
async fn who_stays_notices_nothing() {
    let server = start(|config| config.clients = two_clients()).await;
    let lab = client(&server, Speaks::legacy(), "l");
    lab.shake_hands().await.unwrap();
    let mut told = lab.listen().await.unwrap();
    let modern = client(&server, Speaks::modern(), "l");
    let mut listening = modern.open("1", "subscriptions/listen", TOOLS).await.unwrap();
    listening.next().await.unwrap();
    let slow = tokio::spawn(async move { modern.call("2", "files__slow", "{}").await.unwrap() });
    server.world.reaches(&server.world.begun, 1).await;

    let mut other = config();
    other.clients = vec![ClientKey::new("new", "n"), ClientKey::new("lab", "l")];
    other.limits = Limits { sessions_per_caller: 1, ..Limits::default() };
    server.settings.replace(other).unwrap();
    assert!(timeout(QUIET, told.next()).await.is_err(), "the stream stays");
    server.world.change();
    assert!(next(&mut told).await.unwrap().contains("list_changed"));
    assert_eq!(status(&lab).await, 200);
    assert_eq!(status(&client(&server, Speaks::modern(), "n")).await, 200, "a new client is let in");
    server.world.go.notify_one();
    assert_eq!(slow.await.unwrap().status, 200);
    // It is the same caller as before, whose session counts.
    let second = client(&server, Speaks::legacy(), "l");
    assert!(second.shake_hands().await.is_err(), "the one session it may have is in use");
}

#[tokio::test]
async fn a_call_in_flight_is_answered_although_its_key_is_gone() {
    // What it needs downstream stays until then, but not for ever.
    for (drain, waits) in [(Limits::default().drain, true), (Duration::from_millis(10), false)] {
        let server = start(|config| config.clients = keys()).await;
        let modern = server.modern();
        let slow = tokio::spawn(async move { modern.call("2", "files__slow", "{}").await.unwrap() });
        server.world.reaches(&server.world.begun, 1).await;
        let mut other = config();
        other.clients = vec![ClientKey::new("lab", "l")];
        other.limits.drain = drain;
        server.settings.replace(other).unwrap();
        let has_ended = || !server.world.ended.lock().unwrap().is_empty();
        match waits {
            true => tokio::time::sleep(QUIET).await,
            false => until(has_ended).await,
        }
        assert_eq!(has_ended(), !waits);
        server.world.go.notify_one();
        let answer = slow.await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text);
        until(has_ended).await;
    }
}

#[tokio::test]
async fn hosts_origins_and_limits_count_from_the_next_request_on() {
    let server = start(|_| {}).await;
    let ask = |line: &str| {
        let host =
            if line.starts_with("Host") { String::new() } else { format!("Host: {}\r\n", server.addr) };
        format!("GET /healthz HTTP/1.1\r\nConnection: close\r\n{host}{line}\r\n\r\n")
    };
    let requests = [ask("Host: gw.example"), ask("Origin: https://app.example")];
    for request in &requests {
        assert_eq!(server.raw(request).await.status, 403, "{request}");
    }
    let mut other = config();
    other.allowed_hosts = vec!["gw.example".to_owned()];
    other.allowed_origins = vec!["https://app.example".to_owned()];
    other.limits.body_bytes = 10;
    // On a connection that is open already.
    let modern = server.modern();
    assert_eq!(status(&modern).await, 200);
    server.settings.replace(other).unwrap();
    for request in &requests {
        assert_eq!(server.raw(request).await.status, 200, "{request}");
    }
    assert_eq!(status(&modern).await, 413);
    server.settings.replace(config()).unwrap();
    for request in &requests {
        assert_eq!(server.raw(request).await.status, 403, "{request}");
    }
}

#[tokio::test]
async fn sessions_live_by_the_newest_limits() {
    let server = start(|config| config.limits.session_idle = Duration::from_millis(300)).await;
    let legacy = server.legacy("2025-11-25").await;
    let mut other = config();
    other.limits.session_idle = Duration::from_secs(60);
    server.settings.replace(other).unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(status(&legacy).await, 200, "it may be idle for longer now");
}

#[tokio::test]
async fn what_would_be_refused_at_start_changes_nothing() {
    let open = |config: &mut gateway_server::ServerConfig| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.clients = keys();
    };
    let server = start(open).await;
    // Harmless on the address that it names, but the server listens on another.
    let mut nobody = config();
    nobody.listen = "127.0.0.1:0".parse().unwrap();
    assert!(matches!(server.settings.check(&nobody), Err(BindError::Unauthenticated { .. })));
    assert!(matches!(server.settings.replace(nobody), Err(BindError::Unauthenticated { .. })));
    let mut strange = config();
    strange.clients = vec![ClientKey::new("lab", "l")];
    strange.allowed_hosts = vec!["https://x".to_owned()];
    assert!(matches!(server.settings.replace(strange), Err(BindError::Host { .. })));
    let url = format!("http://127.0.0.1:{}/mcp", server.addr.port());
    let desk = HttpClient::new(&url, Speaks::modern()).unwrap();
    assert_eq!(status(&desk).await, 401, "keys are still asked for");
    assert_eq!(status(&desk.with_header("authorization", "Bearer k")).await, 200);
}

#[tokio::test]
async fn a_key_is_replaced_while_both_are_good() {
    let server = start(|config| config.clients = vec![ClientKey::new("desk", "k")]).await;
    let with = |clients: Vec<ClientKey>| gateway_server::ServerConfig { clients, ..config() };
    let old = client(&server, Speaks::legacy(), "k");
    old.shake_hands().await.unwrap();
    let new = client(&server, Speaks::legacy(), "k-2");
    new.use_session(old.session().as_deref());
    assert_eq!((status(&old).await, status(&new).await), (200, 401));
    server.settings.replace(with(vec![ClientKey::new("desk", "k").with_key("k-2")])).unwrap();
    assert_eq!((status(&old).await, status(&new).await), (200, 200), "both name the owner of the session");
    server.settings.replace(with(vec![ClientKey::new("desk", "k-2")])).unwrap();
    assert_eq!((status(&old).await, status(&new).await), (401, 200), "the session goes on with the new one");
    server.settings.replace(with(vec![ClientKey::new("desk", "k-3")])).unwrap();
    let other = client(&server, Speaks::legacy(), "k-3");
    other.use_session(old.session().as_deref());
    assert_eq!((status(&new).await, status(&other).await), (401, 404), "with the last key it ends");
}
