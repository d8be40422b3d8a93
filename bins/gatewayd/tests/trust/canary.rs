//! Secrets that are planted everywhere, and where they turn up (T23).

mod echo;
mod visit;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gateway_testkit::{
    Profile,
    client::{HttpClient, Speaks},
    http::HttpFake,
};

use crate::{
    issuer::{CLIENT_SECRET, Issuer, REFRESH},
    login::{self, BROWSER},
    process::{Folder, Serving, fake},
    telling::telling,
    tls,
    web::{self, Asked, Web},
};

const RESOURCE: &str = "https://gateway.example/mcp";
const KEY: &str = "canary-key-0123456789";
const METRICS_KEY: &str = "canary-metrics-key-0123456789";
const WRONG: &str = "canary-wrong-0123456789";
const COOKIE: &str = "canary-cookie-0123456789";
const OPAQUE: &str = "canary-opaque-0123456789";
const STATE_KEY: &str = "Y2FuYXJ5LXN0YXRlLWtleS0wMTIzNDU2Nzg5LTAxMjM=";
const STORE_KEY: &str = "Y2FuYXJ5LXN0b3JlLWtleS0wMTIzNDU2Nzg5LTAxMjM=";
const ASK: &str = "canary-ask-0123456789";
const HEADER: &str = "canary-header-0123456789";
const FILE: &str = "canary-file-0123456789";
const COMMAND: &str = "canary-command-0123456789";
/// What the command that says a credential also says, on stderr.
const ASIDE: &str = "canary-aside-0123456789";
const CHILD: &str = "canary-child-0123456789";
const LOUD: &str = "canary-loud-0123456789";
const OTLP: &str = "canary-otlp-0123456789";
const ENVIRONMENT: &str = "canary-environment-0123456789";

const VARIABLES: [(&str, &str); 12] = [
    ("STATE_KEY", STATE_KEY),
    ("STORE_KEY", STORE_KEY),
    ("DESK_KEY", KEY),
    ("METRICS_KEY", METRICS_KEY),
    ("ASK", ASK),
    ("OTLP_KEY", OTLP),
    ("HEADER", HEADER),
    ("CLIENT_SECRET", CLIENT_SECRET),
    ("CHILD", CHILD),
    ("LOUD", LOUD),
    ("GATEWAY_CANARY", ENVIRONMENT),
    ("PLAIN", "nothing to hide"),
];

/// Prints its environment to stderr at its start, and answers every call with an error that has its secret in it.
const TELLS: [&str; 2] = [
    r#"env >&2"#,
    r#"env >&2; echo "not JSON: $LOUD"; echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"it is $LOUD\"}}""#,
];

/// All that is outside of the gateway.
struct World {
    issuer: Issuer,
    asked: Issuer,
    collector: Web,
    echo: Web,
    fakes: [HttpFake; 4],
}

impl World {
    fn open() -> Self {
        let issuer = Issuer::open();
        let asked = Issuer::open();
        asked.opaque(OPAQUE, RESOURCE, "bob", "");
        Self {
            echo: echo::open(&issuer.url()),
            collector: Web::open(|_| web::Reply::json("{}")),
            fakes: [(); 4].map(|()| HttpFake::start(Profile::default())),
            issuer,
            asked,
        }
    }

