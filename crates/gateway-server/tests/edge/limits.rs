use std::{sync::atomic::Ordering, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{MODERN, QUIET, envelope, keys, post, start};

/// Sends this and reads until the server closes; a server that does not is a failure.
async fn until_closed(addr: std::net::SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let closed = timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
    closed.expect("the connection was not closed").ok();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn bodies_are_bounded_in_size_and_time() {
    let server = start(|config| {
        config.limits.body_bytes = 10_000;
        config.limits.body_time = Duration::from_millis(80);
    })
    .await;
    let addr = server.addr;
    let fits = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(60));
    assert_eq!(server.post("", &fits).await.status, 400, "read, and refused for having no session");
    let large = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(10_000));
    assert_eq!(server.post("", &large).await.status, 413);
    // Without a length: as soon as it is too much.
    let head = post(addr, "", "").replace("Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n");
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    let answer = server.raw(&format!("{head}{}0\r\n\r\n", chunk.repeat(3))).await;
    assert_eq!((answer.status, answer.head.contains("connection: close")), (413, true));
    // Announced and not sent.
    let slow = post(addr, "", "").replace("Content-Length: 0", "Content-Length: 100");
    assert!(until_closed(addr, &slow).await.starts_with("HTTP/1.1 408 "));
}

#[tokio::test]
async fn bodies_are_bounded_together() {
    let server = start(|config| config.limits.buffered_bytes = 8 << 10).await;
    let large = "x".repeat(9 << 10);
    let answer = server.post("", &large).await;
    assert_eq!((answer.status, answer.head.contains("retry-after: 1")), (503, true), "{answer:?}");
    assert_eq!(server.post("", "x").await.status, 400);
}

#[tokio::test]
async fn bodies_are_plain_json() {
    let server = start(|_| {}).await;
    let send = |from: &str, to: &str| {
        let text = post(server.addr, "", "{}").replace(from, to);
        let server = &server;
        async move { server.raw(&text).await.status }
    };
    let kind = "Content-Type: application/json\r\n";
    for (to, status) in [
        ("", 415),
        ("Content-Type: text/plain\r\n", 415),
        ("Content-Type: application/jsonx\r\n", 415),
        ("Content-Type: application/json\r\nContent-Type: text/plain\r\n", 415),
        ("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", 415),
        ("Content-Type: Application/JSON; charset=utf-8\r\nContent-Encoding: identity\r\n", 400),
    ] {
        assert_eq!(send(kind, to).await, status, "with {to:?}");
    }
}

#[tokio::test]
async fn heads_are_bounded_in_size_number_and_time() {
    let server = start(|config| {
        config.limits.header_bytes = 8192;
        config.limits.header_fields = 20;
        config.limits.header_time = Duration::from_millis(150);
        config.limits.idle_time = Duration::from_millis(1500);
    })
    .await;
    let addr = server.addr;
    let get = |more: &str| format!("GET /healthz HTTP/1.1\r\nHost: {addr}\r\n{more}\r\n");
    assert_eq!(server.raw(&get(&format!("X: {}\r\n", "x".repeat(9000)))).await.status, 431);
    assert_eq!(server.raw(&get(&"X: y\r\n".repeat(30))).await.status, 431);
    // A head that does not end, and one that never begins.
    for begun in ["GET /healthz HTTP/1.1\r\nHost", ""] {
        let from = tokio::time::Instant::now();
        assert_eq!(until_closed(addr, begun).await, "");
        assert!(from.elapsed() < Duration::from_millis(1400), "the time for a head is the shorter one");
    }
    // A connection that has served a request may rest for longer, and then for no longer.
    let from = tokio::time::Instant::now();
    assert!(until_closed(addr, &get("")).await.starts_with("HTTP/1.1 200 "));
    assert!(from.elapsed() >= Duration::from_millis(1400), "closed after {:?}", from.elapsed());
}

#[tokio::test]
async fn a_connection_serves_many_requests_between_short_rests() {
    let server = start(|config| {
        config.limits.header_time = Duration::from_millis(300);
        config.limits.idle_time = Duration::from_secs(60);
    })
    .await;
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    let get = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.addr);
    for _ in 0..3 {
        stream.write_all(get.as_bytes()).await.unwrap();
        let mut answer = [0; 4096];
        let read = timeout(Duration::from_secs(5), stream.read(&mut answer)).await.unwrap().unwrap();
        assert!(answer[..read].starts_with(b"HTTP/1.1 200 "));
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
}

