use gateway_domain::{
    CallerError, DownstreamError, DownstreamFault, Error, OperatorError, PeerError, RawJson,
};

use super::{
    config::Direction,
    redactor::{Redacted, Redactor},
};

/// An error without what is found in its texts: kind, code and everything else stay (P-W5).
pub(super) fn redact(redactor: &Redactor, mut error: Error) -> Redacted<Error> {
    let mut count = 0;
    let mut json = Vec::new();
    for text in texts(&mut error, &mut json) {
        let redacted = redactor.redact_string(std::mem::take(text), Direction::Results);
        *text = redacted.value;
        count += redacted.count;
    }
    for value in json {
        let redacted = redactor.redact_raw(value, Direction::Results);
        *value = redacted.value;
        count += redacted.count;
    }
    Redacted { value: error, count }
}

/// A downstream's own error. Its code is a number, and so left alone.
pub(super) fn redact_peer(redactor: &Redactor, error: PeerError) -> Redacted<PeerError> {
    let PeerError { code, raw } = error;
    let Redacted { value: raw, count } = redactor.redact_object(&raw, Direction::Results);
    Redacted { value: PeerError { code, raw }, count }
}

/// The texts of an error that may hold words of others. What is JSON goes to `json`.
fn texts<'a>(error: &'a mut Error, json: &mut Vec<&'a mut RawJson>) -> Vec<&'a mut String> {
    match error {
        Error::Caller(error) => of_caller(error, json),
        Error::Downstream(error) => of_downstream(error),
        Error::Operator(OperatorError::Configuration { reason }) => vec![reason],
        Error::Unlisted(_) | Error::Internal(_) => Vec::new(),
    }
}

fn of_caller<'a>(error: &'a mut CallerError, json: &mut Vec<&'a mut RawJson>) -> Vec<&'a mut String> {
    match error {
        CallerError::UnknownTool { name: text }
        | CallerError::UnknownDownstream { name: text }
        | CallerError::UnknownPrompt { name: text }
        | CallerError::UnknownResource { uri: text }
        | CallerError::UnknownMethod { method: text }
        | CallerError::Unanswered { reason: text }
        | CallerError::InvalidParams { reason: text } => vec![text],
        CallerError::InsufficientScope { scopes } => scopes.iter_mut().collect(),
        CallerError::MissingCapability { required } => {
            json.push(required);
            Vec::new()
        }
        CallerError::UnknownTask
        | CallerError::UnknownState
        | CallerError::InvalidCursor
        | CallerError::Overloaded { .. }
        | CallerError::RateLimited { .. }
        | CallerError::Unrecorded { .. }
        | CallerError::SessionClosed
        | CallerError::Cancelled => Vec::new(),
    }
}

fn of_downstream(error: &mut DownstreamError) -> Vec<&mut String> {
    match &mut error.fault {
        DownstreamFault::Unreachable { reason }
        | DownstreamFault::Ended { reason }
        | DownstreamFault::Handshake { reason }
        | DownstreamFault::Nonsense { reason }
        | DownstreamFault::Credentials { reason, .. }
        | DownstreamFault::Broken { reason, .. } => vec![reason],
        DownstreamFault::TimedOut { .. }
        | DownstreamFault::TooLarge { .. }
        | DownstreamFault::Status { .. }
        | DownstreamFault::Unauthorized { .. }
        | DownstreamFault::Exhausted { .. }
        | DownstreamFault::Closed
        | DownstreamFault::CallerCredentials { .. }
        | DownstreamFault::InputRequired => Vec::new(),
    }
}
