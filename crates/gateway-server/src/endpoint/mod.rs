//! What a message means and what it is answered with, whichever face it came through.

mod answer;
mod conversation;
mod events;
mod interview;
pub(crate) mod legacy;
mod list;
pub(crate) mod modern;
pub(crate) mod request;
mod rounds;
mod task;
mod visit;
mod watch;

use gateway_domain::{DownstreamFault, Era, Error, InternalError};
use gateway_protocol::RequestId;

pub(crate) use self::{
    answer::{Answer, Hint, Payload},
    conversation::{Conversation, Speaker},
    task::required as tasks_required,
    visit::{Visit, record, trace},
    watch::ask_again,
};
use crate::rescue::rescue;

/// What a request is answered with.
pub(crate) enum Reply {
    /// One message.
    Message(Answer),
    /// Messages, the last of which is the answer.
    Conversation(Conversation),
}

impl From<Box<Answer>> for Reply {
    fn from(answer: Box<Answer>) -> Self {
        Self::Message(*answer)
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Message(answer)
    }
}

/// As [`failed_towards`], where both eras are told the same or only this one is there.
pub(crate) fn failed(error: &Error, id: &RequestId) -> Answer {
    failed_towards(error, Era::Modern, id)
}

/// The answer to a request that failed, which is logged by whose fault it is.
pub(crate) fn failed_towards(error: &Error, era: Era, id: &RequestId) -> Answer {
    match error {
        Error::Caller(_) => {}
        // That it is left alone was logged once; this is each of those who try all the same.
        Error::Downstream(downstream) if matches!(downstream.fault, DownstreamFault::Broken { .. }) => {
            tracing::debug!(%error, "a request failed")
        }
        Error::Downstream(_) | Error::Operator(_) | Error::Unlisted(_) => {
            tracing::info!(%error, "a request failed")
        }
        Error::Internal(_) => tracing::error!(%error, "a request failed"),
    }
    rescue(error).towards(era).answer(Some(id))
}

fn panicked(what: &'static str) -> Error {
    InternalError { what }.into()
}

#[cfg(test)]
mod tests;
