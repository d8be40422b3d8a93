use std::{
    env,
    ffi::{OsStr, OsString},
    fmt,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use gateway_domain::Secret;
use gateway_egress::CredentialError;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    sync::Mutex,
    time::{Instant, timeout},
};

use super::{MOST_BYTES, unavailable};

/// What a command is told of the gateway's environment.
const PASSED_ON: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"];
/// How long nobody runs it again after a failure.
const PAUSE: Duration = Duration::from_secs(5);
/// A value that is refused is kept nevertheless if it is younger: calls that fail are not to become as many processes.
const REFUSABLE_AGE: Duration = Duration::from_secs(10);

/// A command that prints a value. It is run without a shell, in an environment of a few variables, and by one at a
/// time; what it prints is kept for a while. What it says on stderr is not read.
pub struct CommandSource {
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    timeout: Duration,
    keep: Duration,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    outcome: Result<Secret, String>,
    since: Instant,
}

impl CommandSource {
    /// A program and its arguments. It may take 10 s, and what it prints is kept for 5 min.
    pub fn new(argv: Vec<OsString>) -> Self {
        let (timeout, keep) = (Duration::from_secs(10), Duration::from_secs(5 * 60));
        Self { argv, env: Vec::new(), timeout, keep, known: Mutex::new(None) }
    }

    /// Adds variables to its environment.
    #[must_use]
    pub fn with_env(mut self, env: Vec<(OsString, OsString)>) -> Self {
        self.env = env;
        self
    }

    /// Sets how long it may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long what it prints is kept.
    #[must_use]
    pub fn kept_for(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    pub(super) fn origin(&self) -> String {
        let program = self.argv.first().map(OsString::as_os_str).unwrap_or_default();
        format!("the command {}", program.display())
    }

    /// What it prints, run if need be. If the caller that runs it is dropped it is killed, and one that waits runs it
    /// anew.
    pub(super) async fn output(&self) -> Result<Secret, CredentialError> {
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.since.elapsed() < self.life(known)) {
            return known.outcome.clone().map_err(unavailable);
        }
        let outcome = self.run().await.map_err(|reason| format!("{} {reason}", self.origin()));
        *known = Some(Known { outcome: outcome.clone(), since: Instant::now() });
        outcome.map_err(|reason| {
            tracing::warn!(reason, "no credentials");
            unavailable(reason)
        })
    }

    /// Has it run again, unless that has just been done.
    pub(super) async fn forget(&self) {
        let mut known = self.known.lock().await;
        known.take_if(|known| known.outcome.is_ok() && known.since.elapsed() >= REFUSABLE_AGE);
    }

    fn life(&self, known: &Known) -> Duration {
        if known.outcome.is_ok() { self.keep } else { PAUSE }
    }

    async fn run(&self) -> Result<Secret, String> {
        let Some((program, arguments)) = self.argv.split_first() else { return Err("is empty".into()) };
        let mut running = Running::start(program, arguments, &self.env)
            .map_err(|error| format!("cannot be started: {error}"))?;
        let ended = timeout(self.timeout, running.end()).await;
        let (status, printed) = ended
            .map_err(|_| format!("did not end within {:?}", self.timeout))?
            .map_err(|error| format!("could not be read: {error}"))?;
        if printed.len() > MOST_BYTES {
            return Err(format!("printed more than {MOST_BYTES} bytes"));
        }
        if !status.success() {
            return Err(format!("failed: {status}"));
        }
        String::from_utf8(printed).map(Secret::new).map_err(|_| "printed what is no text".into())
    }
}

/// A process with all that it starts; killed with them when it is dropped before its end.
struct Running {
    child: Child,
    group: Option<Pid>,
}

impl Running {
    fn start(
        program: &OsStr,
        arguments: &[OsString],
        more: &[(OsString, OsString)],
    ) -> std::io::Result<Self> {
        let passed = PASSED_ON.iter().filter_map(|name| Some((*name, env::var_os(name)?)));
        let child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(passed)
            .envs(more.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok(Self { child, group })
    }

    /// How it ended and what it printed, at most one byte more than is taken.
    async fn end(&mut self) -> std::io::Result<(ExitStatus, Vec<u8>)> {
        let mut printed = Vec::new();
        if let Some(stdout) = self.child.stdout.take() {
            read(stdout, &mut printed).await?;
        }
        let status = self.child.wait().await?;
        self.group = None;
        Ok((status, printed))
    }
}

/// What is not taken is not read: the process notices.
async fn read(stdout: impl AsyncRead + Unpin, printed: &mut Vec<u8>) -> std::io::Result<()> {
    stdout.take(MOST_BYTES as u64 + 1).read_to_end(printed).await.map(drop)
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Arguments and variables may be secrets.
impl fmt::Debug for CommandSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSource").field("program", &self.argv.first()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source without a command, so that running it fails at once, with something known.
    fn knowing(outcome: Result<Secret, String>) -> CommandSource {
        let known = Mutex::new(Some(Known { outcome, since: Instant::now() }));
        CommandSource { known, ..CommandSource::new(Vec::new()) }.kept_for(Duration::from_secs(60))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_known_is_kept_for_its_time_and_no_longer() {
        let rows = [(Ok(Secret::new("kept")), 60), (Err("kept".to_owned()), 5)];
        for (outcome, seconds) in rows {
            let source = knowing(outcome);
            let is_kept = async || match source.output().await {
                Ok(value) => value.expose() == "kept",
                Err(error) => error.to_string() == "kept",
            };
            tokio::time::advance(Duration::from_millis(seconds * 1000 - 1)).await;
            assert!(is_kept().await, "{seconds}");
            tokio::time::advance(Duration::from_millis(1)).await;
            assert!(!is_kept().await, "{seconds}");
        }
    }
}
