//! What a message means and what it is answered with, whichever face it came through.

mod answer;
mod conversation;
mod events;
pub(crate) mod legacy;
pub(crate) mod modern;
pub(crate) mod tools;

use std::sync::Arc;

use gateway_domain::View;

pub(crate) use self::{
    answer::{Answer, Payload},
    conversation::Conversation,
};
use crate::{auth::Principal, edge::Edge, rules::Rules};

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
