//! What a fake server is about to send for one message.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::{
    behaviour,
    engine::complete,
    message::{Refusal, members},
};

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
    /// A legacy call that waits for the client's answer to a request, then ends.
    Interact(Interaction),
    /// `subscriptions/listen`: acknowledged, then open until cancelled.
    Listen,
    Garbage,
    /// The process ends.
    Crash,
}

/// A server request in mid-call.
#[derive(Debug)]
pub(crate) struct Interaction {
    /// The whole request.
    pub(crate) request: String,
    /// Gets the whole response.
    pub(crate) response: oneshot::Receiver<String>,
}

impl Interaction {
    /// What the call ends with: the raw `result` of the client's response, or `null` if it refused.
    pub(crate) async fn result(self) -> String {
        let response = self.response.await.unwrap_or_default();
        let result = members(&response).and_then(|m| m.get("result").map(|r| r.get().to_owned()));
        complete(
            false,
            &behaviour::structured(&format!(r#"{{"answer":{}}}"#, result.as_deref().unwrap_or("null"))),
        )
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

    /// Whether nothing has to be waited for.
    pub(crate) fn is_immediate(&self) -> bool {
        !self.streams && self.delay.is_zero() && !matches!(self.end, End::Listen | End::Interact(_))
    }
}
