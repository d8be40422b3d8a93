//! Whatever ends the gateway, nothing of its downstreams is left.

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::support::{Folder, Serving, fake, gatewayd};
use gateway_testkit::client::{HttpClient, Speaks};

/// Servers that do not go by themselves, or not with all they have started.
fn stubborn() -> Folder {
    let servers = [
        fake("family", &["--grandchild"]),
        fake("deaf", &["--ignore-eof", "--ignore-term"]),
        fake("escapes", &["--ignore-eof", "--grandchild-escapes"]),
    ];
    Folder::with(&servers.concat())
}

/// Starts a gateway and waits until it has its three servers with two grandchildren, and its watcher.
async fn start(folder: &Folder) -> (Serving, u32, Vec<u32>) {
    let serving = Serving::start(folder, &[]);
    let client = HttpClient::connect(&serving.url, Speaks::modern()).await.unwrap();
    for name in ["family", "deaf", "escapes"] {
        let answer = client.call("1", &format!("{name}__echo"), "{}").await.unwrap();
        assert!(answer.result().is_some(), "{}", answer.text);
    }
    let Some(watcher) = watcher(serving.pid()) else { panic!("no watcher: {}", serving.log()) };
    let run = marked(serving.pid());
    assert_eq!(run.len(), 5, "{}", serving.log());
    (serving, watcher, run)
}

/// The watcher of a gateway.
fn watcher(gateway: u32) -> Option<u32> {
    processes().find(|process| parent(*process) == Some(gateway) && is_watcher(*process))
}

fn is_watcher(process: u32) -> bool {
    read(process, "cmdline").ends_with("\0lifeline\0")
}

fn parent(process: u32) -> Option<u32> {
    let stat = read(process, "stat");
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

/// Everything that carries the marker of the gateway's children.
fn marked(gateway: u32) -> Vec<u32> {
    let run = processes().find_map(|process| (parent(process) == Some(gateway)).then(|| run_of(process))?);
    processes().filter(|process| run.is_some() && run_of(*process) == run).collect()
}

fn run_of(process: u32) -> Option<String> {
    let environment = read(process, "environ");
    let marker = environment.split('\0').find_map(|text| text.strip_prefix("GATEWAYD_LIFELINE="))?;
    Some(marker.split('-').next()?.to_owned())
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn read(process: u32, file: &str) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{process}/{file}")).unwrap_or_default()).into_owned()
}

/// Has not ended; one that its parent has not looked after yet has.
fn lives(process: u32) -> bool {
    let stat = read(process, "stat");
    stat.rsplit(')').next().is_some_and(|rest| !stat.is_empty() && !rest.starts_with(" Z"))
}

fn until(at_most: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + at_most;
    while Instant::now() < end {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn send(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_a_gateway_that_is_killed() {
    let (serving, watcher, run) = start(&stubborn()).await;
    // What a terminal or an operator may do to everything at once.
    for signal in ["-INT", "-TERM", "-HUP"] {
        send(signal, watcher);
    }
    send("-KILL", serving.pid());
    let gone = until(Duration::from_secs(5), || !run.iter().any(|process| lives(*process)));
    assert!(gone, "left: {:?}", run.iter().filter(|process| lives(**process)).collect::<Vec<_>>());
    assert!(until(Duration::from_secs(2), || !lives(watcher)), "the watcher goes when it is done");
}

/// It has left its parent, its group and its session, and has thrown its environment away.
#[tokio::test(flavor = "multi_thread")]
async fn a_helper_that_hides_does_not_outlive_a_gateway_that_is_killed() {
    let told = tempfile::tempdir().unwrap();
    let told = told.path().join("pid");
    let server = gateway_testkit::stdio::command([""; 0]).join(" ");
    let hide = format!("(env -i setsid sh -c 'echo $$ > {}; exec sleep 60' &)", told.display());
    let script = format!("{hide}; exec {server}");
    let folder = Folder::with(&format!("[downstreams.hides]\ncommand = [\"sh\", \"-c\", {script:?}]\n"));
    let serving = Serving::start(&folder, &[]);
    let client = HttpClient::connect(&serving.url, Speaks::modern()).await.unwrap();
    let answer = client.call("1", "hides__echo", "{}").await.unwrap();
    assert!(answer.result().is_some(), "{}", answer.text);
    let helper = || fs::read_to_string(&told).ok()?.trim().parse().ok();
    assert!(until(Duration::from_secs(20), || helper().is_some()), "{}", serving.log());
    let helper = helper().unwrap();
    assert!(lives(helper));
    send("-KILL", serving.pid());
    assert!(until(Duration::from_secs(5), || !lives(helper)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_ends_in_order_leaves_nothing_either() {
    let (mut serving, watcher, run) = start(&stubborn()).await;
    assert_eq!(serving.terminate(Duration::from_secs(15)), Some(0), "{}", serving.log());
    let gone = until(Duration::from_secs(5), || !run.iter().any(|process| lives(*process)));
    assert!(gone, "left: {:?}", run.iter().filter(|process| lives(**process)).collect::<Vec<_>>());
    assert!(until(Duration::from_secs(2), || !lives(watcher)), "the watcher goes with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_is_killed_is_replaced() {
    let (serving, first, run) = start(&stubborn()).await;
    send("-KILL", first);
    let replaced = || watcher(serving.pid()).is_some_and(|second| second != first && lives(second));
    assert!(until(Duration::from_secs(5), replaced), "{}", serving.log());
    assert!(serving.log().contains("the lifeline watcher is lost"), "{}", serving.log());
    assert!(run.iter().all(|process| lives(*process)), "the children are let alone");
    send("-KILL", serving.pid());
    assert!(until(Duration::from_secs(5), || !run.iter().any(|process| lives(*process))));
}

#[test]
fn commands_leave_no_watcher() {
    let folder = Folder::with(&fake("d", &["--grandchild-escapes"]));
    for arguments in [&["call", "d__echo"][..], &["check"], &["tools"]] {
        let mut command = gatewayd();
        command.args(arguments).args(["--config".as_ref(), folder.config().as_os_str()]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let gateway = child.id();
        let mut seen = None;
        let ended = until(Duration::from_secs(20), || {
            seen = seen.or_else(|| watcher(gateway));
            child.try_wait().unwrap().is_some()
        });
        assert!(ended, "{arguments:?}");
        let watcher = seen.expect("a command that starts children has a watcher");
        assert!(until(Duration::from_secs(2), || !lives(watcher)), "{arguments:?}");
    }
}
