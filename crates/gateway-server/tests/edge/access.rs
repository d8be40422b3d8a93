use std::net::SocketAddr;

use gateway_domain::{Caller, SessionKey};
use gateway_server::{BindError, Bound, ClientKey, Server, ServerConfig};
use gateway_testkit::client::{HttpClient, Speaks};

use crate::support::{MODERN, config, post, raw, start, world};

const PATHS: [&str; 5] = ["/mcp", "/mcp/files", "/healthz", "/readyz", "/metrics"];

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n")
}

#[tokio::test]
async fn strange_hosts_and_origins_reach_no_path_at_all() {
    let server = start(|config| config.allowed_origins = vec!["https://app.example".to_owned()]).await;
    let addr = server.addr;
    for path in PATHS.into_iter().chain(["/nosuch"]) {
        for (headers, refused) in [
            ("Host: evil.example\r\n".to_owned(), Some(403)),
            (format!("Host: {addr}\r\nOrigin: https://evil.example\r\n"), Some(403)),
            (format!("Host: {addr}\r\nOrigin: null\r\n"), Some(403)),
            (format!("Host: {addr}\r\nHost: {addr}\r\n"), Some(400)),
            (format!("Host: {addr}/x\r\n"), Some(400)),
            (String::new(), Some(400)),
            (format!("Host: {addr}\r\n"), None),
            ("Host: localhost\r\n".to_owned(), None),
            (format!("Host: {addr}\r\nOrigin: https://app.example\r\n"), None),
            (format!("Host: {addr}\r\nOrigin: http://localhost:5173\r\n"), None),
        ] {
            let status = server.raw(&get(path, &headers)).await.status;
            match refused {
                Some(expected) => assert_eq!(status, expected, "{path} with {headers:?}"),
                None => assert!(![400, 403, 0].contains(&status), "{path} with {headers:?}: {status}"),
            }
        }
    }
}

#[tokio::test]
async fn origins_come_before_keys() {
    let server = start(|config| config.clients = vec![ClientKey::new("desk", "k")]).await;
    let headers = format!("Host: {}\r\nOrigin: https://evil.example\r\n", server.addr);
    assert_eq!(server.raw(&get("/mcp", &headers)).await.status, 403);
}

#[tokio::test]
async fn pages_of_allowed_origins_may_ask_first_and_see_their_session() {
    let server = start(|config| config.allowed_origins = vec!["https://app.example".to_owned()]).await;
    let addr = server.addr;
    let ask = |origin: &str| {
        format!(
            "OPTIONS /mcp HTTP/1.1\r\nHost: {addr}\r\nOrigin: {origin}\r\nConnection: close\r\n\
             Access-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: content-type,mcp-param-region\r\n\r\n"
        )
    };
    let answer = server.raw(&ask("https://app.example")).await;
    assert_eq!(answer.status, 204);
    for line in [
        "access-control-allow-origin: https://app.example",
        "access-control-allow-headers: content-type,mcp-param-region",
        "access-control-allow-methods: get, post, delete",
        "vary: origin",
    ] {
        assert!(answer.head.lines().any(|found| found == line), "{line} is not in {answer:?}");
    }
    let answer = server.raw(&ask("https://evil.example")).await;
    assert_eq!((answer.status, answer.head.contains("access-control")), (403, false));
    let client = HttpClient::new(&server.url(), Speaks::legacy()).unwrap();
    let client = client.with_header("origin", "https://app.example");
    let answer = client.shake_hands().await.unwrap();
    let exposed = answer.headers["access-control-expose-headers"].to_str().unwrap();
    assert!(exposed.contains("Mcp-Session-Id"));
    let plain = server.modern().request("1", "tools/list", "{}").await.unwrap();
    assert_eq!(plain.headers.get("access-control-allow-origin"), None);
}

