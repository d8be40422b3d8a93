//! Tokens that a person has to allow: the operator's once, or each user's own.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Output, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use gateway_testkit::{
    Profile,
    client::{
        HttpClient, Speaks,
        peer::{Manner, Peer, Said},
    },
    http::HttpFake,
};

use crate::{
    issuer::Issuer,
    process::{Folder, PATIENCE, Serving},
    web::{self, Web},
};

/// Shows a page to nobody: its URL is in a file then.
pub(crate) const BROWSER: &str = r#"[login]
command = ["sh", "-c", "printf %s \"$0\" > opened.new && mv opened.new opened"]
"#;

/// A server for those who have one of these tokens, which says where they are got.
fn guarded(issuer: &str, tokens: &[&str]) -> HttpFake {
    let fake = HttpFake::start(Profile::default());
    let (url, place) = (fake.url(), "/.well-known/oauth-protected-resource/mcp");
    let document = format!(r#"{{"resource":"{url}","authorization_servers":["{issuer}"]}}"#);
    let challenge = format!("Bearer resource_metadata=\"http://{}{place}\"", fake.addr());
    let tokens = tokens.iter().map(|token| (*token).to_owned()).collect();
    fake.set(|faults| {
        faults.tokens = Some(tokens);
        faults.challenge = challenge;
        faults.documents = vec![(place.to_owned(), document)];
    });
    fake
}

fn config(fake: &HttpFake, auth: &str) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n{BROWSER}[downstreams.d]\nurl = \"{}\"\n[downstreams.d.auth]\ntype = \"oauth\"\n\
         store = \"tokens\"\n{auth}\n",
        fake.url()
    )
}

/// `gatewayd login d`, with somebody at the browser who allows it.
fn log_in(folder: &Folder) -> Output {
    log_in_with(folder, &[])
}

