use std::time::Duration;

use bytes::Bytes;
use gateway_domain::{
    CallerError, Era, Error, InternalError, ListKind, Outcome, Page, RawJson, RawObject, Subject,
};
use gateway_protocol::{Implementation, RequestId, Revision, code, convert, write};
use http::StatusCode;

use super::{Visit, failed, failed_towards};
use crate::in_flight::Permit;

/// Up to this many bytes a message is written into one buffer; larger values stay where they are.
const COPIED: usize = 8 << 10;
/// An answer of more bytes than this is in flight until it has been written.
const SMALL: usize = 64 << 10;

/// The bytes of one message, in up to three pieces so that a large value in the middle is not copied.
#[derive(Debug, Clone, Default)]
pub(crate) struct Payload(pub(crate) [Bytes; 3]);

impl Payload {
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    /// What [`Self::keeping`] makes a keeper.
    pub(crate) fn last(&mut self) -> Option<&mut Bytes> {
        self.0.iter_mut().rfind(|part| !part.is_empty())
    }

    /// Keeps something until the last byte has been written, or the message is dropped.
    pub(crate) fn keeping<T: Send + 'static>(mut self, kept: T) -> Self {
        if let Some(last) = self.last() {
            *last = Bytes::from_owner(Keeping { bytes: std::mem::take(last), _kept: kept });
        }
        self
    }

    /// `value` between `head` and `tail`.
    fn around(mut head: Vec<u8>, value: Bytes, tail: &[u8]) -> Self {
        if value.len() <= COPIED {
            head.reserve_exact(value.len() + tail.len());
            head.extend_from_slice(&value);
            head.extend_from_slice(tail);
            return head.into();
        }
        Self([head.into(), value, Bytes::copy_from_slice(tail)])
    }
}

struct Keeping<T> {
    bytes: Bytes,
    _kept: T,
}

impl<T> AsRef<[u8]> for Keeping<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Vec<u8>> for Payload {
    fn from(whole: Vec<u8>) -> Self {
        Self([whole.into(), Bytes::new(), Bytes::new()])
    }
}

/// The one response to a request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The HTTP status, if it is sent over HTTP before a stream has begun.
    pub(crate) status: StatusCode,
    pub(crate) payload: Payload,
    /// `ok`, or the kind of error; for metrics.
    pub(crate) kind: &'static str,
    pub(crate) hint: Hint,
}

/// What the headers of a refusal say besides its status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Hint {
    #[default]
    None,
    /// When there is room again.
    RetryIn(Duration),
    /// The token is not good.
    InvalidToken,
    /// The scopes that are needed.
    Scopes(Vec<String>),
}

/// What is said under the name of an error that a downstream answered with.
const PEER_ERROR: &str = "downstream_error";
/// The kind of an answer that a cancelled request gets where one has to be sent.
const CANCELLED: &str = "cancelled";

impl Answer {
    pub(crate) fn error(status: StatusCode, message: Vec<u8>, kind: &'static str) -> Self {
        Self { status, payload: message.into(), kind, hint: Hint::None }
    }

    pub(crate) fn result(id: &RequestId, object: &[u8]) -> Self {
        Self::ok(write::result(id, object).into())
    }

    pub(crate) fn ok(payload: Payload) -> Self {
        Self { status: StatusCode::OK, payload, kind: "ok", hint: Hint::None }
    }

    pub(crate) fn is_large(&self) -> bool {
        self.payload.len() > SMALL
    }

    /// Gives a place in flight back, or keeps it if the answer is large: a client that does not read must not
    /// be able to pile up answers (security.md §2.7).
    pub(crate) fn holding(self, permit: Permit) -> Self {
        if !self.is_large() {
            return self;
        }
        Self { payload: self.payload.keeping(permit), ..self }
    }

