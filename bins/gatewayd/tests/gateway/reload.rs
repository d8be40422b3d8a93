//! A configuration that changes while the gateway runs: what it does not concern goes on.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::support::{
    Folder, PATIENCE, Serving, WATCHED, fake, gatewayd, hang_up, has, logged, until, write,
};
use gateway_testkit::client::{Answer, HttpClient, Messages, Speaks, StdioClient};
use tokio::time::timeout;

const LISTEN: &str = r#"{"notifications":{"toolsListChanged":true}}"#;

/// A server that counts its calls, each client's by themselves.
fn kept() -> String {
    fake("kept", &["--era", "legacy"])
}

async fn told(stream: &mut Messages<'_>, serving: &Serving) {
    match timeout(PATIENCE, stream.next()).await {
        Ok(Ok(Some(message))) => assert!(message.contains("notifications/tools/list_changed"), "{message}"),
        other => panic!("no notification, {other:?}:\n{}", serving.log()),
    }
}

fn fact(answer: &Answer, name: &str) -> String {
    let rest =
        answer.text.split(&format!(r#""{name}":"#)).nth(1).unwrap_or_else(|| panic!("{}", answer.text));
    rest.split([',', '}']).next().unwrap().to_owned()
}

/// The count of this client, one more with each call.
async fn count(client: &HttpClient) -> String {
    fact(&client.call("1", "kept__counter", "{}").await.unwrap(), "count")
}

async fn pid(client: &HttpClient, downstream: &str) -> String {
    fact(&client.call("1", &format!("{downstream}__report"), "{}").await.unwrap(), "pid")
}

#[tokio::test(flavor = "multi_thread")]
async fn downstreams_come_and_go_and_the_others_do_not_notice() {
    for by_signal in [false, true] {
        let folder = Folder::with(&format!("{}{}", kept(), fake("leaves", &[])));
        let serving = Serving::start(&folder, if by_signal { &["--no-watch"] } else { &WATCHED });
        let legacy = HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap();
        let modern = HttpClient::connect(&serving.url, Speaks::modern()).await.unwrap();
        for tool in ["kept__counter", "leaves__echo"] {
            until(tool, &serving, async || has(&legacy, tool).await).await;
        }
        let before = pid(&legacy, "kept").await;
        assert_eq!([count(&legacy).await, count(&legacy).await], ["1", "2"]);
        let mut stream = legacy.listen().await.unwrap();
        let mut listening = modern.open("\"l\"", "subscriptions/listen", LISTEN).await.unwrap();
        listening.next().await.unwrap();

        write(&folder, &format!("{}{}", kept(), fake("comes", &[])));
        if by_signal {
            hang_up(serving.pid());
        }
        told(&mut stream, &serving).await;
        told(&mut listening, &serving).await;
        until("comes", &serving, async || has(&legacy, "comes__echo").await).await;
        until("leaves", &serving, async || !has(&legacy, "leaves__echo").await).await;
        let gone = modern.call("1", "leaves__echo", "{}").await.unwrap();
        assert!(gone.error().is_some(), "{}", gone.text);
        let comes = modern.call("1", "comes__echo", "{}").await.unwrap();
        assert!(comes.result().is_some(), "{}", comes.text);
        assert_eq!(pid(&legacy, "kept").await, before, "the same process");
        assert_eq!(count(&legacy).await, "3", "the same session");
        logged(&serving, "configuration reloaded", 1).await;
        let log = serving.log();
        let line = log.lines().find(|line| line.contains("configuration reloaded")).unwrap();
        for part in ["added=\"comes\"", "changed=\"\"", "removed=\"leaves\"", "kept=1"] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_configuration_changes_nothing_until_it_is_mended() {
    let folder = Folder::with(&kept());
    let serving = Serving::start(&folder, &WATCHED);
    let client = HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap();
    until("kept", &serving, async || has(&client, "kept__counter").await).await;
    assert_eq!(count(&client).await, "1");
    let added = fake("added", &[]);
    let secret = folder.config().with_file_name("token");
    let rows = [
        ("[downstreams.kept\ncommand = 1", "gateway.toml:1"),
        ("listne = 1\n[downstreams.a__b]\ncommand = [\"x\"]\n", "did you mean `listen`?"),
        ("[clients.desk]\nkey = { env = \"NOT_SET_ANYWHERE\" }\n", "NOT_SET_ANYWHERE is not set"),
        ("[downstreams]\n", "no downstreams are configured"),
        (&format!("{added}env = {{ TOKEN = {{ file = \"token\" }} }}\n"), "cannot read"),
    ];
    for (n, (text, problem)) in rows.iter().enumerate() {
        write(&folder, text);
        logged(&serving, "configuration rejected", n + 1).await;
        assert!(serving.log().contains(problem), "{problem}:\n{}", serving.log());
        assert_eq!(count(&client).await, (n + 2).to_string(), "it goes on after {text}");
    }
    assert!(serving.log().contains("separates downstream and tool"), "every problem: {}", serving.log());
    // The configuration is good as soon as the secret is there; its own file need not be touched.
    std::fs::write(&secret, "s3cr3t").unwrap();
    until("added", &serving, async || has(&client, "added__echo").await).await;
    until("kept", &serving, async || !has(&client, "kept__counter").await).await;
    assert!(!serving.log().contains("s3cr3t"), "{}", serving.log());
    let before = pid(&client, "added").await;
    std::fs::write(&secret, "an0ther").unwrap();
    until("another process", &serving, async || {
        let answer = client.call("1", "added__report", "{}").await.unwrap();
        answer.result().is_some() && fact(&answer, "pid") != before
    })
    .await;
    let metrics = metrics(&serving).await;
    for line in [r#"{result="applied"} 2"#, r#"{result="rejected"} 5"#] {
        assert!(metrics.contains(&format!("gateway_config_reloads_total{line}")), "{line}: {metrics}");
    }
}

async fn metrics(serving: &Serving) -> String {
    let addr = serving.url.split('/').nth(2).unwrap();
    let text = format!("GET /metrics HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
    let bytes = gateway_testkit::client::raw(addr.parse().unwrap(), text.as_bytes()).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_goes_away_is_no_change_and_no_demonstration() {
    let folder = Folder::with(&kept());
    let serving = Serving::start(&folder, &WATCHED);
    let client = HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap();
    until("kept", &serving, async || has(&client, "kept__counter").await).await;
    std::fs::remove_file(folder.config()).unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!serving.log().contains("configuration rejected"), "{}", serving.log());
    hang_up(serving.pid());
    logged(&serving, "configuration rejected", 1).await;
    assert!(serving.log().contains("gateway.toml: cannot be read"), "{}", serving.log());
    assert!(has(&client, "kept__counter").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_downstream_ends_before_it_starts_anew() {
    let stubborn = |more: &str| {
        format!("{}terminate = \"300ms\"\n{more}", fake("d", &["--ignore-eof", "--ignore-term"]))
    };
    let folder = Folder::with(&format!("{}{}", kept(), stubborn("")));
    let serving = Serving::start(&folder, &WATCHED);
    let client = HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap();
    for tool in ["kept__counter", "d__echo"] {
        until(tool, &serving, async || has(&client, tool).await).await;
    }
    let (kept_pid, before) = (pid(&client, "kept").await, pid(&client, "d").await);
    let found = folder.config().with_file_name("found");
    let argv = looking_for(&before, &found);
    write(&folder, &format!("{}[downstreams.d]\ncommand = {}\n", kept(), crate::support::toml(&argv)));
    until("the new one", &serving, async || found.exists()).await;
    until("calls", &serving, async || {
        let answer = client.call("1", "d__report", "{}").await.unwrap();
        answer.result().is_some() && fact(&answer, "pid") != before
    })
    .await;
    let found = std::fs::read_to_string(&found).unwrap();
    assert!(!found.contains("alive") && found.contains("gone"), "{found}");
    assert_eq!(pid(&client, "kept").await, kept_pid);

    // What concerns only the list leaves its processes alone.
    let now = pid(&client, "d").await;
    let filtered = "tools = { deny = [\"echo\"] }\nrequired = true\n";
    write(
        &folder,
        &format!("{}[downstreams.d]\ncommand = {}\n{filtered}", kept(), crate::support::toml(&argv)),
    );
    until("d__echo is not offered", &serving, async || !has(&client, "d__echo").await).await;
    until("d__report is offered", &serving, async || has(&client, "d__report").await).await;
    assert_eq!(pid(&client, "d").await, now);

    write(
        &folder,
        &format!("{}[downstreams.d]\ncommand = {}\nenabled = false\n", kept(), crate::support::toml(&argv)),
    );
    until("d is gone", &serving, async || !Path::new(&format!("/proc/{now}")).exists()).await;
    assert!(!has(&client, "d__report").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_whose_key_is_taken_away_has_nothing_left() {
    let clients =
        |desk: &str| format!("{desk}[clients.lab]\nkey = \"lab-key-0123456789\"\nallow = [\"*\"]\n");
    let desk = "[clients.desk]\nkey = \"desk-key-0123456789\"\nallow = [\"*\"]\n";
    let folder = Folder::with(&format!("{}{}", kept(), clients(desk)));
    let serving = Serving::start(&folder, &WATCHED);
    let connect = async |key: &str| {
        let client = HttpClient::new(&serving.url, Speaks::legacy()).unwrap();
        let client = client.with_header("authorization", &format!("Bearer {key}"));
        client.shake_hands().await.unwrap();
        client
    };
    let (desk, lab) = (connect("desk-key-0123456789").await, connect("lab-key-0123456789").await);
    until("kept", &serving, async || has(&desk, "kept__counter").await).await;
    assert_eq!([count(&desk).await, count(&lab).await], ["1", "1"]);
    let process = pid(&desk, "kept").await;
    let mut stream = desk.listen().await.unwrap();
    write(&folder, &format!("{}{}", kept(), clients("")));
    assert_eq!(timeout(PATIENCE, stream.next()).await.unwrap().unwrap(), None, "{}", serving.log());
    assert_eq!(desk.request("1", "tools/list", "{}").await.unwrap().status, 401);
    until("its process", &serving, async || !Path::new(&format!("/proc/{process}")).exists()).await;
    assert_eq!(count(&lab).await, "2");

    // The key is good again, the session is not.
    write(
        &folder,
        &format!("{}{}", kept(), clients("[clients.desk]\nkey = \"desk-key-0123456789\"\nallow = [\"*\"]\n")),
    );
    let status = async || desk.request("1", "tools/list", "{}").await.unwrap().status;
    until("the key", &serving, async || status().await != 401).await;
    assert_eq!(status().await, 404);
    assert_eq!(count(&lab).await, "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_restart_is_named_and_the_rest_is_taken_on() {
    let folder = Folder::with(&format!("{}{}", "lists = { page_size = 99 }\n", kept()));
    let serving = Serving::start(&folder, &WATCHED);
    let client = HttpClient::connect(&serving.url, Speaks::modern()).await.unwrap();
    until("kept", &serving, async || has(&client, "kept__counter").await).await;
    let top =
        "admin = { listen = \"127.0.0.1:1\" }\nlists = { page_size = 1 }\nlimits = { body_bytes = 1024 }\n";
    write(&folder, &format!("{top}{}", kept()));
    logged(&serving, "until the gateway is restarted", 1).await;
    let log = serving.log();
    assert!(log.contains("keys=\"lists admin.listen\""), "{log}");
    assert!(log.contains("settings=\"limits\""), "{log}");
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(2000));
    assert_eq!(client.call("1", "kept__echo", &large).await.unwrap().status, 413);
    assert!(has(&client, "kept__counter").await, "pages are as long as before");
}

#[tokio::test(flavor = "multi_thread")]
async fn reloads_under_load_lose_no_call_of_what_they_leave_alone() {
    let steady = || format!("{}{}", kept(), fake("modern", &["--era", "modern"]));
    let folder = Folder::with(&steady());
    let serving = Arc::new(Serving::start(&folder, &["--no-watch"]));
    let first = HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap();
    for tool in ["kept__echo", "modern__echo"] {
        until(tool, &serving, async || has(&first, tool).await).await;
    }
    let (done, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..8)
        .map(|n| {
            let (url, done, calls) = (serving.url.clone(), done.clone(), calls.clone());
            let speaks = if n % 2 == 0 { Speaks::legacy() } else { Speaks::modern() };
            tokio::spawn(async move {
                let client = HttpClient::connect(&url, speaks).await.unwrap();
                while !done.load(Ordering::SeqCst) {
                    for tool in ["kept__echo", "modern__echo"] {
                        let answer = client.call("1", tool, r#"{"n":1}"#).await.unwrap();
                        assert!(answer.result().is_some(), "{}", answer.text);
                        calls.fetch_add(1, Ordering::SeqCst);
                    }
                }
            })
        })
        .collect();
    for n in 0..20 {
        let other = fake("other", &["--tools", &(n + 1).to_string()]);
        let other = if n % 3 == 2 { String::new() } else { other };
        write(&folder, &format!("{}{other}", steady()));
        hang_up(serving.pid());
        logged(&serving, "configuration reloaded", n + 1).await;
    }
    done.store(true, Ordering::SeqCst);
    for caller in callers {
        caller.await.unwrap_or_else(|error| panic!("{error}:\n{}", serving.log()));
    }
    assert!(calls.load(Ordering::SeqCst) >= 100, "{calls:?} calls are no load");
}

/// Each reload ends before the next begins, and none waits for what it ends.
#[tokio::test(flavor = "multi_thread")]
async fn signals_that_come_during_a_reload_lead_to_one_more() {
    let folder = Folder::with(&kept());
    let serving = Serving::start(&folder, &["--no-watch"]);
    let client = HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap();
    until("kept", &serving, async || has(&client, "kept__counter").await).await;
    let reloads = || serving.log().matches("configuration reloaded").count();
    let most = 10;
    for n in 0..most {
        write(&folder, &format!("{}{}", kept(), fake(&format!("n{n}"), &[])));
        hang_up(serving.pid());
    }
    let last = format!("n{}__echo", most - 1);
    until("the last one", &serving, async || has(&client, &last).await).await;
    for n in 0..most - 1 {
        assert!(!has(&client, &format!("n{n}__echo")).await, "n{n}:\n{}", serving.log());
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!((1..=most).contains(&reloads()), "{}", serving.log());
    assert_eq!(count(&client).await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_slow_to_end_holds_up_no_later_reload() {
    let clients = |key: &str| {
        format!(
            "[clients.lab]\nkey = \"lab-key-0123456789\"\nallow = [\"*\"]\n[clients.desk]\nkey = \"{key}\"\nallow = [\"*\"]\n"
        )
    };
    let (old_key, new_key) = ("desk-key-0123456789", "desk-key-9876543210");
    let slow = |more: &str| {
        let server = fake("slow", &["--ignore-eof", "--ignore-term"]);
        format!("{server}terminate = \"5s\"\n{more}")
    };
    let leaves = format!("{}terminate = \"5s\"\n", fake("leaves", &["--ignore-eof", "--ignore-term"]));
    let folder = Folder::with(&format!("{}{}{leaves}", clients(old_key), slow("")));
    let serving = Serving::start(&folder, &["--no-watch"]);
    let connect = async |key: &str| {
        let client = HttpClient::new(&serving.url, Speaks::legacy()).unwrap();
        let client = client.with_header("authorization", &format!("Bearer {key}"));
        client.shake_hands().await.unwrap();
        client
    };
    let (desk, lab) = (connect(old_key).await, connect("lab-key-0123456789").await);
    for tool in ["slow__echo", "leaves__echo"] {
        until(tool, &serving, async || has(&desk, tool).await).await;
    }
    let (before, left) = (pid(&lab, "slow").await, pid(&lab, "leaves").await);
    let is_there = |process: &str| Path::new(&format!("/proc/{process}")).exists();
    let found = folder.config().with_file_name("found");
    let argv = looking_for(&before, &found);
    let new = format!("[downstreams.slow]\ncommand = {}\n", crate::support::toml(&argv));

    // The first changes one and takes the other away, the next ones come while these end.
    write(&folder, &format!("{}{}", clients(old_key), slow("call_timeout = \"50s\"\n")));
    hang_up(serving.pid());
    logged(&serving, "configuration reloaded", 1).await;
    assert!(is_there(&before) && is_there(&left), "the reload waited for their end:\n{}", serving.log());
    let begun = Instant::now();
    write(&folder, &format!("{}{new}", clients(new_key)));
    hang_up(serving.pid());
    until("the old key is refused", &serving, async || {
        // A list would wait for the new one's.
        desk.request("1", "ping", "{}").await.unwrap().status == 401
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}:\n{}", begun.elapsed(), serving.log());
    assert!(is_there(&before), "it has ended before this could be seen");
    assert!(!found.exists(), "the new one did not wait");
    until("the new one answers", &serving, async || {
        lab.call("1", "slow__report", "{}").await.unwrap().result().is_some()
    })
    .await;
    assert_eq!(std::fs::read_to_string(&found).unwrap().matches("alive").count(), 0);
    assert!(!is_there(&before));
    until("the other one is gone", &serving, async || !is_there(&left)).await;
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_that_nobody_writes_into_holds_up_no_reload() {
    let secret = |file: &str| format!("{}env = {{ TOKEN = {{ file = \"{file}\" }} }}\n", fake("added", &[]));
    for arguments in [&["--no-watch"][..], &WATCHED] {
        let folder = Folder::with(&kept());
        let serving = Serving::start(&folder, arguments);
        let client = HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap();
        until("kept", &serving, async || has(&client, "kept__counter").await).await;
        let reload = || {
            if arguments == ["--no-watch"] {
                hang_up(serving.pid());
            }
        };
        let near = |name: &str| folder.config().with_file_name(name);
        // In the place of the configuration itself.
        make_pipe(&near("pipe"));
        std::fs::rename(near("pipe"), folder.config()).unwrap();
        reload();
        logged(&serving, "configuration rejected", 1).await;
        assert!(
            serving.log().contains("gateway.toml: cannot be read: it is no regular file"),
            "{}",
            serving.log()
        );
        // In the place of a secret.
        make_pipe(&near("token"));
        write(&folder, &format!("{}{}", kept(), secret("token")));
        reload();
        logged(&serving, "configuration rejected", 2).await;
        assert!(serving.log().contains("token: it is no regular file"), "{}", serving.log());
        assert_eq!(count(&client).await, "1");
        // A link to a good one is good.
        std::fs::write(near("real"), "s3cr3t").unwrap();
        std::fs::remove_file(near("token")).unwrap();
        std::os::unix::fs::symlink(near("real"), near("token")).unwrap();
        reload();
        until("added", &serving, async || has(&client, "added__echo").await).await;
        assert_eq!(serving.log().matches("configuration rejected").count(), 2, "{}", serving.log());
        let metrics = metrics(&serving).await;
        assert!(metrics.contains(r#"gateway_config_reloads_total{result="rejected"} 2"#), "{metrics}");
    }
}

/// What is written into a pipe is there once; who starts the gateway writes it, and nobody does later.
#[tokio::test(flavor = "multi_thread")]
async fn pipes_are_read_when_the_gateway_starts() {
    let folder = Folder::with("");
    std::fs::remove_file(folder.config()).unwrap();
    let token = folder.config().with_file_name("token");
    make_pipe(&folder.config());
    make_pipe(&token);
    let text = format!("{}env = {{ TOKEN = {{ file = \"token\" }} }}\n", kept());
    let config = folder.config();
    let writing = std::thread::spawn(move || {
        std::fs::write(config, text).unwrap();
        std::fs::write(token, "s3cr3t").unwrap();
    });
    let serving = Serving::start(&folder, &WATCHED);
    writing.join().unwrap();
    let client = HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap();
    until("kept", &serving, async || has(&client, "kept__counter").await).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(
        !serving.log().contains("configuration re"),
        "a pipe that was read has not changed:\n{}",
        serving.log()
    );
    hang_up(serving.pid());
    logged(&serving, "configuration rejected", 1).await;
    assert_eq!(count(&client).await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_the_client_is_told() {
    let folder = Folder::with(&kept());
    let mut command = gatewayd();
    command.args(["stdio", "--watch-interval", "50ms", "--config"]).arg(folder.config());
    let client = StdioClient::spawn(command.into(), Speaks::legacy()).await.unwrap();
    let listed = async |tool: &str| {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = client.request("\"list\"", "tools/list", "{}").await.unwrap();
            if answer.text.contains(tool) {
                return;
            }
            assert!(Instant::now() < end, "{tool} is not in {}", answer.text);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    listed("kept__counter").await;
    let counted = async || fact(&client.call("1", "kept__counter", "{}").await.unwrap(), "count");
    assert_eq!(counted().await, "1");
    write(&folder, &format!("{}{}", kept(), fake("added", &[])));
    listed("added__echo").await;
    assert_eq!(counted().await, "2");
    client.close_stdin().await;
    assert_eq!(client.exited(Duration::from_secs(10)).await.unwrap().code(), Some(0));
}

#[test]
fn commands_that_end_by_themselves_are_stopped_by_sighup() {
    let folder = Folder::with(&fake("hangs", &["--silent"]));
    let mut command = gatewayd();
    command.arg("check").arg("--config").arg(folder.config()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut checking = command.spawn().unwrap();
    let pid = checking.id();
    let children = || std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    wait(|| !children().is_empty() || checking.try_wait().unwrap().is_some());
    hang_up(pid);
    assert_eq!(checking.wait().unwrap().code(), Some(1));
}

/// `script` gives the gateway a terminal; when it is killed, that terminal is gone and the kernel says so.
#[test]
fn a_terminal_that_goes_away_takes_the_gateway_with_it() {
    let folder = Folder::with(&kept());
    let log = folder.config().with_file_name("log");
    let program = env!("CARGO_BIN_EXE_gatewayd");
    let config = folder.config();
    let pid = folder.config().with_file_name("pid");
    let run = format!(
        "echo $$ >{}; exec {program} serve --listen 127.0.0.1:0 --config {} 2>{}",
        pid.display(),
        config.display(),
        log.display()
    );
    let mut terminal = Command::new("script")
        .args(["-qec", &run, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let text = |log: &PathBuf| std::fs::read_to_string(log).unwrap_or_default();
    wait(|| text(&log).contains("listening on"));
    let _never_left = Killed(text(&pid).trim().to_owned());
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    wait(|| text(&log).contains("stopped"));
    assert!(text(&log).contains("SIGHUP: stopping"), "{}", text(&log));
    assert!(!text(&log).contains("configuration re"), "{}", text(&log));
}

/// A process that is killed when this is dropped, if it has not ended.
struct Killed(String);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(Command::new("kill").args(["-KILL", &self.0]).stderr(Stdio::null()).status());
    }
}

fn wait(mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "what is waited for does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The command of a fake that first looks whether a process is there, and writes into `found` what it sees.
fn looking_for(process: &str, found: &Path) -> Vec<String> {
    let found = found.display();
    let script =
        format!("if [ -e /proc/{process} ]; then echo alive; else echo gone; fi >> {found}; exec \"$@\"");
    let mut argv = vec!["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned()];
    argv.extend(gateway_testkit::stdio::command::<&str>([]));
    argv
}
