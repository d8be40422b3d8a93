//! What a server starts, wherever it goes.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use gateway_domain::{DownstreamSession, Era, Session};
use gateway_testkit::stdio;
use gateway_transport_stdio::{StdioConfig, StdioSession};
use rustix::{
    io::{FdFlags, fcntl_setfd},
    process::{Pid, Signal, kill_process},
};

use crate::support::*;

/// A folder of its own for a test, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(marker(name));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The process that has written its number there.
    async fn pid(&self, name: &str) -> i32 {
        let file = self.file(name);
        let read = || std::fs::read_to_string(&file).ok()?.strip_suffix('\n')?.parse().ok();
        until("it has told its number", || read().is_some()).await;
        read().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A session with a shell that runs a script and then becomes the fake. In the script `$D` is the folder, and
/// `$H NAME` is a helper that writes its number there and lives on for a minute, deaf to SIGTERM.
async fn scripted(folder: &Folder, script: &str, switches: &str) -> (StdioSession, Arc<Ear>) {
    let helper = folder.file("helper");
    std::fs::write(&helper, "trap '' TERM; echo $$ > $0.$1; for n in $(seq 300); do sleep 0.2; done\n")
        .unwrap();
    let fake = stdio::command(switches.split_whitespace()).join(" ");
    let (folder, helper) = (folder.0.display(), helper.display());
    let script = format!("D={folder}; H='/bin/sh {helper}'; {script}\nexec {fake}");
    let config = config("", |c| c.command = ["/bin/sh", "-c", &script].map(str::to_owned).to_vec());
    let (factory, ear) = factory(config);
    (factory.open(&profile(Era::Legacy)).await.unwrap(), ear)
}

/// Is there, if only to be reaped.
fn exists(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn kill(pid: impl TryInto<i32, Error: std::fmt::Debug>) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_server_gets_nothing_but_its_three_pipes_and_goes_with_the_gateway() {
    let leaked = std::fs::File::open("/dev/null").unwrap();
    fcntl_setfd(&leaked, FdFlags::empty()).unwrap();
    let session = open(Era::Modern, "").await;
    let facts = report(&session).await;
    let fact = |name| facts.get(name).unwrap().as_str().to_owned();
    assert_eq!(fact("fds"), "[0, 1, 2]");
    assert_eq!((fact("pgid"), fact("sid")), (session.pid().to_string(), session.pid().to_string()));
    let limits = fact("limits");
    let core = limits.split("\",\"").find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).collect::<Vec<_>>(), ["0", "0", "bytes"]);
    assert_eq!(fact("pdeathsig"), Signal::KILL.as_raw().to_string());
}

#[tokio::test]
async fn whoever_has_left_the_group_is_gone_with_the_server() {
    for (what, escape) in [
        ("a session of its own", "setsid $H a &"),
        ("an empty environment too", "env -i setsid $H a &"),
        ("a parent that has gone", "(setsid $H a &)"),
        ("its child has left too", "setsid sh -c \"env -i setsid $H a & exec sleep 60\" &"),
        ("a group of its own", "env -i timeout 60 $H a &"),
    ] {
        for crash in [false, true] {
            let folder = Folder::new("escape");
            let (session, ear) = scripted(&folder, escape, "--ignore-eof").await;
            let helper = folder.pid("helper.a").await;
            let server = session.pid();
            if crash {
                kill(server);
                until("the loss was told", || ear.losses.lock().unwrap().len() == 1).await;
            }
            let begun = tokio::time::Instant::now();
            session.close().await;
            assert!(!exists(helper), "{what}, crash: {crash}");
            assert!(!exists(server.try_into().unwrap()), "{what}, crash: {crash}");
            assert!(begun.elapsed() < Duration::from_secs(4), "{what}: {:?}", begun.elapsed());
        }
    }
}

#[tokio::test]
async fn whoever_has_left_may_tidy_up_first() {
    // It holds none of the pipes, by whose end it could be noticed.
    let folder = Folder::new("tidy");
    let tidy = "trap 'sleep 0.1; echo done > $D/tidied; exit' TERM; echo $$ > $D/pid; for n in $(seq 1200); do sleep 0.05; done";
    let script =
        format!("export D; cat > $D/tidy <<'end'\n{tidy}\nend\nsetsid sh $D/tidy > /dev/null 2>&1 &");
    let (session, _) = scripted(&folder, &script, "").await;
    let helper = folder.pid("pid").await;
    session.close().await;
    assert_eq!(std::fs::read_to_string(folder.file("tidied")).unwrap(), "done\n");
    assert!(!exists(helper));
}