#[tokio::test]
async fn a_long_call_is_no_rest() {
    let server = start(|config| {
        config.limits.header_time = Duration::from_millis(200);
        config.limits.idle_time = Duration::from_millis(200);
    })
    .await;
    let (world, client) = (&server.world, server.modern());
    let wait = async {
        world.reaches(&world.begun, 1).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        world.go.notify_one();
    };
    let (answer, ()) = tokio::join!(client.call("1", "files__slow", "{}"), wait);
    assert!(answer.unwrap().result().is_some());
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_let_go() {
    let server = start(|config| config.limits.write_stall = Duration::from_millis(100)).await;
    let big = format!(r#"["{}"]"#, "x".repeat(32 << 20));
    *server.world.page.lock().unwrap() = gateway_domain::RawJson::parse(big).unwrap();
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{}}}}}"#, envelope(MODERN));
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    stream.write_all(post(server.addr, headers, &body).as_bytes()).await.unwrap();
    let connections = || async {
        let get = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.addr);
        server.raw(&get).await.body
    };
    let gone = async {
        while !connections().await.contains("gateway_connections 1\n") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(10), gone).await.expect("the stalled connection is still there");
}

#[tokio::test]
async fn a_large_answer_is_in_flight_until_it_has_been_read() {
    const LARGE: usize = 16 << 20;
    let server = start(|config| config.limits.body_bytes = 2 * LARGE).await;
    let large = format!(r#"["{}"]"#, "x".repeat(LARGE));
    *server.world.page.lock().unwrap() = gateway_domain::RawJson::parse(large).unwrap();
    let welcome = until_closed(server.addr, &post(server.addr, "", HELLO)).await;
    let session =
        welcome.lines().find(|line| line.starts_with("mcp-session-id")).unwrap().to_owned() + "\r\n";
    let modern = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: ");
    let list =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{}}}}}"#, envelope(MODERN));
    let blob = format!(r#""name":"files__echo","arguments":{{"x":"{}"}}"#, "x".repeat(LARGE));
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{},{blob}}}}}"#,
        envelope(MODERN)
    );
    let events = post(server.addr, &format!("{modern}tools/list\r\n"), &list)
        .replace("Accept: application/json, ", "Accept: ");
    let in_flight = || async { server.get("/metrics").await.body.contains("gateway_requests_in_flight 1\n") };
    for text in [
        post(server.addr, &format!("{modern}tools/list\r\n"), &list),
        events,
        post(server.addr, &format!("{modern}tools/call\r\nMcp-Name: files__echo\r\n"), &call),
        post(server.addr, &session, r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#),
    ] {
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut begun = [0; 256];
        let read = timeout(Duration::from_secs(5), stream.read(&mut begun)).await.unwrap().unwrap();
        assert!(begun[..read].starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&begun[..read]));
        tokio::time::sleep(QUIET).await;
        assert!(in_flight().await, "while nobody reads {}", &text[..300.min(text.len())]);
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert!(read + rest.len() > LARGE);
        assert!(!in_flight().await, "after the end");
    }
}

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#;

/// All that is sent is written before anything is read, as simple clients do.
#[tokio::test]
async fn who_is_refused_while_still_sending_hears_it() {
    let server = start(|config| config.clients = keys()).await;
    let addr = server.addr;
    let large = "x".repeat(6 << 20);
    let known = post(addr, "Authorization: Bearer k\r\n", &large).replace("Connection: close\r\n", "");
    let unknown = post(addr, "", &large).replace("Connection: close\r\n", "");
    for (text, status) in [
        (&known, 413),
        (&unknown, 401),
        (&known.replace("/mcp", "/nowhere"), 404),
        (&known.replace("application/json\r\nAccept", "text/plain\r\nAccept"), 415),
        (&known.replace("Host: 127", "Host: 128"), 403),
        (&known.replace("Host: ", &format!("X: {}\r\nHost: ", "x".repeat(33_000))), 431),
    ] {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(text.as_bytes()).await.expect("the whole request can be written");
        let mut answer = String::new();
        let closed = timeout(Duration::from_secs(5), stream.read_to_string(&mut answer)).await;
        closed.expect("the connection was not closed").expect("the answer is not taken back");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.to_ascii_lowercase().contains("\r\nconnection: close\r\n"), "{answer}");
    }
    // Nobody is listened to for ever.
    let from = tokio::time::Instant::now();
    let announced = post(addr, "", "").replace("Content-Length: 0", "Content-Length: 9");
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(announced.as_bytes()).await.unwrap();
    let gone = async {
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(5), gone).await.expect("the connection is still open");
    assert!(from.elapsed() >= Duration::from_millis(900), "{:?}", from.elapsed());
}