    fn config(&self) -> String {
        let [header, file, command, exchange] = self.fakes.each_ref().map(HttpFake::url);
        let (issuer, asked) = (self.issuer.url(), self.asked.url());
        let aside = ["sh", "-c", "cat printed; cat aside >&2"].map(str::to_owned);
        let loud = ["sh", "-c", &telling(TELLS[0], TELLS[1])].map(str::to_owned);
        format!(
            "listen = \"127.0.0.1:0\"\npolicy.default = \"allow\"\nextensions = [\"io.modelcontextprotocol/tasks\"]\n\
             [log]\nlevel = \"trace\"\n[questions]\nstate_key = {{ env = \"STATE_KEY\" }}\n\
             [clients.desk]\nkey = {{ env = \"DESK_KEY\" }}\n\
             [clients.watcher]\nkey = {{ env = \"METRICS_KEY\" }}\nmetrics = true\n\
             [audit]\nsink = [\"file:audit.jsonl\", \"stdout\"]\n\
             [telemetry]\notlp = \"{}/v1/traces\"\nheaders = {{ x-collector = {{ env = \"OTLP_KEY\" }} }}\n\
             [oauth]\nresource = \"{RESOURCE}\"\n[[oauth.issuers]]\nissuer = \"{issuer}\"\n\
             [[oauth.issuers]]\nissuer = \"{asked}\"\nintrospection = {{ endpoint = \"{asked}/introspect\", \
             client_id = \"gateway\", client_secret = {{ env = \"ASK\" }} }}\n\
             [workflows.twice]\ndescription = \"Says one.\"\n\
             steps = [{{ id = \"say\", tool = \"child__echo\", arguments = {{ said = \"one\" }} }}]\n\
             [downstreams.header]\nurl = \"{header}\"\nheaders = {{ x-api-key = {{ env = \"HEADER\" }} }}\n\
             [downstreams.file]\nurl = \"{file}\"\nauth = {{ type = \"file\", path = \"secret\" }}\n\
             [downstreams.command]\nurl = \"{command}\"\nauth = {{ type = \"command\", command = {aside:?} }}\n\
             [downstreams.exchange]\nurl = \"{exchange}\"\n[downstreams.exchange.auth]\ntype = \"oauth\"\nmode = \"exchange\"\n\
             client_id = \"gateway\"\nclient_secret = {{ env = \"CLIENT_SECRET\" }}\ntoken_url = \"{issuer}/token\"\n\
             issuer = \"{issuer}\"\n\
             [downstreams.d]\nurl = \"{}/mcp\"\nprotocol = \"2025-06-18\"\n[downstreams.d.auth]\ntype = \"oauth\"\n\
             store = \"tokens\"\nstore_key = {{ env = \"STORE_KEY\" }}\nloopback_issuers = true\n\
             {}env = {{ CHILD_SECRET = {{ env = \"CHILD\" }} }}\ninherit_env = true\n\
             [downstreams.loud]\ncommand = {loud:?}\nenv = {{ LOUD = {{ env = \"LOUD\" }} }}\ninherit_env = true\n{BROWSER}",
            self.collector.url(),
            self.echo.url(),
            fake("child", &["--whole"]),
        )
    }

    /// What each of these was sent.
    fn seen(&self) -> Vec<(&'static str, String)> {
        let all = |asked: Vec<Asked>| asked.iter().map(Asked::text).collect::<String>();
        let (to_token, to_issuer) =
            self.issuer.web.asked().into_iter().partition(|one| one.path() == "/token");
        let (to_ask, to_asked) =
            self.asked.web.asked().into_iter().partition(|one| one.path() == "/introspect");
        let collected = self.collector.asked();
        let [header, file, command, exchange] =
            self.fakes.each_ref().map(|fake| format!("{:?}", fake.requests()));
        vec![
            ("collector", collected.iter().map(|asked| asked.head.clone()).collect()),
            ("spans", collected.iter().map(|asked| asked.body.clone()).collect()),
            ("token", all(to_token)),
            ("issuer", all(to_issuer)),
            ("introspection", all(to_ask)),
            ("another issuer", all(to_asked)),
            ("d", all(self.echo.asked())),
            ("header", header),
            ("file", file),
            ("command", command),
            ("exchange", exchange),
        ]
    }
}

/// What all children of a process are started with.
fn children(parent: u32) -> String {
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_child = |path: &std::path::PathBuf| {
        let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
        status.lines().any(|line| line == format!("PPid:\t{parent}"))
    };
    let read = |path: std::path::PathBuf| {
        let part = |name: &str| std::fs::read(path.join(name)).unwrap_or_default();
        format!(
            "{}\n{}\n",
            String::from_utf8_lossy(&part("cmdline")),
            String::from_utf8_lossy(&part("environ"))
        )
    };
    processes.filter(is_child).map(read).collect()
}

/// The page of metrics for whoever has this key, and for whoever has none.
fn metrics(serving: &Serving) -> String {
    let url = serving.at("/metrics");
    let authorized = |key: &str| web::send("GET", &url, &format!("Authorization: Bearer {key}\r\n"), "");
    let (opened, shut) = (authorized(METRICS_KEY), web::visit(&url));
    assert_eq!((web::status(&opened), web::status(&shut)), (200, 401), "{opened} {shut}");
    [opened, shut, authorized(KEY), authorized(WRONG)].concat()
}

/// A configuration with a reference that leads nowhere is refused, and mended.
async fn reload(folder: &Folder, serving: &Serving, config: &str) {
    let broken =
        "[downstreams.broken]\nurl = \"http://127.0.0.1:9/\"\nheaders = { x = { env = \"NOT_SET\" } }\n";
    folder.write("gateway.toml", &format!("{config}{broken}"));
    serving.logged("NOT_SET", 1).await;
    folder.write("gateway.toml", config);
}

