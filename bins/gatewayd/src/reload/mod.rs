//! A configuration that is read again while the gateway runs (P-14 to P-20).
//!
//! **For**: seeing that its files have changed, or being told by SIGHUP; taking a good configuration on and
//! leaving what it does not concern alone; refusing a bad one whole.
//!
//! **Must not know**: what any key means. [`change`] says what is different, [`Topology`] and the edge's
//! [`Settings`] take it on.

mod change;
mod reading;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use gateway_auth::Verifier;
use gateway_server::{Rulings, Settings};
use tokio::signal::unix::Signal;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::command::Terminal;
use crate::config::{self, Config, Environment, Files, Loaded, Note, Request, Stamp, Stamps};
use crate::decisions;
use crate::edge;
use crate::gateway;
use crate::offer;
use crate::topology::Topology;
use crate::workflows::Workflows;

pub(crate) use change::{Change, Face};

use change::{Changes, WorkflowChanges};
use reading::{Reading, Unread};
use watch::{Looks, Watch};

/// For reading a configuration that changes; a disk that takes longer does not answer.
const AT_MOST: Duration = Duration::from_secs(10);

/// The reason of a reload that somebody asked for.
const SIGHUP: &str = "SIGHUP";

/// What a running gateway was started with.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) request: Request,
    pub(crate) loaded: Loaded,
    pub(crate) files: Stamps,
}

/// The face in front of a running gateway, to be told of a reload.
pub(crate) enum Front {
    Http(Settings),
    /// Has one client, which keeps its limits.
    Stdio {
        rulings: Rulings,
        /// Who that is, if it is one of the configuration.
        client: Option<String>,
        /// Told when that is one no longer: nothing of what follows is for it.
        gone: Arc<Notify>,
    },
}

impl Front {
    fn face(&self) -> Face {
        match self {
            Self::Http(_) => Face::Http,
            Self::Stdio { .. } => Face::Stdio,
        }
    }

    fn settings(&self) -> Option<&Settings> {
        match self {
            Self::Http(settings) => Some(settings),
            Self::Stdio { .. } => None,
        }
    }

    fn rules_changed(&self) {
        match self {
            Self::Http(settings) => settings.rules_changed(),
            Self::Stdio { rulings, .. } => rulings.changed(),
        }
    }

    /// Whether the one client is none of this configuration; it is told of that.
    fn is_left_without_client(&self, config: &Config) -> bool {
        let Self::Stdio { client: Some(name), gone, .. } = self else { return false };
        let is_gone = config.clients.iter().all(|client| client.name != *name);
        if is_gone {
            tracing::warn!(client = name, "the client is not in the configuration any more: stopping");
            gone.notify_one();
        }
        is_gone
    }
}

/// Keeps a running gateway to its configuration.
pub(crate) struct Reloader {
    request: Request,
    /// What is in use: the last good configuration, but for keys that need a restart.
    running: Config,
    /// Remarks that were made already.
    notes: Vec<Note>,
    watch: Watch,
    reading: Reading,
    topology: Topology,
    front: Front,
    /// Of the issuers that it was started with.
    verifier: Option<Arc<Verifier>>,
}

impl Reloader {
    pub(crate) fn new(
        start: Start,
        topology: Topology,
        front: Front,
        verifier: Option<Arc<Verifier>>,
    ) -> Self {
        let Start { mut request, loaded, files } = start;
        if let config::Source::Found(path) = loaded.source {
            // Else the demonstration would replace a configuration whose file is gone.
            request.files = vec![path];
        }
        request.readable = Files::Regular;
        Self {
            request,
            running: loaded.config,
            notes: loaded.notes,
            watch: Watch::new(files),
            reading: Reading::default(),
            topology,
            front,
            verifier,
        }
    }