#[tokio::test]
async fn without_a_known_key_nothing_is_told() {
    let server =
        start(|config| config.clients = vec![ClientKey::new("desk", "k-1"), ClientKey::new("lab", "k-2")])
            .await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    for (headers, status) in [
        ("", 401),
        ("Authorization: Bearer k-3\r\n", 401),
        ("Authorization: Basic k-1\r\n", 401),
        ("Authorization: Bearer k-1\r\nAuthorization: Bearer k-1\r\n", 400),
        ("Authorization: bearer k-1\r\n", 200),
        ("Authorization: Bearer k-2\r\n", 200),
    ] {
        let answer = server.post(headers, call).await;
        assert_eq!(answer.status, status, "with {headers:?}");
        if status == 401 {
            assert!(answer.head.contains("www-authenticate: bearer"));
            assert!(answer.body.contains(r#""error":{"code":-32000,"#), "{answer:?}");
        }
    }
    for (path, status) in [
        ("/mcp?key=k-1&access_token=k-1", 400),
        ("/metrics?access_token=k-1", 400),
        ("/mcp/files", 401),
        // Whether a downstream exists is told to nobody either.
        ("/mcp/nosuch", 401),
        ("/metrics", 401),
        ("/healthz", 200),
        ("/readyz", 200),
    ] {
        let answer = server.raw(&get(path, &format!("Host: {}\r\n", server.addr))).await;
        assert_eq!(answer.status, status, "{path}");
    }
    let client = HttpClient::new(&server.url(), Speaks::modern()).unwrap();
    let client = client.with_header("authorization", "Bearer k-2");
    let list = client.request("1", "tools/list", "{}").await.unwrap();
    assert_eq!(list.result_member("cacheScope").as_deref(), Some("\"private\""));
    client.call("2", "files__echo", "{}").await.unwrap();
    let (caller, key) = server.world.calls.lock().unwrap()[0].clone();
    assert_eq!(caller, Caller::client("lab"));
    assert!(matches!(key, SessionKey::Modern { caller, .. } if caller == Caller::client("lab")));
}

#[tokio::test]
async fn where_nobody_is_asked_who_he_is_nothing_that_says_so_is_looked_at() {
    let server = start(|_| {}).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    for headers in
        ["Authorization: Bearer k-1\r\nAuthorization: Bearer k-2\r\n", "Authorization: Basic eDp5\r\n"]
    {
        assert_eq!(server.post(headers, call).await.status, 200, "with {headers:?}");
    }
}

#[tokio::test]
async fn a_path_of_which_a_client_may_use_nothing_leads_nowhere() {
    let server =
        start(|config| config.clients = vec![ClientKey::new("desk", "k-1"), ClientKey::new("lab", "k-2")])
            .await;
    let ask = |key: &str, path: &str| {
        let host = format!("Host: {}\r\nAuthorization: Bearer {key}\r\n", server.addr);
        let text = get(path, &host);
        async { server.raw(&{ text }).await }
    };
    assert_eq!(ask("k-1", "/mcp/files").await.status, 405);
    let (hidden, missing) = (ask("k-2", "/mcp/files").await, ask("k-2", "/mcp/nosuch").await);
    assert_eq!((hidden.status, missing.status), (404, 404));
    assert_eq!((hidden.head, hidden.body), (missing.head, missing.body));
    assert_eq!(ask("k-2", "/mcp").await.status, 405);
}

#[tokio::test]
async fn a_session_is_not_there_for_another_client() {
    let server =
        start(|config| config.clients = vec![ClientKey::new("desk", "k-1"), ClientKey::new("lab", "k-2")])
            .await;
    let client = |key: &str| {
        let client = HttpClient::new(&server.url(), Speaks::legacy()).unwrap();
        client.with_header("authorization", &format!("Bearer {key}"))
    };
    let (desk, lab) = (client("k-1"), client("k-2"));
    desk.shake_hands().await.unwrap();
    lab.use_session(desk.session().as_deref());
    for answer in [lab.call("1", "files__echo", "{}").await, lab.delete().await] {
        let answer = answer.unwrap();
        assert_eq!(answer.status, 404);
        assert!(answer.text.contains("-32001"));
    }
    assert_eq!(lab.listen().await.unwrap().status, 404);
    assert_eq!(desk.call("1", "files__echo", "{}").await.unwrap().status, 200);
    let elsewhere = HttpClient::new(&format!("{}/files", server.url()), Speaks::legacy()).unwrap();
    let elsewhere = elsewhere.with_header("authorization", "Bearer k-1");
    elsewhere.use_session(desk.session().as_deref());
    assert_eq!(elsewhere.call("1", "files__echo", "{}").await.unwrap().status, 404);
}

#[tokio::test]
async fn other_machines_need_keys_or_a_word_from_the_operator() {
    let open: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let bind = |clients: bool, allowed: bool| {
        let mut config = config();
        config.listen = open;
        config.allow_unauthenticated = allowed;
        config.clients = if clients { vec![ClientKey::new("desk", "k")] } else { Vec::new() };
        Server::bind(config, world().ports())
    };
    let refused = bind(false, false).await.unwrap_err();
    assert!(matches!(refused, BindError::Unauthenticated { addr } if addr == open), "{refused}");
    assert!(bind(true, false).await.is_ok() && bind(false, true).await.is_ok());
}

#[tokio::test]
async fn addresses_can_be_had_before_there_is_anything_to_serve() {
    let bound = Bound::bind(config()).await.unwrap();
    let addr = bound.local_addr();
    let mut taken = config();
    taken.listen = addr;
    assert!(taken.check().is_ok(), "only the operating system knows");
    assert!(
        matches!(Bound::bind(taken).await.unwrap_err(), BindError::Listen { addr: of, .. } if of == addr)
    );
    let server = Server::new(bound, world().ports());
    assert_eq!(server.local_addr(), addr);
    let served = tokio::spawn(server.run(std::future::pending()));
    assert_eq!(raw(addr, &get("/healthz", &format!("Host: {addr}\r\n"))).await.status, 200);
    served.abort();
}

#[tokio::test]
async fn what_cannot_be_set_up_is_found_out_without_an_address() {
    type Row = (fn(&mut ServerConfig), fn(&BindError) -> bool);
    let rows: [Row; 4] = [
        (
            |config| config.listen.set_ip([0, 0, 0, 0].into()),
            |e| matches!(e, BindError::Unauthenticated { .. }),
        ),
        (|config| config.allowed_hosts.push("a/b".to_owned()), |e| matches!(e, BindError::Host { .. })),
        (|config| config.allowed_origins.push("*".to_owned()), |e| matches!(e, BindError::Origin { .. })),
        (|config| config.limits.header_bytes = 8191, |e| matches!(e, BindError::HeaderBytes { given: 8191 })),
    ];
    assert!(config().check().is_ok());
    for (spoil, expected) in rows {
        let mut config = config();
        spoil(&mut config);
        let error = config.check().unwrap_err();
        assert!(expected(&error), "{error}");
        assert_eq!(Bound::bind(config).await.unwrap_err().to_string(), error.to_string());
    }
}

#[tokio::test]
async fn what_operators_ask_for_can_move_to_an_address_of_its_own() {
    let server = start(|config| {
        config.admin_listen = Some("127.0.0.1:0".parse().unwrap());
        config.clients = vec![ClientKey::new("desk", "k")];
    })
    .await;
    let admin = server.admin.unwrap();
    for (addr, path, status) in [
        (admin, "/metrics", 200),
        (admin, "/healthz", 200),
        (admin, "/readyz", 200),
        (admin, "/mcp", 404),
        (server.addr, "/metrics", 404),
        (server.addr, "/healthz", 404),
        (server.addr, "/mcp", 401),
    ] {
        let answer = raw(addr, &get(path, &format!("Host: {addr}\r\n"))).await;
        assert_eq!(answer.status, status, "{path} at {addr}");
    }
    assert_eq!(raw(admin, &get("/metrics", "Host: evil.example\r\n")).await.status, 403);
    use gateway_domain::DownstreamState::{Broken, Degraded};
    for (state, ready, up) in [(Degraded, 200, 1), (Broken, 503, 0)] {
        *server.world.state.lock().unwrap() = state;
        assert_eq!(raw(admin, &get("/readyz", &format!("Host: {admin}\r\n"))).await.status, ready, "{state}");
        let metrics = raw(admin, &get("/metrics", &format!("Host: {admin}\r\n"))).await.body;
        for line in [
            format!(r#"gateway_downstream_up{{downstream="files"}} {up}"#),
            format!(r#"gateway_downstream_state{{downstream="files",state="{state}"}} 1"#),
        ] {
            assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
        }
    }
}

#[tokio::test]
async fn what_a_revision_does_not_have_is_said_to_be_missing_there() {
    let server = start(|_| {}).await;
    let modern = format!("MCP-Protocol-Version: {MODERN}\r\n");
    let ping = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for (headers, body, text) in [
        (modern.as_str(), ping, "2026-07-28 has no arrays of messages"),
        (&modern, response, "2026-07-28 has no responses from clients"),
        ("MCP-Protocol-Version: 2001-01-01\r\n", response, "does not name a revision that is spoken here"),
    ] {
        let answer = server.post(headers, body).await;
        assert!(answer.status == 400 && answer.body.contains(text), "{answer:?}");
    }
    for method in ["GET", "DELETE"] {
        let answer = |more: &str| {
            let text = post(server.addr, more, "").replace("POST /mcp", &format!("{method} /mcp"));
            let server = &server;
            async move { server.raw(&text).await }
        };
        let unnamed = answer("").await;
        assert_eq!((unnamed.status, unnamed.head.contains("allow: get, post, delete")), (405, true));
        assert!(unnamed.body.contains("Mcp-Session-Id is missing"), "{unnamed:?}");
        let modern = answer(&modern).await;
        assert!(modern.status == 405 && !modern.body.contains("Mcp-Session-Id"), "{modern:?}");
    }
}
