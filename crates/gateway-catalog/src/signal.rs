use std::sync::{Mutex, MutexGuard, PoisonError};

use gateway_domain::{DownstreamObserver, ListKind};
use tokio::sync::Notify;

/// What a downstream's transport and supervision tell the catalogue outside any call. Never blocks; many
/// signals before the next refresh are one.
#[derive(Debug, Default)]
pub struct Signal {
    wake: Notify,
    heard: Mutex<Heard>,
}

/// What was told since it was last asked for.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Which of the downstream's lists have changed.
    pub(crate) changed: Changes,
    /// Why the last session ended.
    pub(crate) lost: Option<String>,
    /// What was last said of its health.
    pub(crate) health: Option<Health>,
}

/// Lists that are said to have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    /// Resources or their templates.
    pub(crate) resources: bool,
}

impl Changes {
    pub(crate) const ALL: Self = Self { tools: true, prompts: true, resources: true };

    pub(crate) fn any(self) -> bool {
        self != Self::default()
    }

    fn note(&mut self, list: ListKind) {
        match list {
            ListKind::Tools => self.tools = true,
            ListKind::Prompts => self.prompts = true,
            ListKind::Resources | ListKind::ResourceTemplates => self.resources = true,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Health {
    Broken(String),
    Recovered,
}

impl Heard {
    fn is_nothing(&self) -> bool {
        !self.changed.any() && self.lost.is_none() && self.health.is_none()
    }
}

impl Signal {
    /// A signal that nobody has given yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until something has been told. Cancel-safe: what was not waited for is kept.
    pub(crate) async fn heard(&self) -> Heard {
        loop {
            let heard = self.take();
            if !heard.is_nothing() {
                return heard;
            }
            self.wake.notified().await;
        }
    }

    /// What has been told, which may be nothing.
    pub(crate) fn take(&self) -> Heard {
        std::mem::take(&mut self.lock())
    }

    fn tell(&self, what: impl FnOnce(&mut Heard)) {
        what(&mut self.lock());
        self.wake.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DownstreamObserver for Signal {
    fn list_changed(&self, list: ListKind) {
        self.tell(|heard| heard.changed.note(list));
    }

    fn session_lost(&self, reason: &str) {
        self.tell(|heard| heard.lost = Some(reason.to_owned()));
    }

    fn broken(&self, reason: &str) {
        self.tell(|heard| heard.health = Some(Health::Broken(reason.to_owned())));
    }

    fn recovered(&self) {
        self.tell(|heard| heard.health = Some(Health::Recovered));
    }
}
