//! What /proc tells of processes.

use std::{fs::File, io::Read as _};

use rustix::process::{Pid, Signal, kill_process};

/// A process as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) id: u32,
    pub(super) group: u32,
    /// When it was started, in ticks since the system was. With the id it names a process for good.
    pub(super) started: u64,
    /// It has ended and only waits for its parent to notice.
    pub(super) ended: bool,
}

/// All processes that may be seen; `None` where there is no /proc.
pub(super) fn all() -> Option<Vec<Seen>> {
    look(std::process::id())?;
    let entries = std::fs::read_dir("/proc").ok()?;
    Some(entries.flatten().filter_map(|entry| look(entry.file_name().to_str()?.parse().ok()?)).collect())
}

/// One process, if it is there.
pub(super) fn look(id: u32) -> Option<Seen> {
    parse(id, &std::fs::read(format!("/proc/{id}/stat")).ok()?)
}

fn parse(id: u32, stat: &[u8]) -> Option<Seen> {
    // The name of the program comes before, and may contain anything.
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(stat.get(name_ends + 1..)?).ok()?.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let group = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(Seen { id, group, started, ended })
}

/// Signals the process if a variable of its environment begins with `marker`; whether it does.
pub(super) fn signal_marked(id: u32, marker: &[u8], signal: Option<Signal>) -> bool {
    let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return false };
    // Taken before the look at the environment: so the signal reaches what was looked at, or nothing.
    let handle = Handle::of(pid);
    if !carries(id, marker) {
        return false;
    }
    if let Some(signal) = signal {
        handle.signal(signal);
    }
    true
}

fn carries(id: u32, marker: &[u8]) -> bool {
    let Ok(file) = File::open(format!("/proc/{id}/environ")) else { return false };
    let mut environment = Vec::new();
    // What could be read before an error counts.
    drop(file.take(ENVIRONMENT).read_to_end(&mut environment));
    environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(marker))
}

/// The most bytes of an environment that are looked through; the kernel's own limit is a little higher.
const ENVIRONMENT: u64 = 4 << 20;

/// One process and never another with its id.
struct Handle {
    pid: Pid,
    #[cfg(target_os = "linux")]
    file: rustix::io::Result<rustix::fd::OwnedFd>,
}

impl Handle {
    fn of(pid: Pid) -> Self {
        Self {
            pid,
            #[cfg(target_os = "linux")]
            file: rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()),
        }
    }

    /// That it is gone, or not ours to signal, is seen when it is looked for again.
    fn signal(&self, signal: Signal) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_program_is_read_over() {
        let check = |stat: &[u8], expected: Option<(u32, u64, bool)>| {
            let seen = parse(7, stat).map(|seen| (seen.group, seen.started, seen.ended));
            assert_eq!(seen, expected, "{}", stat.escape_ascii());
        };
        check(b"7 (sh) S 1 5 5 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0", Some((5, 99, false)));
        check(b"7 (a) Z 1 (\xff\n) Z 1 5 5 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 99 0", Some((5, 99, true)));
        check(b"7 (sh) S 1 5", None);
        check(b"", None);
    }

    #[test]
    fn this_process_is_seen() {
        let us = look(std::process::id()).unwrap();
        assert!(!us.ended && us.started > 0);
        assert!(all().unwrap().contains(&us));
    }
}
