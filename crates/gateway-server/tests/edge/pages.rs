//! Pages for the people behind clients.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{Caller, Secret};
use gateway_server::{ClientKey, PageAnswer, PageRequest, Pages, Server, ServerConfig};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use tokio::time::timeout;

use crate::{
    asking::{ALL, asker, client},
    support::{Raw, Served, config, keys, raw, start, start_with, until},
    tokens::oauth,
};

/// Answers by its path, and remembers what it was asked.
#[derive(Default)]
struct Shelf {
    asked: Mutex<Vec<Asked>>,
    hanging: AtomicUsize,
}

/// Method, path, query, form, cookie, origin, caller.
type Asked = (Method, String, String, String, Option<String>, Option<String>, Option<String>);

/// As a page that hangs is given up.
struct Hanging<'a>(&'a AtomicUsize);

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Pages for Shelf {
    async fn page(&self, request: PageRequest<'_>) -> PageAnswer {
        let PageRequest { method, path, query, form, cookie, origin, caller } = request;
        let text = |text: Option<&str>| text.map(str::to_owned);
        self.asked.lock().unwrap().push((
            method.clone(),
            path.to_owned(),
            query.to_owned(),
            form.to_owned(),
            text(cookie),
            text(origin),
            caller.as_ref().map(Caller::to_string),
        ));
        let mut answer = PageAnswer {
            status: StatusCode::OK,
            headers: vec![(header::CONTENT_TYPE, HeaderValue::from_static("text/html"))],
            body: "<p>page</p>".to_owned(),
            completed: None,
        };
        let mut add = |name: HeaderName, value| answer.headers.push((name, HeaderValue::from_static(value)));
        match path {
            "/hang" => {
                self.hanging.fetch_add(1, Ordering::SeqCst);
                let _hanging = Hanging(&self.hanging);
                std::future::pending::<()>().await;
            }
            "/panic" => panic!("on purpose"),
            "/own" => {
                add(header::SET_COOKIE, "a=1");
                add(header::SET_COOKIE, "b=2");
                add(header::CACHE_CONTROL, "max-age=1");
                answer.status = StatusCode::SEE_OTHER;
            }
            "/forbidden" => answer.status = StatusCode::FORBIDDEN,
            "/done" => answer.completed = Some(query.to_owned()),
            _ => {}
        }
        answer
    }
}

async fn serve(configure: impl FnOnce(&mut ServerConfig)) -> (Served, Arc<Shelf>) {
    let shelf = Arc::new(Shelf::default());
    let pages = shelf.clone();
    let server = start_with(|config, ports| {
        configure(config);
        ports.pages = Some(pages);
    })
    .await;
    (server, shelf)
}

