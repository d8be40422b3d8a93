//! What a call has besides an answer to wait for.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use gateway_domain::{ClientCapabilities, Era, Exchange, RawObject, Subject};
use gateway_protocol::client::questions::{Owner, Question, Questions, Relay, may_ask};
use tokio::sync::Notify;

/// A call under way, as callers and the reader share it.
#[derive(Debug)]
pub(crate) struct CallState {
    /// Where its events go.
    pub(crate) relay: Relay,
    pub(crate) owner: Owner,
    pub(super) capabilities: ClientCapabilities,
    /// Whether the server may ask something on its behalf.
    pub(super) may_ask: bool,
    /// Whether it needs a turn where calls take turns. A wait for a task's result does not: it may last as long as
    /// the task.
    pub(crate) takes_turn: bool,
    /// Whether the server may log something on its behalf.
    pub(super) may_log: bool,
    pub(super) parked: AtomicBool,
    questions: Mutex<Questions>,
    news: Notify,
}

impl CallState {
    /// A call of this exchange to a server of this era.
    pub(crate) fn new(era: Era, subject: &Subject, exchange: &Exchange) -> Self {
        let may_ask = era == Era::Legacy && may_ask(subject);
        Self {
            relay: Relay::new(exchange),
            owner: Owner::of(exchange),
            capabilities: exchange.here().into_owned(),
            may_ask,
            takes_turn: may_ask && !is_wait_for_task(subject),
            // A modern server logs for nobody else (protocol.md §11.8).
            may_log: era == Era::Legacy || exchange.log_level.is_some(),
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

fn is_wait_for_task(subject: &Subject) -> bool {
    matches!(subject, Subject::Other { method } if &**method == TASKS_RESULT)
}

const TASKS_RESULT: &str = "tasks/result";
