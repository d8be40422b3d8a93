use gateway_domain::{JsonKind, RawObject};

use super::{
    super::{ElicitationStep, Handler},
    members::Members,
    value::{Read, Value},
};

/// What a question has beside the members of every step.
pub(super) const MEMBERS: &[&str] = &["message", "schema", "onDecline", "onCancel"];

/// The members of a question (C-25). A schema that is missing is empty.
pub(super) fn question(members: &mut Members) -> ElicitationStep {
    ElicitationStep {
        message: members.take("message", Value::text).unwrap_or_default(),
        schema: members.take("schema", Value::object).unwrap_or_else(RawObject::empty),
        on_decline: members.take("onDecline", handler).unwrap_or_default(),
        on_cancel: members.take("onCancel", handler).unwrap_or_default(),
    }
}

/// `{action: continue}`, or only the word.
fn handler(value: Value) -> Read<Handler> {
    if value.raw.kind() == JsonKind::String {
        return action(value);
    }
    let mut members = value.members(&["action"])?;
    members.demand("action");
    let handler = members.take("action", action).unwrap_or_default();
    members.finish(handler)
}

fn action(value: Value) -> Read<Handler> {
    value.word(&[
        ("abort", Handler::Abort),
        ("continue", Handler::Continue),
        ("skip_remaining", Handler::SkipRemaining),
    ])
}
