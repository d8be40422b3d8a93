//! The lifeline: what ends the children when the gateway cannot (R-75, security.md §3.2).
//!
//! A gateway that gets SIGKILL runs no code of its own any more. So a second process, the watcher, holds the
//! reading end of a pipe whose writing end only the gateway has. Over it the [`Lifeline`] tells which
//! process groups there are; when the pipe closes, however that came, [`watch`] ends what is left of them,
//! and every other process that is in one of their sessions, or carries one of the gateway's marks: in
//! its environment, or as a limit that it has inherited.
//!
//! On the pipe each line is one fact: `= RUN` says what the markers of this gateway begin with, `+ GROUP`
//! that a group has been started, `- GROUP` that it is gone.

mod groups;
mod keeper;
mod marks;
mod watcher;

use std::{fmt, io, path::PathBuf, sync::Arc, time::Duration};

use tokio::{sync::watch as signal, time::timeout};

pub(crate) use self::marks::{RUN, tag, tag_of_run, unwatched};
pub use self::watcher::{WatchConfig, watch};
use self::{
    groups::Groups,
    keeper::{Keeper, Watcher},
    marks::Marks,
};

/// The variable by which a child, and all it starts, is known to belong to one run of one gateway:
/// `RUN-NUMBER`, where RUN is 128 random bits in hexadecimal and NUMBER counts the children.
pub const VARIABLE: &str = "GATEWAYD_LIFELINE";

/// The gateway's end of the lifeline; one serves all children. Dropping the last one lets the watcher go.
pub struct Lifeline {
    marks: Marks,
    groups: Arc<Groups>,
    /// Closes when the watcher has been let go, or given up.
    kept: signal::Receiver<()>,
}

impl Lifeline {
    /// Starts the watcher: `program`, which with these arguments (the first is its own name) has to call
    /// [`watch`] on its stdin. When it ends too soon it is started again, at most ten times in a row. It gets
    /// an empty environment, a process group of its own and the root as its working folder. Must be called
    /// within a runtime.
    ///
    /// # Errors
    /// There are no random bits. That the watcher cannot be started is logged, and tried again.
    pub fn start(program: PathBuf, argv: Vec<String>) -> io::Result<Arc<Self>> {
        let marks = Marks::new()?;
        let groups = Arc::new(Groups::default());
        let (keeping, kept) = signal::channel(());
        let keeper = Keeper { program, argv, run: marks.run().to_owned(), groups: Arc::clone(&groups) };
        // Here and not in the task: it must be there before the first child.
        let first = Watcher::spawn(&keeper);
        tokio::spawn(async move {
            keeper.keep(first).await;
            drop(keeping);
        });
        Ok(Arc::new(Self { marks, groups, kept }))
    }

    /// Closes the pipe and waits, at most two seconds, until the watcher has ended, which it does at once if
    /// nothing is left to end. Idempotent. Cancel-safe.
    pub async fn close(&self) {
        self.groups.close();
        // The only news is that nobody keeps it any more. A watcher that is stopped may not even read.
        drop(timeout(CLOSE, self.kept.clone().changed()).await);
    }

    /// What the next child is to have in [`VARIABLE`].
    pub(crate) fn marker(&self) -> String {
        self.marks.next()
    }

    /// Has a process group watched for as long as the guard lives.
    pub(crate) fn hold(self: &Arc<Self>, group: u32) -> Held {
        self.groups.started(group);
        Held { lifeline: Arc::clone(self), group }
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.groups.close();
    }
}

impl fmt::Debug for Lifeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lifeline").finish_non_exhaustive()
    }
}

/// A process group that is watched. To be dropped before the leader is reaped, while its number cannot be
/// anybody else's.
pub(crate) struct Held {
    lifeline: Arc<Lifeline>,
    group: u32,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.lifeline.groups.ended(self.group);
    }
}

/// How long the end is waited for.
const CLOSE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_watcher_reads_what_there_is_until_the_lifeline_is_closed() {
        let told = std::env::temp_dir().join(format!("lifeline-{}", std::process::id()));
        let script = format!("cat > {}", told.display());
        let lifeline = Lifeline::start("/bin/sh".into(), vec!["sh".into(), "-c".into(), script]).unwrap();
        let held = lifeline.hold(7);
        drop(lifeline.hold(8));
        lifeline.close().await;
        drop(held);
        lifeline.close().await;
        let text = std::fs::read_to_string(&told).unwrap();
        std::fs::remove_file(&told).unwrap();
        assert_eq!(text, format!("= {}\n+ 7\n", lifeline.marks.run()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watcher_that_cannot_be_started_is_tried_again_and_given_up() {
        let begun = tokio::time::Instant::now();
        let lifeline = Lifeline::start("/no/such/program".into(), vec!["x".into()]).unwrap();
        drop(lifeline.kept.clone().changed().await);
        let tried = begun.elapsed().as_secs();
        assert!((10..60).contains(&tried), "given up after {tried} s");
        lifeline.close().await;
    }
}
