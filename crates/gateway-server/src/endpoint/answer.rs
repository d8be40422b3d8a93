use bytes::Bytes;
use gateway_domain::{JsonKind, Outcome, PeerError, RawJson, RawObject};
use gateway_protocol::{Implementation, RequestId, code, meta, write};
use http::StatusCode;

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
}

/// What is said under the name of an error that a downstream answered with.
const PEER_ERROR: &str = "downstream_error";
/// The kind of an answer that a cancelled request gets where one has to be sent.
const CANCELLED: &str = "cancelled";

impl Answer {
    pub(crate) fn error(status: StatusCode, message: Vec<u8>, kind: &'static str) -> Self {
        Self { status, payload: message.into(), kind }
    }

    pub(crate) fn result(id: &RequestId, object: &[u8]) -> Self {
        Self::ok(write::result(id, object).into())
    }

    pub(crate) fn ok(payload: Payload) -> Self {
        Self { status: StatusCode::OK, payload, kind: "ok" }
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

    /// `{"tools":PAGE` and what comes behind it.
    pub(crate) fn tools(id: &RequestId, page: &RawJson, next_cursor: Option<&str>, tail: &str) -> Self {
        let mut head = write::result_head(id);
        head.extend_from_slice(br#"{"tools":"#);
        let mut end = Vec::with_capacity(tail.len() + 64);
        if let Some(cursor) = next_cursor {
            end.extend_from_slice(br#","nextCursor":"#);
            end.extend_from_slice(RawJson::string(cursor).as_bytes());
        }
        end.extend_from_slice(tail.as_bytes());
        end.extend_from_slice(b"}}");
        Self::ok(Payload::around(head, page.clone().into_bytes(), &end))
    }
}

/// The result of a call for a modern client: `resultType` is there and `_meta` says who we are; all other
/// bytes are the downstream's.
pub(crate) fn modern_result(id: &RequestId, result: &RawObject, identity: &Implementation) -> Answer {
    let head = write::result_head(id);
    let typed = result.contains("resultType");
    if result.contains("_meta") {
        let own = result.get_object("_meta").unwrap_or_else(RawObject::empty);
        let mut edit = result
            .edit()
            .set("_meta", own.edit().set(meta::SERVER_INFO, identity.as_str()).finish().as_bytes());
        if !typed {
            edit = edit.set("resultType", br#""complete""#);
        }
        return Answer::ok(Payload::around(head, edit.finish().into_bytes(), b"}"));
    }
    // Nothing is replaced, so the new members go behind the old ones without a copy of those.
    let object = result.raw().clone().into_bytes();
    let comma = if result.is_empty() { "" } else { "," };
    let kind = if typed { "" } else { r#""resultType":"complete","# };
    let tail = format!(r#"{comma}{kind}"_meta":{{"{}":{}}}}}}}"#, meta::SERVER_INFO, identity.as_str());
    Answer::ok(Payload::around(head, object.slice(..object.len() - 1), tail.as_bytes()))
}

/// The result of a call for a legacy client, without what only modern ones know (protocol.md §20.8).
pub(crate) fn legacy_result(id: &RequestId, result: &RawObject) -> Answer {
    let mut edit = result.edit();
    for member in ["resultType", "ttlMs", "cacheScope"] {
        edit = edit.remove(member);
    }
    if result.get("structuredContent").is_some_and(|content| content.kind() != JsonKind::Object) {
        edit = edit.remove("structuredContent");
    }
    if let Some(own) = result.get_object("_meta").filter(|own| own.contains(meta::SERVER_INFO)) {
        let rest = own.edit().remove(meta::SERVER_INFO).finish();
        edit = if own.len() == 1 { edit.remove("_meta") } else { edit.set("_meta", rest.as_bytes()) };
    }
    Answer::ok(Payload::around(write::result_head(id), edit.finish().into_bytes(), b"}"))
}

/// An error that a downstream answered with. Codes that describe the hop behind us, or that the client's
/// era does not have, become -32603 with the original in `data` (protocol.md §2.4, §20.8).
pub(crate) fn peer_error(id: &RequestId, error: &PeerError, modern: bool) -> Answer {
    let of_the_hop = (code::UNSUPPORTED_VERSION..=code::HEADER_MISMATCH).contains(&error.code);
    let of_legacy = error.code == -1 || error.code == -32042 || (-32019..=-32000).contains(&error.code);
    let object = match error.code {
        code::RESOURCE_NOT_FOUND if modern => {
            error.raw.edit().set("code", code::INVALID_PARAMS.to_string()).finish()
        }
        original if of_the_hop || (modern && of_legacy) => {
            let mut data = format!(
                r#"{{"kind":"{PEER_ERROR}","retryable":false,"may_have_executed":true,"code":{original}"#
            );
            if let Some(own) = error.raw.get("data") {
                data.push_str(r#","data":"#);
                data.push_str(own.as_str());
            }
            data.push('}');
            error.raw.edit().set("code", code::INTERNAL_ERROR.to_string()).set("data", data).finish()
        }
        _ => error.raw.raw().clone(),
    };
    let mut answer = Answer::error(StatusCode::OK, Vec::new(), PEER_ERROR);
    answer.payload = write::error(Some(id), object.as_bytes()).into();
    answer
}

/// The result or error object inside a finished outcome; `None` for those that only later releases carry.
pub(crate) fn finished(outcome: &Outcome) -> Option<Result<&RawObject, &PeerError>> {
    match outcome {
        Outcome::Complete(result) => Some(Ok(result)),
        Outcome::Failed(error) => Some(Err(error)),
        Outcome::InputRequired(_) | Outcome::Task(_) => None,
    }
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
            let written = text(&modern_result(&RequestId::from(7), &object(given), &us));
            assert_eq!(written, format!(r#"{{"jsonrpc":"2.0","id":7,"result":{expected}}}"#), "for {given}");
        }
    }

    #[test]
    fn a_legacy_result_loses_modern_members_only() {
        for (given, expected) in [
            ("{}", "{}"),
            (r#"{"content":[ ],"x":1.0}"#, r#"{"content":[ ],"x":1.0}"#),
            (
                r#"{"resultType":"complete","content":[],"ttlMs":0,"cacheScope":"public"}"#,
                r#"{"content":[]}"#,
            ),
            (r#"{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#, r#"{"content":[]}"#),
            (r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{},"k":1}}"#, r#"{"_meta":{"k":1}}"#),
            (r#"{"_meta":{},"content":[]}"#, r#"{"_meta":{},"content":[]}"#),
            (
                r#"{"content":[],"structuredContent":{"n":1.0}}"#,
                r#"{"content":[],"structuredContent":{"n":1.0}}"#,
            ),
            (r#"{"content":[],"structuredContent":[1.0]}"#, r#"{"content":[]}"#),
        ] {
            let written = text(&legacy_result(&RequestId::from(7), &object(given)));
            assert_eq!(written, format!(r#"{{"jsonrpc":"2.0","id":7,"result":{expected}}}"#), "for {given}");
        }
    }

    #[test]
    fn codes_of_another_hop_or_era_do_not_reach_the_client() {
        let moved = |original: i64| {
            format!(
                r#"{{"code":-32603,"message":"m","data":{{"kind":"downstream_error","retryable":false,"may_have_executed":true,"code":{original},"data":[1.0]}}}}"#
            )
        };
        let same = |code: i64| format!(r#"{{"code":{code},"message":"m","data":[1.0]}}"#);
        for (given, modern, legacy) in [
            (-32602, same(-32602), same(-32602)),
            (-32601, same(-32601), same(-32601)),
            (7, same(7), same(7)),
            (-32020, moved(-32020), moved(-32020)),
            (-32021, moved(-32021), moved(-32021)),
            (-32022, moved(-32022), moved(-32022)),
            (-32002, same(-32602), same(-32002)),
            (-32042, moved(-32042), same(-32042)),
            (-32000, moved(-32000), same(-32000)),
            (-1, moved(-1), same(-1)),
        ] {
            let error = PeerError::new(object(&same(given))).unwrap();
            for (era, expected) in [(true, modern), (false, legacy)] {
                let answer = peer_error(&RequestId::from(7), &error, era);
                assert_eq!(text(&answer), format!(r#"{{"jsonrpc":"2.0","id":7,"error":{expected}}}"#));
                assert_eq!(answer.status, StatusCode::OK, "a code of another hop has no status here");
            }
        }
    }
}
