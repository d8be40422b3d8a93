//! `gatewayd serve` with real child processes and sockets.

use std::time::{Duration, Instant};

use crate::support::{Folder, Serving, fake};
use gateway_testkit::{
    Profile,
    client::{HttpClient, Speaks},
    fixtures,
    http::HttpFake,
};

#[tokio::test(flavor = "multi_thread")]
async fn ten_servers_of_which_four_are_bad() {
    let mut config: String = (0..6).map(|n| fake(&format!("good{n}"), &["--era", "dual"])).collect();
    config += &fake("hangs", &["--silent"]);
    config += &fake("exits", &["--exit", "3"]);
    config += &fake("floods", &["--stderr-flood", "unlimited", "--silent"]);
    config += "[downstreams.missing]\ncommand = [\"no-such-program-anywhere\"]\n";
    let serving = Serving::start(&Folder::with(&config), &[]);
    assert!(serving.started_in < Duration::from_secs(1), "listening after {:?}", serving.started_in);
    for speaks in [Speaks::modern(), Speaks::legacy()] {
        let client = HttpClient::connect(&serving.url, speaks).await.unwrap();
        let begun = Instant::now();
        let tools = all_tools(&client).await;
        // The bad ones are waited for longest: 5 s for the probe alone. Nobody may notice.
        assert!(begun.elapsed() < Duration::from_secs(3), "listed after {:?}", begun.elapsed());
        for n in 0..6 {
            assert!(tools.contains(&format!(r#""name":"good{n}__odd""#)), "good{n} is missing");
            let answer = client.call("1", &format!("good{n}__echo"), r#"{"text":"x"}"#).await.unwrap();
            assert!(answer.result().is_some(), "{}", answer.text);
        }
        assert!(!tools.contains("exits__") && !tools.contains("hangs__"));
    }
    let log = serving.log();
    for (name, reason) in [("exits", "exiting with 3 as told"), ("missing", "no-such-program-anywhere")] {
        assert!(log.lines().any(|line| line.contains(name) && line.contains(reason)), "{name}: {log}");
    }
}

/// Every page, as text.
async fn all_tools(client: &HttpClient) -> String {
    let mut tools = String::new();
    let mut params = "{}".to_owned();
    loop {
        let page = client.request(&client.next_id(), "tools/list", &params).await.unwrap();
        tools += &page.text;
        let Some(cursor) = page.result_member("nextCursor") else { return tools };
        params = format!(r#"{{"cursor":{cursor}}}"#);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_and_results_come_out_byte_for_byte() {
    let http = HttpFake::start(Profile::default());
    let http_legacy = HttpFake::start(Profile { era: gateway_testkit::Era::Legacy, ..Profile::default() });
    let config = [
        fake("modern", &["--era", "modern"]),
        fake("legacy", &["--era", "legacy"]),
        format!("[downstreams.http]\nurl = \"{}\"\n", http.url()),
        format!("[downstreams.httplegacy]\nurl = \"{}\"\n", http_legacy.url()),
    ];
    let serving = Serving::start(&Folder::with(&config.concat()), &[]);
    for speaks in [Speaks::modern(), Speaks::legacy()] {
        let client = HttpClient::connect(&serving.url, speaks.clone()).await.unwrap();
        let tools = all_tools(&client).await;
        for name in ["modern", "legacy", "http", "httplegacy"] {
            let definition =
                fixtures::ODD_TOOL.replace(r#""name":"odd""#, &format!(r#""name":"{name}__odd""#));
            assert!(tools.contains(&definition), "{name} {speaks:?}: {tools}");
            let answer = client.call("\"x\"", &format!("{name}__odd"), "{}").await.unwrap();
            let result = answer.result().unwrap();
            for member in odd_members() {
                assert!(result.contains(member), "{name} {speaks:?}: {member} is not in {result}");
            }
            let arguments = r#"{ "n":1.0,"big":9007199254740993,"e":1e400,"s":"\u0041\/","deep":[[ ]] }"#;
            let echoed = client.call("2", &format!("{name}__echo"), arguments).await.unwrap();
            assert!(
                echoed.text.contains(arguments) || echoed.text.contains(&escaped(arguments)),
                "{}",
                echoed.text
            );
        }
    }
}

/// `ODD_RESULT` cut at the members that an era may stand between.
fn odd_members() -> [&'static str; 3] {
    let odd = fixtures::ODD_RESULT;
    let meta = odd.find(r#","_meta":{"com.example/trace""#).unwrap();
    [&odd[1..meta], r#""com.example/trace":"t-1""#, r#""progressToken":"not a token","n":1.50"#]
}

/// A text as it stands inside a JSON string.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_callers_never_see_anothers_answer() {
    let http = HttpFake::start(Profile::default());
    let config = [
        fake("a", &["--shuffle"]),
        format!("sharing = \"shared\"\n[downstreams.b]\nurl = \"{}\"\n", http.url()),
    ];
    let serving = Serving::start(&Folder::with(&config.concat()), &[]);
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..64 {
        let url = serving.url.clone();
        callers.spawn(async move {
            let speaks = if caller % 2 == 0 { Speaks::modern() } else { Speaks::legacy() };
            let client = HttpClient::connect(&url, speaks).await.unwrap();
            for round in 0..10 {
                let text = format!("caller {caller} round {round}");
                let long = format!("\"{}\"", "y".repeat(200));
                let id = ["1", "\"1\"", "\"\"", &long][round % 4];
                let tool = ["a__echo", "b__echo"][(caller / 2 + round) % 2];
                let answer = client.call(id, tool, &format!(r#"{{"text":"{text}"}}"#)).await.unwrap();
                assert_eq!(answer.id().as_deref(), Some(id), "{}", answer.text);
                assert!(answer.text.contains(&text), "{text}: {}", answer.text);
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_calls_finish_and_ends_the_children_in_order() {
    let folder = Folder::with(&fake("d", &["--era", "dual", "--grandchild"]));
    let mut serving = Serving::start(&folder, &[]);
    let client = HttpClient::connect(&serving.url, Speaks::modern()).await.unwrap();
    let report = client.call("1", "d__report", "{}").await.unwrap();
    let pid = number_after(&report.text, r#""pid":"#);
    let slow = tokio::spawn(async move { client.call("2", "d__sleep_ms", r#"{"ms":600}"#).await });
    // The call is on its way once the gateway counts it.
    until(Duration::from_secs(5), || async { metric(&serving.url, "in_flight").await >= 1.0 }).await;
    let begun = Instant::now();
    assert_eq!(serving.terminate(Duration::from_secs(10)), Some(0), "{}", serving.log());
    assert!(begun.elapsed() < Duration::from_secs(6));
    assert!(slow.await.unwrap().unwrap().result().is_some(), "the call in flight has its answer");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "the child is gone");
}

fn number_after(text: &str, marker: &str) -> u32 {
    let rest = text.split(marker).nth(1).unwrap_or(text);
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Looks again and again, without sleeping, until `holds`.
async fn until<F: Future<Output = bool>>(at_most: Duration, holds: impl Fn() -> F) {
    let end = Instant::now() + at_most;
    while !holds().await {
        assert!(Instant::now() < end, "did not come about within {at_most:?}");
        tokio::task::yield_now().await;
    }
}

/// The sum of all samples whose name contains `name`.
async fn metric(url: &str, name: &str) -> f64 {
    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let answer = gateway_testkit::client::raw(address.parse().unwrap(), request.as_bytes()).await.unwrap();
    let text = String::from_utf8(answer).unwrap();
    let samples = text.lines().filter(|line| line.contains(name) && !line.starts_with('#'));
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_with_keys_get_in_and_others_do_not() {
    let config =
        format!("[clients.desk]\nkey = \"0123456789abcdef0123\"\nallow = [\"*\"]\n{}", fake("d", &[]));
    let serving = Serving::start(&Folder::with(&config), &[]);
    let stranger = HttpClient::new(&serving.url, Speaks::modern()).unwrap();
    let refused = stranger.call("1", "d__echo", "{}").await.unwrap();
    assert_eq!(refused.status, 401);
    assert!(refused.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
    for speaks in [Speaks::modern(), Speaks::legacy()] {
        let client = HttpClient::new(&serving.url, speaks)
            .unwrap()
            .with_header("authorization", "bearer 0123456789abcdef0123");
        client.shake_hands().await.unwrap();
        assert!(client.call("1", "d__echo", "{}").await.unwrap().result().is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_tool_is_announced_and_listed() {
    let serving = Serving::start(&Folder::with(&fake("d", &["--list-changed-after", "400"])), &[]);
    let client = HttpClient::connect(&serving.url, Speaks::modern()).await.unwrap();
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    let mut events = client.open("\"L\"", "subscriptions/listen", filter).await.unwrap();
    let acknowledged = events.next().await.unwrap().unwrap();
    assert!(acknowledged.contains("notifications/subscriptions/acknowledged"), "{acknowledged}");
    let late = async {
        loop {
            let event = events.next().await.unwrap().unwrap();
            assert!(event.contains("notifications/tools/list_changed"), "{event}");
            assert!(event.contains(r#""io.modelcontextprotocol/subscriptionId":"L""#), "{event}");
            if all_tools(&client).await.contains("d__late") {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), late).await.expect("the late tool is announced");
}
