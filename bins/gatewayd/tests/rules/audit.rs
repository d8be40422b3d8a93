//! The record of calls: one line each, whatever came of them.

use std::{os::unix::fs::PermissionsExt as _, path::Path, process::Command, time::Duration};

use gateway_testkit::client::{HttpClient, Speaks, StdioClient};
use serde_json::Value;

use crate::{
    support::{Folder, PATIENCE, Serving, fake, gatewayd, hang_up, has, until, write},
    world::{Files as _, at, call, client, eras, good, json},
};

const AUDIT: &str = "[audit]\nsink = \"file:audit.jsonl\"\nflush = { max_interval = \"5ms\" }\n";

const MEMBERS: [&str; 10] = [
    "ts",
    "client",
    "tool",
    "decision",
    "allowed",
    "latency_ms",
    "breaker_state",
    "redactions",
    "truncated",
    "error",
];

fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// All records, once there are as many.
async fn records(serving: &Serving, file: &Path, count: usize) -> Vec<Value> {
    until("the records", serving, async || lines(file).len() >= count).await;
    let lines = lines(file);
    assert_eq!(lines.len(), count, "{lines:#?}");
    lines.iter().map(|line| json(line)).collect()
}

/// The members of P-4 are there, in their order, before all others.
fn check_shape(line: &str) {
    let mut rest = line.strip_prefix('{').unwrap_or_else(|| panic!("{line}"));
    for (at, member) in MEMBERS.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let name = format!(r#"{comma}"{member}":"#);
        rest = rest.strip_prefix(&name).unwrap_or_else(|| panic!("{member} is not next: {rest} of {line}"));
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        values.next().unwrap().unwrap();
        let end = values.byte_offset();
        rest = &rest[end..];
    }
    let at = json(line)["ts"].as_str().unwrap().to_owned();
    assert!(at.len() == "2026-01-01T00:00:00.000000000Z".len() && at.ends_with('Z'), "{at}");
}

const FLOW: &str = r#"
[workflows.flow]
description = "Adds twice"
parameters = { type = "object" }
[[workflows.flow.steps]]
id = "one"
tool = "d__add"
arguments = { a = 1, b = 2 }
[[workflows.flow.steps]]
id = "two"
dependsOn = ["one"]
tool = "d__echo"
arguments = {}
"#;

fn world() -> String {
    [
        fake("d", &["--hang-on", "structured_only"]),
        "call_timeout = \"300ms\"\n".to_owned(),
        fake("dies", &["--crash-on", "blob"]),
        fake("slow", &[]),
        client("desk", "allow = [\"*\"]\ndeny = [\"d__report\"]"),
        AUDIT.to_owned(),
        "[rates.tools]\n\"d__counter\" = { per_second = 0.001, burst = 1 }\n".to_owned(),
        FLOW.to_owned(),
    ]
    .concat()
}

/// What is asked, and what its record says: tool, whether allowed, decision, error.
type Row = (&'static str, &'static str, bool, &'static str, Option<&'static str>);

