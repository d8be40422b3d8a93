//! Two clients that say the same at the same time never get what is the other's.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use gateway_testkit::{
    Era, Profile,
    client::{Answer, HttpClient, Speaks},
    http::HttpFake,
    transcript::Recording,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{cell::Wire, gateway::Gateway};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_with_equal_ids_tokens_and_subscriptions_hear_nothing_foreign() {
    let calls = std::env::var("MATRIX_CALLS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000_u64);
    let pairs = [
        (Speaks::legacy(), Era::Legacy),
        (Speaks::legacy(), Era::Modern),
        (Speaks::modern(), Era::Legacy),
        (Speaks::modern(), Era::Modern),
    ];
    for (speaks, era) in &pairs {
        // Without a gateway, as far as that goes: a scenario that its own ends fail proves nothing.
        if matches!(speaks, Speaks::Modern(_)) == (*era == Era::Modern) {
            pair(speaks, *era, 64, false).await;
        }
    }
    if std::env::var("MATRIX_ROUTE").is_ok_and(|route| route == "direct") {
        return;
    }
    for (speaks, era) in &pairs {
        pair(speaks, *era, calls / 4, true).await;
    }
}

async fn pair(speaks: &Speaks, era: Era, calls: u64, through: bool) {
    let fake = HttpFake::start(Profile { record: Recording::Off, ..Profile::whole(era) });
    let folder = tempfile::tempdir().unwrap();
    let config = format!("[downstreams.d]\nurl = \"{}\"\n", fake.url());
    std::fs::write(folder.path().join("gateway.toml"), config).unwrap();
    let gateway = if through { Some(Gateway::start(Wire::Http, folder.path()).await) } else { None };
    let url = gateway.as_ref().map_or_else(|| fake.url(), |gateway| gateway.url().unwrap().to_owned());
    let prefix = if through { "d__" } else { "" };
    let clients = [client(&url, speaks, prefix).await, client(&url, speaks, prefix).await];
    let ears = [Ears::open(&clients[0], speaks).await, Ears::open(&clients[1], speaks).await];
    let mut workers = JoinSet::new();
    for (n, client) in clients.iter().enumerate() {
        let next = Arc::new(AtomicU64::new(0));
        for _ in 0..WORKERS {
            let (client, next) = (Arc::clone(client), Arc::clone(&next));
            workers.spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= calls / 2 {
                        return;
                    }
                    own(&client, prefix, n as u64 + 1, number).await;
                }
            });
        }
    }
    workers.join_all().await;
    for (n, ears) in ears.into_iter().enumerate() {
        ears.heard_once(&clients[n], prefix).await;
    }
}

async fn client(url: &str, speaks: &Speaks, prefix: &str) -> Arc<HttpClient> {
    let client = Arc::new(HttpClient::connect(url, speaks.clone()).await.unwrap());
    for n in 0..100 {
        let answer = client.call(&format!("\"warm {n}\""), &format!("{prefix}echo"), "{}").await.unwrap();
        if answer.result().is_some() {
            return client;
        }
    }
    panic!("the server is not there");
}

/// One call of client `who`, whose answer and progress can be told from the other's.
async fn own(client: &HttpClient, prefix: &str, who: u64, number: u64) {
    let id = if number.is_multiple_of(2) { number.to_string() } else { format!("\"{number}\"") };
    let mark = format!("client {who} call {number}");
    let (tool, arguments) = match number % 4 {
        0 => ("progress", format!(r#"{{"n":{who},"mark":"{mark}"}}"#)),
        _ => ("echo", format!(r#"{{"mark":"{mark}"}}"#)),
    };
    let token = format!("\"token {}\"", number % 7);
    let params =
        format!(r#"{{"name":"{prefix}{tool}","arguments":{arguments},"_meta":{{"progressToken":{token}}}}}"#);
    let answer = client.request(&id, "tools/call", &params).await.unwrap();
    assert_eq!(answer.id().as_deref(), Some(id.as_str()), "{}", answer.text);
    if tool == "echo" {
        assert!(answer.before.is_empty(), "{mark}: {:?}", answer.before);
        assert!(answer.text.contains(&mark), "{mark}: {}", answer.text);
        return;
    }
    told(&answer, who, &token, &mark);
}

/// As many steps as this client asks for, of its token, out of its total.
fn told(answer: &Answer, who: u64, token: &str, mark: &str) {
    let told: Vec<Value> = answer.before.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(told.len() as u64, who, "{mark}: {told:?}");
    for message in told {
        let params = &message["params"];
        assert_eq!(params["progressToken"].to_string(), token, "{mark}: {message}");
        assert_eq!(params["total"], json!(who), "{mark}: {message}");
    }
}

/// What a client's stream brings.
struct Ears {
    heard: tokio::sync::mpsc::Receiver<String>,
    _listening: JoinSet<()>,
}

impl Ears {
    /// Both clients subscribe to the same with the same id.
    async fn open(client: &Arc<HttpClient>, speaks: &Speaks) -> Self {
        let (sender, mut heard) = tokio::sync::mpsc::channel(64);
        let mut listening = JoinSet::new();
        let (client, modern) = (Arc::clone(client), matches!(speaks, Speaks::Modern(_)));
        if !modern {
            let answer = client.request("\"watch\"", "resources/subscribe", r#"{"uri":"note://one"}"#).await;
            assert!(answer.unwrap().result().is_some());
        }
        listening.spawn(async move {
            let filter = r#"{"notifications":{"resourceSubscriptions":["note://one"]}}"#;
            let mut stream = match modern {
                true => client.open("\"watch\"", "subscriptions/listen", filter).await.unwrap(),
                false => client.listen().await.unwrap(),
            };
            assert_eq!(stream.status, 200);
            sender.send("open".to_owned()).await.ok();
            while let Ok(Some(text)) = stream.next().await {
                if sender.send(text).await.is_err() {
                    return;
                }
            }
        });
        assert_eq!(heard.recv().await.as_deref(), Some("open"));
        if modern {
            let acknowledged = heard.recv().await.unwrap();
            assert!(acknowledged.contains("acknowledged"), "{acknowledged}");
        }
        Self { heard, _listening: listening }
    }

    /// An update is told once, and nothing else was told all the time.
    async fn heard_once(mut self, client: &HttpClient, prefix: &str) {
        // Each client's ears are tried in turn: the second has the first's update behind it.
        client.call("\"update\"", &format!("{prefix}update_resource"), "{}").await.unwrap();
        let patience = std::time::Duration::from_secs(10);
        let told = tokio::time::timeout(patience, self.heard.recv()).await.unwrap().unwrap();
        assert!(told.contains("notifications/resources/updated") && told.contains("note://one"), "{told}");
        while let Ok(more) = self.heard.try_recv() {
            assert!(more.contains("notifications/resources/updated"), "{more}");
        }
    }
}

/// Calls in flight of each client.
const WORKERS: u64 = 8;
