//! Keeps a watcher running for as long as the gateway does.

use std::{io, path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin, Command},
    time::{Instant, timeout},
};

use super::groups::{Groups, Told};
use crate::parent::isolate;

pub(super) struct Keeper {
    pub(super) program: PathBuf,
    /// With the name of the program.
    pub(super) argv: Vec<String>,
    pub(super) run: String,
    pub(super) groups: Arc<Groups>,
}

impl Keeper {
    /// Returns when the lifeline is closed, or when no watcher stays alive.
    pub(super) async fn keep(self, first: io::Result<Watcher>) {
        let mut watcher = first;
        let mut failures = 0;
        loop {
            let begun = Instant::now();
            let reason = match watcher {
                Ok(mut watcher) => match watcher.tell(&self.groups).await {
                    None => return watcher.dismiss().await,
                    Some(reason) => watcher.discard(reason).await,
                },
                Err(error) => format!("it cannot be started: {error}"),
            };
            failures = if begun.elapsed() > SETTLED { 1 } else { failures + 1 };
            if failures > TRIES {
                tracing::error!(
                    "the lifeline watcher is given up ({reason}); if the gateway is killed, processes of its \
                     downstreams may be left"
                );
                return;
            }
            let pause = PAUSE.saturating_mul(1 << failures.min(8));
            tracing::warn!("the lifeline watcher is lost ({reason}); starting another in {pause:?}");
            if timeout(pause, self.groups.closed()).await.is_ok() {
                return;
            }
            watcher = Watcher::spawn(&self);
        }
    }
}

/// A watcher that runs. It is not killed when this is dropped: it ends by itself once the pipe is closed, and
/// may have something left to do.
pub(super) struct Watcher {
    child: Child,
    /// Closes on exec, so that no other child holds it open.
    pipe: ChildStdin,
    greeting: Option<String>,
    told: Told,
}

impl Watcher {
    pub(super) fn spawn(keeper: &Keeper) -> io::Result<Self> {
        let (name, arguments) = keeper.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(&keeper.program);
        command
            .arg0(name)
            .args(arguments)
            // No secrets, and no marker of a gateway that this one is a downstream of.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What the terminal sends to the gateway's group is not meant for it.
            .process_group(0);
        // A port of the gateway is to be free again when the gateway is gone.
        isolate(command.as_std_mut());
        let mut child = command.spawn()?;
        let pipe = child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
        tracing::debug!(pid = child.id(), "started the lifeline watcher");
        Ok(Self { child, pipe, greeting: Some(format!("= {}\n", keeper.run)), told: Told::new() })
    }

    /// Tells all there is to know. `None` if the lifeline has been closed, else why the watcher is lost.
    async fn tell(&mut self, groups: &Groups) -> Option<String> {
        loop {
            let lines = self.greeting.take().unwrap_or_default() + &groups.news(&mut self.told);
            if let Err(error) = self.pipe.write_all(lines.as_bytes()).await {
                return Some(error.to_string());
            }
            if groups.is_closing() {
                return None;
            }
            tokio::select! {
                exit = self.child.wait() => {
                    return Some(exit.map_or_else(|error| error.to_string(), |exit| exit.to_string()));
                }
                () = groups.changed() => {}
            }
        }
    }

    async fn dismiss(self) {
        let Self { mut child, pipe, .. } = self;
        drop(pipe);
        if timeout(DISMISSAL, child.wait()).await.is_err() {
            tracing::warn!(
                "the gateway ends while processes of its downstreams are left; the watcher ends them"
            );
        }
    }

    /// Makes sure that a lost watcher does not take the end of its pipe for the end of the gateway.
    async fn discard(mut self, reason: String) -> String {
        drop(self.child.start_kill());
        drop(timeout(DISMISSAL, self.child.wait()).await);
        reason
    }
}

/// How many watchers in a row may be lost.
const TRIES: u32 = 10;

/// How long one must live not to count as one in that row.
const SETTLED: Duration = Duration::from_secs(60);

/// Half of the time to the first new start; doubled each time.
const PAUSE: Duration = Duration::from_millis(25);

/// How long the end of a watcher is waited for.
const DISMISSAL: Duration = Duration::from_secs(1);
