//! What the thread does: it starts what it is asked to, and looks after the trees whenever there is a reason.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Child, Command},
    sync::Arc,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::{
    signal::unix::{self, SignalKind},
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{
    Request, Spawned,
    census::{Census, Known, Marks, Us},
    tree::{Trees, number, reap},
};
use crate::{lifeline, processes};

pub(super) struct Rounds {
    trees: Arc<Trees>,
    us: Us,
    census: Census,
    /// SIGCHLD: somebody has ended, perhaps an orphan.
    ends: unix::Signal,
    last: Instant,
    /// When to look next.
    due: Option<Instant>,
    /// To the look after that, if there is more to do then.
    pause: Duration,
    /// There is something to end, not only to reap.
    busy: bool,
}

impl Rounds {
    /// Makes the gateway the one who gets the orphans of its trees. Must be called within a runtime.
    pub(super) fn begin(trees: Arc<Trees>) -> io::Result<Self> {
        let ends = unix::signal(SignalKind::child())?;
        let id = std::process::id();
        // Not by getsid(2) through a type that holds no 0: that is the session of whoever was started from outside
        // its PID namespace, in a container for example. Without /proc nobody is looked at anyway.
        let session = processes::look(id).map_or(0, |us| us.session);
        let us = Us { id, session, adopts: adopt() };
        if !us.adopts {
            tracing::debug!(
                "orphans do not come back to the gateway; they are known by what they carry alone"
            );
        }
        let (census, now) = (Census::default(), Instant::now());
        Ok(Self { trees, us, census, ends, last: now, due: None, pause: SHORTEST, busy: false })
    }

    /// Runs while there is somebody who may ask. Nothing may make it panic: the children would die with the
    /// thread.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        loop {
            tokio::select! {
                request = requests.recv() => match request {
                    Some(request) => guarded(|| self.serve(request)),
                    None => return,
                },
                () = self.trees.changed.notified() => {
                    (self.busy, self.pause, self.due) = (true, SHORTEST, Some(Instant::now()));
                }
                _ = self.ends.recv() => {
                    let soon = self.last + DEBOUNCE;
                    self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
                }
                () = sleep_until(self.due.unwrap_or(self.last)), if self.due.is_some() => {
                    guarded(|| self.look());
                }
            }
        }
    }

    fn serve(&self, request: Request) {
        let Request { mut command, marker, lifeline, alive, reply } = request;
        if reply.is_closed() {
            return;
        }
        let spawned = start(&mut command).and_then(|(mut child, leader)| {
            let started = processes::look(number(leader)).map_or(0, |seen| seen.started);
            let held = lifeline.map(|lifeline| lifeline.hold(number(leader)));
            let leader = self.trees.insert(leader, started, marker, held, alive);
            match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
                (Some(stdin), Some(stdout), Some(stderr)) => Ok(Spawned { leader, stdin, stdout, stderr }),
                _ => Err(io::Error::other("no pipes")),
            }
        });
        // Nobody may wait any more: then the leader goes, and its tree with it.
        drop(reply.send(spawned));
    }

    fn look(&mut self) {
        // If this look should fail there is another.
        self.due = self.busy.then(|| Instant::now() + LONGEST);
        if !self.busy && !somebody_has_ended() {
            return;
        }
        let mut trees = self.trees.known();
        self.busy = match processes::all() {
            Some(seen) => self.settle(&mut trees, &seen),
            None => self.trees.settle(None),
        };
        self.last = Instant::now();
        self.due = self.busy.then(|| self.last + self.pause);
        self.pause = (self.pause * 3 / 2).min(LONGEST);
    }

    fn settle(&mut self, trees: &mut [Known], seen: &[processes::Seen]) -> bool {
        // Asked after the others were seen: an orphan's parent has ended before it became one.
        for tree in &mut *trees {
            let leader = processes::look(tree.leader);
            tree.ending |= leader.is_none_or(|leader| leader.ended || leader.started != tree.started);
        }
        let count = self.census.take(&self.us, trees, seen, marks);
        for id in &count.ended {
            if let Some(pid) = processes::pid(*id) {
                reap(pid);
            }
        }
        for stray in &count.strays {
            stray.signal(Signal::KILL);
        }
        let unsettled = self.trees.settle(Some(&count.members));
        let fewer = self.trees.known().len() < trees.len();
        unsettled || !count.strays.is_empty() || count.unclaimed && fewer
    }
}

fn marks(id: u32) -> Marks {
    Marks { variable: processes::variable(id, lifeline::VARIABLE), tag: processes::realtime_limit(id) }
}

fn start(command: &mut Command) -> io::Result<(Child, Pid)> {
    let child = command.spawn()?;
    let leader = processes::pid(child.id()).ok_or_else(|| io::Error::other("no process id"))?;
    Ok((child, leader))
}

/// Whether any child of ours waits to be reaped, without a look at each of them.
fn somebody_has_ended() -> bool {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, ended), Ok(Some(_)))
}

#[cfg(target_os = "linux")]
fn adopt() -> bool {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn adopt() -> bool {
    false
}

fn guarded(work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        tracing::error!("looking after the processes of the servers has failed once");
    }
}

/// From one end of a process to the look that it is a reason for, at the most.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// From one look to the next while something is to end; it grows with the time that takes.
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(1);