/// The same with these variables.
pub(crate) fn log_in_with(folder: &Folder, variables: &[(&str, &str)]) -> Output {
    let mut command = folder.command(&["login", "d"]);
    command.envs(variables.iter().copied());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let opened = folder.path().join("opened");
    let ended = std::thread::spawn(move || child.wait_with_output().unwrap());
    let end = Instant::now() + PATIENCE;
    while !opened.exists() && !ended.is_finished() {
        assert!(Instant::now() < end, "no page is shown");
        std::thread::sleep(Duration::from_millis(10));
    }
    if let Ok(url) = std::fs::read_to_string(&opened) {
        let asked = web::visit(&url);
        let back = web::field(&asked, "location").unwrap_or_else(|| panic!("{url} of {pid}: {asked}"));
        web::visit(&back);
    }
    ended.join().unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_logs_in_once_and_the_gateway_uses_the_token_from_then_on() {
    let issuer = Issuer::open();
    let fake = guarded(&issuer.url(), &["person-1", "renewed-2"]);
    let folder = Folder::with(&config(&fake, "loopback_issuers = true"));
    {
        let serving = Serving::start(&folder);
        let refused = serving.call("none", "d__echo", "{}").await;
        assert!(refused.result().is_none() || refused.text.contains("isError"), "{}", refused.text);
        serving.logged("gatewayd login d", 1).await;
    }
    let done = tokio::task::block_in_place(|| log_in(&folder));
    assert!(done.status.success(), "{}", text(&done));
    let said = format!("logged in to d at {}; it is renewed by itself", issuer.url());
    assert!(text(&done).contains(&said), "{}", text(&done));
    let serving = Serving::start(&folder);
    let answer = serving.call("none", "d__echo", "{}").await;
    assert!(answer.result().is_some(), "{} {}", answer.text, serving.log());
    assert_eq!(fake.requests_of("tools/call").pop().unwrap().headers["authorization"], "Bearer person-1");
    // It ends before its time: the gateway renews it by itself.
    fake.set(|faults| {
        faults.tokens = Some(vec!["renewed-2".to_owned()]);
        faults.challenge = "Bearer error=\"invalid_token\"".to_owned();
    });
    let answer = serving.call("none", "d__echo", "{}").await;
    assert!(answer.result().is_some(), "{} {}", answer.text, serving.log());
    let kept = files(&folder.path().join("tokens"));
    assert!(!kept.is_empty());
    for file in kept {
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
        let content = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        for secret in ["person-1", "renewed-2", "canary-refresh"] {
            assert!(!content.contains(secret), "{file:?}");
        }
    }
    for secret in ["person-1", "canary-refresh", "granted"] {
        assert!(!text(&done).contains(secret) && !serving.log().contains(secret), "{}", text(&done));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_lead_to_no_private_address() {
    let trap = Web::open(|_| web::Reply::json("{}"));
    let port = trap.address.port();
    for issuer in [
        format!("http://127.0.0.1:{port}"),
        format!("https://127.0.0.1:{port}"),
        format!("https://localhost:{port}"),
        format!("https://[::1]:{port}"),
        format!("https://[::ffff:127.0.0.1]:{port}"),
        format!("https://2130706433:{port}"),
        format!("https://0.0.0.0:{port}"),
    ] {
        let fake = guarded(&issuer, &[]);
        let done = tokio::task::block_in_place(|| log_in(&Folder::with(&config(&fake, ""))));
        assert!(!done.status.success(), "{issuer}: {}", text(&done));
        assert!(fake.request_count() >= 2, "{issuer}: it has read the document: {:?}", fake.requests());
        assert_eq!(trap.accepted(), 0, "{issuer}: {}", text(&done));
    }
    // Where the metadata itself is said to be, on another port of this machine.
    let fake = guarded("https://login.example", &[]);
    fake.set(|faults| faults.challenge = format!("Bearer resource_metadata=\"https://127.0.0.1:{port}/x\""));
    let done = tokio::task::block_in_place(|| log_in(&Folder::with(&config(&fake, ""))));
    assert!(!done.status.success(), "{}", text(&done));
    // An issuer that the operator has named leads elsewhere.
    let issuer = Issuer::open();
    let own = format!("{}/token", issuer.url());
    issuer.replace(&own, &format!("https://127.0.0.1:{port}/token"));
    let fake = guarded(&issuer.url(), &[]);
    let auth = format!("issuer = \"{}\"", issuer.url());
    let done = tokio::task::block_in_place(|| log_in(&Folder::with(&config(&fake, &auth))));
    assert!(!done.status.success(), "{}", text(&done));
    assert_eq!(trap.accepted(), 0, "{}", text(&done));
}

const ANN: &str = "key-of-ann-0123456789";
const BOB: &str = "key-of-bob-0123456789";

/// A port that nobody has now, for an address that pages have to name.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The page that a modern client is sent to.
async fn sent_to(client: &HttpClient) -> String {
    let answer = client.call("7", "d__echo", "{}").await.unwrap();
    let url = answer.text.split(r#""url":""#).nth(1).and_then(|rest| rest.split('"').next());
    url.unwrap_or_else(|| panic!("it is sent nowhere: {} {}", answer.status, answer.text)).to_owned()
}

/// What somebody does at a page: types a key, and is sent to the issuer or told why not.
fn begin(url: &str, key: &str) -> (String, String) {
    let form = web::visit(url);
    assert_eq!(web::status(&form), 200, "{form}");
    let cookie = web::field(&form, "set-cookie").unwrap();
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    let value = |name: &str| {
        let rest = form.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let body = format!("ticket={}&csrf={}&key={key}", value("ticket"), value("csrf"));
    let fields = format!("{cookie}Content-Type: application/x-www-form-urlencoded\r\n");
    (web::send("POST", url.split('?').next().unwrap(), &fields, &body), cookie)
}

/// The same, and allows it at the issuer, which takes so long, and comes back.
fn connect(url: &str, key: &str, after: Duration) -> String {
    let (begun, cookie) = begin(url, key);
    let there = web::field(&begun, "location").unwrap_or_else(|| panic!("{begun}"));
    std::thread::sleep(after);
    let back = web::field(&web::visit(&there), "location").unwrap();
    web::send("GET", &back, &cookie, "")
}

/// A downstream of which each user has a token of its own, and two users.
fn per_user(fake: &HttpFake, more: &str) -> Folder {
    let text = config(fake, "mode = \"per_user\"\nloopback_issuers = true");
    let text = text.replace("127.0.0.1:0", &format!("127.0.0.1:{}", free_port())).replace(BROWSER, more);
    let clients = format!(
        "[policy]\ndefault = \"allow\"\n[clients.ann]\nkey = \"{ANN}\"\n[clients.bob]\nkey = \"{BOB}\"\n"
    );
    Folder::with(&text.replacen("[downstreams.d]", &(clients + "[downstreams.d]"), 1))
}

/// What the last call at a downstream was proved with.
fn proof(fake: &HttpFake) -> String {
    let calls = fake.requests_of("tools/call");
    calls.last().map_or("", |call| call.headers["authorization"].to_str().unwrap()).to_owned()
}

const ELICITS: &str = r#"{"elicitation":{"url":{},"form":{}}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn each_user_connects_a_downstream_and_uses_it_with_a_token_of_its_own() {
    let issuer = Issuer::open();
    let fake = guarded(&issuer.url(), &["person-1", "person-2"]);
    let folder = per_user(&fake, "");
    let serving = Serving::start(&folder);
    let modern = serving.client(Speaks::Modern(ELICITS.to_owned()), ANN);
    let url = sent_to(&modern).await;
    assert!(url.starts_with(&serving.at("/connect/d?ticket=")), "{url}");
    let (stranger, _) = tokio::task::block_in_place(|| begin(&url, BOB));
    assert_eq!(web::status(&stranger), 403, "{stranger}");
    assert_eq!(sent_to(&modern).await, url);
    let done = tokio::task::block_in_place(|| connect(&url, ANN, Duration::ZERO));
    assert_eq!(web::status(&done), 200, "{done} {}", serving.log());
    let answer = modern.call("8", "d__echo", "{}").await.unwrap();
    assert!(answer.text.contains("content"), "{} {}", answer.text, serving.log());
    assert_eq!(proof(&fake), "Bearer person-1");
    // The other one has nothing of that. Who cannot be asked is told where to go.
    let other = serving.client(Speaks::modern(), BOB);
    let refused = other.call("9", "d__echo", "{}").await.unwrap();
    assert!(refused.text.contains("downstream_credentials"), "{}", refused.text);
    let page = serving.at("/connect/d?ticket=");
    let told = format!("downstream `d` needs to be connected by you first: open {page}");
    let ticket = refused.text.split(&told).nth(1).unwrap_or_else(|| panic!("{}", refused.text));
    let url = format!("{page}{}", ticket.split(' ').next().unwrap());
    let done = tokio::task::block_in_place(|| connect(&url, BOB, Duration::ZERO));
    assert_eq!(web::status(&done), 200, "{done} {}", serving.log());
    let answer = other.call("10", "d__echo", "{}").await.unwrap();
    assert!(answer.text.contains("content"), "{} {}", answer.text, serving.log());
    assert_eq!(proof(&fake), "Bearer person-2");
    for secret in [ANN, BOB, "person-1", "person-2"] {
        assert!(!serving.log().contains(secret), "{}", serving.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_of_a_legacy_client_is_asked_once_and_the_call_goes_on_when_that_is_done() {
    let issuer = Issuer::open();
    let fake = guarded(&issuer.url(), &["person-1"]);
    let folder = per_user(&fake, "");
    let serving = Serving::start(&folder);
    let manner = Manner::mute(Speaks::legacy()).declaring(ELICITS).saying(|asked| {
        let url = asked.params["url"].as_str().unwrap_or_default().to_owned();
        // Long enough for the call to be made anew in the middle of it.
        std::thread::spawn(move || connect(&url, BOB, Duration::from_secs(3)));
        Said::Result(r#"{"action":"accept"}"#.to_owned())
    });
    let peer = Peer::over(Arc::new(serving.client(Speaks::legacy(), BOB).declaring(ELICITS)), manner);
    let peer = peer.await.unwrap();
    let called = tokio::time::timeout(PATIENCE, peer.tool("d__echo", "{}")).await;
    let answer = called.expect("it goes on").unwrap();
    assert!(answer.text.contains("content"), "{} {}", answer.text, serving.log());
    assert_eq!(proof(&fake), "Bearer person-1");
    let asked = peer.asked();
    assert_eq!(asked.len(), 1, "once: {asked:?}");
    let params = &asked[0].params;
    assert_eq!((&*asked[0].method, params["mode"].as_str()), ("elicitation/create", Some("url")));
    let id = params["elicitationId"].as_str().unwrap();
    assert!(params["url"].as_str().unwrap().ends_with(&format!("/connect/d?ticket={id}")), "{params}");
    assert_eq!(peer.faults(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_call_ends_when_its_user_does_not_go_to_the_page() {
    let issuer = Issuer::open();
    let fake = guarded(&issuer.url(), &["person-1"]);
    let folder = per_user(&fake, "[questions]\ntime = \"2s\"\n");
    let serving = Serving::start(&folder);
    for (said, text) in [
        (Said::Result(r#"{"action":"decline"}"#.to_owned()), "the client gave no answer"),
        (Said::Result(r#"{"action":"accept"}"#.to_owned()), "the client gave no answer"),
        (Said::Error(-32603, "no".to_owned()), "the client gave no answer"),
        (Said::Nothing, "the client gave no answer"),
    ] {
        let answer = said.clone();
        let manner = Manner::mute(Speaks::legacy()).declaring(ELICITS).saying(move |_| answer.clone());
        let peer = Peer::over(Arc::new(serving.client(Speaks::legacy(), BOB).declaring(ELICITS)), manner);
        let peer = peer.await.unwrap();
        let called = tokio::time::timeout(PATIENCE, peer.tool("d__echo", "{}")).await;
        let answer = called.unwrap_or_else(|_| panic!("{said:?}: it is bounded")).unwrap();
        assert!(answer.text.contains(text), "{said:?}: {}", answer.text);
        assert_eq!(proof(&fake), "", "{said:?}");
        assert_eq!(peer.asked().len(), 1, "{said:?}");
    }
}
