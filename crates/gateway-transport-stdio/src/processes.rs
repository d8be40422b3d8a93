//! What /proc tells of processes.

use std::{fs::File, io::Read as _};

use rustix::process::{Pid, Signal, kill_process};

/// A process as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// When it was started, in ticks since the system was. With the id it names a process for good.
    pub(crate) started: u64,
    /// It has ended and only waits for its parent to notice.
    pub(crate) ended: bool,
}

/// All processes that may be seen; `None` where there is no /proc.
pub(crate) fn all() -> Option<Vec<Seen>> {
    look(std::process::id())?;
    let entries = std::fs::read_dir("/proc").ok()?;
    Some(entries.flatten().filter_map(|entry| look(entry.file_name().to_str()?.parse().ok()?)).collect())
}

/// One process, if it is there.
pub(crate) fn look(id: u32) -> Option<Seen> {
    parse(id, &std::fs::read(format!("/proc/{id}/stat")).ok()?)
}

fn parse(id: u32, stat: &[u8]) -> Option<Seen> {
    // The name of the program comes before, and may contain anything.
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(stat.get(name_ends + 1..)?).ok()?.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let mut number = |skipped| fields.nth(skipped)?.parse::<u64>().ok();
    let mut id_of = || number(0)?.try_into().ok();
    let (parent, group, session) = (id_of()?, id_of()?, id_of()?);
    Some(Seen { id, parent, group, session, started: number(15)?, ended })
}

/// The value of a variable in the environment that a process was started with, if it may be read.
pub(crate) fn variable(id: u32, name: &str) -> Option<Vec<u8>> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{id}/environ")).ok()?;
    // What could be read before an error counts.
    drop(file.take(ENVIRONMENT).read_to_end(&mut environment));
    let value = |variable: &[u8]| Some(variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
    environment.split(|byte| *byte == 0).find_map(value)
}

/// The most bytes of an environment that are looked through; the kernel's own limit is a little higher.
const ENVIRONMENT: u64 = 4 << 20;

/// The soft limit on real-time computing, in microseconds, if there is one and it may be read.
pub(crate) fn realtime_limit(id: u32) -> Option<u64> {
    let limits = std::fs::read_to_string(format!("/proc/{id}/limits")).ok()?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    limit.split_ascii_whitespace().next()?.parse().ok()
}

/// The id as the system takes it.
pub(crate) fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// One process and never another with its id.
pub(crate) struct Handle {
    pid: Pid,
    #[cfg(target_os = "linux")]
    file: rustix::io::Result<rustix::fd::OwnedFd>,
}

impl Handle {
    /// What is looked at after this is what gets the signal, or nothing does.
    pub(crate) fn of(id: u32) -> Option<Self> {
        let pid = pid(id)?;
        Some(Self {
            pid,
            #[cfg(target_os = "linux")]
            file: rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()),
        })
    }

    /// That it is gone, or not ours to signal, is seen when it is looked for again.
    pub(crate) fn signal(&self, signal: Signal) {
        #[cfg(target_os = "linux")]
        match &self.file {
            Ok(file) => {
                let _ = rustix::process::pidfd_send_signal(file, signal);
                return;
            }
            Err(rustix::io::Errno::SRCH) => return,
            // Not every sandbox has pidfds.
            Err(_) => {}
        }
        let _ = kill_process(self.pid, signal);
    }
}

impl Seen {
    /// Signals the process, if it is still there.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(handle) = Handle::of(self.id) else { return };
        if look(self.id).is_some_and(|seen| seen.started == self.started) {
            handle.signal(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_program_is_read_over() {
        let check = |stat: &[u8], expected: Option<(u32, u64, bool)>| {
            let seen = parse(7, stat).map(|seen| {
                assert_eq!((seen.parent, seen.session), (1, 6));
                (seen.group, seen.started, seen.ended)
            });
            assert_eq!(seen, expected, "{}", stat.escape_ascii());
        };
        check(b"7 (sh) S 1 5 6 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0", Some((5, 99, false)));
        check(b"7 (a) Z 1 (\xff\n) Z 1 5 6 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 99 0", Some((5, 99, true)));
        check(b"7 (sh) S 1 5", None);
        check(b"", None);
    }

    #[test]
    fn this_process_is_seen() {
        let us = look(std::process::id()).unwrap();
        assert!(!us.ended && us.started > 0);
        assert!(all().unwrap().iter().any(|seen| (seen.id, seen.started) == (us.id, us.started)));
        let path = std::env::var("PATH").unwrap();
        assert_eq!(variable(us.id, "PATH").as_deref(), Some(path.as_bytes()));
        assert_eq!(variable(us.id, "PAT"), None);
    }
}