#[tokio::test]
async fn a_head_is_counted_to_the_byte() {
    let server = start(|config| config.limits.header_bytes = 10_000).await;
    let head = |size: usize| {
        let empty = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nx: ", server.addr);
        format!("{empty}{}\r\n\r\n", "x".repeat(size - empty.len() - 4))
    };
    for (size, status) in [(10_000, 200), (10_001, 431), (15_000, 431)] {
        assert_eq!(server.raw(&head(size)).await.status, status, "for {size}");
    }
}

#[tokio::test]
async fn requests_in_flight_are_bounded_by_caller_and_in_all() {
    for (per_caller, all, status) in [(2, 100, 429), (100, 2, 503)] {
        let server = start(|config| {
            config.clients = keys();
            config.limits.in_flight_per_caller = per_caller;
            config.limits.in_flight = all;
        })
        .await;
        let (world, legacy) = (server.world.clone(), server.legacy("2025-11-25").await);
        let modern = server.modern();
        let refused = async {
            world.reaches(&world.begun, 2).await;
            for client in [&modern, &legacy] {
                let answer = client.call("\"r\"", "files__echo", "{}").await.unwrap();
                assert_eq!((answer.status, answer.headers["retry-after"].to_str().unwrap()), (status, "1"));
                assert_eq!((answer.id().as_deref(), answer.error_code()), (Some("\"r\""), Some(-32603)));
            }
            // What frees a place is never refused for want of one.
            let cancel = r#"{"requestId":"l"}"#;
            assert_eq!(legacy.notify("notifications/cancelled", cancel).await.unwrap().status, 202);
            world.reaches(&world.dropped, 1).await;
            world.go.notify_one();
        };
        let (one, two, ()) = tokio::join!(
            modern.call("1", "files__slow", "{}"),
            legacy.call("\"l\"", "files__hang", "{}"),
            refused
        );
        assert!(one.unwrap().result().is_some() && two.unwrap().error().is_some());
        assert_eq!(modern.call("2", "files__echo", "{}").await.unwrap().status, 200);
        assert_eq!(world.begun.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn without_keys_nobody_is_limited_by_what_others_do_but_all_are_together() {
    let server = start(|config| {
        let limits = &mut config.limits;
        (limits.in_flight_per_caller, limits.sessions_per_caller, limits.listens_per_caller) = (1, 1, 1);
        (limits.in_flight, limits.sessions, limits.listens) = (3, 3, 2);
    })
    .await;
    let (world, one) = (server.world.clone(), server.legacy("2025-11-25").await);
    let (two, modern) = (server.legacy("2025-11-25").await, server.modern());
    let streams = [one.listen().await.unwrap(), two.listen().await.unwrap()];
    assert_eq!(streams.each_ref().map(|stream| stream.status), [200, 200]);
    let filter = r#"{"notifications":{}}"#;
    assert_eq!(modern.open("1", "subscriptions/listen", filter).await.unwrap().status, 503);
    let full = async {
        world.reaches(&world.begun, 3).await;
        assert_eq!(modern.call("4", "files__echo", "{}").await.unwrap().status, 503);
        // Each of the three takes one.
        for finished in 1..=3 {
            world.go.notify_one();
            world.reaches(&world.finished, finished).await;
        }
    };
    let (a, b, c, ()) = tokio::join!(
        modern.call("1", "files__slow", "{}"),
        one.call("2", "files__slow", "{}"),
        two.call("3", "files__slow", "{}"),
        full
    );
    assert_eq!([a, b, c].map(|answer| answer.unwrap().status), [200, 200, 200]);
}

#[tokio::test]
async fn a_length_that_is_only_announced_keeps_nobody_out() {
    let server = start(|config| config.limits.buffered_bytes = 64 << 10).await;
    let head = post(server.addr, "Expect: 100-continue\r\n", "")
        .replace("Content-Length: 0", &format!("Content-Length: {}", 64 << 10));
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 64];
        let read = timeout(Duration::from_secs(5), stream.read(&mut answer)).await.unwrap().unwrap();
        assert!(answer[..read].starts_with(b"HTTP/1.1 100 "), "the body is awaited");
        waiting.push(stream);
    }
    assert_eq!(server.post("", "x").await.status, 400);
    // What has come counts, until its connection ends.
    waiting[0].write_all(&[b'x'; 40 << 10]).await.unwrap();
    let large = "x".repeat(40 << 10);
    let refused = async { while server.post("", &large).await.status != 503 {} };
    timeout(Duration::from_secs(5), refused).await.expect("there is no room for two");
}

#[tokio::test]
async fn connections_are_bounded() {
    let server = start(|config| config.limits.connections_per_peer = 2).await;
    let held =
        [TcpStream::connect(server.addr).await.unwrap(), TcpStream::connect(server.addr).await.unwrap()];
    assert_eq!(until_closed(server.addr, "").await, "");
    drop(held);
    let get = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.addr);
    let again = async { while server.raw(&get).await.status != 200 {} };
    timeout(Duration::from_secs(5), again).await.expect("places are free again");
}

