//! What a call has besides an answer to wait for.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use gateway_domain::{ClientCapabilities, Exchange, RawObject, SessionKey};
use gateway_protocol::client::questions::{Question, Questions, Relay};
use tokio::sync::Notify;

/// A call under way, as callers and the reader share it.
#[derive(Debug)]
pub(crate) struct CallState {
    /// Where its events go.
    pub(crate) relay: Relay,
    pub(super) owner: SessionKey,
    pub(super) capabilities: ClientCapabilities,
    /// Whether the server may take it for the reason of a question or of a log message.
    pub(crate) is_audible: bool,
    pub(super) parked: AtomicBool,
    questions: Mutex<Questions>,
    news: Notify,
}

impl CallState {
    /// A call of this exchange.
    pub(crate) fn new(exchange: &Exchange, is_audible: bool) -> Self {
        Self {
            relay: Relay::new(exchange),
            owner: exchange.session.clone(),
            capabilities: exchange.capabilities.clone(),
            is_audible,
            parked: AtomicBool::new(false),
            questions: Mutex::default(),
            news: Notify::new(),
        }
    }

    /// Takes a question of the server's.
    ///
    /// # Errors
    /// The message that turns it down.
    pub(super) fn ask(&self, question: Question) -> Result<(), Vec<u8>> {
        if let Some(refusal) = question.refused_by(&self.capabilities) {
            return Err(refusal);
        }
        self.questions().add(question)?;
        self.news.notify_one();
        Ok(())
    }

    /// Waits until the server has asked something.
    pub(crate) async fn asked(&self) {
        while self.questions().is_empty() {
            self.news.notified().await;
        }
    }

    /// What is asked, if anything is; from then on the call waits for answers.
    pub(crate) fn park(&self) -> Option<RawObject> {
        let requests = self.questions().requests()?;
        self.relay.park();
        self.parked.store(true, Ordering::Relaxed);
        Some(requests)
    }

    /// Goes on with a request of this exchange.
    pub(crate) fn resume(&self, exchange: &Exchange) {
        self.parked.store(false, Ordering::Relaxed);
        self.relay.resume(exchange);
    }

    /// What is open, to be changed.
    pub(crate) fn questions(&self) -> MutexGuard<'_, Questions> {
        // No code that can panic runs under the lock.
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
