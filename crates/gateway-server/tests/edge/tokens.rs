//! Access tokens (protocol.md §18.2, security.md §5.1), with a verifier that does what a test wants.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use gateway_domain::{
    Asker, Caller, Grants, InputRequired, Outcome, SessionKey, State, TaskHandle, TokenError, TokenVerifier,
    View,
};
use gateway_server::{ClientKey, OauthConfig, ScopeRule, ServerConfig};
use gateway_testkit::client::{HttpClient, Speaks};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{MODERN, Raw, Served, config, desk, envelope, files, object, start};

pub(crate) const ISSUER: &str = "https://as.example";
const ROOT: &str = "/.well-known/oauth-protected-resource";

/// How long a token with the scope `brief` is good from when it is looked at.
const BRIEF: Duration = Duration::from_millis(500);

/// `SUBJECT.SCOPE.SCOPE…` names a user; `down` cannot be checked, and everything else is bad.
#[derive(Default)]
pub(crate) struct Verifier {
    asked: AtomicUsize,
    views: Mutex<Vec<View>>,
}

#[async_trait]
impl TokenVerifier for Verifier {
    async fn verify(&self, token: &str, view: &View) -> Result<Caller, TokenError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.views.lock().unwrap().push(view.clone());
        let mut parts = token.split('.');
        match parts.next() {
            Some("down") => Err(TokenError::Unavailable { reason: "no keys".to_owned() }),
            Some("elsewhere") => Ok(Caller::user("https://other.example", "x", Grants::default())),
            Some(subject @ ("ann" | "bob")) => {
                let scopes: Vec<Box<str>> = parts.map(Box::from).collect();
                let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                let until = scopes.iter().any(|scope| **scope == *"brief").then(|| now() + BRIEF);
                let caller = Caller::user(ISSUER, subject, Grants { scopes, ..Grants::default() });
                Ok(caller.proved_until(until))
            }
            _ => Err(TokenError::Invalid { reason: "token_signature" }),
        }
    }
}

pub(crate) fn oauth() -> (OauthConfig, Arc<Verifier>) {
    let verifier = Arc::new(Verifier::default());
    let mut oauth = OauthConfig::new(verifier.clone(), "https://gw.example/mcp", ISSUER);
    oauth.scopes_supported = vec!["mcp".to_owned()];
    (oauth, verifier)
}

async fn protected(change: impl FnOnce(&mut ServerConfig, &mut OauthConfig)) -> (Served, Arc<Verifier>) {
    let (mut oauth, verifier) = oauth();
    let server = start(|config| {
        change(config, &mut oauth);
        config.oauth = Some(oauth);
    })
    .await;
    (server, verifier)
}

fn client(server: &Served, speaks: Speaks, token: &str) -> HttpClient {
    HttpClient::new(&server.url(), speaks).unwrap().with_header("authorization", &format!("Bearer {token}"))
}

fn call(method: &str, params: &str) -> (String, String) {
    let name = params.split('"').nth(3).unwrap_or_default();
    let name = if params.starts_with(r#""name""#) || params.starts_with(r#""uri""#) {
        format!("Mcp-Name: {name}\r\n")
    } else {
        String::new()
    };
    let headers = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n{name}");
    let comma = if params.is_empty() { "" } else { "," };
    let envelope = envelope(MODERN);
    (
        headers,
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}{envelope}}}}}"#),
    )
}

async fn ask(server: &Served, headers: &str, method: &str, params: &str) -> Raw {
    let (own, body) = call(method, params);
    server.post(&format!("{own}{headers}"), &body).await
}

fn challenge(answer: &Raw) -> Option<String> {
    answer.head.lines().find_map(|line| line.strip_prefix("www-authenticate: ")).map(str::to_owned)
}

const META: &str = r#"resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp""#;

