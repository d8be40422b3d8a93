//! What a fake server is about to send for one message.

use std::{fmt, time::Duration};

use tokio::sync::oneshot;

use crate::{engine::Engine, message::Refusal};

/// Notifications to come, made one at a time: a million of them cost no memory.
pub(crate) type Notices = Box<dyn Iterator<Item = String> + Send>;

/// What is to be sent for one message: notifications, then an end.
pub(crate) struct Reply {
    /// Notifications to send first, with `pace` before each.
    pub(crate) notices: Notices,
    /// Whether there are any.
    pub(crate) streams: bool,
    pub(crate) pace: Duration,
    /// Time to wait before the end.
    pub(crate) delay: Duration,
    pub(crate) end: End,
}

#[derive(Debug)]
pub(crate) enum End {
    /// Raw JSON of `result`.
    Result(String),
    Error(Refusal),
    /// A request that is never answered.
    Never,
    /// Not a request: nothing is owed.
    Nothing,
    /// A request of our own follows a notification.
    Ask(String),
    /// A legacy request that waits for the client's answers to requests of ours, then goes on.
    Interact(Interaction),
    /// `subscriptions/listen`: acknowledged, then open until cancelled.
    Listen,
    Garbage,
    /// The process ends.
    Crash,
}

type Then = Box<dyn FnOnce(&Engine, Vec<String>) -> Reply + Send>;

/// Server requests in mid-call, sent at once.
pub(crate) struct Interaction {
    /// The whole requests.
    pub(crate) requests: Vec<String>,
    /// Each gets the whole response.
    pub(crate) responses: Vec<oneshot::Receiver<String>>,
    /// How it goes on.
    pub(crate) then: Then,
}

impl fmt::Debug for Interaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interaction").field("requests", &self.requests).finish_non_exhaustive()
    }
}

impl Interaction {
    /// What follows once everything is answered.
    pub(crate) async fn answered(self, engine: &Engine) -> Reply {
        let mut texts = Vec::with_capacity(self.responses.len());
        for response in self.responses {
            texts.push(response.await.unwrap_or_default());
        }
        (self.then)(engine, texts)
    }
}

impl Reply {
    pub(crate) fn end(end: End) -> Self {
        Self {
            notices: Box::new(std::iter::empty()),
            streams: false,
            pace: Duration::ZERO,
            delay: Duration::ZERO,
            end,
        }
    }

    pub(crate) fn refuse(code: i64, status: u16, message: impl Into<String>) -> Self {
        Self::end(End::Error(Refusal::new(code, status, message)))
    }

    /// With these notifications before its end.
    pub(crate) fn telling(self, notices: Vec<String>) -> Self {
        let streams = !notices.is_empty();
        Self { notices: Box::new(notices.into_iter()), streams, ..self }
    }

    /// Whether nothing has to be waited for.
    pub(crate) fn is_immediate(&self) -> bool {
        !self.streams && self.delay.is_zero() && !matches!(self.end, End::Listen | End::Interact(_))
    }
}
