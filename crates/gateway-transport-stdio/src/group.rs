//! A server and everything it started, from its start to its end.

use std::{fmt, time::Duration};

use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::signal::unix;

use crate::parent::Leader;

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
            Self::Signal(signal) => match NAMES.iter().find(|(number, _)| number == signal) {
                Some((_, name)) => write!(f, "killed by signal {signal} ({name})"),
                None => write!(f, "killed by signal {signal}"),
            },
            Self::Unknown => f.write_str("exit status unknown"),
        }
    }
}

/// The signals that end servers, by the numbers that they have everywhere.
const NAMES: [(i32, &str); 8] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (9, "SIGKILL: by somebody, or by the system for want of memory"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (15, "SIGTERM"),
];

/// A process group with its leader, and what has left the group.
///
/// Dropping it kills them all, as when the runtime goes down under the supervisor.
pub(crate) struct Group {
    leader: Leader,
    ends: unix::Signal,
}

impl Group {
    /// `ends` must hear SIGCHLD since before the leader was started.
    pub(crate) fn new(leader: Leader, ends: unix::Signal) -> Self {
        Self { leader, ends }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.leader.pid().as_raw_nonzero().get().unsigned_abs()
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

    /// Asks all to end.
    pub(crate) fn terminate(&self) {
        self.leader.terminate();
    }

    /// Waits until all have ended that were asked to. Cancel-safe.
    pub(crate) async fn terminated(&mut self) {
        self.exited().await;
        self.leader.alone().await;
    }

    /// Kills what is left and waits until all of it has been reaped, the leader last. Bounded.
    pub(crate) async fn end(self) {
        self.leader.end().await;
    }

    fn peek(&self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.leader.pid()), options) {
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

/// How often to look when SIGCHLD cannot be heard.
const POLL: Duration = Duration::from_millis(50);