#[tokio::test]
async fn framing_that_two_readers_may_see_differently_is_not_served() {
    let server = start(|_| {}).await;
    let addr = server.addr;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let kept = format!("Host: {addr}\r\nContent-Type: application/json\r\n");
    let head = format!("{kept}Connection: close\r\n");
    let length = ping.len();
    let chunked = format!("{length:x}\r\n{ping}\r\n0\r\n\r\n");
    for (text, expected) in [
        // Two lengths.
        (
            format!(
                "POST /mcp HTTP/1.1\r\n{head}Content-Length: {length}\r\nContent-Length: 3\r\n\r\n{ping}"
            ),
            400,
        ),
        (format!("POST /mcp HTTP/1.1\r\n{head}Content-Length: +{length}\r\n\r\n{ping}"), 400),
        (format!("POST /mcp HTTP/1.1\r\n{head}Content-Length: {length}, {length}\r\n\r\n{ping}"), 400),
        // Encodings that are no framing.
        (format!("POST /mcp HTTP/1.1\r\n{head}Transfer-Encoding: gzip\r\n\r\n{ping}"), 400),
        (format!("POST /mcp HTTP/1.1\r\n{head}Transfer-Encoding: gzip, chunked\r\n\r\n{chunked}"), 400),
        (
            format!(
                "POST /mcp HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n\
                 {chunked}"
            ),
            400,
        ),
        (format!("POST /healthz HTTP/1.1\r\n{head}Transfer-Encoding: Chunked\r\n\r\n{chunked}"), 405),
        // What is expected and not met.
        (
            format!("POST /mcp HTTP/1.1\r\n{head}Expect: 200-ok\r\nContent-Length: {length}\r\n\r\n{ping}"),
            417,
        ),
        (
            format!("POST /healthz HTTP/1.1\r\n{head}Expect: 100-Continue\r\nContent-Length: 3\r\n\r\nxxx"),
            405,
        ),
        (format!("POST /mcp HTTP/1.1\r\n{head}Transfer-Encoding: chunked, identity\r\n\r\n{ping}"), 400),
        // Bodies of HTTP/1.0.
        (format!("POST /mcp HTTP/1.0\r\n{head}Content-Length: {length}\r\n\r\n{ping}"), 505),
        (format!("POST /mcp HTTP/1.0\r\n{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400),
        // Somebody else's target, tunnels.
        (
            format!("POST http://evil.example/mcp HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n{ping}"),
            400,
        ),
        (format!("CONNECT {addr} HTTP/1.1\r\nHost: {addr}\r\n\r\n"), 404),
        (format!("PUT /mcp HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n"), 405),
    ] {
        let answer = server.raw(&text).await;
        assert_eq!(answer.status, expected, "{text}\n{answer:?}");
    }
    // A length besides chunks: only the chunks count, and nothing that follows is taken for a request.
    for order in
        ["Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3"]
    {
        let next = format!("GET /healthz HTTP/1.1\r\nHost: {addr}\r\n\r\n");
        let answer =
            until_closed(addr, &format!("POST /mcp HTTP/1.1\r\n{kept}{order}\r\n\r\n{chunked}{next}")).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    }
    // An upgrade that is asked for is not heard.
    let upgrade = format!(
        "GET /healthz HTTP/1.1\r\nHost: {addr}\r\nConnection: upgrade, close\r\nUpgrade: h2c\r\n\r\n"
    );
    assert_eq!(server.raw(&upgrade).await.status, 200);
}
