use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use gateway_domain::{
    DownstreamName, DownstreamObserver, DownstreamSession, Error, Factory, OperatorError, SessionProfile,
};
use gateway_protocol::client::{Knowledge, OpeningConfig};
use tokio::sync::watch;

use crate::{StdioConfig, StdioSession, opening::Attempt};

/// Starts one MCP server as a child process, once for each session.
pub struct StdioFactory {
    name: DownstreamName,
    config: Arc<StdioConfig>,
    observer: Arc<dyn DownstreamObserver>,
    /// What earlier sessions have taught of the server's eras (protocol.md §7.3).
    knowledge: Mutex<Knowledge>,
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
            observer,
            knowledge: Mutex::default(),
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
        };
        let (name, config, observer) = (&self.name, &self.config, &self.observer);
        let attempt = Attempt { name, config, observer, alive: &self.alive };
        let known = *self.knowledge();
        let verdict = Box::pin(attempt.open(wanted, known)).await;
        // A failure may come of something learnt that is not true any more.
        *self.knowledge() = if verdict.session.is_ok() { verdict.knowledge } else { Knowledge::default() };
        let (process, peer) = verdict.session?;
        Ok(StdioSession { process, config: Arc::clone(&self.config), peer })
    }

    fn knowledge(&self) -> std::sync::MutexGuard<'_, Knowledge> {
        self.knowledge.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
