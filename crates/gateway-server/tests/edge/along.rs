//! What comes along with a call, and what is told of requests that never are calls.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use gateway_domain::{Exchange, MetricsSource, Outcome};
use gateway_server::{ClientKey, Ports, Server, ServerConfig};
use gateway_testkit::client::{HttpClient, Speaks};

use crate::{
    support::{MODERN, Served, config, object, post, raw, start, world},
    tokens::oauth,
};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-00";

/// The exchange of a call with these headers and this more in `_meta`.
async fn exchange(server: &Served, headers: &[(&str, &str)], meta: &str) -> Exchange {
    let outcome = Outcome::Complete(object(r#"{"content":[]}"#));
    server.world.script.lock().unwrap().push_back(outcome);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"files__echo","_meta":{{{meta}"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let mut lines =
        format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: files__echo\r\n");
    headers.iter().for_each(|(name, value)| lines.push_str(&format!("{name}: {value}\r\n")));
    let answer = server.post(&lines, &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    server.world.asked.lock().unwrap().pop().unwrap().exchange
}

#[tokio::test]
async fn nothing_comes_along_unless_somebody_needs_it() {
    type Change = fn(&mut ServerConfig);
    let ann = [("Authorization", "Bearer ann"), ("X-Tenant", "t"), ("x-tenant", "u"), ("X-Other", "o")];
    // Whether the token does, and the values of headers.
    type Along = Option<(bool, &'static [&'static str])>;
    let rows: [(Change, Along); 4] = [
        (|_| {}, None),
        (|config| config.passes_incoming = true, Some((false, &[]))),
        (|config| config.forward_headers = vec!["x-tenant".parse().unwrap()], Some((false, &["t", "u"]))),
        (|config| config.oauth.as_mut().unwrap().token_for_exchange = true, Some((true, &[]))),
    ];
    for (change, expected) in rows {
        let server = start(|config| {
            config.oauth = Some(oauth().0);
            change(config);
        })
        .await;
        let incoming = exchange(&server, &ann, "").await.incoming;
        let found = incoming.as_ref().map(|incoming| {
            assert_eq!(incoming.caller.to_string(), "ann at https://as.example");
            assert!(incoming.headers.iter().all(|(name, _)| **name == *"x-tenant"));
            let token = incoming.token.as_ref().map(gateway_domain::Secret::expose);
            assert!(token.is_none_or(|token| token == "ann"));
            (token.is_some(), incoming.headers.iter().map(|(_, value)| value.expose()).collect::<Vec<_>>())
        });
        assert_eq!(found, expected.map(|(token, values)| (token, values.to_vec())));
    }
}

#[tokio::test]
async fn a_key_never_comes_along() {
    let server = start(|config| {
        config.clients = vec![ClientKey::new("desk", "desk-key")];
        let mut oauth = oauth().0;
        oauth.token_for_exchange = true;
        config.oauth = Some(oauth);
    })
    .await;
    let exchange = exchange(&server, &[("Authorization", "Bearer desk-key")], "").await;
    let incoming = exchange.incoming.unwrap();
    assert_eq!((incoming.caller.client_name(), &incoming.token), (Some("desk"), &None));
}

#[tokio::test]
async fn a_trace_goes_on_from_the_message_or_else_from_the_headers() {
    let server = start(|_| {}).await;
    let parent = |text: &str| format!(r#""traceparent":"{text}","#);
    let long = "x".repeat(513);
    for (headers, meta, expected) in [
        (&[][..], String::new(), None),
        (&[("traceparent", PARENT)], String::new(), Some((PARENT, None))),
        (&[("traceparent", PARENT), ("tracestate", "a=b")], String::new(), Some((PARENT, Some("a=b")))),
        (
            &[("traceparent", PARENT), ("tracestate", "a=b"), ("tracestate", "c=d")],
            String::new(),
            Some((PARENT, Some("a=b,c=d"))),
        ),
        (&[("traceparent", PARENT), ("tracestate", &long)], String::new(), Some((PARENT, None))),
        (&[("traceparent", PARENT), ("tracestate", "a=b")], parent(OTHER), Some((OTHER, None))),
        (&[], format!(r#"{}"tracestate":"e=f","#, parent(OTHER)), Some((OTHER, Some("e=f")))),
        (&[("traceparent", PARENT)], parent("nonsense"), Some((PARENT, None))),
        (&[("traceparent", "nonsense")], String::new(), None),
        (&[("traceparent", PARENT), ("traceparent", PARENT)], String::new(), None),
        (&[("tracestate", "a=b")], String::new(), None),
    ] {
        let trace = exchange(&server, headers, &meta).await.trace;
        let found = trace.as_ref().map(|trace| (trace.to_string(), trace.state.as_deref()));
        let expected = expected.map(|(parent, state)| (parent.to_owned(), state));
        assert_eq!(found, expected, "{headers:?} {meta}");
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table")]
async fn each_refusal_before_a_call_is_told_once() {
    let server = start(|config| config.clients = vec![ClientKey::new("desk", "k")]).await;
    let modern = |method: &str, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{more}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        )
    };
    let key = "Authorization: Bearer k\r\n";
    let with = |method: &str, name: &str| {
        let name = if name.is_empty() { String::new() } else { format!("Mcp-Name: {name}\r\n") };
        format!("{key}MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n{name}")
    };
    let long = "n".repeat(300);
    let (long_call, short) = (format!(r#""name":"{long}","#), "n".repeat(256));
    for (headers, body, caller, method, name, reason) in [
        (String::new(), "{}".to_owned(), None, None, None, "unauthorized"),
        ("Authorization: Bearer x\r\n".to_owned(), "{}".to_owned(), None, None, None, "unauthorized"),
        (format!("{key}{key}"), "{}".to_owned(), None, None, None, "misplaced_credentials"),
        (format!("{key}Origin: https://evil\r\n"), "{}".to_owned(), None, None, None, "forbidden"),
        (format!("{key}Expect: x\r\n"), "{}".to_owned(), None, None, None, "expectation"),
        (key.to_owned(), "{".to_owned(), Some("desk"), None, None, "not_json"),
        (key.to_owned(), "{}".to_owned(), Some("desk"), None, None, "not_a_message"),
        (key.to_owned(), "[]".to_owned(), Some("desk"), None, None, "not_a_message"),
        (
            key.to_owned(),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__b"}}"#.to_owned(),
            Some("desk"),
            Some("tools/call"),
            Some("a__b"),
            "session_missing",
        ),
        (with("x/y", ""), modern("x/y", ""), Some("desk"), Some("x/y"), None, "unknown_method"),
        (
            with("tools/call", "other"),
            modern("tools/call", r#""name":"files__echo","#),
            Some("desk"),
            Some("tools/call"),
            Some("files__echo"),
            "header_mismatch",
        ),
        (
            with("tools/call", "files__echo"),
            modern("tools/call", r#""name":"files__echo","arguments":[],"#),
            Some("desk"),
            Some("tools/call"),
            Some("files__echo"),
            "invalid_params",
        ),
        (
            with("tools/call", &long),
            modern("tools/call", &long_call),
            Some("desk"),
            Some("tools/call"),
            Some(&short),
            "invalid_params",
        ),
        (
            with("tools/list", ""),
            modern("tools/list", r#""cursor":"made up","#),
            Some("desk"),
            Some("tools/list"),
            None,
            "invalid_cursor",
        ),
        (
            with("tasks/get", "made-up"),
            modern("tasks/get", r#""taskId":"made-up","#),
            Some("desk"),
            Some("tasks/get"),
            None,
            "missing_capability",
        ),
        (
            with("subscriptions/listen", ""),
            modern("subscriptions/listen", ""),
            Some("desk"),
            Some("subscriptions/listen"),
            None,
            "invalid_params",
        ),
    ] {
        server.post(&headers, &body).await;
        let expected = (
            caller.map(str::to_owned),
            true,
            method.map(str::to_owned),
            name.map(str::to_owned),
            reason.to_owned(),
        );
        let told = std::mem::take(&mut *server.world.refusals.lock().unwrap());
        assert_eq!(told, [expected], "{headers} {body}");
    }
    let nosuch = post(server.addr, key, "{}").replace("POST /mcp", "POST /mcp/nosuch");
    server.raw(&nosuch).await;
    let told = std::mem::take(&mut *server.world.refusals.lock().unwrap());
    assert_eq!(told[0], (Some("desk".to_owned()), true, None, None, "unknown_path".to_owned()));

    // A call, a list and a handshake that are let in are not refusals, whatever comes of them.
    let client = HttpClient::new(&server.url(), Speaks::modern()).unwrap();
    let client = client.with_header("authorization", "Bearer k");
    client.call("1", "files__echo", "{}").await.unwrap();
    client.call("2", "nosuch", "{}").await.unwrap();
    client.request("3", "tools/list", "{}").await.unwrap();
    server.legacy("2025-11-25").await;
    assert_eq!(*server.world.refusals.lock().unwrap(), []);
}

#[tokio::test]
async fn what_a_session_is_refused_is_told_too() {
    let server = start(|config| config.clients = vec![ClientKey::new("desk", "k")]).await;
    let legacy = server.legacy("2025-11-25").await;
    for (method, params, name, reason) in [
        ("logging/setLevel", r#"{"level":"loud"}"#, None, "invalid_params"),
        ("resources/subscribe", r#"{"uri":"a:missing"}"#, Some("a:missing"), "unknown_resource"),
        ("resources/unsubscribe", r#"{"uri":1}"#, None, "invalid_params"),
        ("completion/complete", r#"{"ref":{"type":"x","name":"p"}}"#, Some("p"), "invalid_params"),
        ("tasks/get", r#"{"taskId":"x"}"#, None, "unknown_method"),
    ] {
        legacy.request("1", method, params).await.unwrap();
        let told = std::mem::take(&mut *server.world.refusals.lock().unwrap());
        let expected = (
            Some("desk".to_owned()),
            true,
            Some(method.to_owned()),
            name.map(str::to_owned),
            reason.to_owned(),
        );
        assert_eq!(told, [expected], "{method}");
    }
}

#[tokio::test]
async fn too_much_is_told_with_when_to_come_again() {
    let server = start(|config| {
        config.clients = vec![ClientKey::new("desk", "k")];
        config.limits.in_flight_per_caller = 1;
    })
    .await;
    let slow = server.modern();
    let slow = tokio::spawn(async move { slow.call("1", "files__slow", "{}").await.unwrap() });
    server.world.reaches(&server.world.begun, 1).await;
    let answer = server.modern().call("2", "files__echo", "{}").await.unwrap();
    assert_eq!((answer.status, answer.headers["retry-after"].to_str().unwrap()), (429, "1"));
    assert_eq!(server.world.refusals.lock().unwrap()[0].4, "caller_overloaded");
    server.world.go.notify_one();
    slow.await.unwrap();
}

struct Figures;

impl MetricsSource for Figures {
    fn write(&self, page: &mut String) {
        page.push_str("# TYPE gateway_other gauge\ngateway_other 1\n");
    }
}

#[tokio::test]
async fn others_have_figures_on_the_page_and_a_say_in_whether_it_is_ready() {
    let is_ready = Arc::new(AtomicBool::new(false));
    let told = is_ready.clone();
    let ports = Ports {
        metrics: vec![Arc::new(Figures), Arc::new(Figures)],
        ready: vec![Arc::new(|| true), Arc::new(move || told.load(Ordering::SeqCst))],
        ..world().ports()
    };
    let server = Server::bind(config(), ports).await.unwrap();
    let addr = server.local_addr();
    let served = tokio::spawn(server.run(std::future::pending()));
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
    let page = raw(addr, &get("/metrics")).await.body;
    assert!(page.ends_with("gateway_other 1\n# EOF\n"), "{page}");
    assert_eq!(page.matches("# EOF").count(), 1);
    assert_eq!(page.matches("gateway_other 1").count(), 2);
    assert!(page.contains("gateway_connections 1\n"), "{page}");
    assert_eq!(raw(addr, &get("/readyz")).await.status, 503);
    is_ready.store(true, Ordering::SeqCst);
    assert_eq!(raw(addr, &get("/readyz")).await.status, 200);
    served.abort();
}