async fn send(server: &Served, line: &str, headers: &str, body: &str) -> Raw {
    let (addr, length) = (server.addr, body.len());
    let host = if headers.contains("Host: ") { String::new() } else { format!("Host: {addr}\r\n") };
    let length =
        if line.starts_with("POST") { format!("Content-Length: {length}\r\n") } else { String::new() };
    server.raw(&format!("{line} HTTP/1.1\r\n{host}Connection: close\r\n{length}{headers}\r\n{body}")).await
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

#[tokio::test]
async fn a_page_is_given_what_a_browser_sends_and_the_browser_what_the_page_says() {
    let (server, shelf) = serve(|config| config.clients = keys()).await;
    let text = |text: &str| Some(text.to_owned());
    for (line, headers, body, expected) in [
        ("GET /connect", "", "", (Method::GET, "", "", "", None, None, None)),
        (
            "GET /connect/files/callback?code=a%20b&state=c",
            "Cookie: x=1; y=2\r\n",
            "",
            (Method::GET, "/files/callback", "code=a%20b&state=c", "", text("x=1; y=2"), None, None),
        ),
        ("HEAD /connect/%66iles", "", "", (Method::GET, "/%66iles", "", "", None, None, None)),
        (
            "POST /connect/files",
            &format!("{FORM}Origin: http://localhost:1\r\n"),
            "key=k&ticket=t",
            (Method::POST, "/files", "", "key=k&ticket=t", None, text("http://localhost:1"), None),
        ),
        (
            "POST /connect/files",
            "Content-Type: Application/X-WWW-form-urlencoded; charset=utf-8\r\nCookie: a\r\nCookie: b\r\n",
            "",
            (Method::POST, "/files", "", "", None, None, None),
        ),
    ] {
        let answer = send(&server, line, headers, body).await;
        assert_eq!(answer.status, 200, "{line}: {answer:?}");
        let is_head = line.starts_with("HEAD");
        assert_eq!(answer.body, if is_head { "" } else { "<p>page</p>" }, "{line}");
        for header in
            ["content-type: text/html", "x-content-type-options: nosniff", "cache-control: no-store"]
        {
            assert!(answer.head.lines().any(|line| line == header), "{line}: {header} is not in {answer:?}");
        }
        assert!(!answer.head.contains("access-control"), "{line}: {answer:?}");
        let (method, path, query, form, cookie, origin, caller) = expected;
        let expected = (method, path.to_owned(), query.to_owned(), form.to_owned(), cookie, origin, caller);
        assert_eq!(shelf.asked.lock().unwrap().pop(), Some(expected), "{line}");
    }
    let own = send(&server, "GET /connect/own", "", "").await;
    assert_eq!(own.status, 303);
    let of = |name: &str| own.head.lines().filter_map(|line| line.strip_prefix(name)).collect::<Vec<_>>();
    assert_eq!(of("set-cookie: "), ["a=1", "b=2"]);
    assert_eq!(of("cache-control: "), ["max-age=1"]);
}

#[tokio::test]
async fn what_no_form_sends_reaches_no_page() {
    let (server, shelf) = serve(|_| {}).await;
    let (least, most) = ("x".repeat((16 << 10) + 1), "x".repeat(16 << 10));
    for (line, headers, body, status) in [
        ("POST /connect/a", FORM, &*most, 200),
        ("POST /connect/a", FORM, &least, 413),
        ("POST /connect/a", "", "", 415),
        ("POST /connect/a", "Content-Type: application/json\r\n", "{}", 415),
        ("POST /connect/a", "Content-Type: text/plain\r\n", "a", 415),
        ("POST /connect/a", "Content-Type: multipart/form-data; boundary=a\r\n", "a", 415),
        ("POST /connect/a", &format!("{FORM}{FORM}"), "a", 415),
        ("POST /connect/a", &format!("{FORM}Content-Encoding: gzip\r\n"), "a", 415),
        ("PUT /connect/a", "", "", 405),
        ("DELETE /connect/a", "", "", 405),
        ("OPTIONS /connect/a", "", "", 405),
        (
            "OPTIONS /connect/a",
            "Origin: http://localhost:1\r\nAccess-Control-Request-Method: POST\r\n",
            "",
            405,
        ),
        ("GET /connection", "", "", 404),
        ("GET /connect/a", "Host: evil.example\r\n", "", 403),
        ("POST /connect/a", &format!("{FORM}Origin: https://evil.example\r\n"), "a", 403),
        ("POST /connect/a", &format!("{FORM}Origin: null\r\n"), "a", 403),
    ] {
        let answer = send(&server, line, headers, body).await;
        assert_eq!(answer.status, status, "{line} {headers}: {answer:?}");
        assert!(!answer.head.contains("access-control"), "{line} {headers}: {answer:?}");
        assert_eq!(answer.head.contains("allow: get, head, post"), status == 405, "{line}: {answer:?}");
        let asked = std::mem::take(&mut *shelf.asked.lock().unwrap());
        assert_eq!(asked.len(), usize::from(status == 200), "{line} {headers}");
    }
    let nowhere = start(|_| {}).await;
    assert_eq!(nowhere.get("/connect/a").await.status, 404, "there are no pages");
}

#[tokio::test]
async fn forms_of_our_own_origin_pass_for_pages_only() {
    let (server, _) = serve(|config| {
        config.allowed_hosts = vec!["gw.example".to_owned()];
        config.public_origin = Some("https://gw.example".to_owned());
    })
    .await;
    let from = |origin: &str, kind: &str| {
        format!("Host: gw.example\r\nOrigin: {origin}\r\nContent-Type: {kind}\r\n")
    };
    let form = "application/x-www-form-urlencoded";
    for (path, origin, kind, status) in [
        ("/connect/a", "https://gw.example", form, 200),
        ("/connect/a", "https://gw.example:444", form, 403),
        ("/connect/a", "http://gw.example", form, 403),
        ("/mcp", "https://gw.example", "application/json", 403),
        ("/healthz", "https://gw.example", form, 403),
    ] {
        let answer = send(&server, &format!("POST {path}"), &from(origin, kind), "a").await;
        assert_eq!(answer.status, status, "{path} {origin}: {answer:?}");
    }
    let other = ServerConfig { public_origin: Some("gw.example".to_owned()), ..config() };
    assert!(server.settings.check(&other).is_err(), "that is no origin");
}

#[tokio::test]
async fn who_comes_with_good_proof_is_known_and_nobody_else_is_turned_away() {
    let (server, shelf) = serve(|config| {
        config.clients = keys();
        config.oauth = Some(oauth().0);
    })
    .await;
    for (target, headers, caller) in [
        ("/connect/a", "", None),
        ("/connect/a", "Authorization: Bearer k\r\n", Some("desk")),
        ("/connect/a", "Authorization: Bearer ann\r\n", Some("ann at https://as.example")),
        ("/connect/a", "Authorization: Bearer bad\r\n", None),
        ("/connect/a", "Authorization: Bearer down\r\n", None),
        ("/connect/a", "Authorization: Bearer elsewhere\r\n", None),
        ("/connect/a", "Authorization: Basic k\r\n", None),
        ("/connect/a", "Authorization: Bearer k\r\nAuthorization: Bearer k\r\n", None),
        ("/connect/a?key=k", "", None),
    ] {
        let answer = send(&server, &format!("GET {target}"), headers, "").await;
        assert_eq!(answer.status, 200, "{target} {headers}: {answer:?}");
        let asked = shelf.asked.lock().unwrap().pop().unwrap();
        assert_eq!(asked.6.as_deref(), caller, "{target} {headers}");
    }
    let (open, shelf) = serve(|_| {}).await;
    send(&open, "GET /connect/a", "Authorization: Bearer k\r\n", "").await;
    assert_eq!(shelf.asked.lock().unwrap().pop().unwrap().6, None, "nobody proves anything here");
}

#[tokio::test]
async fn a_typed_key_or_token_is_somebodys_or_nobodys() {
    let (mut oauth, _) = oauth();
    oauth.token_for_exchange = true;
    let server = start(|config| {
        config.clients = vec![ClientKey::new("desk", "k").with_key("l"), ClientKey::new("lab", "m")];
        config.oauth = Some(oauth);
    })
    .await;
    let long = "x".repeat(100 << 10);
    for (typed, expected) in [
        ("k", Some("desk")),
        ("l", Some("desk")),
        ("m", Some("lab")),
        ("ann", Some("ann at https://as.example")),
        ("K", None),
        ("", None),
        ("bad", None),
        ("down", None),
        ("elsewhere", None),
        ("a b", None),
        (&long, None),
    ] {
        let found = server.settings.identify(&Secret::from(typed)).await;
        assert_eq!(found.as_ref().map(Caller::to_string).as_deref(), expected, "{typed}");
    }
    server
        .settings
        .replace(ServerConfig { clients: vec![ClientKey::new("desk", "new")], ..config() })
        .unwrap();
    for (typed, is_known) in [("k", false), ("ann", false), ("new", true)] {
        assert_eq!(server.settings.identify(&Secret::from(typed)).await.is_some(), is_known, "{typed}");
    }
    let open = start(|_| {}).await;
    assert_eq!(open.settings.identify(&Secret::from("k")).await, None, "nobody has a key here");
}

#[tokio::test]
async fn pages_that_hang_or_break_hold_nobody_up() {
    let (server, shelf) = serve(|config| {
        config.limits.pages = 1;
        config.limits.page_time = Duration::from_millis(300);
    })
    .await;
    let hanging = async { send(&server, "GET /connect/hang", "", "").await };
    let other = async {
        until(|| shelf.hanging.load(Ordering::SeqCst) == 1).await;
        let answer = send(&server, "GET /connect/a", "", "").await;
        assert_eq!((answer.status, answer.head.contains("retry-after: 1")), (503, true), "{answer:?}");
        assert_eq!(server.post("", "{").await.status, 400, "messages are not held up");
    };
    let (given_up, ()) = tokio::join!(hanging, other);
    assert_eq!(given_up.status, 504, "{given_up:?}");
    assert_eq!(shelf.hanging.load(Ordering::SeqCst), 0);
    let broken = send(&server, "GET /connect/panic", "", "").await;
    assert_eq!(broken.status, 500, "{broken:?}");
    assert_eq!(send(&server, "GET /connect/a", "", "").await.status, 200);
    let told: Vec<_> =
        server.world.refusals.lock().unwrap().iter().map(|refused| refused.4.clone()).collect();
    assert_eq!(told, ["overloaded", "not_json", "page_timeout", "page_failed"]);
}

#[tokio::test]
async fn a_page_that_refuses_is_on_record() {
    let (server, _) = serve(|config| config.clients = keys()).await;
    for (headers, caller) in [("", None), ("Authorization: Bearer k\r\n", Some("desk".to_owned()))] {
        assert_eq!(send(&server, "GET /connect/forbidden", headers, "").await.status, 403);
        let told = std::mem::take(&mut *server.world.refusals.lock().unwrap());
        assert_eq!(told, [(caller, true, None, None, "page_refused".to_owned())]);
    }
}

#[tokio::test]
async fn whoever_was_asked_to_visit_is_told_that_the_visit_is_over() {
    let (_, ports) = asker();
    let ports = gateway_server::Ports { pages: Some(Arc::new(Shelf::default())), ..ports };
    let server = Server::bind(config(), ports).await.unwrap();
    let addr = server.local_addr();
    tokio::spawn(server.run(std::future::pending()));
    let (asked, other) = (client(addr, "2025-11-25", ALL).await, client(addr, "2025-11-25", ALL).await);
    let mut call = asked.open("5", "tools/call", r#"{"name":"url"}"#).await.unwrap();
    let question = call.next().await.unwrap().unwrap();
    let (_, id) = question.split_once(r#""elicitationId":""#).expect("an id");
    let id = &id[..id.find('"').unwrap()];
    let (mut told, mut not_told) = (asked.listen().await.unwrap(), other.listen().await.unwrap());
    let done = |id: &str| {
        let text = format!("GET /connect/done?{id} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
        async move { assert_eq!(raw(addr, &text).await.status, 200) }
    };
    done("unknown").await;
    done(id).await;
    let notice = timeout(Duration::from_secs(5), told.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(
        notice,
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{{"elicitationId":"{id}"}}}}"#
        )
    );
    done(id).await;
    let once = timeout(crate::support::QUIET, told.next()).await;
    assert!(once.is_err(), "told twice: {once:?}");
    assert!(timeout(crate::support::QUIET, not_told.next()).await.is_err(), "nobody asked that one");
}
