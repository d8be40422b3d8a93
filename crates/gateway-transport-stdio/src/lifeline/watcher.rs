//! The other process: waits for the end of the gateway, then ends what it left.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{BufRead, Read as _},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::{RUN, VARIABLE, tag_of_run};
use crate::processes::{self, Handle, Seen};

/// How patient a watcher is once the gateway is gone, and how much it keeps in mind.
#[derive(Debug, Clone)]
pub struct WatchConfig {
    /// From SIGTERM to SIGKILL. Default: 1 s.
    pub terminate: Duration,
    /// From the end of the gateway to that of the watcher at the latest. Default: 4 s.
    pub total: Duration,
    /// From one look to the next. Default: 50 ms.
    pub interval: Duration,
    /// The most groups that are remembered; what belongs to others is only found by its marker.
    /// Default: 100,000.
    pub max_groups: usize,
}

impl Default for WatchConfig {
    fn default() -> Self {
        Self {
            terminate: Duration::from_secs(1),
            total: Duration::from_secs(4),
            interval: Duration::from_millis(50),
            max_groups: 100_000,
        }
    }
}

/// Reads what a [`Lifeline`](super::Lifeline) tells until it ends, then ends every process that is left:
/// SIGTERM once, after a time SIGKILL, until there are none or patience has run out. Returns how many groups
/// and processes are left. Blocks; for a process of its own that nothing else runs in, and that is to ignore
/// the signals by which the gateway is stopped.
///
/// A group is signalled only if it is the one that was told of: while the process that has its number was
/// started when that one was, or when nobody has it, since a number stays taken while a group has it. Any
/// other process is signalled only if it is in the session of such a group's leader, or carries one of the
/// gateway's marks.
pub fn watch(mut input: impl BufRead, config: &WatchConfig) -> usize {
    let mut remains = Remains::default();
    remains.listen(&mut input, config.max_groups);
    remains.clear(config)
}

#[derive(Default)]
struct Remains {
    groups: BTreeMap<u32, Known>,
    /// What the marks of every process of this gateway begin with.
    marker: Option<Vec<u8>>,
    tag: Option<u64>,
    /// Processes outside the groups that have got their SIGTERM.
    warned: HashSet<u32>,
}

struct Known {
    /// When the leader was started, if it was still there when this was told.
    started: Option<u64>,
    warned: bool,
}

impl Remains {
    fn listen(&mut self, input: &mut impl BufRead, max_groups: usize) {
        let mut line = Vec::new();
        loop {
            line.clear();
            // A pipe that cannot be read any more is as good as closed.
            if !matches!(input.take(LINE).read_until(b'\n', &mut line), Ok(1..)) {
                return;
            }
            // Half a line is what a gateway leaves that is killed as it writes; its number may be cut off.
            let Some(fact) = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok()) else {
                continue;
            };
            self.learn(fact, max_groups);
        }
    }

    fn learn(&mut self, fact: &str, max_groups: usize) {
        let group = |text: &str| text.parse::<u32>().ok().filter(|group| *group > 1);
        match fact.split_once(' ') {
            Some(("=", run)) if !run.is_empty() => {
                self.tag = tag_of_run(run);
                self.marker = Some(format!("{run}-").into_bytes());
            }
            Some(("+", text)) if self.groups.len() < max_groups => {
                if let Some(group) = group(text) {
                    let started = processes::look(group).map(|leader| leader.started);
                    self.groups.insert(group, Known { started, warned: false });
                }
            }
            Some(("-", text)) => {
                if let Some(group) = group(text) {
                    self.groups.remove(&group);
                }
            }
            _ => {}
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a process of its own, without a runtime")]
    fn clear(&mut self, config: &WatchConfig) -> usize {
        let begun = Instant::now();
        loop {
            let elapsed = begun.elapsed();
            let signal = if elapsed < config.terminate { Signal::TERM } else { Signal::KILL };
            let left = self.signal(signal);
            if left == 0 || elapsed >= config.total {
                return left;
            }
            std::thread::sleep(config.interval);
        }
    }

    /// Signals what is left of the gateway's processes; how many groups and other processes there are.
    fn signal(&mut self, signal: Signal) -> usize {
        let Some(seen) = processes::all() else { return self.signal_unseen(signal) };
        let started: HashMap<u32, u64> = seen.iter().map(|process| (process.id, process.started)).collect();
        let alive: HashSet<u32> = seen
            .iter()
            .filter(|process| !process.ended)
            .flat_map(|process| [process.group, process.session])
            .collect();
        self.groups.retain(|group, known| {
            let ours = started.get(group).is_none_or(|leader| Some(*leader) == known.started);
            ours && alive.contains(group)
        });
        for (group, known) in &mut self.groups {
            known.signal(*group, signal);
        }
        self.groups.len() + self.signal_others(&seen, signal)
    }

    fn signal_others(&mut self, seen: &[Seen], signal: Signal) -> usize {
        let us = std::process::id();
        let mut left = 0;
        for process in seen {
            if process.ended || process.id == us || self.groups.contains_key(&process.group) {
                continue;
            }
            let due = signal == Signal::KILL || !self.warned.contains(&process.id);
            // Taken before the look at the process: so the signal reaches what was looked at, or nothing.
            let Some(handle) = Handle::of(process.id) else { continue };
            if self.has_left(process) {
                left += 1;
                self.warned.insert(process.id);
                if due {
                    handle.signal(signal);
                }
            }
        }
        left
    }

    /// Whether a process outside the groups belongs to the gateway.
    fn has_left(&self, process: &Seen) -> bool {
        let in_session = self.groups.contains_key(&process.session)
            && processes::look(process.id).is_some_and(|seen| seen.session == process.session);
        let tagged = || processes::realtime_limit(process.id).map(|limit| limit & RUN) == self.tag;
        in_session
            || self.tag.is_some() && tagged()
            || self.marker.as_ref().is_some_and(|marker| {
                processes::variable(process.id, VARIABLE).is_some_and(|value| value.starts_with(marker))
            })
    }

    /// Without /proc the groups are all there is.
    fn signal_unseen(&mut self, signal: Signal) -> usize {
        self.groups.retain(|group, known| {
            known.signal(*group, signal);
            leader(*group).is_some_and(|leader| test_kill_process_group(leader).is_ok())
        });
        self.groups.len()
    }
}

impl Known {
    fn signal(&mut self, group: u32, signal: Signal) {
        // A second SIGTERM makes some programs give up what the first made them do.
        if signal == Signal::TERM && std::mem::replace(&mut self.warned, true) {
            return;
        }
        if let Some(leader) = leader(group) {
            // Whether it has helped is seen at the next look.
            let _ = kill_process_group(leader, signal);
        }
    }
}

fn leader(group: u32) -> Option<Pid> {
    i32::try_from(group).ok().and_then(Pid::from_raw)
}

/// Longer than any line.
const LINE: u64 = 256;

#[cfg(test)]
mod tests;