fn pin(folder: &Folder) -> String {
    let output =
        folder.command(&["pin", "--accept"]).envs(VARIABLES).env("RUST_LOG", "trace").output().unwrap();
    assert!(output.status.success(), "{}", login::text(&output));
    login::text(&output)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_secret_is_only_where_it_belongs() {
    let world = World::open();
    let config = world.config();
    let folder = Folder::with(&config);
    folder.write("secret", FILE);
    folder.write("printed", COMMAND);
    folder.write("aside", ASIDE);
    let login = tokio::task::block_in_place(|| login::log_in_with(&folder, &VARIABLES));
    assert!(login.status.success(), "{}", login::text(&login));
    let mut serving = Serving::with(&folder, &VARIABLES);
    let token = world.issuer.token(RESOURCE, "ann", "");
    serving.until("it has keys", async || serving.tools(&token).await.status == 200).await;
    let mut answers = visit::everything(&serving, &[KEY, &token, OPAQUE]).await;
    let wrong = HttpClient::new(&serving.url, Speaks::modern()).unwrap();
    let wrong = wrong.with_header("authorization", &format!("Bearer {WRONG}"));
    answers += &wrong.request("1", "tools/list", "{}").await.unwrap().text;
    let metrics = tokio::task::block_in_place(|| metrics(&serving));
    let pinned = tokio::task::block_in_place(|| pin(&folder));
    reload(&folder, &serving, &config).await;
    let children = children(serving.pid());
    serving.until("spans arrive", async || !world.collector.asked().is_empty()).await;
    serving.terminate();
    serving.until("it is all on stdout", async || serving.output().contains("child__echo")).await;
    let mut places = vec![
        ("log", serving.log()),
        ("stdout", serving.output()),
        ("audit", folder.read("audit.jsonl")),
        ("answers", answers),
        ("metrics", metrics),
        ("children", children),
        ("login", login::text(&login)),
        ("pin", pinned),
        ("lock", folder.read("gateway.lock")),
    ];
    places.extend(world.seen());
    let place = |name: &str| &places.iter().find(|(own, _)| *own == name).unwrap().1;
    for (name, part) in [
        ("log", "TRACE"),
        ("audit", r#""tool":"child__echo""#),
        ("audit", r#""workflow":"twice""#),
        ("children", "fake-mcp"),
        ("answers", "authorization: Bearer [REDACTED]"),
        ("answers", "and [REDACTED]"),
        ("answers", "it is [REDACTED]"),
        ("lock", "and [REDACTED]"),
        ("spans", "child__echo"),
    ] {
        assert!(place(name).contains(part), "{part} is not in {name}: {}", place(name));
    }
    check(&places, &secrets(&world, &token));
}

/// A secret, and the places where it has to be and may be.
type Secret = (String, &'static [&'static str]);

/// Each secret with the places where it belongs.
fn secrets(world: &World, token: &str) -> Vec<Secret> {
    let basic = |secret: &str| STANDARD.encode(format!("gateway:{secret}"));
    let signature = token.rsplit('.').next().unwrap().to_owned();
    let granted = world.issuer.granted();
    assert!(granted.iter().any(|token| token.starts_with("renewed-")), "{granted:?}");
    let at = |token: &str| -> &[&str] { if token.starts_with("for-") { &["exchange"] } else { &["d"] } };
    let granted = granted.iter().map(|token| (token.clone(), at(token)));
    let planted: [(&str, &[&str]); 18] = [
        (KEY, &[]),
        (METRICS_KEY, &[]),
        (WRONG, &["introspection"]),
        (COOKIE, &[]),
        (STATE_KEY, &[]),
        (STORE_KEY, &[]),
        (ENVIRONMENT, &[]),
        (ASIDE, &[]),
        (CLIENT_SECRET, &[]),
        (ASK, &[]),
        (OPAQUE, &["introspection", "token"]),
        (REFRESH, &["token"]),
        (HEADER, &["header"]),
        (FILE, &["file"]),
        (COMMAND, &["command"]),
        (CHILD, &["children"]),
        (LOUD, &["children"]),
        (OTLP, &["collector"]),
    ];
    let planted = planted.into_iter().map(|(secret, place)| (secret.to_owned(), place));
    let made: [Secret; 3] =
        [(signature, &["token"]), (basic(CLIENT_SECRET), &["token"]), (basic(ASK), &["introspection"])];
    planted.chain(made).chain(granted).collect()
}

fn check(places: &[(&str, String)], secrets: &[Secret]) {
    for (secret, belongs) in secrets {
        for (place, content) in places {
            if let Some(at) = content.find(secret.as_str())
                && !belongs.contains(place)
            {
                let (before, after) = content.split_at(at);
                let before: Vec<_> = before.chars().rev().take(200).collect();
                let before: String = before.into_iter().rev().collect();
                let after: String = after.chars().take(100).collect();
                panic!("{secret} is in {place}: {before}{after}");
            }
        }
        let is_there =
            |place: &str| places.iter().any(|(own, content)| *own == place && content.contains(secret));
        assert!(belongs.iter().all(|place| is_there(place)), "{secret} is not in {belongs:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn private_keys_of_certificates_are_nowhere() {
    let folder = Folder::with("");
    tls::copy(&folder, "server");
    folder.write(
        "gateway.toml",
        &format!(
            "listen = \"127.0.0.1:0\"\n[log]\nlevel = \"trace\"\n[audit]\nsink = \"file:audit.jsonl\"\n\
             [tls]\ncertificate = \"own.pem\"\nkey = \"own.key\"\nclient_ca = \"{}\"\nreload = \"50ms\"\n{}",
            tls::file("clients.pem").display(),
            fake("d", &[])
        ),
    );
    let mut serving = Serving::start(&folder);
    let answers = tls::tools(serving.address(), Some("desk"), "").await;
    assert_eq!(web::status(&answers), 200, "{answers} {}", serving.log());
    let children = children(serving.pid());
    let keys =
        ["server", "desk"].map(|name| std::fs::read_to_string(tls::file(&format!("{name}.key"))).unwrap());
    folder.write("own.key", &keys[0].replacen("-----BEGIN", "-----BEGUN", 1));
    serving.logged("own.key", 1).await;
    serving.terminate();
    let places = [
        ("log", serving.log()),
        ("audit", folder.read("audit.jsonl")),
        ("answers", answers),
        ("children", children),
    ];
    let lines = keys.iter().flat_map(|key| key.lines()).filter(|line| !line.starts_with("--"));
    let secrets: Vec<Secret> = lines.map(|line| (line.to_owned(), &[][..])).collect();
    assert!(secrets.len() > 1);
    check(&places, &secrets);
}

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_goes_on_at_downstreams_and_its_spans_arrive() {
    let fake = HttpFake::start(Profile::default());
    for (sample, arrives) in [("1.0", true), ("0.0", false)] {
        let collector = Web::open(|_| web::Reply::json("{}"));
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[telemetry]\notlp = \"{}/v1/traces\"\nsample = {sample}\nservice = \"front\"\n\
             [downstreams.d]\nurl = \"{}\"\n",
            collector.url(),
            fake.url()
        );
        let mut serving = Serving::start(&Folder::with(&text));
        let client = HttpClient::new(&serving.url, Speaks::modern()).unwrap();
        client.call("1", "d__echo", "{}").await.unwrap();
        let params = r#"{"name":"d__echo","arguments":{}}"#;
        let unsampled = PARENT.replace("-01", "-00").replace("0af7", "0bf7");
        for parent in [PARENT, &unsampled] {
            let answer =
                client.request_with("2", "tools/call", params, &[("traceparent", parent)]).await.unwrap();
            assert!(answer.result().is_some(), "{}", answer.text);
            let sent = fake.requests_of("tools/call").pop().unwrap();
            let header = sent.headers["traceparent"].to_str().unwrap();
            assert_eq!(header[..36], parent[..36], "the trace is the same");
            assert_ne!(header[36..52], parent[36..52], "the span is the gateway's");
            assert!(sent.body.contains(&format!(r#""traceparent":"{header}""#)), "{}", sent.body);
        }
        serving.terminate();
        let spans: String = collector.asked_at("/v1/traces").iter().map(|asked| asked.body.clone()).collect();
        assert!(spans.contains("0af7651916cd43dd8448eb211c80319c"), "{spans}");
        assert!(!spans.contains("0bf7651916cd43dd8448eb211c80319c"), "{spans}");
        assert!(spans.contains("front"), "{spans}");
        let traces: std::collections::HashSet<_> =
            spans.split(r#""traceId":""#).skip(1).filter_map(|rest| rest.get(..32)).collect();
        assert_eq!(traces.len() > 1, arrives, "{traces:?}");
    }
}
