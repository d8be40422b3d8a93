//! Many servers one after the other leave nothing behind. In a process of its own, since what is counted here
//! is all that the process has.
#![expect(clippy::unwrap_used, reason = "a test stops where its set-up fails")]

use std::{sync::Arc, time::Duration};

use gateway_domain::{
    ClientCapabilities, DownstreamName, DownstreamObserver, DownstreamSession, Era, ListKind, Session,
    SessionProfile,
};
use gateway_protocol::Implementation;
use gateway_testkit::stdio;
use gateway_transport_stdio::{StdioConfig, StdioFactory};
use rustix::process::{Pid, Signal, kill_process};

struct Deaf;

impl DownstreamObserver for Deaf {
    fn list_changed(&self, _: ListKind) {}
    fn session_lost(&self, _: &str) {}
}

/// Our open files, threads and children, those included that wait to be reaped.
fn counts() -> [usize; 3] {
    let entries = |path: &str| std::fs::read_dir(path).unwrap().count();
    let parent = |stat: &str| stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok();
    let children = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| parent(stat) == Some(std::process::id()))
        .count();
    [entries("/proc/self/fd"), entries("/proc/self/task"), children]
}

async fn cycle(factory: &StdioFactory, crash: bool) {
    let profile = SessionProfile {
        era: Era::Legacy,
        capabilities: ClientCapabilities::none(),
        ..SessionProfile::default()
    };
    let session = factory.open(&profile).await.unwrap();
    assert!(session.peer().protocol.starts_with("20"));
    if crash {
        let server = Pid::from_raw(session.pid().try_into().unwrap()).unwrap();
        kill_process(server, Signal::KILL).unwrap();
    }
    session.close().await;
}

#[tokio::test]
async fn two_hundred_servers_leave_no_process_no_file_and_no_thread() {
    let fake = stdio::command(["--era", "legacy"]).join(" ");
    // One helper that stays in the group, one that leaves it, and one that leaves no trace.
    let script = format!("sleep 60 & setsid sleep 60 & (env -i setsid sleep 60 &)\nexec {fake}");
    let mut config = StdioConfig::new(
        ["/bin/sh", "-c", &script].map(str::to_owned).to_vec(),
        Implementation::new("test", "Test", "1"),
    );
    config.terminate = Duration::from_secs(1);
    let name = DownstreamName::parse("fake").unwrap();
    let factory = StdioFactory::new(name, config, Arc::new(Deaf)).unwrap();
    cycle(&factory, false).await;
    let base = counts();
    let lane = async || {
        for number in 0..50 {
            cycle(&factory, number % 3 == 0).await;
        }
    };
    tokio::join!(lane(), lane(), lane(), lane());
    let counts = counts();
    assert!(
        counts.iter().zip(base).all(|(count, base)| count.abs_diff(base) <= 3),
        "files, threads and children: {base:?} became {counts:?}"
    );
    assert_eq!(counts[2], 0, "no child is left");
}
