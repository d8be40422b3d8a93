//! Secrets that a server or a client says again.

use gateway_testkit::client::Speaks;

use crate::{
    support::{Folder, Serving, fake, has, toml, until},
    telling::telling,
    world::{Files as _, at, call, eras, good, json},
};

const CANARY: &str = r#"canary"\öé-7f3a9c"#;

/// What it does at its start, and how it answers every call: with an error that has its `TOKEN` in it.
const TELLS: [&str; 2] = [
    r#":"#,
    r#"echo "the token is $TOKEN" >&2; echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"token $TOKEN is wrong\",\"data\":{\"t\":\"$TOKEN\"}}}""#,
];

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_said_in_neither_direction() {
    let script = ["sh", "-c", &telling(TELLS[0], TELLS[1])].map(str::to_owned);
    let config = [
        "[redaction]\nmax_result_bytes = \"2KiB\"\n".to_owned(),
        "[redaction.values]\nlicense = { env = \"CANARY\" }\n".to_owned(),
        "[audit]\nsink = \"file:audit.jsonl\"\nflush = { max_interval = \"5ms\" }\n".to_owned(),
        fake("d", &["--marker", CANARY, "--whole"]),
        format!(
            "[downstreams.tells]\ncommand = {}\nenv = {{ TOKEN = {{ env = \"TOKEN\" }} }}\n",
            toml(&script)
        ),
    ];
    let folder = Folder::with(&config.concat());
    let token = "token-4d5e6f-secret";
    let serving =
        Serving::start_in(&folder, &[], &[("CANARY", CANARY), ("TOKEN", token), ("RUST_LOG", "trace")]);
    let escaped = json_text(CANARY);
    for speaks in eras() {
        let client = at(&serving, "", speaks.clone()).await;
        for tool in ["d__echo", "tells__tell"] {
            until(tool, &serving, async || has(&client, tool).await).await;
        }
        check_said(&client, &speaks, &escaped, token).await;
        let large = call(&client, "d__blob", r#"{"bytes":5000}"#).await;
        let result = json(&large.result().unwrap());
        assert_eq!(result["isError"], true, "{}", large.text);
        assert!(large.text.contains("2048") && large.text.len() < 1500, "it says the bound: {}", large.text);

        let read = client.request("5", "resources/read", r#"{"uri":"note://one"}"#).await.unwrap();
        assert!(read.result().is_some(), "{}", read.text);
    }
    let file = folder.file("audit.jsonl");
    until("the records", &serving, async || {
        std::fs::read_to_string(&file).unwrap_or_default().lines().count() >= 14
    })
    .await;
    let text = std::fs::read_to_string(&file).unwrap();
    let of = |tool: &str| {
        let all = text.lines().map(json).filter(|record| record["tool"] == tool);
        all.map(|record| (record["redactions"].as_u64().unwrap(), record["truncated"].as_bool().unwrap()))
            .collect::<Vec<_>>()
    };
    assert!(of("d__echo").iter().all(|(count, _)| *count > 0), "{text}");
    assert!(of("tells__tell").iter().all(|(count, _)| *count == 2), "{text}");
    assert!(of("d__blob").iter().all(|(_, is_cut)| *is_cut), "{text}");
    for (what, text) in [("records", text.clone()), ("log", serving.log())] {
        assert!(!text.contains(token), "{what}: {}", around(&text, token));
        for written in [CANARY, &escaped] {
            assert!(!text.contains(written), "{what}: {}", around(&text, written));
        }
    }
}

async fn check_said(
    client: &gateway_testkit::client::HttpClient,
    speaks: &Speaks,
    escaped: &str,
    token: &str,
) {
    // What a client says is not said to the server, however it is escaped; nor what the server says.
    for written in [escaped.to_owned(), as_units(CANARY)] {
        let echoed = call(client, "d__echo", &format!(r#"{{"text":"is {written} so"}}"#)).await;
        good(&echoed);
        let result = json(&echoed.result().unwrap());
        assert_eq!(result["structuredContent"]["text"], "is [REDACTED] so", "{speaks:?}: {}", echoed.text);
        assert_eq!(result["_meta"]["example.testkit/marker"], "[REDACTED]", "{}", echoed.text);
    }
    let error = call(client, "tells__tell", "{}").await;
    let found = json(&error.error().unwrap());
    assert_eq!(found["message"], "token [REDACTED] is wrong", "{}", error.text);
    assert!(!error.text.contains(token), "{}", error.text);

    let params = r#"{"name":"d__progress","arguments":{"n":3,"ms":1},"_meta":{"progressToken":"p"}}"#;
    let told = client.request("9", "tools/call", params).await.unwrap();
    assert_eq!(told.before.len(), 3, "{speaks:?}: {:?}", told.before);
    for notice in &told.before {
        assert_eq!(json(notice)["params"]["message"], "[REDACTED]", "{notice}");
    }
    let logged = logs(client, speaks).await;
    assert!(!logged.is_empty(), "{speaks:?}");
    for notice in &logged {
        assert_eq!(json(notice)["params"]["data"]["marker"], "[REDACTED]", "{notice}");
    }
}

/// What is logged to the client.
async fn logs(client: &gateway_testkit::client::HttpClient, speaks: &Speaks) -> Vec<String> {
    let meta = match speaks {
        Speaks::Modern(_) => r#","_meta":{"io.modelcontextprotocol/logLevel":"debug"}"#,
        Speaks::Legacy(_) => {
            client.request("8", "logging/setLevel", r#"{"level":"debug"}"#).await.unwrap();
            ""
        }
    };
    let params = format!(r#"{{"name":"d__log","arguments":{{"n":2}}{meta}}}"#);
    client.request("7", "tools/call", &params).await.unwrap().before
}

fn json_text(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

fn as_units(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn around(text: &str, what: &str) -> String {
    let line = text.lines().find(|line| line.contains(what)).unwrap_or_default();
    line.chars().take(600).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn patterns_find_what_looks_like_a_secret() {
    let config =
        "[redaction]\npatterns = [{ name = \"card\", regex = \"card-[0-9]{4}\", anchor = \"card-\" }]\n";
    for (more, arguments, results) in
        [("", true, true), ("arguments = false\nresults = false\n", false, false)]
    {
        let record = tempfile::tempdir().unwrap();
        let record = record.path().join("record");
        let switches = ["--record", record.to_str().unwrap()];
        let folder = Folder::with(&[config, more, &fake("d", &switches)].concat());
        std::fs::create_dir_all(record.parent().unwrap()).unwrap();
        let serving = Serving::start(&folder, &[]);
        let client = at(&serving, "", Speaks::modern()).await;
        until("echo", &serving, async || has(&client, "d__echo").await).await;
        let echoed = call(&client, "d__echo", r#"{"pay":"card-1234"}"#).await;
        assert_eq!(!echoed.text.contains("card-1234"), results, "{}", echoed.text);
        let taken = std::fs::read_to_string(&record).unwrap();
        assert_eq!(!taken.contains("card-1234"), arguments, "{taken}");
    }
    for (pattern, expected) in
        [("{ name = \"bad\", regex = \"(\" }", "bad"), ("{ name = \"bad\", regex = \"x*\" }", "bad")]
    {
        let folder =
            Folder::with(&[&format!("[redaction]\npatterns = [{pattern}]\n"), &*fake("d", &[])].concat());
        let output = folder.run(&["serve", "--listen", "127.0.0.1:0"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{pattern}: {err}");
        assert!(err.contains(expected), "{err}");
    }
}
