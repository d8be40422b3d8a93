use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};

use crate::support::{MODERN, Served, envelope, start};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

/// One connection with prior knowledge.
#[derive(Clone)]
struct Client {
    addr: SocketAddr,
    requests: http2::SendRequest<Full<Bytes>>,
    /// To close it without a word.
    socket: Arc<std::net::TcpStream>,
}

async fn connect(addr: SocketAddr) -> (Client, JoinHandle<()>) {
    let stream = TcpStream::connect(addr).await.unwrap().into_std().unwrap();
    let socket = Arc::new(stream.try_clone().unwrap());
    let stream = TokioIo::new(TcpStream::from_std(stream).unwrap());
    let (requests, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let connection = tokio::spawn(async move { drop(connection.await) });
    (Client { addr, requests, socket }, connection)
}

impl Client {
    fn post(&self, method: &str, params: &str) -> http::request::Builder {
        let builder = Request::post(format!("http://{}/mcp", self.addr))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", MODERN)
            .header("mcp-method", method);
        match params.split('"').nth(3) {
            Some(name) if method == "tools/call" => builder.header("mcp-name", name),
            _ => builder,
        }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let mut requests = self.requests.clone();
        requests.ready().await.unwrap();
        requests.send_request(request).await.unwrap()
    }

    /// `params` without the closing brace.
    async fn open(&self, method: &str, params: &str) -> Response<Incoming> {
        let comma = if params == "{" { "" } else { "," };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}{comma}{}}}}}"#,
            envelope(MODERN)
        );
        self.send(self.post(method, params).body(Full::new(body.into())).unwrap()).await
    }

    async fn call(&self, tool: &str, arguments: &str) -> (u16, String) {
        text(self.open("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}"#)).await).await
    }

    async fn get(&self, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::get(uri).body(Full::default()).unwrap();
        for (name, value) in headers {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        self.send(request).await.status().as_u16()
    }
}

async fn text(response: Response<Incoming>) -> (u16, String) {
    assert_eq!(response.version(), Version::HTTP_2);
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn open_connections(server: &Served) -> String {
    let get = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.addr);
    let metrics = server.raw(&get).await.body;
    metrics.lines().find(|line| line.starts_with("gateway_connections ")).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn calls_share_a_connection_and_find_their_callers() {
    let server = start(|config| config.http2 = true).await;
    let (client, _) = connect(server.addr).await;
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let client = client.clone();
            tokio::spawn(async move { client.call("files__yield", &format!(r#"{{"n":{n}}}"#)).await })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        let (status, text) = call.await.unwrap();
        assert!(status == 200 && text.contains(&format!(r#""structuredContent":{{"n":{n}}}"#)), "{text}");
    }
    assert_eq!(open_connections(&server).await, "gateway_connections 2");
    // Larger than any window, and in pieces.
    let big = format!(r#"[{{"name":"{}"}}]"#, "x".repeat(3 << 20));
    *server.world.page.lock().unwrap() = gateway_domain::RawJson::parse(big.clone()).unwrap();
    let (status, list) = text(client.open("tools/list", "{").await).await;
    assert!(status == 200 && list.contains(&big) && list.ends_with('}'));
    let (_, text) =
        client.call("files__strange", &format!(r#"{{"content":["{}"]}}"#, "y".repeat(1 << 20))).await;
    assert!(text.contains(&"y".repeat(1 << 20)));
    // The first version is there as before.
    assert_eq!(server.modern().call("1", "files__echo", "{}").await.unwrap().status, 200);
}

#[tokio::test]
async fn who_may_ask_does_not_depend_on_the_version() {
    let server = start(|config| {
        config.http2 = true;
        config.limits.header_fields = 20;
        config.clients = crate::support::keys();
    })
    .await;
    let (client, _) = connect(server.addr).await;
    let url = |path: &str| format!("http://{}{path}", server.addr);
    let long = "x".repeat(20_000);
    let key = ("authorization", "Bearer k");
    for (uri, headers, status) in [
        (url("/healthz"), &[][..], 200),
        (url("/metrics"), &[], 401),
        (url("/metrics"), &[key], 200),
        (url("/mcp"), &[key], 405),
        (url("/nosuch"), &[], 404),
        ("http://evil.example/healthz".to_owned(), &[], 403),
        (format!("http://u@{}/healthz", server.addr), &[], 400),
        (url("/healthz"), &[("host", "evil.example")], 400),
        (url("/healthz"), &[("host", "localhost"), ("host", "localhost")], 400),
        (url("/healthz"), &[("origin", "http://evil.example")], 403),
        (url("/healthz"), &[("x", "y"); 30], 431),
        (url("/healthz"), &[("x", &long)], 431),
    ] {
        assert_eq!(client.get(&uri, headers).await, status, "{uri} {:.99}", format!("{headers:?}"));
    }
    assert_eq!(client.call("files__echo", "{}").await.0, 401);
    let head = client.send(Request::head(url("/healthz")).body(Full::default()).unwrap()).await;
    assert_eq!(text(head).await, (200, String::new()));
}

#[tokio::test]
async fn a_reset_cancels_and_so_does_the_end_of_the_connection() {
    let server = start(|config| config.http2 = true).await;
    let world = &server.world;
    let (client, _) = connect(server.addr).await;
    tokio::select! {
        _ = client.call("files__hang", "{}") => panic!("this call does not end"),
        () = world.reaches(&world.begun, 1) => {}
    }
    world.reaches(&world.dropped, 1).await;
    let params = r#"{"name":"files__progress_then_hang"}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"files__progress_then_hang",{}}}}}"#,
        envelope(MODERN).replace(r#""_meta":{"#, r#""_meta":{"progressToken":1,"#)
    );
    let request = client.post("tools/call", params).body(Full::new(body.into())).unwrap();
    let mut stream = client.send(request).await;
    let first = stream.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.starts_with(b"data: "), "{first:?}");
    drop(stream);
    world.reaches(&world.dropped, 2).await;
    assert_eq!(client.call("files__echo", "{}").await.0, 200, "the connection is as good as before");
    let waiting = client.clone();
    let call = tokio::spawn(async move { waiting.call("files__hang", "{}").await });
    world.reaches(&world.begun, 3).await;
    client.socket.shutdown(std::net::Shutdown::Both).unwrap();
    world.reaches(&world.dropped, 3).await;
    assert!(call.await.is_err());
}

#[tokio::test]
async fn it_is_not_spoken_unless_configured() {
    let server = start(|_| {}).await;
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    stream.write_all(PREFACE).await.unwrap();
    let mut answer = Vec::new();
    let closed = timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
    assert!(closed.is_ok(), "the connection is still open");
    assert_eq!(String::from_utf8_lossy(&answer), "");
    let metrics = server
        .raw(&format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.addr))
        .await;
    assert!(metrics.body.contains(r#"gateway_refused_total{reason="http_version"} 1"#), "{metrics:?}");
}

#[tokio::test]
async fn a_stream_that_is_not_read_ends_its_connection() {
    let server = start(|config| {
        config.http2 = true;
        config.limits.write_stall = Duration::from_millis(200);
    })
    .await;
    let big = format!(r#"["{}"]"#, "x".repeat(32 << 20));
    *server.world.page.lock().unwrap() = gateway_domain::RawJson::parse(big).unwrap();
    let (client, connection) = connect(server.addr).await;
    let unread = client.open("tools/list", "{").await;
    timeout(Duration::from_secs(5), connection).await.expect("the connection is still open").unwrap();
    drop(unread);
}

#[tokio::test]
async fn rests_are_bounded_and_long_calls_are_none() {
    let server = start(|config| {
        config.http2 = true;
        config.limits.header_time = Duration::from_millis(200);
        config.limits.idle_time = Duration::from_millis(1500);
        config.limits.keep_alive = Duration::from_millis(50);
    })
    .await;
    let (client, connection) = connect(server.addr).await;
    let world = &server.world;
    let wait = async {
        world.reaches(&world.begun, 1).await;
        tokio::time::sleep(Duration::from_millis(1800)).await;
        world.go.notify_one();
    };
    let (answer, ()) = tokio::join!(client.call("files__slow", "{}"), wait);
    assert_eq!(answer.0, 200);
    // Longer than a head may take, although frames come meanwhile; shorter than a rest.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(client.call("files__echo", "{}").await.0, 200);
    timeout(Duration::from_secs(5), connection).await.expect("the connection is still open").unwrap();
    // And one that never asks for anything.
    let (_idle, connection) = connect(server.addr).await;
    timeout(Duration::from_millis(1300), connection).await.expect("it has the time of one head").unwrap();
}

#[tokio::test]
async fn a_shutdown_lets_calls_finish_or_tells_them() {
    for (tool, status) in [("files__slow", 200), ("files__hang", 503)] {
        let mut server = start(|config| {
            config.http2 = true;
            config.limits.drain = Duration::from_millis(300);
        })
        .await;
        let (world, stop) = (server.world.clone(), server.stop.take());
        let (client, _) = connect(server.addr).await;
        let drain = async {
            world.reaches(&world.begun, 1).await;
            drop(stop);
            tokio::time::sleep(Duration::from_millis(50)).await;
            world.go.notify_one();
        };
        let ((answered, text), ()) = tokio::join!(client.call(tool, "{}"), drain);
        assert_eq!(answered, status, "{text}");
        assert_eq!(server.served.await.unwrap(), status == 200);
        assert_eq!(world.dropped.load(Ordering::SeqCst), usize::from(status == 503));
    }
}
