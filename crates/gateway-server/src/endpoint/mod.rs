//! What a message means and what it is answered with, whichever face it came through.

mod answer;
mod conversation;
mod events;
mod interview;
pub(crate) mod legacy;
mod list;
pub(crate) mod modern;
mod request;
mod watch;

use std::sync::Arc;

use gateway_domain::{CallerError, DownstreamFault, Error, InternalError, View};
use gateway_protocol::{RequestId, code};
use http::StatusCode;

pub(crate) use self::{
    answer::{Answer, Payload},
    conversation::Conversation,
};
use crate::{auth::Principal, edge::Edge, rescue::rescue, rules::Rules};

/// Who is here, and for what.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) edge: Arc<Edge>,
    /// As they were when this visit began.
    pub(crate) rules: Arc<Rules>,
    pub(crate) principal: Arc<Principal>,
    pub(crate) view: View,
    /// Whether more than the one answer can be sent.
    pub(crate) streams: bool,
}

/// What a request is answered with.
pub(crate) enum Reply {
    /// One message.
    Message(Answer),
    /// Messages, the last of which is the answer.
    Conversation(Conversation),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Message(answer)
    }
}

/// As [`failed`], for a client of a revision with sessions: a resource that is not there has a code of its own, and
/// what the client has not declared has none (protocol.md §20.8).
pub(crate) fn failed_in_session(error: &Error, id: &RequestId) -> Answer {
    let code = match error {
        Error::Caller(CallerError::UnknownResource { .. }) => code::RESOURCE_NOT_FOUND,
        Error::Caller(CallerError::MissingCapability { .. }) => code::INTERNAL_ERROR,
        _ => return failed(error, id),
    };
    let mut verdict = rescue(error);
    (verdict.status, verdict.code) = (StatusCode::OK, code);
    verdict.answer(Some(id))
}

/// The answer to a request that failed, which is logged by whose fault it is.
pub(crate) fn failed(error: &Error, id: &RequestId) -> Answer {
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
    rescue(error).answer(Some(id))
}

fn panicked(what: &'static str) -> Error {
    InternalError { what }.into()
}

#[cfg(test)]
mod tests;
