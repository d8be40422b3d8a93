use std::{
    pin::pin,
    sync::{Mutex, PoisonError},
};

use gateway_domain::DownstreamObserver;
use tokio::sync::Notify;

/// What a downstream's transport tells the catalogue outside any call. Never blocks; many signals before
/// the next refresh are one.
#[derive(Debug, Default)]
pub struct Signal {
    wake: Notify,
    lost: Mutex<Option<String>>,
}

impl Signal {
    /// A signal that nobody has given yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for the next signal. Cancel-safe: a signal that was not waited for is kept.
    pub(crate) async fn given(&self) {
        self.wake.notified().await;
    }

    /// Forgets a signal that nobody has waited for.
    pub(crate) fn clear(&self) {
        pin!(self.wake.notified()).enable();
    }

    /// Why the last session ended, if one has since this was last asked.
    pub(crate) fn take_lost(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl DownstreamObserver for Signal {
    fn tools_changed(&self) {
        self.wake.notify_one();
    }

    fn session_lost(&self, reason: &str) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        self.wake.notify_one();
    }
}
