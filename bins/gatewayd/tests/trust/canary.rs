//! Secrets that are planted everywhere, and where they turn up.

use gateway_testkit::{
    Profile,
    client::{HttpClient, Speaks},
    http::HttpFake,
};

use crate::{
    issuer::{CLIENT_SECRET, Issuer},
    process::{Folder, Serving, fake},
    web::{self, Web},
};

const RESOURCE: &str = "https://gateway.example/mcp";
const KEY: &str = "canary-key-0123456789";
const COOKIE: &str = "canary-cookie-0123456789";
const STATE_KEY: &str = "Y2FuYXJ5LXN0YXRlLWtleS0wMTIzNDU2Nzg5LTAxMjM=";
const HEADER: &str = "canary-header-0123456789";
const FILE: &str = "canary-file-0123456789";
const COMMAND: &str = "canary-command-0123456789";
const CHILD: &str = "canary-child-0123456789";
const OTLP: &str = "canary-otlp-0123456789";
const ENVIRONMENT: &str = "canary-environment-0123456789";

fn config(issuer: &Issuer, fakes: &[HttpFake; 4], collector: &Web) -> String {
    let [header, file, command, exchange] = fakes;
    let child = fake("child", &[]);
    let issuer = issuer.url();
    format!(
        "listen = \"127.0.0.1:0\"\npolicy.default = \"allow\"\n[questions]\nstate_key = {{ env = \"STATE_KEY\" }}\n\
         [clients.desk]\nkey = {{ env = \"DESK_KEY\" }}\n[audit]\nsink = [\"file:audit.jsonl\", \"stdout\"]\n\
         [telemetry]\notlp = \"{}/v1/traces\"\nheaders = {{ x-collector = {{ env = \"OTLP_KEY\" }} }}\n\
         [oauth]\nresource = \"{RESOURCE}\"\n[[oauth.issuers]]\nissuer = \"{issuer}\"\n\
         [downstreams.header]\nurl = \"{}\"\nheaders = {{ x-api-key = {{ env = \"HEADER\" }} }}\n\
         [downstreams.file]\nurl = \"{}\"\nauth = {{ type = \"file\", path = \"secret\" }}\n\
         [downstreams.command]\nurl = \"{}\"\nauth = {{ type = \"command\", command = [\"cat\", \"printed\"] }}\n\
         [downstreams.exchange]\nurl = \"{}\"\n[downstreams.exchange.auth]\ntype = \"oauth\"\nmode = \"exchange\"\n\
         client_id = \"gateway\"\nclient_secret = {{ env = \"CLIENT_SECRET\" }}\ntoken_url = \"{issuer}/token\"\n\
         issuer = \"{issuer}\"\n{child}env = {{ CHILD_SECRET = {{ env = \"CHILD\" }} }}\ninherit_env = true\n",
        collector.url(),
        header.url(),
        file.url(),
        command.url(),
        exchange.url(),
    )
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

/// All that clients can ask for, with all that there is to prove who asks; what they are answered.
async fn everything(serving: &Serving, token: &str) -> String {
    let mut answers = String::new();
    for proof in [KEY, token] {
        for speaks in [Speaks::modern(), Speaks::legacy()] {
            let client = serving.client(speaks, proof).with_header("cookie", &format!("session={COOKIE}"));
            client.shake_hands().await.unwrap();
            for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
                answers += &client.request("1", method, "{}").await.unwrap().text;
            }
            for tool in
                ["header__echo", "file__echo", "command__echo", "exchange__echo", "child__echo", "none__x"]
            {
                let answer = client.call("2", tool, r#"{"text":"hello"}"#).await.unwrap();
                let refused = tool == "none__x" || (tool == "exchange__echo" && proof == KEY);
                assert_eq!(answer.text.contains("hello"), !refused, "{tool} {}", answer.text);
                answers += &answer.text;
            }
        }
    }
    let wrong = HttpClient::new(&serving.url, Speaks::modern()).unwrap();
    let wrong = wrong.with_header("authorization", "Bearer canary-wrong-0123456789");
    answers += &wrong.request("1", "tools/list", "{}").await.unwrap().text;
    answers += &web::visit(&serving.at("/metrics"));
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn each_secret_is_only_where_it_belongs() {
    let issuer = Issuer::open();
    let collector = Web::open(|_| web::Reply::json("{}"));
    let fakes = [(); 4].map(|()| HttpFake::start(Profile::default()));
    let folder = Folder::with(&config(&issuer, &fakes, &collector));
    folder.write("secret", FILE);
    folder.write("printed", COMMAND);
    let mut serving = Serving::with(
        &folder,
        &[
            ("RUST_LOG", "trace"),
            ("STATE_KEY", STATE_KEY),
            ("DESK_KEY", KEY),
            ("OTLP_KEY", OTLP),
            ("HEADER", HEADER),
            ("CLIENT_SECRET", CLIENT_SECRET),
            ("CHILD", CHILD),
            ("GATEWAY_CANARY", ENVIRONMENT),
        ],
    );
    let token = issuer.token(RESOURCE, "ann", "");
    let signature = token.rsplit('.').next().unwrap().to_owned();
    serving.until("it has keys", async || serving.tools(&token).await.status == 200).await;
    let answers = everything(&serving, &token).await;
    let children = children(serving.pid());
    serving.until("spans arrive", async || !collector.asked().is_empty()).await;
    serving.terminate();
    let (log, audit) = (serving.log(), folder.read("audit.jsonl"));
    assert!(log.contains("TRACE") && audit.contains(r#""tool":"child__echo""#), "all of it is on");
    assert!(children.contains("fake-mcp"), "{children}");
    serving.until("it is all on stdout", async || serving.output().contains("child__echo")).await;
    let spans: String = collector.asked().iter().map(|asked| asked.body.clone()).collect();
    let heads: String = collector.asked().iter().map(|asked| asked.head.clone()).collect();
    let asked = |of: &str| {
        issuer
            .web
            .asked()
            .iter()
            .filter(|one| (one.path() == "/token") == (of == "token"))
            .map(web::Asked::text)
            .collect::<String>()
    };
    let seen = |fake: &HttpFake| format!("{:?}", fake.requests());
    let places = [
        ("log", log),
        ("stdout", serving.output()),
        ("audit", audit),
        ("answers", answers),
        ("children", children),
        ("spans", spans),
        ("collector", heads),
        ("token", asked("token")),
        ("issuer", asked("rest")),
        ("header", seen(&fakes[0])),
        ("file", seen(&fakes[1])),
        ("command", seen(&fakes[2])),
        ("exchange", seen(&fakes[3])),
    ];
    check(&places, &signature);
}

/// Each secret with the one place where it belongs.
fn check(places: &[(&str, String)], signature: &str) {
    for (secret, belongs) in [
        (KEY, None),
        (COOKIE, None),
        (STATE_KEY, None),
        ("canary-wrong-0123456789", None),
        (ENVIRONMENT, None),
        (signature, Some("token")),
        (CLIENT_SECRET, None),
        (HEADER, Some("header")),
        (FILE, Some("file")),
        (COMMAND, Some("command")),
        (CHILD, Some("children")),
        (OTLP, Some("collector")),
    ] {
        for (place, content) in places {
            if let Some(at) = content.find(secret)
                && belongs != Some(place)
            {
                let around: String = content[at.saturating_sub(200)..].chars().take(300).collect();
                panic!("{secret} is in {place}: {around}");
            }
        }
        let is_there =
            |place: &str| places.iter().any(|(own, content)| *own == place && content.contains(secret));
        assert!(belongs.is_none_or(is_there), "{secret} is not in {belongs:?}");
    }
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