    /// Reloads whenever there is reason to, one after the other; signals that come meanwhile lead to one more.
    /// Dropping the future may leave a reload half done, so only the end of the gateway may.
    pub(crate) async fn run(mut self, mut hangup: Signal, terminal: Terminal) {
        loop {
            let reason = tokio::select! {
                _ = hangup.recv() => SIGHUP,
                () = self.changed() => "files changed",
            };
            if terminal.is_gone() {
                // Nobody asked for a reload; the gateway is about to stop.
                return;
            }
            self.reload(reason).await;
        }
    }

    /// Waits until a file has changed. Cancel-safe.
    async fn changed(&mut self) {
        let config::Reload { watch, interval } = self.running.reload;
        if !watch {
            std::future::pending::<()>().await;
        }
        loop {
            sleep(interval).await;
            if self.reading.is_free_again() {
                // What it was begun for is still to be taken on.
                return;
            }
            let files: Vec<_> = self.watch.files().map(ToOwned::to_owned).collect();
            // Without an answer of the disk there is nothing to judge.
            let Ok(looks) = spawn_blocking(move || look(files)).await else { continue };
            let seen = self.watch.see(looks, Instant::now(), interval);
            for (file, error) in seen.errors {
                let file = file.display();
                tracing::warn!(%file, %error, "cannot see whether a file of the configuration has changed");
            }
            if seen.is_change {
                return;
            }
        }
    }

    async fn reload(&mut self, reason: &'static str) {
        let request = self.request.clone();
        let load = move || config::load(&request, &Environment::of_process());
        let attempt = match self.reading.within(AT_MOST, load).await {
            Ok(attempt) => attempt,
            Err(Unread::Late) => return self.give_up(reason),
            Err(Unread::Failed(error)) => return self.reject(reason, &[error.to_string()]),
        };
        self.watch.was_read(attempt.files, attempt.outcome.is_ok());
        let adopted = match attempt.outcome {
            Ok(loaded) => self.adopt(reason, loaded).await.map_err(|error| vec![format!("{error:#}")]),
            Err(problems) => Err(problems.0.iter().map(ToString::to_string).collect()),
        };
        match adopted {
            Ok(()) => self.count(true),
            Err(problems) => self.reject(reason, &problems),
        }
    }

    /// Takes a configuration on. What can fail comes before anything is touched (P-19).
    async fn adopt(&mut self, reason: &'static str, loaded: Loaded) -> anyhow::Result<()> {
        let (waiting, config) = change::needs_restart(self.front.face(), &self.running, loaded.config);
        let changes = Changes::between(&self.running, &config);
        let edge = match self.front.face() {
            Face::Http => change::edge_keys(&self.running, &config),
            Face::Stdio => Vec::new(),
        };
        let names = |changes: &[Change]| changes.iter().map(Change::name).collect::<Vec<_>>().join(" ");
        let (added, changed) = (names(&changes.added), names(&changes.changed));
        let (removed, kept, settings) = (names(&changes.removed), changes.kept, edge.join(" "));
        let steps = self.topology.prepare(&config, changes.into_all())?;
        if self.front.is_left_without_client(&config) {
            // Rules without it may allow it more than those it came by.
            return Ok(());
        }
        let server = edge::config(&config, self.verifier.clone().map(|verifier| verifier as _));
        // Rules must not be taken on for an edge that is not.
        if let Some(edge) = self.front.settings() {
            edge.check(&server).context("the configuration as it would be used")?;
        }
        self.take_on_rules(&config)?;
        if let Some(edge) = self.front.settings() {
            edge.replace(server).context("the configuration as it would be used")?;
        }
        if are_rules_others(&self.running, &config) {
            self.front.rules_changed();
        }
        if edge::is_closed(&self.running) && !edge::is_closed(&config) {
            tracing::warn!(
                "nobody has to say who it is any more: whoever reaches the gateway may use everything"
            );
        }
        self.topology.manager.set_config(gateway::manager_config(&config));
        if reason == SIGHUP {
            // Not only files that are watched: also URLs, which nothing tells about.
            self.topology.reread();
        }
        // Before the downstreams: what appears then is for workflows as they are now.
        self.offer(&config).await;
        self.topology.apply(steps).await;
        tracing::info!(reason, added, changed, removed, kept, settings, "configuration reloaded");
        if !waiting.is_empty() {
            let keys = waiting.join(" ");
            tracing::warn!(keys, "some keys keep their values until the gateway is restarted");
        }
        for note in loaded.notes.iter().filter(|note| !self.notes.contains(note)) {
            tracing::info!("configuration: {note}");
        }
        (self.running, self.notes) = (config, loaded.notes);
        Ok(())
    }

