use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{
    DownstreamFault, DownstreamName, DownstreamObserver, DownstreamSession, Error, Factory, ListKind,
    OperatorError, PeerInfo, SessionProfile,
};
use gateway_protocol::client::{Knowledge, OpeningConfig};
use tokio::{sync::watch, time::Instant};

use crate::{
    StdioConfig, StdioSession,
    opening::{Attempt, Verdict},
};

/// Starts one MCP server as a child process, once for each session.
pub struct StdioFactory {
    name: DownstreamName,
    config: Arc<StdioConfig>,
    observer: Arc<Ear>,
    memory: Mutex<Memory>,
    /// Has a receiver for each process that is alive.
    alive: watch::Sender<()>,
}

impl StdioFactory {
    /// A factory for the server that `config` describes.
    ///
    /// # Errors
    /// [`OperatorError::Configuration`] if the command is empty.
    pub fn new(
        name: DownstreamName,
        config: StdioConfig,
        observer: Arc<dyn DownstreamObserver>,
    ) -> Result<Self, OperatorError> {
        if config.command.first().is_none_or(String::is_empty) {
            return Err(OperatorError::Configuration {
                reason: format!("downstream `{name}`: `command` is empty; name a program"),
            });
        }
        Ok(Self {
            name,
            config: Arc::new(config),
            observer: Arc::new(Ear { observer, has_lost: AtomicBool::new(false) }),
            memory: Mutex::default(),
            alive: watch::Sender::new(()),
        })
    }

    /// Starts the server and opens a session with it.
    ///
    /// Cancel-safe: dropping the future ends the process group.
    ///
    /// # Errors
    /// A downstream's fault, with the exit status and the last line on stderr where there are any. No
    /// process is left then.
    pub async fn open(&self, profile: &SessionProfile) -> Result<StdioSession, Error> {
        let wanted = OpeningConfig {
            want: profile.era,
            only: self.config.protocol,
            client: self.config.client.clone(),
            capabilities: profile.capabilities.clone(),
        };
        let (name, config, declared) = (&self.name, &self.config, &profile.capabilities);
        let observer: Arc<dyn DownstreamObserver> = Arc::clone(&self.observer) as _;
        let (known, may_respawn) = {
            let memory = self.memory();
            (memory.knowledge, memory.may_respawn(Instant::now()))
        };
        let attempt =
            Attempt { name, config, observer: &observer, declared, alive: &self.alive, may_respawn };
        let verdict = Box::pin(attempt.open(wanted, known)).await;
        self.memory().learn(&verdict, Instant::now());
        let (process, peer) = verdict.session?;
        self.observer.regained(&peer);
        Ok(StdioSession::new(process, &self.config, peer, &profile.capabilities))
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        // Every critical section leaves it consistent.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hears what the sessions hear. While none of them lives nobody tells of changes, so that the next session begins
/// with the news that there may have been some.
struct Ear {
    observer: Arc<dyn DownstreamObserver>,
    has_lost: AtomicBool,
}

impl Ear {
    /// A session has been opened.
    fn regained(&self, peer: &PeerInfo) {
        if self.has_lost.swap(false, Ordering::Relaxed) {
            let lists = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];
            let announced = lists.into_iter().filter(|list| peer.announces_changes(*list));
            announced.for_each(|list| self.observer.list_changed(list));
        }
    }
}

impl DownstreamObserver for Ear {
    fn list_changed(&self, list: ListKind) {
        self.observer.list_changed(list);
    }

    fn session_lost(&self, reason: &str) {
        self.has_lost.store(true, Ordering::Relaxed);
        self.observer.session_lost(reason);
    }
}

/// What earlier openings have taught.
#[derive(Debug, Default)]
struct Memory {
    /// Of the server's eras (protocol.md §7.3).
    knowledge: Knowledge,
    /// Openings fail since the last that did not: when a second process may be started in one.
    respawn_from: Option<Instant>,
}

impl Memory {
    /// A server that ends as soon as it is started would otherwise be started twice each time, against the
    /// budget of restarts.
    fn may_respawn(&self, now: Instant) -> bool {
        match self.respawn_from {
            Some(from) => from <= now,
            None => self.knowledge == Knowledge::default(),
        }
    }

    fn learn(&mut self, verdict: &Verdict, now: Instant) {
        let Err(error) = &verdict.session else {
            *self = Self { knowledge: verdict.knowledge, respawn_from: None };
            return;
        };
        // A process that ends has said nothing about eras; else what was learnt may not be true any more.
        let has_ended =
            matches!(error, Error::Downstream(error) if matches!(error.fault, DownstreamFault::Ended { .. }));
        if verdict.respawned || (has_ended && self.respawn_from.is_none()) {
            self.respawn_from = Some(now + RESPAWN);
        }
        if verdict.respawned || !has_ended {
            self.knowledge = Knowledge::default();
        }
    }
}

/// How often a second process may be started in an opening that fails all the same.
const RESPAWN: Duration = Duration::from_secs(60);

impl std::fmt::Debug for StdioFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StdioFactory").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl Factory for StdioFactory {
    type Session = Arc<dyn DownstreamSession>;

    async fn create(&self, profile: &SessionProfile) -> Result<Self::Session, Error> {
        Ok(Arc::new(self.open(profile).await?))
    }

    async fn wound_up(&self) {
        self.alive.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn failed(respawned: bool, fault: DownstreamFault) -> Verdict {
        let name = DownstreamName::parse("d").unwrap();
        let knowledge = Knowledge { modern: Some(false), legacy: None };
        Verdict { session: Err(fault.before(&name)), knowledge, respawned }
    }

    fn ended(respawned: bool) -> Verdict {
        failed(respawned, DownstreamFault::Ended { reason: String::new() })
    }

    #[test]
    fn a_server_that_always_ends_is_started_twice_once_a_minute() {
        let start = Instant::now();
        let mut memory = Memory::default();
        let mut spawns = Vec::new();
        for second in [0, 1, 16, 31, 46, 61, 76] {
            let now = start + second * SECOND;
            let twice = memory.may_respawn(now);
            spawns.push(if twice { 2 } else { 1 });
            memory.learn(&ended(twice), now);
        }
        assert_eq!(spawns, [2, 1, 1, 1, 1, 2, 1]);
    }

    #[test]
    fn a_command_that_is_not_there_says_nothing() {
        let now = Instant::now();
        let mut memory = Memory::default();
        memory.learn(&failed(false, DownstreamFault::Unreachable { reason: String::new() }), now);
        assert!(memory.may_respawn(now));
    }

    #[test]
    fn one_that_has_worked_is_asked_for_its_own_era_alone_for_a_minute() {
        let start = Instant::now();
        let known = Knowledge { modern: None, legacy: Some(true) };
        let mut memory = Memory { knowledge: known, respawn_from: None };
        assert!(!memory.may_respawn(start));
        memory.learn(&ended(false), start);
        assert_eq!(memory.knowledge, known, "a crash says nothing about eras");
        assert!(!memory.may_respawn(start + 59 * SECOND));
        assert!(memory.may_respawn(start + 60 * SECOND), "it may have been replaced by another");
        memory.learn(&ended(true), start + 60 * SECOND);
        assert_eq!(memory.knowledge, Knowledge::default());
        let refused = DownstreamFault::Handshake { reason: String::new() };
        let mut memory = Memory { knowledge: known, respawn_from: None };
        memory.learn(&failed(false, refused), start);
        assert_eq!(memory.knowledge, Knowledge::default(), "servers change");
    }
}