#[tokio::test]
async fn only_good_tokens_and_keys_in_their_place_name_anybody() {
    let (server, verifier) = protected(|config, _| {
        config.clients = vec![ClientKey::new("desk", "desk-key")];
        config.key_header = Some("x-api-key".parse().unwrap());
    })
    .await;
    let missing = format!("bearer {META}, scope=\"mcp\"");
    let invalid = format!("bearer error=\"invalid_token\", {META}, scope=\"mcp\"");
    let huge = format!("Authorization: Bearer {}\r\n", "x".repeat(9000));
    let mut bodies = Vec::new();
    for (headers, status, expected, asked) in [
        ("Authorization: Bearer ann\r\n", 200, None, 1),
        ("Authorization: Bearer desk-key\r\n", 200, None, 0),
        ("x-api-key: desk-key\r\n", 200, None, 0),
        ("", 401, Some(&missing), 0),
        ("Authorization: Basic ann\r\n", 401, Some(&missing), 0),
        ("Authorization: Bearer\r\n", 401, Some(&missing), 0),
        ("x-api-key: ann\r\n", 401, Some(&missing), 0),
        ("Cookie: access_token=ann\r\n", 401, Some(&missing), 0),
        ("Authorization: Bearer bad\r\n", 401, Some(&invalid), 1),
        ("Authorization: Bearer elsewhere\r\n", 401, Some(&invalid), 1),
        ("Authorization: Bearer a,b\r\n", 401, Some(&invalid), 0),
        (&huge, 401, Some(&invalid), 0),
        ("Authorization: Bearer ann\r\nAuthorization: Bearer ann\r\n", 400, None, 0),
        ("Authorization: Bearer ann\r\nx-api-key: desk-key\r\n", 400, None, 0),
        ("Authorization: Bearer down\r\n", 503, None, 1),
    ] {
        let before = verifier.asked.load(Ordering::SeqCst);
        let answer = ask(&server, headers, "tools/list", "").await;
        assert_eq!(answer.status, status, "{headers}: {answer:?}");
        assert_eq!(challenge(&answer).as_ref(), expected, "{headers}");
        assert_eq!(verifier.asked.load(Ordering::SeqCst) - before, asked, "{headers}");
        assert_eq!(answer.head.contains("retry-after: 1"), status == 503, "{headers}");
        if status == 401 {
            bodies.push(answer.body);
        }
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "all are told the same: {bodies:?}");
    let refusals = server.world.refusals.lock().unwrap();
    let reasons: Vec<_> = refusals.iter().map(|refused| refused.4.as_str()).collect();
    let [unauthorized, malformed] = [["unauthorized"; 5], ["token_malformed"; 5]];
    let expected = [
        &unauthorized[..],
        &["token_signature", "token_issuer"],
        &malformed[..2],
        &["misplaced_credentials", "misplaced_credentials", "tokens_unchecked"],
    ];
    assert_eq!(reasons, expected.concat(), "the record alone says more");
    assert!(server.world.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_comes_in_a_url_or_under_our_own_name_proves_nothing() {
    let (server, verifier) = protected(|_, _| {}).await;
    let get = |target: &str, headers: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", server.addr)
    };
    for target in ["/mcp?access_token=ann", "/mcp?key=ann", "/mcp/files?API_KEY=ann", "/mcp?a=b&%6Bey=ann"] {
        for headers in ["", "Authorization: Bearer ann\r\n"] {
            let answer = server.raw(&get(target, headers)).await;
            assert_eq!(answer.status, 400, "{target}");
            assert!(!answer.body.contains("ann") && !answer.head.contains("ann"), "{answer:?}");
        }
    }
    for name in ["x-gatewayd-caller", "x-gatewayd-user", "x-forwarded-user", "x-api-key", "x-remote-user"] {
        let answer = server.raw(&get("/mcp", &format!("{name}: ann\r\n"))).await;
        assert_eq!(answer.status, 401, "{name}");
    }
    // More than a head may hold.
    let long = "x".repeat(100 << 10);
    assert_eq!(server.raw(&get("/mcp", &format!("Authorization: Bearer {long}\r\n"))).await.status, 431);
    assert_eq!(verifier.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn who_may_not_is_told_before_the_body_has_come() {
    let (server, _) = protected(|_, _| {}).await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
        server.addr
    );
    assert_eq!(server.raw(&head).await.status, 401);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table")]
async fn a_token_without_a_scope_is_told_of_all_that_are_needed() {
    let rule = |views: &[View], methods: &[&str], names: &[&str], scopes: &[&str]| {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        ScopeRule {
            views: views.to_vec(),
            methods: texts(methods),
            names: texts(names),
            scopes: texts(scopes),
        }
    };
    let (server, _) = protected(|config, oauth| {
        config.clients = vec![ClientKey::new("desk", "desk-key")];
        oauth.scopes = vec![
            rule(&[], &[], &[], &["mcp"]),
            rule(&[], &["tools/call"], &[], &["call"]),
            rule(&[], &[], &["files__e*", "file:///secret*"], &["special"]),
            rule(&[View::Downstream(files())], &[], &[], &["files"]),
            rule(&[], &["initialize"], &[], &["begin"]),
        ];
    })
    .await;
    server.world.offer_all();
    let echo = r#""name":"files__echo""#;
    let own = r#""name":"echo""#;
    let listen = r#""notifications":{"resourceSubscriptions":["a:b","file:///secret/x"]}"#;
    for (path, token, method, params, status, needed) in [
        ("/mcp", "ann", "tools/list", "", 403, "mcp"),
        ("/mcp", "ann.mcp", "tools/list", "", 200, ""),
        ("/mcp", "ann.call", "tools/call", echo, 403, "mcp"),
        ("/mcp", "ann.mcp", "tools/call", echo, 403, "mcp call special"),
        ("/mcp", "ann.mcp.call", "tools/call", echo, 403, "mcp call special"),
        ("/mcp", "ann.special.mcp.call", "tools/call", echo, 200, ""),
        ("/mcp", "ann.mcp.call", "tools/call", r#""name":"files__yield""#, 200, ""),
        ("/mcp", "ann.mcp.call", "tools/list", "", 200, ""),
        ("/mcp", "ann.mcp", "resources/read", r#""uri":"file:///secret/x""#, 403, "mcp special"),
        ("/mcp", "ann.mcp", "resources/read", r#""uri":"file:///public""#, 200, ""),
        ("/mcp", "ann.mcp", "subscriptions/listen", listen, 403, "mcp special"),
        ("/mcp/files", "ann.mcp", "tools/list", "", 403, "mcp files"),
        ("/mcp/files", "ann.mcp.files", "tools/list", "", 200, ""),
        ("/mcp/files", "ann.mcp.files.call", "tools/call", own, 403, "mcp call special files"),
        ("/mcp", "desk-key", "tools/call", echo, 200, ""),
    ] {
        let (own, body) = call(method, params);
        let text =
            crate::support::post(server.addr, &format!("{own}Authorization: Bearer {token}\r\n"), &body);
        let answer = server.raw(&text.replace("POST /mcp ", &format!("POST {path} "))).await;
        assert_eq!(answer.status, status, "{path} {token} {method} {params}: {answer:?}");
        let expected = (status == 403).then(|| {
            format!(
                "bearer error=\"insufficient_scope\", {META}, scope=\"{needed}\", \
                 error_description=\"the token lacks a scope that this request needs\""
            )
        });
        assert_eq!(challenge(&answer), expected, "{path} {token} {method} {params}");
    }
    let before = server.world.calls.lock().unwrap().len();
    let legacy = client(&server, Speaks::legacy(), "ann.mcp");
    assert!(legacy.shake_hands().await.is_err(), "a handshake needs a scope of its own");
    let legacy = client(&server, Speaks::legacy(), "ann.mcp.begin");
    legacy.shake_hands().await.unwrap();
    let answer = legacy.call("1", "files__echo", "{}").await.unwrap();
    assert_eq!((answer.status, answer.text.contains("insufficient_scope")), (403, true), "{}", answer.text);
    assert_eq!(server.world.calls.lock().unwrap().len(), before);
}

#[tokio::test]
async fn anybody_may_read_where_tokens_come_from() {
    let (server, _) = protected(|config, oauth| {
        config.allowed_origins = vec!["https://app.example".to_owned()];
        let own = "https://files.example/x/mcp".to_owned();
        oauth.resources = vec![(View::Downstream(files()), own)];
    })
    .await;
    let host = format!("Host: {}\r\n", server.addr);
    let origin = format!("{host}Origin: https://app.example\r\n");
    let foreign = format!("{host}Origin: https://evil.example\r\n");
    let common = r#""resource":"https://gw.example/mcp","authorization_servers":["https://as.example"]"#;
    let own = r#""resource":"https://files.example/x/mcp""#;
    for (method, path, headers, status, body) in [
        ("GET", "", &host, 200, common),
        ("GET", "/mcp", &host, 200, common),
        ("GET", "/mcp/nosuch", &host, 200, common),
        ("GET", "/mcp/files", &host, 200, own),
        ("GET", "/x/mcp", &host, 200, own),
        ("GET", "/mcp", &origin, 200, common),
        ("HEAD", "/mcp", &host, 200, ""),
        ("POST", "/mcp", &host, 405, "method_not_allowed"),
        ("GET", "/metrics", &host, 404, ""),
        ("GET", "/y/mcp", &host, 404, ""),
        ("GET", "", &foreign, 403, ""),
        ("GET", "", &"Host: gw.evil\r\n".to_owned(), 403, ""),
    ] {
        let text = format!("{method} {ROOT}{path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        let answer = server.raw(&text).await;
        assert_eq!(answer.status, status, "{method} {path} {headers}: {answer:?}");
        assert!(answer.body.contains(body), "{method} {path}: {answer:?}");
        if status == 200 {
            for line in ["content-type: application/json", "cache-control: public, max-age=3600"] {
                assert!(answer.head.lines().any(|found| found == line), "{answer:?}");
            }
        }
        let allowed = answer.head.contains("access-control-allow-origin: https://app.example");
        assert_eq!(allowed, *headers == origin, "{answer:?}");
    }
    let plain = start(|_| {}).await;
    assert_eq!(plain.get(ROOT).await.status, 404, "where no tokens are taken there is nothing to say");
}

#[tokio::test]
async fn a_session_belongs_to_who_opened_it_whatever_token_that_was() {
    let (server, verifier) = protected(|config, _| {
        config.clients = vec![ClientKey::new("ann", "ann-key")];
    })
    .await;
    let ann = client(&server, Speaks::legacy(), "ann.a");
    ann.shake_hands().await.unwrap();
    let id = ann.session();
    let refreshed = client(&server, Speaks::legacy(), "ann.b");
    refreshed.use_session(id.as_deref());
    assert_eq!(refreshed.call("1", "files__echo", "{}").await.unwrap().status, 200);
    let unknown = client(&server, Speaks::legacy(), "bob");
    unknown.use_session(Some("nosuch"));
    let expected = unknown.call("1", "files__echo", "{}").await.unwrap();
    for token in ["bob", "ann-key"] {
        let thief = client(&server, Speaks::legacy(), token);
        thief.use_session(id.as_deref());
        let answer = thief.call("1", "files__echo", "{}").await.unwrap();
        assert_eq!((answer.status, &answer.text), (404, &expected.text), "{token}");
        assert_eq!(thief.listen().await.unwrap().status, 404, "{token}");
        assert_eq!(thief.delete().await.unwrap().status, 404, "{token}");
    }
    for token in ["bad", ""] {
        let nobody = client(&server, Speaks::legacy(), token);
        nobody.use_session(id.as_deref());
        assert_eq!(nobody.call("1", "files__echo", "{}").await.unwrap().status, 401, "{token}");
    }
    assert_eq!(ann.call("2", "files__echo", "{}").await.unwrap().status, 200, "the owner goes on");
    let calls = server.world.calls.lock().unwrap();
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|(caller, _)| caller.issuer_and_subject() == Some((ISSUER, "ann"))));
    assert!(
        calls[0].0.has_scope("b") && !calls[0].0.has_scope("a"),
        "each call has its own request's scopes"
    );
    assert!(calls[1].0.has_scope("a"));
    assert!(verifier.views.lock().unwrap().iter().all(|view| *view == View::All));
}

#[tokio::test]
async fn a_guessed_session_is_never_found() {
    let (server, _) = protected(|_, _| {}).await;
    let ann = client(&server, Speaks::legacy(), "ann");
    ann.shake_hands().await.unwrap();
    let id = ann.session().unwrap();
    let guesser = client(&server, Speaks::legacy(), "ann");
    let mut near: Vec<String> = (0..500).map(|n| format!("{}{n:04}", &id[..id.len() - 4])).collect();
    near.extend([id.to_uppercase(), id[1..].to_owned(), format!("{id}A"), String::new(), format!(" {id}x")]);
    for guess in near.iter().filter(|guess| **guess != id) {
        guesser.use_session(Some(guess));
        let status = guesser.call("1", "files__echo", "{}").await.unwrap().status;
        assert_eq!(status, 404, "{guess}");
    }
    assert_eq!(ann.call("1", "files__echo", "{}").await.unwrap().status, 200);
}

/// The ids as near to this one as can be: each character replaced by each other one.
fn near(id: &str) -> impl Iterator<Item = String> + '_ {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let at = move |at: usize, other| format!("{}{other}{}", &id[..at], &id[at + 1..]);
    let guesses = (0..id.len()).flat_map(move |place| alphabet.chars().map(move |other| at(place, other)));
    guesses.filter(move |guess| guess != id)
}

/// What a connection of its own is answered, but for the date, and where that stands.
async fn answer(server: &Served, request: &str) -> (Vec<u8>, usize) {
    let mut kept = TcpStream::connect(server.addr).await.unwrap();
    kept.write_all(request.as_bytes()).await.unwrap();
    let mut found = Vec::new();
    while !found.ends_with(b"}") {
        let read = timeout(Duration::from_secs(10), kept.read_buf(&mut found)).await;
        assert_ne!(read.expect("nothing came for 10 s").unwrap(), 0);
    }
    let date = String::from_utf8_lossy(&found).find("\r\ndate: ").unwrap() + 2;
    (found, date)
}

#[tokio::test]
async fn twenty_thousand_guesses_over_http_are_all_answered_alike() {
    const AT_ONCE: usize = 250;
    const DATE: usize = "date: Tue, 01 Dec 2026 00:00:00 GMT".len();
    let (server, _) = protected(|config, _| config.clients = vec![ClientKey::new("desk", "k")]).await;
    let mut owners = Vec::new();
    for _ in 0..15 {
        let ann = client(&server, Speaks::legacy(), "ann");
        ann.shake_hands().await.unwrap();
        owners.push(ann);
    }
    let ids: Vec<_> = owners.iter().map(|owner| owner.session().unwrap()).collect();
    assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), ids.len(), "none comes twice");
    assert!(ids.iter().all(|id| id.len() >= 22), "64 letters, 128 bits: {ids:?}");
    let ask = |(method, token, guess): (&str, &str, &str)| {
        let addr = server.addr;
        format!(
            "{method} /mcp HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n\
             Accept: text/event-stream\r\nMcp-Session-Id: {guess}\r\n\r\n"
        )
    };
    let guesses: Vec<_> = ids.iter().flat_map(|id| near(id)).collect();
    let guesses = guesses.iter().zip(["GET", "DELETE"].iter().cycle()).map(|(id, how)| (*how, "ann", &**id));
    // An id that is another's is no better than a guess.
    let foreign = ids.iter().flat_map(|id| ["GET", "DELETE"].map(|how| (how, "k", &**id)));
    let requests: Vec<_> = guesses.chain(foreign).map(ask).collect();
    assert!(requests.len() > 20_000, "{}", requests.len());
    let (expected, date) = answer(&server, &ask(("GET", "ann", "nosuch"))).await;
    assert!(expected.starts_with(b"HTTP/1.1 404 "), "{}", String::from_utf8_lossy(&expected));
    let mut kept = TcpStream::connect(server.addr).await.unwrap();
    for some in requests.chunks(AT_ONCE) {
        kept.write_all(some.concat().as_bytes()).await.unwrap();
        let mut answers = vec![0; some.len() * expected.len()];
        let read = timeout(Duration::from_secs(60), kept.read_exact(&mut answers)).await;
        read.expect("other answers, or none").unwrap();
        for (answer, request) in answers.chunks(expected.len()).zip(some) {
            let [found, expected] =
                [answer, &expected].map(|answer| (&answer[..date], &answer[date + DATE..]));
            assert!(found == expected, "{request}: {}", String::from_utf8_lossy(answer));
        }
    }
    for owner in &owners {
        assert_eq!(owner.call("1", "files__echo", "{}").await.unwrap().status, 200, "it notices nothing");
    }
}

#[tokio::test]
async fn users_of_an_issuer_that_is_taken_out_have_nothing_left() {
    let (server, _) = protected(|_, _| {}).await;
    let ann = client(&server, Speaks::legacy(), "ann");
    ann.shake_hands().await.unwrap();
    let mut told = ann.listen().await.unwrap();
    let with = |issuer: &str| {
        let (mut oauth, _) = oauth();
        oauth.authorization_servers = vec![issuer.to_owned()];
        ServerConfig { oauth: Some(oauth), ..config() }
    };
    server.settings.replace(with(ISSUER)).unwrap();
    assert_eq!(ann.call("1", "files__echo", "{}").await.unwrap().status, 200, "nothing has changed for it");
    server.settings.replace(with("https://new.example")).unwrap();
    assert_eq!(told.next().await.unwrap(), None, "its stream ends");
    assert_eq!(ann.call("2", "files__echo", "{}").await.unwrap().status, 401);
    let held = |key: &SessionKey| matches!(key, SessionKey::Modern { caller, .. } if caller.issuer_and_subject().is_some());
    crate::support::until(|| server.world.ended.lock().unwrap().iter().any(held)).await;
    server.settings.replace(with(ISSUER)).unwrap();
    assert_eq!(ann.call("3", "files__echo", "{}").await.unwrap().status, 404, "the session is gone");
}

#[tokio::test]
async fn an_anonymous_session_is_nobodys_once_there_are_tokens() {
    let server = start(|_| {}).await;
    let anonymous = HttpClient::new(&server.url(), Speaks::legacy()).unwrap();
    anonymous.shake_hands().await.unwrap();
    server.settings.replace(ServerConfig { oauth: Some(oauth().0), ..config() }).unwrap();
    let ann = client(&server, Speaks::legacy(), "ann");
    ann.use_session(anonymous.session().as_deref());
    assert_eq!(ann.call("1", "files__echo", "{}").await.unwrap().status, 404);
    assert_eq!(anonymous.call("1", "files__echo", "{}").await.unwrap().status, 401);
}

#[tokio::test]
async fn no_more_users_are_remembered_than_may_be() {
    let (server, _) = protected(|config, _| config.limits.users = 1).await;
    let ann = client(&server, Speaks::legacy(), "ann");
    ann.shake_hands().await.unwrap();
    let bob = client(&server, Speaks::modern(), "bob");
    let answer = bob.request("1", "tools/list", "{}").await.unwrap();
    assert_eq!(answer.status, 503, "ann has a session");
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(ann.delete().await.unwrap().status, 204);
    assert_eq!(bob.request("2", "tools/list", "{}").await.unwrap().status, 200);
}

#[tokio::test]
async fn what_is_sealed_for_one_is_not_there_for_another_or_on_another_path() {
    let (server, _) = protected(|config, _| config.clients = vec![ClientKey::new("ann", "k")]).await;
    let list = |token: &str, path: &str, cursor: Option<&str>| {
        let params = cursor.map_or_else(|| "{}".to_owned(), |cursor| format!(r#"{{"cursor":{cursor}}}"#));
        let url = server.url().replace("/mcp", path);
        let client = HttpClient::new(&url, Speaks::modern()).unwrap();
        let client = client.with_header("authorization", &format!("Bearer {token}"));
        async move { client.request("1", "tools/list", &params).await.unwrap() }
    };
    let cursor = list("ann", "/mcp", None).await.result_member("nextCursor").unwrap();
    let asked = server.world.lists.lock().unwrap().len();
    for (token, path) in [("bob", "/mcp"), ("k", "/mcp"), ("ann", "/mcp/files")] {
        let answer = list(token, path, Some(&cursor)).await;
        assert!(answer.text.contains("invalid_cursor"), "{token} {path}: {}", answer.text);
    }
    assert_eq!(server.world.lists.lock().unwrap().len(), asked, "nobody behind the door was asked");
    assert!(list("ann.other", "/mcp", Some(&cursor)).await.result().is_some());
    let refusals = server.world.refusals.lock().unwrap();
    assert_eq!(refusals.iter().filter(|refused| refused.4 == "invalid_cursor").count(), 3);
}

#[tokio::test]
async fn what_those_behind_the_door_refuse_is_told_in_headers_too() {
    let (server, _) = protected(|_, _| {}).await;
    let legacy = client(&server, Speaks::legacy(), "ann");
    legacy.shake_hands().await.unwrap();
    let modern = client(&server, Speaks::modern(), "ann");
    let scoped = format!(
        "Bearer error=\"insufficient_scope\", {META}, scope=\"a b\", \
         error_description=\"the token lacks a scope that this request needs\""
    );
    for client in [legacy, modern] {
        for (tool, status, header, value) in [
            ("files__limited", 429, "retry-after", "2"),
            ("files__unrecorded", 503, "retry-after", "1"),
            ("files__scoped", 403, "www-authenticate", &scoped),
        ] {
            let answer = client.call("1", tool, "{}").await.unwrap();
            let found = answer.headers.get(header).and_then(|value| value.to_str().ok());
            assert_eq!((answer.status, found), (status, Some(value)), "{tool}: {}", answer.text);
        }
    }
    assert_eq!(*server.world.refusals.lock().unwrap(), [], "those are calls and on record elsewhere");
}

#[tokio::test]
async fn figures_are_for_clients_that_may_read_them() {
    let (server, _) = protected(|config, _| {
        config.clients = vec![ClientKey::new("desk", "k").with_metrics(), ClientKey::new("lab", "l")]
    })
    .await;
    for (token, status) in [("k", 200), ("l", 404), ("ann", 401), ("bad", 401)] {
        let text = format!(
            "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n",
            server.addr
        );
        assert_eq!(server.raw(&text).await.status, status, "{token}");
    }
    let told: Vec<_> = server.world.refusals.lock().unwrap().iter().map(|told| told.0.clone()).collect();
    assert_eq!(told, [Some("lab".to_owned()), None, None]);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_stream_ends_with_the_token_it_was_opened_with() {
    let (server, _) = protected(|_, _| {}).await;
    let lasting = client(&server, Speaks::legacy(), "ann");
    lasting.shake_hands().await.unwrap();
    // A call that its client can go on to hear of.
    let call = r#"{"name":"files__progress_then_hang","_meta":{"progressToken":7}}"#;
    drop(lasting.open("5", "tools/call", call).await.unwrap());
    server.world.reaches(&server.world.begun, 1).await;
    let session = |token: &str| {
        let client = client(&server, Speaks::legacy(), token);
        client.use_session(lasting.session().as_deref());
        client
    };
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    for (token, ends) in [("ann.brief", true), ("ann", false)] {
        let (modern, own, late) = (
            client(&server, Speaks::modern(), token),
            session(token),
            session(token).with_header("last-event-id", "1-0"),
        );
        let opened = tokio::time::Instant::now();
        let mut listening = modern.open("1", "subscriptions/listen", filter).await.unwrap();
        assert!(listening.next().await.unwrap().unwrap().contains("acknowledged"));
        let mut told = own.listen().await.unwrap();
        let mut resumed = late.listen().await.unwrap();
        assert!(resumed.next().await.unwrap().unwrap().contains("progress"), "{token}");
        let all = async {
            let last = listening.next().await.unwrap().unwrap();
            assert!(last.contains(r#""id":1,"result":{"resultType":"complete""#), "{last}");
            for stream in [&mut listening, &mut told, &mut resumed] {
                assert_eq!(stream.next().await.unwrap(), None);
            }
        };
        let found = timeout(3 * BRIEF, all).await;
        assert_eq!(found.is_ok(), ends, "{token}");
        assert!(opened.elapsed() >= BRIEF, "not before");
    }
    assert_eq!(server.world.dropped.load(Ordering::SeqCst), 0, "the call itself goes on");
}

#[tokio::test]
async fn states_and_tasks_of_one_user_are_nothing_to_another() {
    const ABLE: &str = r#"{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let (server, _) = protected(|config, _| config.clients = vec![ClientKey::new("ann", "ann-key")]).await;
    let at = |token: &str, path: &str, method: &str, members: &str| {
        let url = server.url().replace("/mcp", path);
        let client = HttpClient::new(&url, Speaks::Modern(ABLE.to_owned())).unwrap();
        let client = client.with_header("authorization", &format!("Bearer {token}"));
        let (method, params) = (method.to_owned(), format!("{{{members}}}"));
        async move { client.request("1", &method, &params).await.unwrap() }
    };
    let script = |outcome| server.world.script.lock().unwrap().push_back(outcome);
    let form = r#"{"f":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{}}}}"#;
    script(Outcome::InputRequired(InputRequired {
        asker: Some(Asker::Downstream(files())),
        requests: Some(object(form)),
        state: State::None,
    }));
    let call = r#""name":"files__x""#;
    let state = at("ann", "/mcp", "tools/call", call).await.result_member("requestState").unwrap();
    let task = object(r#"{"resultType":"task","taskId":"inner","status":"working"}"#);
    script(Outcome::Task(TaskHandle { downstream: Some(files()), tool: None, object: task }));
    let task = at("ann", "/mcp", "tools/call", call).await.result_member("taskId").unwrap();
    server.world.asked.lock().unwrap().clear();
    let answered = |state: &str| {
        format!(r#"{call},"inputResponses":{{"f":{{"action":"decline"}}}},"requestState":{state}"#)
    };
    let named = |task: &str| format!(r#""taskId":{task}"#);
    let tasks = ["tasks/get", "tasks/update", "tasks/cancel"];
    let mut requests = vec![("tools/call", answered(&state), answered("\"nosuch\""))];
    requests.extend(tasks.map(|method| (method, named(&task), named("\"nosuch\""))));
    for (method, foreign, unknown) in &requests {
        for token in ["bob", "ann-key"] {
            let expected = at(token, "/mcp", method, unknown).await;
            let answer = at(token, "/mcp", method, foreign).await;
            assert_eq!(expected.error_code(), Some(-32602), "{method} {token}: {}", expected.text);
            assert_eq!((answer.status, &answer.text), (expected.status, &expected.text), "{method} {token}");
        }
        let nobody = at("bad", "/mcp", method, foreign).await;
        assert_eq!(nobody.status, 401, "{method}");
    }
    let elsewhere = at("ann", "/mcp/files", "tools/call", &answered(&state)).await;
    assert_eq!(elsewhere.error_code(), Some(-32602), "it belongs to the path too: {}", elsewhere.text);
    assert!(server.world.asked.lock().unwrap().is_empty(), "nobody behind the door heard of it");
    // Another token of the same user will do.
    for (method, own, _) in &requests {
        script(Outcome::Complete(object(r#"{"content":[],"taskId":"inner","status":"working"}"#)));
        let answer = at("ann.other", "/mcp", method, own).await;
        assert!(answer.result().is_some(), "{method}: {}", answer.text);
        assert_eq!(server.world.asked.lock().unwrap().drain(..).count(), 1, "{method}");
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table")]
async fn a_profile_has_its_own_resource_and_its_renamed_tools_need_the_scopes_of_their_names_on_mcp() {
    let own = "https://gw.example/mcp/desk";
    let (server, verifier) = protected(|_, oauth| {
        oauth.resources = vec![(desk(), own.to_owned())];
        let rule = |names: &[&str], scope: &str| ScopeRule {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            scopes: vec![scope.to_owned()],
            ..ScopeRule::default()
        };
        oauth.scopes = vec![rule(&["files__echo"], "echo"), rule(&["file:///secret"], "secret")];
    })
    .await;
    server.world.offer_all();
    let document = server.get(&format!("{ROOT}/mcp/desk")).await;
    assert!(document.body.contains(&format!(r#""resource":"{own}","#)), "{document:?}");
    let meta = r#"resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp/desk""#;
    let ask = |path: &str, token: &str, method: &str, params: &str| {
        let (own, body) = call(method, params);
        let headers = format!("{own}Authorization: Bearer {token}\r\n");
        let text = crate::support::post(server.addr, &headers, &body);
        let (text, addr) = (text.replace("POST /mcp ", &format!("POST {path} ")), server.addr);
        async move { crate::support::raw(addr, &text).await }
    };
    let missing = ask("/mcp/desk", "bad", "tools/list", "").await;
    assert!(challenge(&missing).unwrap().contains(meta), "{missing:?}");
    let renamed = r#""name":"renamed""#;
    let marked = r#""uri":"file:///files__secret""#;
    for (path, token, method, params, needed) in [
        ("/mcp/desk", "ann", "tools/call", renamed, Some("echo")),
        ("/mcp/desk", "ann.echo", "tools/call", renamed, None),
        ("/mcp", "ann", "tools/call", renamed, None),
        ("/mcp/desk", "ann", "resources/read", marked, Some("secret")),
        ("/mcp", "ann", "resources/read", marked, Some("secret")),
        ("/mcp", "ann.secret", "resources/read", marked, None),
        (
            "/mcp",
            "ann",
            "subscriptions/listen",
            r#""notifications":{"resourceSubscriptions":["file:///files__secret"]}"#,
            Some("secret"),
        ),
        (
            "/mcp",
            "ann",
            "completion/complete",
            r#""ref":{"type":"ref/resource","uri":"file:///files__secret"},"argument":{"name":"a","value":""}"#,
            Some("secret"),
        ),
    ] {
        verifier.views.lock().unwrap().clear();
        let answer = ask(path, token, method, params).await;
        let view = if path == "/mcp" { View::All } else { desk() };
        assert_eq!(*verifier.views.lock().unwrap(), [view], "the token is looked at for the profile");
        assert_eq!(
            answer.status,
            if needed.is_some() { 403 } else { 200 },
            "{path} {token} {params}: {answer:?}"
        );
        if let Some(scope) = needed {
            let told = challenge(&answer).unwrap();
            assert!(told.contains(&format!("scope=\"{scope}\"")), "{told}");
        }
    }
}

#[tokio::test]
async fn what_downstreams_say_of_themselves_is_for_who_may_use_them() {
    let server = start(|config| {
        config.clients = vec![ClientKey::new("desk", "k"), ClientKey::new("lab", "l")];
    })
    .await;
    server.world.offer.lock().unwrap().instructions = Some("of files".to_owned());
    for (key, is_told) in [("k", true), ("l", false)] {
        let legacy = client(&server, Speaks::legacy(), key).shake_hands().await.unwrap();
        let modern =
            client(&server, Speaks::modern(), key).request("1", "server/discover", "{}").await.unwrap();
        for answer in [legacy, modern] {
            assert_eq!(answer.text.contains("of files"), is_told, "{key}: {}", answer.text);
        }
    }
}
