//! A process that was started here, and all that descends from it.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};

use super::census::Known;
use crate::{lifeline::Held, processes::Seen};

/// The trees there are, by their leaders. A leader is reaped as its tree is taken out and never before, so that
/// until then its number cannot belong to anybody else (R-W21).
pub(super) struct Trees {
    alive: Mutex<BTreeMap<u32, Tree>>,
    /// How many there have been.
    count: AtomicU64,
    /// There is a tree to be ended.
    pub(super) changed: Notify,
}

pub(super) struct Tree {
    /// Which one it is: its leader's number may have belonged to another before.
    serial: u64,
    leader: Pid,
    started: u64,
    marker: Option<String>,
    phase: Phase,
    /// Who has got SIGTERM, besides the group: a second one makes some programs give up what the first made
    /// them do.
    warned: HashSet<(u32, u64)>,
    remains: watch::Sender<Remains>,
    /// Goes before the leader is reaped.
    held: Option<Held>,
    /// Tells that the tree is there.
    alive: Option<watch::Receiver<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    Terminating,
    Killing,
}

/// What is left of a tree that is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Remains {
    /// It has not been looked at since it was told to end.
    Unknown,
    Others,
    /// At most the leader.
    Leader,
    Gone,
}

/// The leader of a tree. Dropping it has the tree killed and reaped in the background, whatever becomes of the
/// runtime.
pub(crate) struct Leader {
    pid: Pid,
    serial: u64,
    trees: Arc<Trees>,
    remains: watch::Receiver<Remains>,
}

impl Leader {
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends SIGTERM to the whole tree, once.
    pub(crate) fn terminate(&self) {
        self.trees.end(self, Phase::Terminating);
    }

    /// Waits until every other process of the tree has ended, once it was told to. Cancel-safe.
    pub(crate) async fn alone(&self) {
        // An error means that it is gone.
        drop(self.remains.clone().wait_for(|remains| *remains >= Remains::Leader).await);
    }

    /// Kills the tree and waits until all of it has been reaped. Cancel-safe: it is ended in any case.
    pub(crate) async fn end(self) {
        self.trees.end(&self, Phase::Killing);
        let gone = async { drop(self.remains.clone().wait_for(|remains| *remains == Remains::Gone).await) };
        if timeout(REAP, gone).await.is_err() {
            tracing::warn!(
                pid = number(self.pid),
                "a server's processes do not end even though they were killed"
            );
            self.trees.give_up(&self);
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.trees.end(self, Phase::Killing);
    }
}

impl Trees {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { alive: Mutex::default(), count: AtomicU64::new(0), changed: Notify::new() })
    }

    pub(super) fn insert(
        self: &Arc<Self>,
        leader: Pid,
        started: u64,
        marker: Option<String>,
        held: Option<Held>,
        alive: watch::Receiver<()>,
    ) -> Leader {
        let (remains, receiver) = watch::channel(Remains::Unknown);
        let (phase, warned) = (Phase::Running, HashSet::new());
        let serial = self.count.fetch_add(1, Ordering::Relaxed);
        let tree = Tree { serial, leader, started, marker, phase, warned, remains, held, alive: Some(alive) };
        self.alive().insert(number(leader), tree);
        Leader { pid: leader, serial, trees: Arc::clone(self), remains: receiver }
    }

    /// The group gets its signal at once, the others at the next look.
    fn end(&self, leader: &Leader, phase: Phase) {
        let mut alive = self.alive();
        let Some(tree) = of(&mut alive, leader).filter(|tree| tree.phase < phase) else { return };
        tree.phase = phase;
        tree.remains.send_replace(Remains::Unknown);
        if let Err(error) =
            tree.signal_group(if phase == Phase::Killing { Signal::KILL } else { Signal::TERM })
        {
            tracing::warn!(pid = number(leader.pid), %error, "cannot signal a process group");
        }
        drop(alive);
        self.changed.notify_one();
    }

    /// Lets nobody wait any longer for a tree.
    fn give_up(&self, leader: &Leader) {
        let mut alive = self.alive();
        drop(of(&mut alive, leader).and_then(|tree| tree.alive.take()));
    }

    /// What a census has to know of them.
    pub(super) fn known(&self) -> Vec<Known> {
        let known = |tree: &Tree| Known {
            leader: number(tree.leader),
            started: tree.started,
            marker: tree.marker.clone(),
            ending: tree.phase != Phase::Running,
        };
        self.alive().values().map(known).collect()
    }

    /// Takes the trees that are to end a step further, given the members that were seen of each, or `None` where
    /// nobody can see them. Whether there is more to do.
    pub(super) fn settle(&self, members: Option<&BTreeMap<u32, Vec<Seen>>>) -> bool {
        let mut alive = self.alive();
        alive.retain(|leader, tree| {
            let members = members.map(|members| members.get(leader).map_or(&[][..], Vec::as_slice));
            let remains = match tree.phase {
                Phase::Running => return true,
                Phase::Terminating => tree.warn(members),
                Phase::Killing => tree.kill(members),
            };
            tree.remains.send_if_modified(|known| std::mem::replace(known, remains) != remains);
            remains != Remains::Gone
        });
        alive.values().any(|tree| tree.phase != Phase::Running)
    }

    fn alive(&self) -> MutexGuard<'_, BTreeMap<u32, Tree>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of<'a>(alive: &'a mut BTreeMap<u32, Tree>, leader: &Leader) -> Option<&'a mut Tree> {
    alive.get_mut(&number(leader.pid)).filter(|tree| tree.serial == leader.serial)
}

impl Tree {
    fn warn(&mut self, members: Option<&[Seen]>) -> Remains {
        let mut remains = Remains::Leader;
        for member in members.unwrap_or_default().iter().filter(|member| !member.ended) {
            remains = Remains::Others;
            if member.group != number(self.leader) && self.warned.insert((member.id, member.started)) {
                member.signal(Signal::TERM);
            }
        }
        remains
    }

    fn kill(&mut self, members: Option<&[Seen]>) -> Remains {
        // That it cannot be signalled has been said before.
        let _ = self.signal_group(Signal::KILL);
        let members = members.unwrap_or_default();
        for member in members {
            member.signal(Signal::KILL);
        }
        if !members.is_empty() {
            return Remains::Others;
        }
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(waitid(WaitId::Pid(self.leader), ended), Ok(None) | Err(rustix::io::Errno::INTR)) {
            return Remains::Leader;
        }
        self.held = None;
        reap(self.leader);
        Remains::Gone
    }

    /// That nobody is left is no error.
    fn signal_group(&self, signal: Signal) -> rustix::io::Result<()> {
        kill_process_group(self.leader, signal).or_else(|error| match error {
            rustix::io::Errno::SRCH => Ok(()),
            _ => Err(error),
        })
    }
}

/// Reaps one process that has ended. That it is not there, or has been reaped, is no error.
pub(super) fn reap(pid: Pid) {
    let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
}

/// How long killed processes may take to go: one in an uninterruptible system call takes its time. With two
/// stages of 2 s before it the end takes less than 6 s.
const REAP: Duration = Duration::from_millis(1500);

pub(super) fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}