#[tokio::test]
async fn orphans_are_reaped_while_the_server_lives() {
    let folder = Folder::new("orphan");
    let script = "(sh -c 'echo $$ > '$D'/a; exec sleep 0.2' & env -i setsid sh -c 'echo $$ > '$D'/b; exec sleep 0.2' &)";
    let (session, _) = scripted(&folder, script, "").await;
    for name in ["a", "b"] {
        let orphan = folder.pid(name).await;
        until("the orphan is reaped", || !exists(orphan)).await;
    }
    assert!(session.is_open());
    session.ping().await.unwrap();
}

#[tokio::test]
async fn one_end_touches_nobody_else() {
    let folder = Folder::new("others");
    // The first two have a parent, the others are orphans from the start.
    let script = "setsid $H a & env -i setsid $H b & (setsid $H c & env -i setsid $H d &)";
    let (session, _) = scripted(&folder, script, "").await;
    let mut helpers = Vec::new();
    for name in ["a", "b", "c", "d"] {
        helpers.push(folder.pid(&format!("helper.{name}")).await);
    }
    // Children of other code in this process: one that lives, one that waits to be reaped.
    let sleeper = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn();
    let (mut sleeper, mut ended) = (sleeper.unwrap(), Command::new("true").spawn().unwrap());
    for crash in [false, true] {
        let other = open(Era::Modern, "--grandchild").await;
        if crash {
            kill(other.pid());
        }
        other.close().await;
    }
    assert!(helpers.iter().copied().all(exists));
    assert_eq!(sleeper.try_wait().unwrap(), None);
    assert!(ended.wait().unwrap().success());
    sleeper.kill().unwrap();
    assert_eq!(sleeper.wait().unwrap().signal(), Some(9));
    session.close().await;
    assert!(!helpers.into_iter().any(exists));
}

#[test]
fn the_end_of_the_thread_that_asked_for_a_server_is_not_that_of_the_server() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let session = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let threaded = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _context = runtime.enter();
            drop(threaded);
            runtime.handle().block_on(open(Era::Modern, ""))
        });
        asking.join().unwrap()
    });
    runtime.block_on(async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        result(&session, "echo", "{}").await;
        session.close().await;
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_that_do_not_want_to_go_are_gone_in_the_time_of_one() {
    let marker = marker("many");
    let switches = format!("--ignore-eof --ignore-term --marker {marker}");
    let opening: Vec<_> = (0..50)
        .map(|_| {
            let switches = switches.clone();
            tokio::spawn(async move { open(Era::Legacy, &switches).await })
        })
        .collect();
    let mut sessions = Vec::new();
    for session in opening {
        sessions.push(session.await.unwrap());
    }
    let pids: Vec<i32> = sessions.iter().map(|session| session.pid().try_into().unwrap()).collect();
    let begun = tokio::time::Instant::now();
    let closing: Vec<_> =
        sessions.into_iter().map(|session| tokio::spawn(async move { session.close().await })).collect();
    for close in closing {
        close.await.unwrap();
    }
    // One takes 600 ms; one after the other would be 30 s.
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    assert!(!pids.into_iter().any(exists));
}

#[tokio::test]
async fn a_server_that_nobody_waits_for_any_more_is_ended() {
    let marker = marker("unwanted");
    let config = config(
        &format!("--ignore-eof --ignore-term --start-delay 2000 --marker {marker}"),
        |_: &mut StdioConfig| {},
    );
    let (factory, _) = factory(config);
    let profile = profile(Era::Modern);
    for patience in [0, 1, 2, 5] {
        // Given up while it is being started, or a little later.
        let open = tokio::time::timeout(Duration::from_millis(patience), factory.open(&profile));
        assert!(open.await.is_err());
    }
    gateway_domain::Factory::wound_up(&factory).await;
    assert!(processes(&marker).is_empty());
}