    /// Takes on who may use what, and which views there are.
    ///
    /// # Errors
    /// A view that cannot be; then nothing is taken on.
    fn take_on_rules(&self, config: &Config) -> anyhow::Result<()> {
        let (topology, old) = (&self.topology, &self.running);
        if old.security.profiles != config.security.profiles {
            topology.catalog.set_profiles(offer::profiles(config))?;
        }
        let is_redacted_anew = change::redaction(old, config);
        if is_redacted_anew {
            topology.decisions.replace_redaction(config)?;
        }
        let (before, after) = (decisions::policy_config(old), decisions::policy_config(config));
        if let Some(policy) = &topology.decisions.policy
            && before != after
        {
            policy.replace(&after)?;
            topology.catalog.rules_changed();
        }
        let are_pins_others = old.security.pins != config.security.pins;
        if are_pins_others {
            offer::replace(&topology.pins, config);
        }
        if are_pins_others || is_redacted_anew {
            topology.catalog.rescreen();
        }
        topology.decisions.reopen();
        Ok(())
    }

    /// Takes on workflows that are written differently. Runs that have begun go on as they began.
    async fn offer(&self, config: &Config) {
        let changes = WorkflowChanges::between(&self.running.workflows, &config.workflows);
        if changes.is_empty() {
            return;
        }
        // A thousand templates and schemas are not compiled in between.
        let written = config.workflows.clone();
        let workflows = match spawn_blocking(move || Workflows::of(&written)).await {
            Ok(workflows) => workflows,
            Err(error) => return tracing::error!(%error, "workflows stay as they were"),
        };
        workflows.warn();
        let broken = workflows.broken.keys().map(|name| &**name).collect::<Vec<_>>().join(" ");
        let [added, changed, removed] =
            [changes.added, changes.changed, changes.removed].map(|names| names.join(" "));
        match self.topology.workflows.replace(workflows.definitions) {
            Ok(()) => tracing::info!(added, changed, removed, broken, "workflows reloaded"),
            Err(error) => tracing::error!(%error, "workflows stay as they were"),
        }
    }

    fn reject(&self, reason: &'static str, problems: &[String]) {
        for problem in problems {
            tracing::error!("configuration: {problem}");
        }
        let files = self.request.files.iter().map(|file| file.display().to_string());
        let (files, count) = (files.collect::<Vec<_>>().join(" "), problems.len());
        tracing::error!(
            reason,
            files,
            problems = count,
            "configuration rejected, the one in use stays; mend it and save it or send SIGHUP"
        );
        self.count(false);
    }

    /// Leaves files alone that do not let themselves be read.
    fn give_up(&mut self, reason: &'static str) {
        let files = self.watch.files().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" ");
        tracing::warn!(
            reason,
            files,
            "the configuration cannot be read in time, the one in use stays; see whether the disk with its files \
             answers, then save one of them or send SIGHUP"
        );
        self.watch.gave_up();
        self.count(false);
    }

    fn count(&self, applied: bool) {
        if let Some(settings) = self.front.settings() {
            settings.count_reload(applied);
        }
    }
}

/// Whether anybody may use something else than before.
fn are_rules_others(old: &Config, new: &Config) -> bool {
    old.security != new.security || decisions::policy_config(old) != decisions::policy_config(new)
}

fn look(files: Vec<PathBuf>) -> Looks {
    let stamped = |file: PathBuf| {
        let stamp = Stamp::of(&file);
        (file, stamp)
    };
    files.into_iter().map(stamped).collect()
}
