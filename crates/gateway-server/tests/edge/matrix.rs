//! Hosts, origins and where they count (T18), and requests that two readers may take for different ones (T15).

use std::{net::SocketAddr, time::Duration};

use gateway_server::ClientKey;
use gateway_testkit::client::raw_until;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    support::{MODERN, Served, envelope, post, start},
    tokens::oauth,
};

/// Every path that there is, and one that there is not.
const ROUTES: [&str; 10] = [
    "/mcp",
    "/mcp/files",
    "/mcp/nosuch",
    "/healthz",
    "/readyz",
    "/metrics",
    "/flush",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/nosuch",
];

/// A body is announced and never sent: who is refused is refused without it.
fn request(method: &str, target: &str, headers: &str) -> String {
    let body = if method == "POST" { "Content-Length: 1000\r\n" } else { "" };
    format!("{method} {target} HTTP/1.1\r\n{headers}{body}\r\n")
}

/// Status and head of the first answer.
async fn first(addr: SocketAddr, text: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        match timeout(Duration::from_secs(5), stream.read(&mut part)).await.expect("nothing came for 5 s") {
            Ok(read @ 1..) => answer.extend_from_slice(&part[..read]),
            Ok(0) | Err(_) => break,
        }
    }
    let head = String::from_utf8_lossy(&answer).to_ascii_lowercase();
    (head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), head)
}

async fn closed() -> Served {
    start(|config| {
        config.clients = vec![ClientKey::new("desk", "k")];
        config.oauth = Some(oauth().0);
        config.allowed_hosts = vec!["gw.example".to_owned(), "Gw.Port.Example:8443".to_owned()];
        config.allowed_origins =
            vec!["https://app.example".to_owned(), "https://dev.example:8080".to_owned()];
    })
    .await
}

