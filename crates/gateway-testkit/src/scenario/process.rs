//! What `/proc` knows of processes.

use std::{fmt, fs, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

/// What one process holds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Census {
    /// Resident memory in KiB.
    pub(crate) rss: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: usize,
    /// Children that have ended and were not waited for.
    pub(crate) zombies: usize,
    /// Living processes with the run's marker, whoever their parent is.
    pub(crate) marked: usize,
    /// Those of them that only sleep, which is what grandchildren do.
    pub(crate) sleepers: usize,
}

impl Census {
    pub(crate) fn of(pid: u32, marker: &str) -> Self {
        let status = read(pid, "status");
        let number = |name| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let marked = marked(marker);
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        Self {
            rss: number("VmRSS:").unwrap_or_default(),
            threads: number("Threads:").unwrap_or_default(),
            descriptors: fds,
            zombies: all().filter(|other| parent(*other) == Some(pid) && !lives(*other)).count(),
            sleepers: marked.iter().filter(|pid| read(**pid, "cmdline").contains("\0--sleep\0")).count(),
            marked: marked.len(),
        }
    }

    /// Whether fds, threads and processes are at most three above `base`, and nothing is unburied.
    pub(crate) fn is_back_at(&self, base: &Self) -> bool {
        self.descriptors <= base.descriptors + 3
            && self.threads <= base.threads + 3
            && self.marked <= base.marked + 3
            && self.zombies == 0
    }

    /// Whether the memory is at most a tenth and 8 MiB above `base`.
    pub(crate) fn is_slim(&self, base: &Self) -> bool {
        self.rss <= base.rss + base.rss / 10 + 8 * 1024
    }
}

impl fmt::Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rss, threads, descriptors, zombies, marked, sleepers } = self;
        let mib = *rss / 1024;
        write!(
            f,
            "{mib} MiB {descriptors} fds {threads} threads {marked} processes ({sleepers} sleeping) {zombies} zombies"
        )
    }
}

/// Living processes that have this variable, written `NAME=value`, in their environment.
pub(crate) fn marked(marker: &str) -> Vec<u32> {
    let has = |pid: &u32| read(*pid, "environ").split('\0').any(|variable| variable == marker);
    all().filter(|pid| has(pid) && lives(*pid)).collect()
}

/// Has not ended; one that its parent has not waited for has.
pub(crate) fn lives(pid: u32) -> bool {
    let stat = read(pid, "stat");
    stat.rsplit(')').next().is_some_and(|rest| !stat.is_empty() && !rest.starts_with(" Z"))
}

/// `kill -9`; `false` if it is gone already.
pub(crate) fn kill(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

/// [`kill`], whether or not it is still there.
pub(crate) fn end(pid: u32) {
    let _ = kill(pid);
}

/// How long it took until it held, if it did in time.
pub(crate) async fn until(at_most: Duration, mut holds: impl FnMut() -> bool) -> Option<Duration> {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > at_most {
            return None;
        }
        sleep(Duration::from_millis(100)).await;
    }
    Some(begun.elapsed())
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    read(pid, "stat").rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

fn read(pid: u32, file: &str) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default()).into_owned()
}
