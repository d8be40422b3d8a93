//! Refusals that mean "no such session".
//!
//! The protocol has a status for it, 404 (protocol.md §4.4). Many servers send 400 instead and say it in words:
//! an error of the TypeScript or Python SDK, a line of plain text from Go, Rust or a framework in between.

use bytes::Bytes;
use gateway_protocol::{Answer, Incoming, Message, RequestId, Response, code};

/// Such sentences are short. What is longer speaks of something else, say a page of a proxy.
const LONGEST: usize = 512;

/// What the server said is wrong with a session.
const COMPLAINTS: [&str; 16] = [
    "not found",
    "no valid",
    "invalid",
    "not valid",
    "unknown",
    "unrecognized",
    "missing",
    "required",
    "expired",
    "terminated",
    "closed",
    "does not exist",
    "doesn't exist",
    "no longer",
    "no active",
    "no transport",
];

/// What the body of a refusal says of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Silent,
    /// The server does not have it, so it has not looked at the request either.
    Unknown,
    /// The same, but in words that a tool may have chosen: it may have run.
    MaybeATools,
}

/// The codes of errors about sessions.
const CODES: [i64; 3] = [code::INVALID_REQUEST, code::UNAUTHORIZED, code::NO_SESSION];

/// Reads the body of a refusal (status 400, 401 or 404).
///
/// Which error a tool makes itself is not told apart by its text. Proof that nothing ran is an error that
/// answers no request, or that there was no valid request (-32600).
pub(crate) fn read(body: &Bytes) -> Verdict {
    match Incoming::parse(body.clone()) {
        Ok(Incoming::Single(Message::Response(Response { id, answer: Answer::Error(error) }))) => {
            if !CODES.contains(&error.code) || !says_so(&error.message()) {
                return Verdict::Silent;
            }
            let answers = error.code != code::INVALID_REQUEST && id.as_ref().is_some_and(is_of_a_request);
            if answers { Verdict::MaybeATools } else { Verdict::Unknown }
        }
        Ok(_) => Verdict::Silent,
        Err(_) => match std::str::from_utf8(body) {
            Ok(text) if is_a_sentence(text) && says_so(text) => Verdict::Unknown,
            _ => Verdict::Silent,
        },
    }
}

/// The answer to the request `id` that came with a status for unknown sessions, if it is not about sessions: the
/// server has looked at the request then, and what it asks for may have run.
pub(crate) fn answer(body: &Bytes, id: u64) -> Option<Response> {
    match Incoming::parse(body.clone()) {
        Ok(Incoming::Single(Message::Response(response))) => {
            let answers = response.id.as_ref().and_then(RequestId::to_number) == Some(id);
            let about_session =
                matches!(&response.answer, Answer::Error(error) if CODES.contains(&error.code));
            (answers && !about_session).then_some(response)
        }
        _ => None,
    }
}

/// Whether it is the id of one of our requests, which are numbers; some servers make texts of them, and some put a
/// text of their own where no request is meant.
fn is_of_a_request(id: &RequestId) -> bool {
    let text = id.as_str().trim_matches('"');
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether it is plain text or JSON of another kind: no page, and no message that cannot be read.
fn is_a_sentence(text: &str) -> bool {
    !text.trim_start().starts_with('<') && !text.contains("\"jsonrpc\"")
}

/// Whether a sentence says that a session is not there, or that nothing has been initialized.
pub(crate) fn says_so(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let text = text.to_ascii_lowercase();
    let about_session = text.contains("session") && COMPLAINTS.iter().any(|words| text.contains(words));
    let about_handshake = ["not initialized", "not initialised", "expect initialize"];
    about_session || about_handshake.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_write_of_a_session_they_do_not_have_is_understood() {
        for text in [
            "Bad Request: No valid session ID provided",
            "Bad Request: Server not initialized",
            "Bad Request: Missing session ID",
            "Bad Request: No valid session ID or not an initialize request",
            "Bad Request: Unknown Mcp-Session-Id header",
            "Bad Request: Mcp-Session-Id header is required",
            "Bad Request: Invalid or expired session",
            "Bad Request: Session not initialized",
            "Not Found: Session has been terminated",
            "Session not found",
            "Session terminated",
            "Session 1a2b does not exist",
            "Invalid session ID",
            "Unauthorized: Session not found",
            "Unexpected message, expect initialize request",
            "session not found\n",
            r#"{"error":"Invalid or missing session ID"}"#,
        ] {
            assert!(says_so(text), "{text}");
        }
        for text in [
            "",
            "Bad Request",
            "Request timed out",
            "Session limit reached",
            "invalid params: `name` is missing",
            "Bad Request: Unsupported protocol version",
            "Method not found",
        ] {
            assert!(!says_so(text), "{text}");
        }
        assert!(!says_so(&format!("Session not found{}", " ".repeat(600))));
    }

    #[test]
    fn an_error_that_a_tool_may_have_made_is_no_proof() {
        let error = |id: &str, code: i32, text: &str| {
            format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"message":"{text}"}}}}"#)
        };
        let gone = "Session not found";
        for (body, expected) in [
            (error("\"id\":null,", -32000, gone), Verdict::Unknown),
            (error("", -32001, gone), Verdict::Unknown),
            (error("\"id\":\"server-error\",", -32600, gone), Verdict::Unknown),
            (error("\"id\":7,", -32600, gone), Verdict::Unknown),
            (error("\"id\":7,", -32000, gone), Verdict::MaybeATools),
            (error("\"id\":7,", -32001, gone), Verdict::MaybeATools),
            (error("\"id\":\"7\",", -32001, gone), Verdict::MaybeATools),
            (error("\"id\":8,", -32001, gone), Verdict::MaybeATools),
            (error("\"id\":\"\",", -32001, gone), Verdict::Unknown),
            (error("\"id\":\"server-error\",", -32001, gone), Verdict::Unknown),
            (error("\"id\":null,", -32602, gone), Verdict::Silent),
            (error("\"id\":null,", -32001, "Request timed out"), Verdict::Silent),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"x":"session not found"}}"#.into(), Verdict::Silent),
            ("Invalid session ID".into(), Verdict::Unknown),
            ("<html>Invalid session".into(), Verdict::Silent),
            ("oops".into(), Verdict::Silent),
            (error("\"id\":7,", -32001, gone).repeat(2), Verdict::Silent),
            (error("\"id\":7,\"id\":null,", -32001, gone), Verdict::Silent),
        ] {
            assert_eq!(read(&Bytes::from(body.clone())), expected, "{body}");
        }
        assert_eq!(read(&Bytes::from_static(b"\xff session not found")), Verdict::Silent);
    }

    #[test]
    fn an_answer_that_is_not_about_sessions_is_one_whatever_its_status() {
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no ping"}}"#, true),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":404,"message":"no such customer"}}"#, true),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, true),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"gone"}}"#, false),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"gone"}}"#, false),
            (r#"{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"no ping"}}"#, false),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"gone"}}"#, false),
            (r#"{"error":"gone"}"#, false),
            ("404 page not found", false),
        ] {
            assert_eq!(answer(&Bytes::from(body), 7).is_some(), expected, "{body}");
        }
    }
}