#[tokio::test]
async fn hosts_count_on_every_path_before_anything_else() {
    let server = closed().await;
    let addr = server.addr;
    let port = addr.port();
    for (host, refused) in [
        (format!("Host: {addr}\r\n"), None),
        ("Host: 127.0.0.1\r\n".to_owned(), None),
        ("Host: localhost\r\n".to_owned(), None),
        (format!("Host: LOCALHOST:{port}\r\n"), None),
        ("Host: localhost:80\r\n".to_owned(), None),
        ("Host: [::1]:1\r\n".to_owned(), None),
        ("Host: GW.example\r\n".to_owned(), None),
        ("Host: gw.example:443\r\n".to_owned(), None),
        ("Host: gw.port.example:8443\r\n".to_owned(), None),
        ("Host: gw.port.example\r\n".to_owned(), Some(403)),
        ("Host: gw.port.example:8444\r\n".to_owned(), Some(403)),
        ("Host: evil.example\r\n".to_owned(), Some(403)),
        ("Host: localhost.evil\r\n".to_owned(), Some(403)),
        ("Host: localhost.\r\n".to_owned(), Some(403)),
        ("Host: 127.0.0.1.evil\r\n".to_owned(), Some(403)),
        ("Host: gw.example.evil\r\n".to_owned(), Some(403)),
        ("Host: 10.0.0.1\r\n".to_owned(), Some(403)),
        ("Host: null\r\n".to_owned(), Some(403)),
        ("Host: localhost/x?y\r\n".to_owned(), Some(400)),
        ("Host: localhost#x\r\n".to_owned(), Some(400)),
        ("Host: a@localhost\r\n".to_owned(), Some(400)),
        ("Host: localhost:x\r\n".to_owned(), Some(400)),
        ("Host: localhost, evil\r\n".to_owned(), Some(400)),
        ("Host: \r\n".to_owned(), Some(400)),
        ("Host: localhost\r\nHost: localhost\r\n".to_owned(), Some(400)),
        (String::new(), Some(400)),
    ] {
        for path in ROUTES {
            for method in ["GET", "POST", "DELETE", "OPTIONS"] {
                let (status, head) = first(addr, &request(method, path, &host)).await;
                match refused {
                    Some(expected) => assert_eq!(status, expected, "{method} {path} {host:?}"),
                    None => assert!(![0, 400, 403].contains(&status), "{method} {path} {host:?}: {head}"),
                }
                let asks = refused.is_some() && head.contains("www-authenticate");
                assert!(!asks, "nobody is asked who he is: {method} {path} {host:?}");
            }
        }
    }
    assert!(server.world.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn origins_count_on_every_path_for_every_kind_of_body() {
    let server = closed().await;
    let host = format!("Host: {}\r\n", server.addr);
    for (origin, is_allowed) in [
        ("https://app.example", true),
        ("https://app.example:443", true),
        ("HTTPS://APP.example", true),
        ("https://dev.example:8080", true),
        ("http://localhost:5173", true),
        ("http://[::1]:1", true),
        ("http://app.example", false),
        ("https://app.example:8443", false),
        ("https://app.example.evil", false),
        ("https://dev.example", false),
        ("https://evil.example", false),
        ("http://localhost.evil", false),
        ("https://app.example/", false),
        ("app.example", false),
        ("null", false),
        ("file://", false),
        ("", false),
        ("https://app.example\r\nOrigin: https://app.example", false),
        ("https://app.example, https://evil.example", false),
    ] {
        for path in ROUTES {
            for kind in ["application/json", "text/plain", "application/x-www-form-urlencoded", ""] {
                let kind = if kind.is_empty() { String::new() } else { format!("Content-Type: {kind}\r\n") };
                let text = request("POST", path, &format!("{host}Origin: {origin}\r\n{kind}"));
                let (status, head) = first(server.addr, &text).await;
                let shown = head.contains("access-control-");
                assert_eq!(
                    (status != 403, shown),
                    (is_allowed, is_allowed),
                    "{path} {origin} {kind}: {head}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_page_may_ask_first_only_from_where_it_may_call() {
    let server = closed().await;
    let host = format!("Host: {}\r\n", server.addr);
    for (origin, expected) in [
        ("https://app.example", 204),
        ("http://127.0.0.1:3000", 204),
        ("https://evil.example", 403),
        ("null", 403),
    ] {
        for path in ROUTES {
            let lines = format!("{host}Origin: {origin}\r\nAccess-Control-Request-Method: POST\r\n");
            let (status, head) = first(server.addr, &request("OPTIONS", path, &lines)).await;
            assert_eq!(status, expected, "{path} {origin}");
            assert_eq!(head.contains("access-control-allow-origin"), expected == 204, "{path} {origin}");
            assert!(!head.contains("access-control-allow-credentials"), "{head}");
        }
    }
}

#[tokio::test]
async fn a_target_with_a_host_of_its_own_must_name_the_same() {
    let server = closed().await;
    let addr = server.addr;
    for (target, host, status) in [
        (format!("http://{addr}/healthz"), addr.to_string(), 200),
        ("http://LOCALHOST/healthz".to_owned(), "localhost".to_owned(), 200),
        ("http://gw.example/healthz".to_owned(), addr.to_string(), 400),
        (format!("http://{addr}/healthz"), "gw.example".to_owned(), 400),
        ("http://evil.example/healthz".to_owned(), "evil.example".to_owned(), 403),
        ("http://evil.example/mcp".to_owned(), "evil.example".to_owned(), 403),
        (format!("http://{addr}/mcp"), addr.to_string(), 401),
    ] {
        let text = request("GET", &target, &format!("Host: {host}\r\n"));
        assert_eq!(first(addr, &text).await.0, status, "{target} {host}");
    }
}

#[tokio::test]
async fn what_is_no_plain_request_is_none() {
    let server = start(|config| config.limits.body_time = Duration::from_millis(300)).await;
    let addr = server.addr;
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{}}}}}"#, envelope(MODERN));
    let (length, hex) = (body.len(), format!("{:x}", body.len()));
    let head = |more: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {addr}\r\nContent-Type: application/json\r\n\
             MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/list\r\n{more}"
        )
    };
    let sized = |more: &str| head(&format!("{more}Content-Length: {length}\r\n\r\n{body}"));
    let chunked = "Transfer-Encoding: chunked\r\n\r\n";
    for (name, text, statuses) in [
        ("as it is", sized(""), &[200][..]),
        ("in a chunk", head(&format!("{chunked}{hex}\r\n{body}\r\n0\r\n\r\n")), &[200]),
        ("a short extension", head(&format!("{chunked}{hex};a=b\r\n{body}\r\n0\r\n\r\n")), &[200]),
        (
            "a long extension",
            head(&format!("{chunked}{hex};{}\r\n{body}\r\n0\r\n\r\n", "x".repeat(64 << 10))),
            &[400],
        ),
        ("a huge chunk", head(&format!("{chunked}FFFFFFFFFFFFFFFFF\r\n{body}\r\n0\r\n\r\n")), &[400]),
        ("a chunk over the limit", head(&format!("{chunked}FFFFFFFFFFFFFFF\r\n{body}\r\n0\r\n\r\n")), &[408]),
        ("a chunk size with a sign", head(&format!("{chunked}+{hex}\r\n{body}\r\n0\r\n\r\n")), &[400]),
        ("a signed length", head(&format!("Content-Length: +{length}\r\n\r\n{body}")), &[400]),
        ("a hexadecimal length", head(&format!("Content-Length: 0x{hex}\r\n\r\n{body}")), &[400]),
        ("a list of lengths", head(&format!("Content-Length: {length}, 5\r\n\r\n{body}")), &[400]),
        ("two lengths", sized("Content-Length: 5\r\n"), &[400]),
        ("a folded line", sized("X-A: b\r\n c\r\n"), &[400]),
        ("a bare CR", sized("X-A: b\rX-B: c\r\n"), &[400]),
        ("a NUL", sized("X-A: b\0\r\n"), &[400]),
        ("a blank before the colon", sized("X-A : b\r\n"), &[400]),
        ("a name with an underscore", sized("Mcp_Method: x\r\n"), &[200]),
        ("too many fields", sized(&"X: y\r\n".repeat(101)), &[431]),
        ("an upgrade", sized("Connection: Upgrade\r\nUpgrade: websocket\r\n"), &[200]),
        ("a long mirrored name", sized(&format!("Mcp-Name: {}\r\n", "x".repeat(8 << 10))), &[200, 400]),
        ("a tunnel", format!("CONNECT evil.example:443 HTTP/1.1\r\nHost: {addr}\r\n\r\n"), &[400, 403, 404]),
        ("the whole server", format!("OPTIONS * HTTP/1.1\r\nHost: {addr}\r\n\r\n"), &[404]),
        ("a body in HTTP/1.0", sized("").replace("HTTP/1.1", "HTTP/1.0"), &[505]),
    ] {
        // Behind it stands what would be a second request.
        let smuggled = format!("{text}GET /healthz HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
        let mut stream = TcpStream::connect(addr).await.unwrap();
        drop(stream.write_all(smuggled.as_bytes()).await);
        let mut answer = Vec::new();
        let read = async { stream.read_to_end(&mut answer).await };
        let ended = timeout(Duration::from_secs(5), read).await;
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        assert!(statuses.contains(&status), "{name}: {answer}");
        let answers = answer.matches("HTTP/1.").count();
        let has_error = status == 400 || status == 408 || status == 431 || status == 505;
        if has_error && !answer.contains(r#""kind""#) {
            assert_eq!(answers, 1, "after an error of framing nothing is read: {name}: {answer}");
        }
        assert!(ended.is_ok() && answers <= 2, "{name}: {answer}");
        assert!(!answer.contains("101 "), "{name}");
    }
    assert_eq!(server.get("/healthz").await.status, 200, "it is alive");
}

/// A message whose params have this besides the envelope.
fn list(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{params}{}}}}}"#, envelope(MODERN))
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table")]
async fn what_is_no_message_is_answered_by_rule_and_passes_nothing_on() {
    let server = start(|_| {}).await;
    let good = list("");
    let deep = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        list(&format!(r#""x":{open}{close},"#))
    };
    let many: Vec<_> = (0..10_000).map(|n| format!(r#""k{n}":1,"#)).collect();
    let number = "9".repeat(1 << 20);
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let bytes = |text: String| text.into_bytes();
    let rows: Vec<(&str, Vec<u8>, u16, i64)> = vec![
        ("nothing", Vec::new(), 400, -32700),
        ("blanks", b" \r\n\t ".to_vec(), 400, -32700),
        ("a word", b"hello".to_vec(), 400, -32700),
        ("half", bytes(good[..good.len() / 2].to_owned()), 400, -32700),
        ("two", bytes(format!("{good}{good}")), 400, -32700),
        ("a comment", bytes(format!("/* */{good}")), 400, -32700),
        ("a leading comma", bytes(with("{", "{,")), 400, -32700),
        ("single quotes", b"{'jsonrpc':'2.0'}".to_vec(), 400, -32700),
        ("NaN", bytes(list(r#""x":NaN,"#)), 400, -32700),
        ("a leading zero", bytes(list(r#""x":01,"#)), 400, -32700),
        ("a byte order mark", [b"\xef\xbb\xbf".as_slice(), good.as_bytes()].concat(), 400, -32700),
        ("UTF-16", good.encode_utf16().flat_map(u16::to_le_bytes).collect(), 400, -32700),
        ("no UTF-8", [&good.as_bytes()[..good.len() - 1], b"\xff}"].concat(), 400, -32700),
        ("a control in a string", bytes(list("\"x\":\"\u{1}\",")), 400, -32700),
        ("depth of 100,000", bytes(deep(100_000)), 400, -32700),
        ("a string", br#""x""#.to_vec(), 400, -32600),
        ("a number", b"1".to_vec(), 400, -32600),
        ("null", b"null".to_vec(), 400, -32600),
        ("nobody", b"{}".to_vec(), 400, -32600),
        ("an empty array", b"[]".to_vec(), 400, -32600),
        ("an array", bytes(format!("[{good}]")), 400, -32600),
        ("another version", bytes(with("2.0", "1.0")), 400, -32600),
        ("no version", bytes(with(r#""jsonrpc":"2.0","#, "")), 400, -32600),
        ("a version twice", bytes(with("{", r#"{"jsonrpc":"2.0","#)), 400, -32600),
        ("a method twice", bytes(with("{", r#"{"method":"tools/call","#)), 400, -32600),
        ("an escaped method twice", bytes(with("{", r#"{"m\u0065thod":"tools/call","#)), 400, -32600),
        ("an id twice", bytes(with("{", r#"{"id":2,"#)), 400, -32600),
        ("params twice", bytes(with("{", r#"{"params":{},"#)), 400, -32600),
        ("a method in capitals", bytes(with(r#""method""#, r#""Method""#)), 400, -32600),
        ("a method that is a number", bytes(with(r#""tools/list""#, "1")), 400, -32600),
        ("an id of null", bytes(with(r#""id":1"#, r#""id":null"#)), 400, -32600),
        ("an id that is an object", bytes(with(r#""id":1"#, r#""id":{}"#)), 400, -32600),
        ("an id that is true", bytes(with(r#""id":1"#, r#""id":true"#)), 400, -32600),
        ("a long id", bytes(with(r#""id":1"#, &format!(r#""id":"{}""#, "x".repeat(300)))), 400, -32600),
        (
            "params in an array",
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#.to_vec(),
            400,
            -32600,
        ),
        ("no capabilities", bytes(with("clientCapabilities", "clientCapabilitie")), 400, -32602),
        ("a cursor that is a number", bytes(list(r#""cursor":1,"#)), 200, -32602),
        ("10,000 members", bytes(list(&many.concat())), 400, -32600),
        ("a long number", bytes(list(&format!(r#""x":{number},"#))), 200, 0),
        ("a number beyond floats", bytes(list(r#""x":1e999,"#)), 200, 0),
        ("a lone surrogate", bytes(list(r#""x":"\ud800","#)), 200, 0),
        ("a NUL in a name", bytes(list(r#""\u0000":1,"#)), 200, 0),
        ("pretty", bytes(good.replace(',', ",\r\n  ")), 200, 0),
    ];
    let head = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/list\r\n");
    let mut wrong = Vec::new();
    for (name, body, status, code) in rows {
        let passed = server.world.lists.lock().unwrap().len();
        let length = format!("Content-Length: {}\r\n", body.len());
        let head = post(server.addr, &head, "").replace("Content-Length: 0\r\n", &length);
        let text = [head.as_bytes(), &body].concat();
        let answer = raw_until(server.addr, &text, Duration::from_secs(2)).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let expected = if code == 0 { r#""result":"#.to_owned() } else { format!(r#""code":{code},"#) };
        let is_so = answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(&expected);
        let went = server.world.lists.lock().unwrap().len() - passed;
        if !is_so || went != usize::from(code == 0) || answer.len() > 10 * (body.len() + 200) {
            wrong.push(format!("{name}: {went} passed, {}", &answer[..answer.len().min(600)]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(server.modern().call("1", "files__echo", "{}").await.unwrap().result().is_some());
}