const CALLS: &[Row] = &[
    ("d__echo", "{}", true, "allowed", None),
    ("d__fail", "{}", true, "allowed", Some("tool_error")),
    ("d__nono", "{}", false, "denied_default", Some("unknown_tool")),
    ("d__report", "{}", false, "denied_explicit", Some("unknown_tool")),
    ("d__counter", "{}", true, "allowed", None),
    ("d__counter", "{}", true, "allowed", Some("rate_limited")),
    ("d__structured_only", "{}", true, "allowed", Some("downstream_timeout")),
    ("dies__blob", r#"{"bytes":1}"#, true, "allowed", Some("downstream_ended")),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_one_record_whatever_came_of_it() {
    for speaks in eras() {
        let folder = Folder::with(&world());
        let file = folder.file("audit.jsonl");
        let mut serving = Serving::start(&folder, &[]);
        let desk = at(&serving, "desk", speaks.clone()).await;
        for tool in ["flow", "dies__blob", "slow__sleep_ms"] {
            until(tool, &serving, async || has(&desk, tool).await).await;
        }
        for (tool, arguments, ..) in CALLS {
            call(&desk, tool, arguments).await;
        }
        let mut all = records(&serving, &file, CALLS.len()).await;
        check_calls(&all, &speaks);

        // A workflow is a record, and each call of its steps.
        good(&call(&desk, "flow", "{}").await);
        all = records(&serving, &file, CALLS.len() + 3).await;
        check_run(&all[CALLS.len()..]);

        // A call that its client gives up.
        cancel(&desk, &speaks, &serving, "slow__sleep_ms").await;
        all = records(&serving, &file, CALLS.len() + 4).await;
        let given_up = all.last().unwrap();
        assert_eq!((&given_up["tool"], &given_up["error"]), (&"slow__sleep_ms".into(), &"cancelled".into()));

        // Whoever is refused at the door.
        let stranger = HttpClient::new(&serving.url, speaks.clone()).unwrap();
        let wrong = [("authorization", "Bearer wrong-key-wrong-key")];
        let foreign = [("origin", "https://evil.example")];
        for headers in [&wrong, &foreign] {
            let answer = stranger.request_with("1", "tools/list", "{}", headers).await.unwrap();
            assert!([401, 403].contains(&answer.status), "{}", answer.status);
        }
        all = records(&serving, &file, CALLS.len() + 6).await;
        for record in &all[CALLS.len() + 4..] {
            assert_eq!((&record["client"], &record["allowed"]), (&Value::Null, &false.into()), "{record}");
            assert_eq!(record["peer"], "127.0.0.1", "{record}");
            assert!(record["error"].is_string(), "{record}");
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("wrong-key") && !text.contains("key-of-desk"), "{text}");
        text.lines().for_each(check_shape);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(serving.terminate(PATIENCE), Some(0));
    }
}

fn check_calls(all: &[Value], speaks: &Speaks) {
    let found: Vec<_> = all
        .iter()
        .map(|record| (&record["tool"], &record["allowed"], &record["decision"], &record["error"]))
        .collect();
    let expected: Vec<[Value; 4]> = CALLS
        .iter()
        .map(|(tool, _, allowed, decision, error)| {
            [(*tool).into(), (*allowed).into(), (*decision).into(), (*error).into()]
        })
        .collect();
    let expected: Vec<_> =
        expected.iter().map(|[tool, allowed, decision, error]| (tool, allowed, decision, error)).collect();
    assert_eq!(found, expected, "{speaks:?}");
    for record in all {
        assert_eq!(
            (&record["client"], &record["method"]),
            (&"desk".into(), &"tools/call".into()),
            "{record}"
        );
    }
}

fn check_run(of_run: &[Value]) {
    let steps: Vec<_> = of_run.iter().filter_map(|record| record["step"].as_str()).collect();
    assert_eq!(steps, ["one", "two"], "{of_run:#?}");
    for record in of_run.iter().filter(|record| record["step"].is_string()) {
        assert_eq!((&record["workflow"], &record["client"]), (&"flow".into(), &"desk".into()), "{record}");
    }
    let outer = of_run.iter().find(|record| record["step"].is_null()).unwrap();
    assert_eq!((&outer["tool"], &outer["allowed"]), (&"flow".into(), &true.into()));
}

/// Begins a call that takes long, and gives it up.
async fn cancel(client: &HttpClient, speaks: &Speaks, serving: &Serving, tool: &str) {
    let params = format!(r#"{{"name":"{tool}","arguments":{{"ms":60000}}}}"#);
    let begun = client.open("\"given-up\"", "tools/call", &params);
    if *speaks == Speaks::modern() {
        drop(
            tokio::time::timeout(Duration::from_millis(300), async { begun.await.unwrap().next().await })
                .await,
        );
        return;
    }
    let give_up = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        client.notify("notifications/cancelled", r#"{"requestId":"given-up"}"#).await.unwrap();
        until("the end", serving, async || true).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    tokio::select! {
        _ = async { begun.await.unwrap().next().await } => {}
        () = give_up => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_moved_away_is_opened_anew_on_sighup() {
    let folder = Folder::with(&[fake("d", &[]), AUDIT.to_owned()].concat());
    let (file, old) = (folder.file("audit.jsonl"), folder.file("old.jsonl"));
    let serving = Serving::start(&folder, &["--no-watch"]);
    let desk = at(&serving, "", Speaks::modern()).await;
    until("echo", &serving, async || has(&desk, "d__echo").await).await;
    good(&call(&desk, "d__echo", "{}").await);
    records(&serving, &file, 1).await;
    std::fs::rename(&file, &old).unwrap();
    hang_up(serving.pid());
    until("another file", &serving, async || file.exists()).await;
    good(&call(&desk, "d__add", r#"{"a":1,"b":2}"#).await);
    let new = records(&serving, &file, 1).await;
    assert_eq!(new[0]["tool"], "d__add");
    assert_eq!(lines(&old).len(), 1);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_rotated_and_nothing_is_lost_when_the_gateway_stops() {
    let rotate = "rotate = { max_bytes = 4000, keep = 100 }\n";
    let slow =
        "[audit]\nsink = \"file:audit.jsonl\"\nflush = { max_records = 1000, max_interval = \"30s\" }\n";
    for (audit, is_rotated) in [(format!("{AUDIT}{rotate}"), true), (slow.to_owned(), false)] {
        let folder = Folder::with(&[fake("d", &[]), audit].concat());
        let mut serving = Serving::start(&folder, &[]);
        let desk = at(&serving, "", Speaks::modern()).await;
        until("echo", &serving, async || has(&desk, "d__echo").await).await;
        for _ in 0..60 {
            good(&call(&desk, "d__echo", "{}").await);
        }
        let last = tokio::spawn(async move { call(&desk, "d__sleep_ms", r#"{"ms":300}"#).await });
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert_eq!(serving.terminate(PATIENCE), Some(0), "{}", serving.log());
        good(&last.await.unwrap());
        let parent = folder.config();
        let parent = parent.parent().unwrap();
        let files: Vec<_> = std::fs::read_dir(parent)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("audit.jsonl"))
            .collect();
        assert_eq!(files.len() > 1, is_rotated, "{files:?}");
        let all: Vec<_> = files.iter().flat_map(|file| lines(file)).collect();
        assert_eq!(all.len(), 61, "each call is there");
        for file in &files {
            let file = std::fs::metadata(file).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600);
        }
    }
}

/// The program, whose files may have so many blocks of 512 bytes (or of 1 KiB, as the shell has it).
fn with_files_of(blocks: usize) -> Command {
    let gatewayd = gatewayd();
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("ulimit -f {blocks} && exec \"$0\" \"$@\"")).arg(gatewayd.get_program());
    for (name, _) in gatewayd.get_envs() {
        command.env_remove(name);
    }
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_not_grow_ends_nothing_and_no_record_is_lost() {
    const CALLS: usize = 60;
    let folder = Folder::with(&[fake("d", &[]), AUDIT.to_owned()].concat());
    let file = folder.file("audit.jsonl");
    let mut serving = Serving::launch(with_files_of(8), &folder, &["--no-watch"], &[]);
    let desk = at(&serving, "", Speaks::modern()).await;
    until("echo", &serving, async || has(&desk, "d__echo").await).await;
    for n in 0..CALLS {
        good(&call(&desk, if n % 2 == 0 { "d__echo" } else { "d__report" }, "{}").await);
    }
    let whole = |file: &Path| std::fs::read_to_string(file).unwrap_or_default().ends_with('\n');
    let is_full = "the audit log cannot be written";
    until("a full file", &serving, async || serving.log().contains(is_full)).await;
    let mut all = 0;
    for moved in 0.. {
        until("some records", &serving, async || {
            let found = lines(&file).len();
            whole(&file) && (all + found == CALLS || std::fs::metadata(&file).unwrap().len() > 3000)
        })
        .await;
        let found = lines(&file);
        assert!(found.iter().all(|line| json(line)["allowed"] == true), "{found:#?}");
        all += found.len();
        if all >= CALLS {
            break;
        }
        std::fs::rename(&file, folder.file(&format!("moved-{moved}.jsonl"))).unwrap();
        until("another file", &serving, async || file.exists()).await;
    }
    assert_eq!(all, CALLS, "{}", serving.log());
    assert_eq!(serving.terminate(PATIENCE), Some(0), "{}", serving.log());
}

#[test]
fn a_file_of_records_that_cannot_be_opened_stops_the_start() {
    let audit = "[audit]\nsink = \"file:no-such-folder/audit.jsonl\"\n";
    let folder = Folder::with(&[fake("d", &["--starts-file", "starts"]), audit.to_owned()].concat());
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["stdio"]] {
        let output = folder.run(command);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.contains("audit.jsonl"), "{err}");
        assert!(!folder.file("starts").exists(), "nothing was started");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_calls_are_on_record_too() {
    let folder = Folder::with("");
    write(&folder, &[fake("d", &[]), client("desk", "allow = [\"d__echo\"]"), AUDIT.to_owned()].concat());
    let mut command: tokio::process::Command = gatewayd().into();
    command.args(["stdio", "--as", "desk"]).arg("--config").arg(folder.config());
    let gateway = StdioClient::spawn(command, Speaks::legacy()).await.unwrap();
    gateway.request("\"l\"", "tools/list", "{}").await.unwrap();
    gateway.call("1", "d__echo", "{}").await.unwrap();
    gateway.call("2", "d__add", "{}").await.unwrap();
    gateway.close_stdin().await;
    assert_eq!(gateway.exited(PATIENCE).await.unwrap().code(), Some(0));
    let all: Vec<_> = lines(&folder.file("audit.jsonl")).iter().map(|line| json(line)).collect();
    let found: Vec<_> =
        all.iter().map(|record| (&record["tool"], &record["allowed"], &record["client"])).collect();
    let desk = &Value::from("desk");
    assert_eq!(found, [(&"d__echo".into(), &true.into(), desk), (&"d__add".into(), &false.into(), desk)]);
}
