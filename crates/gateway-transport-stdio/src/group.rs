//! A child and everything it started: one process group, ended as one.

use std::{fmt, io, sync::Arc, time::Duration};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{process::Child, signal::unix};

use crate::lifeline::{Held, Lifeline};

/// How the leader of a group ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
    /// Somebody else has waited for it.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Unknown => f.write_str("exit status unknown"),
        }
    }
}

/// A process group with its leader, which is never reaped before the whole group has got SIGKILL: until
/// then its number cannot belong to anybody else (R-W21).
///
/// Dropping it kills the group, as when the runtime goes down under the supervisor.
pub(crate) struct Group {
    /// Goes before the child, which may be reaped as it goes.
    held: Option<Held>,
    child: Child,
    leader: Pid,
    ends: unix::Signal,
    reaped: bool,
}

impl Group {
    /// Takes charge of a child that was spawned as the leader of a new group. `ends` must hear SIGCHLD
    /// since before that.
    pub(crate) fn new(
        child: Child,
        ends: unix::Signal,
        lifeline: Option<&Arc<Lifeline>>,
    ) -> io::Result<Self> {
        let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let leader = leader.ok_or_else(|| io::Error::other("no process id"))?;
        let held = lifeline.map(|lifeline| lifeline.hold(number(leader)));
        Ok(Self { held, child, leader, ends, reaped: false })
    }

    pub(crate) fn pid(&self) -> u32 {
        number(self.leader)
    }

    /// Waits until the leader has ended, and leaves it to be reaped. Cancel-safe.
    pub(crate) async fn exited(&mut self) -> Exit {
        loop {
            if let Some(exit) = self.peek() {
                return exit;
            }
            if self.ends.recv().await.is_none() {
                tokio::time::sleep(POLL).await;
            }
        }
    }

    /// Signals every process of the group. That nobody is left is no error.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.reaped {
            return;
        }
        if let Err(error) = kill_process_group(self.leader, signal)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(pid = self.pid(), %error, "cannot signal a process group");
        }
    }

    /// Kills what is left of the group and reaps its leader.
    pub(crate) async fn end(mut self) {
        self.signal(Signal::KILL);
        if tokio::time::timeout(REAP, self.exited()).await.is_err() {
            tracing::warn!(pid = self.pid(), "a process does not end even though it was killed");
        } else {
            self.reaped = true;
            self.held = None;
            if let Err(error) = self.child.wait().await {
                tracing::debug!(pid = self.pid(), %error, "a process had been reaped already");
            }
        }
    }

    fn peek(&self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.leader), options) {
            Ok(None) | Err(rustix::io::Errno::INTR) => None,
            Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Unknown,
            }),
            Err(_) => Some(Exit::Unknown),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The leader itself is reaped by tokio, after this.
        self.signal(Signal::KILL);
    }
}

fn number(leader: Pid) -> u32 {
    leader.as_raw_nonzero().get().unsigned_abs()
}

/// How often to look when SIGCHLD cannot be heard.
const POLL: Duration = Duration::from_millis(50);

/// How long a killed process may take to go: one in an uninterruptible system call takes its time.
const REAP: Duration = Duration::from_secs(3);