    /// Whether this is what a cancelled request gets. It is sent only where something has to be: as the
    /// whole response to a POST.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.kind == CANCELLED
    }

    /// A page of a list, and what comes behind it.
    pub(crate) fn list(id: &RequestId, list: ListKind, page: &Page, tail: &str) -> Self {
        let mut head = write::result_head(id);
        head.extend_from_slice(br#"{""#);
        head.extend_from_slice(list.member().as_bytes());
        head.extend_from_slice(br#"":"#);
        let mut end = Vec::with_capacity(tail.len() + 64);
        if let Some(cursor) = &page.next_cursor {
            end.extend_from_slice(br#","nextCursor":"#);
            end.extend_from_slice(RawJson::string(cursor).as_bytes());
        }
        end.extend_from_slice(tail.as_bytes());
        end.extend_from_slice(b"}}");
        Self::ok(Payload::around(head, page.items.clone().into_bytes(), &end))
    }
}

/// What a call comes to, as its client is told.
pub(crate) fn answered(
    visit: &Visit,
    id: &RequestId,
    subject: &Subject,
    revision: Revision,
    opens_urls: bool,
    outcome: Result<Outcome, Error>,
) -> Answer {
    let modern = revision.era() == Era::Modern;
    match outcome {
        Ok(Outcome::Complete(result)) if modern => {
            let is_private = visit.rules.rendered.is_private();
            modern_result(id, subject, &result, is_private, &visit.rules.config.identity)
        }
        Ok(Outcome::Complete(result)) => {
            let result = convert::legacy::result(subject, &result, revision);
            Answer::ok(Payload::around(write::result_head(id), result.into_bytes(), b"}"))
        }
        Ok(Outcome::Failed(error)) if modern => {
            let mut answer = peer_error(id, &convert::modern::error(subject, &error));
            // Of a method that is passed on unread, the downstream says whether it is there (protocol.md §2.5).
            if matches!(subject, Subject::Other { .. }) && error.code == code::METHOD_NOT_FOUND {
                answer.status = StatusCode::NOT_FOUND;
            }
            answer
        }
        Ok(Outcome::Failed(error)) => {
            peer_error(id, &convert::legacy::error(subject, &error, revision, opens_urls))
        }
        Ok(Outcome::InputRequired(required)) if !modern => {
            visit.abandon(&required.state);
            let reason = "it cannot be asked anything with this request".to_owned();
            failed(&CallerError::Unanswered { reason }.into(), id)
        }
        Ok(Outcome::InputRequired(_) | Outcome::Task(_)) => {
            failed(&InternalError { what: "an outcome that this client cannot be told" }.into(), id)
        }
        Err(error) => failed_towards(&error, revision.era(), id),
    }
}

/// The result of a call for a modern client. What is added goes behind the downstream's own bytes, without a copy of
/// large ones.
fn modern_result(
    id: &RequestId,
    subject: &Subject,
    result: &RawObject,
    is_private: bool,
    identity: &Implementation,
) -> Answer {
    let (body, tail) = convert::modern::result(subject, result, is_private, identity);
    let closed = format!("{tail}}}}}");
    let open = body.slice(..body.len() - 1);
    Answer::ok(Payload::around(write::result_head(id), open, closed.as_bytes()))
}

/// A result that is the gateway's own but for some members: it only says who we are.
pub(super) fn extended(id: &RequestId, object: RawJson, identity: &Implementation) -> Answer {
    let object = RawObject::try_from(object).unwrap_or_else(|_| RawObject::empty());
    modern_result(id, &Subject::tool(""), &object, false, identity)
}

/// An error that a downstream answered with.
fn peer_error(id: &RequestId, object: &RawJson) -> Answer {
    Answer::error(StatusCode::OK, write::error(Some(id), object.as_bytes()), PEER_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answer: &Answer) -> String {
        String::from_utf8(answer.payload.0.concat()).unwrap()
    }

    fn object(text: &str) -> RawObject {
        RawObject::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn a_modern_result_gains_two_members_and_keeps_all_bytes() {
        let us = Implementation::new("g", "G", "1");
        let meta = r#""io.modelcontextprotocol/serverInfo":{"name":"g","title":"G","version":"1"}"#;
        let long = format!(r#"{{ "content":[1.0,1e400,"{}"] }}"#, "x".repeat(COPIED));
        let subject = Subject::tool("t");
        for (given, expected) in [
            ("{}", format!(r#"{{"resultType":"complete","_meta":{{{meta}}}}}"#)),
            (
                r#"{ "content":[1.0,{"a":9007199254740993}] }"#,
                format!(
                    r#"{{ "content":[1.0,{{"a":9007199254740993}}] ,"resultType":"complete","_meta":{{{meta}}}}}"#
                ),
            ),
            (
                r#"{"resultType":"x","n":1e400}"#,
                format!(r#"{{"resultType":"x","n":1e400,"_meta":{{{meta}}}}}"#),
            ),
            (
                r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"d"},"k":1.0},"content":[]}"#,
                format!(r#"{{"_meta":{{{meta},"k":1.0}},"content":[],"resultType":"complete"}}"#),
            ),
            (
                &long,
                format!("{},\"resultType\":\"complete\",\"_meta\":{{{meta}}}}}", &long[..long.len() - 1]),
            ),
        ] {
            let written = text(&modern_result(&RequestId::from(7), &subject, &object(given), false, &us));
            assert_eq!(written, format!(r#"{{"jsonrpc":"2.0","id":7,"result":{expected}}}"#), "for {given}");
        }
    }
}
