//! The stdio fake does what its switches say, seen through the client.
#![expect(clippy::expect_used, reason = "a test stops where its set-up fails")]

use std::time::Duration;

use gateway_testkit::{
    client::{Speaks, StdioClient},
    fixtures, stdio,
};

async fn start(switches: &str, speaks: Speaks) -> StdioClient {
    let argv = stdio::command(switches.split_whitespace());
    StdioClient::start(&argv, speaks).await.expect("the fake starts")
}

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn both_eras_list_and_call_byte_for_byte() {
    for (speaks, odd) in
        [(Speaks::legacy(), fixtures::ODD_RESULT), (Speaks::modern(), fixtures::ODD_RESULT_MODERN)]
    {
        let client = start("", speaks).await;
        let list = client.request("1", "tools/list", "{}").await.unwrap();
        assert_eq!(list.result_member("tools").unwrap(), format!("[{}]", fixtures::DEFAULT_TOOLS.join(",")));
        let answer = client.call("\"1\"", "odd", "{}").await.unwrap();
        assert_eq!(answer.result().unwrap(), odd);
        let echoed = client.call("\"\"", "echo", r#"{ "b":1e400,"a":1.0 }"#).await.unwrap();
        assert_eq!(echoed.result_member("structuredContent").unwrap(), r#"{ "b":1e400,"a":1.0 }"#);
        assert_eq!(echoed.id().unwrap(), "\"\"");
    }
}

#[tokio::test]
async fn shuffled_answers_reach_their_callers() {
    let client = start("--shuffle --foreign-id --answer-twice --noise 2 --crlf", Speaks::modern()).await;
    let calls = (0..64).map(|n| {
        let client = &client;
        async move {
            let id = if n % 2 == 0 { n.to_string() } else { format!("\"{}\"", n - 1) };
            let answer = client.call(&id, "echo", &format!(r#"{{"n":{n}}}"#)).await.unwrap();
            assert_eq!(answer.result_member("structuredContent").unwrap(), format!(r#"{{"n":{n}}}"#));
        }
    });
    let mut tasks = Box::pin(join_all(calls));
    tokio::time::timeout(SOON, &mut tasks).await.unwrap();
    let others = client.others();
    assert!(others.iter().any(|l| l.starts_with("noise 0")));
    assert!(others.iter().any(|l| l.contains("never-asked")));
    assert!(others.iter().any(|l| l.contains(r#""n":"#)), "second answers are nobody's");
}

async fn join_all(futures: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut pending: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(|cx| {
        pending.retain_mut(|f| f.as_mut().poll(cx).is_pending());
        if pending.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

#[tokio::test]
async fn probes_are_refused_as_told() {
    let rows = [
        ("--era legacy", Some(-32601)),
        ("--probe reply-error -32000", Some(-32000)),
        ("--probe empty", None),
        ("--era modern", None),
    ];
    for (switches, code) in rows {
        let client = start(switches, Speaks::modern()).await;
        let answer = client.request("1", "server/discover", "{}").await.unwrap();
        assert_eq!(answer.error_code(), code, "{switches}");
    }
    let client = start("--probe exit", Speaks::modern()).await;
    assert!(client.request("1", "server/discover", "{}").await.is_err());
}

#[tokio::test]
async fn legacy_needs_a_handshake_and_negotiates_down() {
    let client = start("--protocol 2025-03-26 --request-roots", Speaks::legacy()).await;
    client.wait_for("roots/list", SOON).await.unwrap();
    client.send(r#"{"jsonrpc":"2.0","id":"roots-1","result":{"roots":[]}}"#).await.unwrap();
    let report = client.call("1", "report", "{}").await.unwrap();
    assert!(report.result_member("structuredContent").unwrap().contains(r#""roots_answer":{"jsonrpc""#));
    let again = client.request("2", "initialize", r#"{"protocolVersion":"2026-07-28"}"#).await.unwrap();
    assert_eq!(again.result_member("protocolVersion").unwrap(), "\"2025-03-26\"");
}

#[tokio::test]
async fn pages_end_or_do_not() {
    let rows = [("--tools 25 --page-size 10", true), ("--same-cursor", false), ("--endless-pages", false)];
    for (switches, ends) in rows {
        let client = start(switches, Speaks::legacy()).await;
        let mut params = "{}".to_owned();
        let mut pages = 0;
        while pages < 5 {
            let list = client.request(&client.next_id(), "tools/list", &params).await.unwrap();
            pages += 1;
            let Some(cursor) = list.result_member("nextCursor") else { break };
            params = format!(r#"{{"cursor":{cursor}}}"#);
        }
        assert_eq!(pages, if ends { 3 } else { 5 }, "{switches}");
    }
}

#[tokio::test]
async fn progress_needs_a_token_and_logs_a_level() {
    let client = start("--marker M1", Speaks::modern()).await;
    let quiet = client.call("1", "progress", r#"{"n":3}"#).await.unwrap();
    assert!(quiet.before.is_empty());
    let params = r#"{"name":"progress","arguments":{"n":3},"_meta":{"progressToken":"t"}}"#;
    let told = client.request("2", "tools/call", params).await.unwrap();
    assert_eq!(told.before.len(), 3);
    assert!(told.before.iter().all(|n| n.contains(r#""progressToken":"t""#) && n.contains("M1")));
    assert!(client.call("3", "log", r#"{"n":2}"#).await.unwrap().before.is_empty());
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered() {
    let client = start("", Speaks::legacy()).await;
    let slow = client.call("7", "sleep_ms", r#"{"ms":60000}"#);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
            .await
            .unwrap();
        client.call("8", "report", "{}").await.unwrap()
    };
    tokio::select! {
        _ = slow => panic!("a cancelled call was answered"),
        report = cancel => assert!(report.text.contains(r#""cancelled":[7]"#)),
    }
}

#[tokio::test]
async fn processes_end_or_refuse_to() {
    let code = |switches: &'static str| async move {
        let client = start(switches, Speaks::modern()).await;
        client.call("1", "echo", "{}").await.ok();
        client.close_stdin().await;
        client.exited(Duration::from_millis(800)).await.ok().map(|s| s.code())
    };
    assert_eq!(code("").await, Some(Some(0)));
    assert_eq!(code("--exit 3").await, Some(Some(3)));
    assert_eq!(code("--exit-after 1").await, Some(Some(1)));
    assert_eq!(code("--crash-on echo").await, Some(None));
    assert_eq!(code("--ignore-eof").await, None);
    assert_eq!(code("--no-such-switch").await, Some(Some(2)));
}

#[tokio::test]
async fn stdout_closes_while_the_process_lives() {
    let client = start("--close-stdout --ignore-eof", Speaks::modern()).await;
    let lost = tokio::time::timeout(SOON, client.call("1", "echo", "{}")).await.unwrap();
    assert!(lost.is_err());
    assert!(client.exited(Duration::from_millis(200)).await.is_err());
}

#[tokio::test]
async fn a_grandchild_holds_stdout_open() {
    let client = start("--grandchild --crash-on echo --lifetime 1500", Speaks::modern()).await;
    let answer = tokio::time::timeout(Duration::from_millis(400), client.call("1", "echo", "{}")).await;
    assert!(answer.is_err(), "stdout ended although the grandchild has it");
    client.wait_for_stderr("grandchild pid=", SOON).await.unwrap();
    assert!(tokio::time::timeout(SOON, client.call("2", "echo", "{}")).await.unwrap().is_err());
}

#[tokio::test]
async fn long_lines_and_floods_do_not_stop_answers() {
    let client = start("--long-line 3000000 --stderr-flood unlimited", Speaks::modern()).await;
    let answer = client.call("1", "echo", "{}").await.unwrap();
    assert!(answer.text.len() > 3_000_000);
    assert!(answer.result().is_some());
}

#[tokio::test]
async fn changes_are_told_in_both_eras() {
    let legacy = start("--list-changed-after 100", Speaks::legacy()).await;
    legacy.wait_for("notifications/tools/list_changed", SOON).await.unwrap();
    let modern = start("--list-changed-after 300", Speaks::modern()).await;
    let listen =
        modern.request("\"L\"", "subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#);
    let told = async {
        modern.wait_for("subscriptions/acknowledged", SOON).await.unwrap();
        modern
            .wait_for(
                r#"tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}"#,
                SOON,
            )
            .await
    };
    tokio::select! {
        _ = listen => panic!("a listen request ended"),
        line = told => assert!(line.is_ok()),
    }
    let list = modern.request("2", "tools/list", "{}").await.unwrap();
    assert!(list.text.contains(fixtures::LATE_TOOL));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_report_tells_what_was_inherited() {
    let client = start("--marker sweep-me", Speaks::modern()).await;
    let report = client.call("1", "report", "{}").await.unwrap().result_member("structuredContent").unwrap();
    assert!(report.contains(r#""fds":[0, 1, 2"#), "{report}");
    assert!(report.contains(&format!(r#""pid":{}"#, client.pid())));
    assert!(report.contains("sweep-me"));
}

#[tokio::test]
async fn questions_are_asked_in_each_era() {
    let legacy = start("", Speaks::legacy()).await;
    let answer = async {
        let request = legacy.wait_for("elicitation/create", SOON).await.unwrap();
        assert!(request.contains(r#""id":"ask-1""#));
        let accept =
            r#"{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"name":"Ada"}}}"#;
        legacy.send(accept).await.unwrap();
    };
    let (answer, ()) = tokio::join!(legacy.call("1", "ask", "{}"), answer);
    assert!(answer.unwrap().text.contains(r#""answer":{"action":"accept","content":{"name":"Ada"}}"#));

    let modern = start("", Speaks::modern()).await;
    let asked = modern.call("1", "ask", "{}").await.unwrap();
    assert_eq!(asked.result_member("resultType").unwrap(), "\"input_required\"");
    let state = asked.result_member("requestState").unwrap();
    let retry =
        format!(r#"{{"name":"ask","inputResponses":{{"q":{{"action":"decline"}}}},"requestState":{state}}}"#);
    let done = modern.request("2", "tools/call", &retry).await.unwrap();
    assert!(done.text.contains(&format!(r#""answer":{{"q":{{"action":"decline"}}}},"state":{state}"#)));
}

#[tokio::test]
async fn faults_tied_to_a_file_heal_and_starts_are_counted() {
    let folder = std::env::temp_dir().join(format!("testkit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (fault, starts) = (folder.join("fault"), folder.join("starts"));
    std::fs::write(&fault, "").unwrap();
    let switches = format!("--exit 4 --faulty-while {} --starts-file {}", fault.display(), starts.display());
    let broken = start(&switches, Speaks::modern()).await;
    assert!(broken.call("1", "echo", "{}").await.is_err());
    std::fs::remove_file(&fault).unwrap();
    let healed = start(&switches, Speaks::modern()).await;
    assert_eq!(healed.call("1", "echo", "{}").await.unwrap().status, 200);
    let pids = format!("{}\n{}\n", broken.pid(), healed.pid());
    assert_eq!(std::fs::read_to_string(&starts).unwrap(), pids);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_control_file_orders_faults_of_the_moment_and_requests_are_recorded() {
    let folder = std::env::temp_dir().join(format!("testkit-control-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (control, requests) = (folder.join("control"), folder.join("requests"));
    let switches = format!("--control {} --requests-file {}", control.display(), requests.display());
    let client = start(&switches, Speaks::modern()).await;
    assert_eq!(client.call("1", "echo", r#"{ "n":1}"#).await.unwrap().status, 200);
    std::fs::write(&control, "hang").unwrap();
    let hanging = client.call("2", "echo", "{}");
    assert!(tokio::time::timeout(Duration::from_millis(150), hanging).await.is_err());
    std::fs::write(&control, "garbage\n").unwrap();
    tokio::select! {
        answer = client.call("3", "echo", "{}") => panic!("{answer:?}"),
        line = client.wait_for("oops", SOON) => assert!(line.is_ok()),
    }
    std::fs::remove_file(&control).unwrap();
    assert_eq!(client.call("4", "echo", "{}").await.unwrap().status, 200);
    std::fs::write(&control, "exit").unwrap();
    assert!(client.call("5", "echo", "{}").await.is_err());
    let again = start(&switches, Speaks::modern()).await;
    assert!(!again.exited(SOON).await.unwrap().success(), "it also holds at the start");
    let recorded = std::fs::read_to_string(&requests).unwrap();
    let first = format!("{} tools/call {{ \"n\":1}}", client.pid());
    assert_eq!((recorded.lines().next(), recorded.lines().count()), (Some(first.as_str()), 5));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn definitions_from_a_file_are_listed_as_they_are() {
    let file = std::env::temp_dir().join(format!("testkit-tools-{}.json", std::process::id()));
    std::fs::write(&file, format!("[ {} ,\n{{\"name\":\"own\",\"x\": 1.0}}]", fixtures::ODD_TOOL)).unwrap();
    let client =
        start(&format!("--tools-file {} --progress-always 2", file.display()), Speaks::legacy()).await;
    let list = client.request("1", "tools/list", "{}").await.unwrap();
    let expected = format!("[{},{{\"name\":\"own\",\"x\": 1.0}}]", fixtures::ODD_TOOL);
    assert_eq!(list.result_member("tools").unwrap(), expected);
    let call = r#"{"name":"own","arguments":{"k":1},"_meta":{"progressToken":"p"}}"#;
    let answer = client.request("2", "tools/call", call).await.unwrap();
    assert_eq!(
        (answer.before.len(), answer.result_member("structuredContent").unwrap()),
        (2, r#"{"k":1}"#.to_owned())
    );
    std::fs::remove_file(&file).unwrap();
}

fn signal(name: &str, pid: u32) {
    let sent = std::process::Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .status()
        .expect("sh runs");
    assert!(sent.success());
}

#[tokio::test]
async fn term_ends_a_process_unless_told_otherwise() {
    for (switches, ends) in [("", true), ("--ignore-term", false)] {
        let client = start(switches, Speaks::modern()).await;
        client.call("1", "echo", "{}").await.unwrap();
        signal("TERM", client.pid());
        assert_eq!(client.exited(Duration::from_millis(500)).await.is_ok(), ends, "{switches}");
        assert_eq!(client.call("2", "echo", "{}").await.is_ok(), !ends);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_escaped_grandchild_has_its_own_group() {
    for (switch, escapes) in [("--grandchild", false), ("--grandchild-escapes", true)] {
        let client = start(&format!("{switch} --lifetime 3000"), Speaks::modern()).await;
        let line = client.wait_for_stderr("grandchild pid=", SOON).await.unwrap();
        let pid = line.rsplit('=').next().unwrap().to_owned();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let group = stat.rsplit(')').next().unwrap().split_whitespace().nth(2).unwrap().to_owned();
        assert_eq!(group == pid, escapes, "{stat}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn grandchildren_may_be_two_and_one_leads_a_session() {
    let client = start("--grandchild --grandchild-session --lifetime 5000", Speaks::modern()).await;
    client.call("1", "echo", "{}").await.unwrap();
    client.wait_for_stderr("grandchild pid=", SOON).await.unwrap();
    let leads = |line: &str| {
        let pid = line.rsplit('=').next().unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(3)) == Some(pid)
    };
    let found = tokio::time::timeout(SOON, async {
        while client.stderr().lines().filter(|line| leads(line)).count() != 1 {
            tokio::task::yield_now().await;
        }
    });
    assert!(found.await.is_ok(), "{}", client.stderr());
    assert_eq!(client.stderr().lines().count(), 2);
}

#[tokio::test]
async fn silence_is_kept_and_reading_stops() {
    for switches in ["--silent", "--stop-reading", "--hang-on echo", "--start-delay 5000", "--probe silent"] {
        let client = start(switches, Speaks::modern()).await;
        let method = if switches == "--probe silent" { "server/discover" } else { "tools/call" };
        let request = client.request("1", method, r#"{"name":"echo"}"#);
        assert!(tokio::time::timeout(Duration::from_millis(150), request).await.is_err(), "{switches}");
        assert!(client.exited(Duration::from_millis(1)).await.is_err(), "{switches}");
    }
}
