//! The one table from errors to statuses, codes and data (design §8; requirements.md §7c). Texts never
//! name hosts, URLs or commands: those are for the log.

use std::{borrow::Cow, fmt::Write, time::Duration};

use gateway_domain::{CallerError, DownstreamError, Era, Error, Execution, OperatorError, RawJson};
use gateway_protocol::{
    EnvelopeError, EnvelopeFault, RequestId, Revision, code, headers::HeaderMismatch, meta::MetaError, write,
};
use http::StatusCode;

use crate::endpoint::{Answer, Hint};

/// What the edge itself refuses, before or instead of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No `Host`, two of them, or one that is none.
    MalformedHost,
    /// A host or an origin that may not call.
    Forbidden,
    /// No key or token, or a wrong key.
    Unauthorized,
    /// A token that is not good. The answer differs in its challenge alone.
    InvalidToken,
    /// Who asks is said twice, or in the URL.
    MisplacedCredentials,
    /// A token that lacks scopes; these are needed.
    InsufficientScope {
        scopes: Vec<String>,
    },
    /// Nobody can tell at the moment whether a token is good.
    TokensUnchecked,
    /// No such path.
    NoSuchPath,
    /// The path has other methods only.
    MethodNotAllowed {
        allow: &'static str,
    },
    /// The path has this method for sessions, and none is named.
    SessionNotNamed {
        allow: &'static str,
    },
    /// Header fields that are too many or too large.
    HeadTooLarge,
    /// A transfer encoding that is not `chunked` alone.
    Framing,
    /// An expectation that nobody meets.
    Expectation,
    /// A request with a body in a version of HTTP whose framing is ambiguous.
    HttpVersion,
    /// The client accepts neither JSON nor event streams, or not the one there is.
    NotAcceptable,
    /// The body is not plain `application/json`.
    MediaType,
    /// The body is not a plain `application/x-www-form-urlencoded`.
    FormType,
    /// A page took too long to be made.
    PageTimeout,
    /// A page could not be made.
    PageFailed,
    BodyTooLarge {
        limit: usize,
    },
    BodyTimeout,
    /// The body broke off or its framing is wrong.
    BodyUnreadable,
    Envelope(EnvelopeError),
    /// An array where the revision has none, or something that may not stand in one.
    Batch(&'static str),
    /// A response from a client of a revision where clients are asked nothing.
    ClientResponse,
    HeaderMismatch(HeaderMismatch),
    /// The version header and the envelope name different revisions.
    VersionMismatch,
    Meta(MetaError),
    /// The version header is modern and there is no envelope.
    EnvelopeMissing,
    UnsupportedVersion {
        requested: String,
    },
    /// A legacy message whose version header names no legacy revision.
    LegacyVersion,
    UnknownMethod,
    /// A legacy message outside any session.
    SessionMissing,
    /// The same over stdio.
    NotInitialized,
    /// A session that is not there, has ended, or is another's.
    SessionUnknown,
    /// No session can be had now.
    SessionsFull,
    /// The session has its stream already.
    StreamTaken,
    /// What came after an event is not kept any more, or never was.
    EventUnknown,
    /// The caller has too many streams.
    StreamsFull,
    /// The caller has too many requests in flight.
    CallerBusy,
    /// Everybody together has, or too much is held in buffers.
    Busy,
    /// The drain time is over and the request is still in flight.
    ShuttingDown,
}

/// A row's right side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) status: StatusCode,
    pub(crate) code: i64,
    pub(crate) kind: &'static str,
    pub(crate) message: Cow<'static, str>,
    pub(crate) downstream: Option<String>,
    pub(crate) retryable: bool,
    pub(crate) may_have_executed: bool,
    /// More members of `data`, as they stand in JSON, with a comma in front.
    more: String,
    /// What a header of the response says besides.
    hint: Hint,
}

impl Verdict {
    fn new(status: StatusCode, code: i64, kind: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            code,
            kind,
            message: message.into(),
            downstream: None,
            retryable: false,
            may_have_executed: false,
            more: String::new(),
            hint: Hint::None,
        }
    }

    /// The same for a client of this era: some codes are one era's only (protocol.md §20.8), and an unknown method has
    /// a status of its own where that is not taken for a dead session.
    pub(crate) fn towards(mut self, era: Era) -> Self {
        match (era, self.kind) {
            (Era::Modern, "unknown_method") => self.status = StatusCode::NOT_FOUND,
            (Era::Legacy, "unknown_resource") => self.code = code::RESOURCE_NOT_FOUND,
            (Era::Legacy, "missing_capability") => {
                (self.status, self.code) = (StatusCode::OK, code::INTERNAL_ERROR);
            }
            _ => {}
        }
        self
    }

    fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// The error object.
    pub(crate) fn object(&self) -> String {
        let mut data = format!(r#"{{"kind":"{}""#, self.kind);
        if let Some(downstream) = &self.downstream {
            // Writing to a String does not fail.
            let _ = write!(data, r#","downstream":{}"#, RawJson::string(downstream));
        }
        let _ = write!(
            data,
            r#","retryable":{},"may_have_executed":{}{}}}"#,
            self.retryable, self.may_have_executed, self.more
        );
        write::error_object(self.code, &self.message, Some(&data))
    }

    /// The response to the request of this id; without one if it could not be read.
    pub(crate) fn answer(&self, id: Option<&RequestId>) -> Answer {
        let answer = Answer::error(self.status, write::error(id, self.object().as_bytes()), self.kind);
        Answer { hint: self.hint.clone(), ..answer }
    }
}

impl Refusal {
    pub(crate) fn answer(&self, era: Era, id: Option<&RequestId>) -> Answer {
        self.verdict(era).answer(id)
    }

    /// Only an unknown method is told differently by era: a legacy client takes 404 for a dead session
    /// (protocol.md §20.12 no. 6).
    pub(crate) fn verdict(&self, era: Era) -> Verdict {
        use StatusCode as S;
        let invalid =
            |status, kind, message: &'static str| Verdict::new(status, code::INVALID_REQUEST, kind, message);
        match self {
            Self::MalformedHost => {
                invalid(S::BAD_REQUEST, "malformed_host", "the Host header is missing, repeated or malformed")
            }
            Self::Forbidden => invalid(S::FORBIDDEN, "forbidden", "this host or origin may not call"),
            Self::Unauthorized | Self::InvalidToken => {
                let text = "a bearer key or token is required, and the one given, if any, is not known";
                let mut verdict = Verdict::new(S::UNAUTHORIZED, code::UNAUTHORIZED, "unauthorized", text);
                if *self == Self::InvalidToken {
                    verdict.hint = Hint::InvalidToken;
                }
                verdict
            }
            Self::InsufficientScope { scopes } => insufficient(scopes),
            Self::NoSuchPath => invalid(S::NOT_FOUND, "unknown_path", "there is nothing at this path"),
            Self::MethodNotAllowed { .. } => {
                invalid(S::METHOD_NOT_ALLOWED, "method_not_allowed", "this path does not have that method")
            }
            Self::SessionNotNamed { .. } => invalid(
                S::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "header Mcp-Session-Id is missing; without a session this path has POST only",
            ),
            Self::HttpVersion => {
                invalid(S::HTTP_VERSION_NOT_SUPPORTED, "http_version", "messages need HTTP/1.1 or newer")
            }
            Self::NotAcceptable => invalid(
                S::NOT_ACCEPTABLE,
                "not_acceptable",
                "Accept must list application/json and text/event-stream",
            ),
            Self::MediaType => invalid(
                S::UNSUPPORTED_MEDIA_TYPE,
                "media_type",
                "the body must be application/json without a content encoding",
            ),
            Self::BodyTooLarge { limit } => Verdict::new(
                S::PAYLOAD_TOO_LARGE,
                code::INVALID_REQUEST,
                "too_large",
                format!("the message is larger than {limit} bytes"),
            ),
            Self::BodyTimeout => invalid(S::REQUEST_TIMEOUT, "body_timeout", "the body took too long"),
            Self::BodyUnreadable => invalid(S::BAD_REQUEST, "body_unreadable", "the body broke off"),
            Self::Envelope(error) => {
                let (code, kind) = match error.fault {
                    EnvelopeFault::NotJson(_) => (code::PARSE_ERROR, "not_json"),
                    EnvelopeFault::NotAMessage(_) | EnvelopeFault::NotAcceptable(_) => {
                        (code::INVALID_REQUEST, "not_a_message")
                    }
                };
                Verdict::new(S::BAD_REQUEST, code, kind, error.to_string())
            }
            Self::Batch(reason) => invalid(S::BAD_REQUEST, "batch", reason),
            _ => self.head().or_else(|| self.overload(era)).unwrap_or_else(|| self.protocol(era)),
        }
    }

    /// The rows of what a head may not be, by itself or with its message.
    fn head(&self) -> Option<Verdict> {
        use StatusCode as S;
        let (status, kind, message) = match self {
            Self::HeadTooLarge => (
                S::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "head_too_large",
                "the request has too many header fields, or too large ones",
            ),
            Self::Framing => {
                (S::BAD_REQUEST, "framing", "Transfer-Encoding must be chunked and nothing else")
            }
            Self::ClientResponse => {
                (S::BAD_REQUEST, "client_response", "2026-07-28 has no responses from clients")
            }
            // Not 404, which would end the session.
            Self::EventUnknown => (
                S::BAD_REQUEST,
                "event_unknown",
                "what came after the event that Last-Event-ID names is not kept",
            ),
            Self::MisplacedCredentials => (
                S::BAD_REQUEST,
                "misplaced_credentials",
                "a key or token must stand once, in one header, and never in the URL",
            ),
            Self::FormType => (
                S::UNSUPPORTED_MEDIA_TYPE,
                "media_type",
                "the body must be application/x-www-form-urlencoded without a content encoding",
            ),
            Self::Expectation => (S::EXPECTATION_FAILED, "expectation", "Expect must be 100-continue"),
            _ => return None,
        };
        Some(Verdict::new(status, code::INVALID_REQUEST, kind, message))
    }

    /// The rows that say "not now".
    fn overload(&self, era: Era) -> Option<Verdict> {
        use StatusCode as S;
        if *self == Self::ShuttingDown {
            // Of a call that may have run, a legacy client must hear more than a status.
            let status = if era == Era::Modern { S::SERVICE_UNAVAILABLE } else { S::OK };
            let text = "the gateway is shutting down and has stopped waiting for the result";
            let mut verdict = Verdict::new(status, code::INTERNAL_ERROR, "shutting_down", text).retryable();
            verdict.may_have_executed = true;
            return Some(verdict);
        }
        let (status, kind, message) = match self {
            Self::StreamsFull => {
                (S::TOO_MANY_REQUESTS, "too_many_streams", "too many open streams of this caller")
            }
            Self::CallerBusy => {
                (S::TOO_MANY_REQUESTS, "caller_overloaded", "too many requests of this caller in flight")
            }
            Self::Busy => (S::SERVICE_UNAVAILABLE, "overloaded", "too much is in flight"),
            Self::TokensUnchecked => {
                (S::SERVICE_UNAVAILABLE, "tokens_unchecked", "tokens cannot be checked at the moment")
            }
            Self::PageTimeout => (S::GATEWAY_TIMEOUT, "page_timeout", "the page took too long"),
            Self::PageFailed => (S::INTERNAL_SERVER_ERROR, "page_failed", "the page could not be made"),
            Self::SessionsFull => (S::SERVICE_UNAVAILABLE, "too_many_sessions", "too many sessions in use"),
            _ => return None,
        };
        Some(Verdict::new(status, code::INTERNAL_ERROR, kind, message).retryable())
    }

    /// The rows of the protocol's own rules.
    fn protocol(&self, era: Era) -> Verdict {
        use StatusCode as S;
        match self {
            Self::HeaderMismatch(error) => {
                Verdict::new(S::BAD_REQUEST, code::HEADER_MISMATCH, "header_mismatch", error.to_string())
            }
            Self::VersionMismatch => Verdict::new(
                S::BAD_REQUEST,
                code::HEADER_MISMATCH,
                "header_mismatch",
                "header MCP-Protocol-Version differs from the body",
            ),
            Self::Meta(error) => {
                Verdict::new(S::BAD_REQUEST, code::INVALID_PARAMS, "invalid_meta", error.to_string())
            }
            Self::EnvelopeMissing => Verdict::new(
                S::BAD_REQUEST,
                code::INVALID_PARAMS,
                "invalid_meta",
                "`_meta` member `io.modelcontextprotocol/protocolVersion` is missing",
            ),
            Self::UnsupportedVersion { requested } => unsupported(requested),
            Self::LegacyVersion => Verdict::new(
                S::BAD_REQUEST,
                code::INVALID_REQUEST,
                "unsupported_version",
                "header MCP-Protocol-Version does not name a revision that is spoken here",
            ),
            Self::UnknownMethod => {
                let status = if era == Era::Modern { S::NOT_FOUND } else { S::OK };
                Verdict::new(status, code::METHOD_NOT_FOUND, "unknown_method", "Method not found")
            }
            Self::SessionMissing => Verdict::new(
                S::BAD_REQUEST,
                code::NO_SESSION,
                "session_missing",
                "header Mcp-Session-Id is missing; begin with initialize",
            ),
            Self::NotInitialized => Verdict::new(
                S::BAD_REQUEST,
                code::INVALID_REQUEST,
                "not_initialized",
                "the session has not begun; begin with initialize",
            ),
            Self::StreamTaken => Verdict::new(
                S::CONFLICT,
                code::INVALID_REQUEST,
                "stream_taken",
                "the session has an open stream already",
            ),
            _ => Verdict::new(
                S::NOT_FOUND,
                code::NO_SESSION,
                "session_unknown",
                "Session not found; begin again with initialize",
            ),
        }
    }
}

fn limited(error: &CallerError, retry_in: Duration) -> Verdict {
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut verdict = Verdict::new(status, code::INTERNAL_ERROR, "rate_limited", error.to_string());
    verdict.more = format!(r#","retryAfterMs":{}"#, whole_millis(retry_in));
    verdict.hint = Hint::RetryIn(retry_in);
    verdict.retryable()
}

/// Of all scopes that are needed, what to say.
fn insufficient(scopes: &[String]) -> Verdict {
    let text = CallerError::InsufficientScope { scopes: scopes.to_vec() }.to_string();
    let mut verdict = Verdict::new(StatusCode::FORBIDDEN, code::INTERNAL_ERROR, "insufficient_scope", text);
    verdict.hint = Hint::Scopes(scopes.to_vec());
    verdict
}

/// Rounded up: who asks again after that must find that it was long enough.
fn whole_millis(time: Duration) -> u128 {
    time.as_nanos().div_ceil(1_000_000)
}

fn unsupported(requested: &str) -> Verdict {
    // Those that a request of this kind can name, as in the result of `server/discover`; the others begin otherwise.
    let supported = Revision::of(Era::Modern).map(|revision| format!(r#""{revision}""#));
    let supported = supported.collect::<Vec<_>>().join(",");
    let mut verdict = Verdict::new(
        StatusCode::BAD_REQUEST,
        code::UNSUPPORTED_VERSION,
        "unsupported_version",
        "Unsupported protocol version",
    );
    verdict.more = format!(r#","supported":[{supported}],"requested":{}"#, RawJson::string(requested));
    verdict
}

/// The rows of what went wrong behind the edge. In both eras these are in-band answers, status 200, but
/// for overload.
pub(crate) fn rescue(error: &Error) -> Verdict {
    let ok = StatusCode::OK;
    match error {
        Error::Caller(error) => caller(error),
        Error::Downstream(error) => downstream(error),
        Error::Operator(OperatorError::Configuration { .. }) => {
            Verdict::new(ok, code::INTERNAL_ERROR, "configuration", "the gateway is not configured for this")
        }
        // Names are all it says, and clients are shown those anyway.
        Error::Unlisted(error) => {
            Verdict::new(ok, code::INTERNAL_ERROR, "downstreams_unlisted", error.to_string()).retryable()
        }
        Error::Internal(_) => {
            let mut verdict = Verdict::new(ok, code::INTERNAL_ERROR, "internal", "Internal error");
            verdict.may_have_executed = true;
            verdict
        }
    }
}

fn caller(error: &CallerError) -> Verdict {
    let params = |kind, text: String| Verdict::new(StatusCode::OK, code::INVALID_PARAMS, kind, text);
    match error {
        CallerError::UnknownTool { name } => params("unknown_tool", format!("Unknown tool: {name}")),
        CallerError::UnknownDownstream { name } => {
            params("unknown_downstream", format!("Unknown downstream: {name}"))
        }
        CallerError::UnknownPrompt { name } => params("unknown_prompt", format!("Unknown prompt: {name}")),
        CallerError::UnknownResource { uri } => {
            let mut verdict = params("unknown_resource", format!("Resource not found: {uri}"));
            verdict.more = format!(r#","uri":{}"#, RawJson::string(uri));
            verdict
        }
        CallerError::UnknownTask => params("unknown_task", "Unknown task".to_owned()),
        CallerError::UnknownState => params("unknown_state", error.to_string()),
        CallerError::UnknownMethod { .. } => {
            Verdict::new(StatusCode::OK, code::METHOD_NOT_FOUND, "unknown_method", "Method not found")
        }
        CallerError::MissingCapability { required } => {
            let (status, code) = (StatusCode::BAD_REQUEST, code::MISSING_CAPABILITY);
            let mut verdict = Verdict::new(status, code, "missing_capability", error.to_string());
            verdict.more = format!(r#","requiredCapabilities":{required}"#);
            verdict
        }
        CallerError::Unanswered { .. } => {
            Verdict::new(StatusCode::OK, code::INTERNAL_ERROR, "unanswered", error.to_string())
        }
        CallerError::InvalidParams { reason } => {
            params("invalid_params", format!("Invalid params: {reason}"))
        }
        CallerError::InvalidCursor => params("invalid_cursor", "Invalid cursor".to_owned()),
        CallerError::Overloaded { .. } => {
            let status = StatusCode::TOO_MANY_REQUESTS;
            Verdict::new(status, code::INTERNAL_ERROR, "caller_overloaded", error.to_string()).retryable()
        }
        CallerError::RateLimited { retry_in, .. } => limited(error, *retry_in),
        CallerError::InsufficientScope { scopes } => insufficient(scopes),
        CallerError::Unrecorded { executed } => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let mut verdict = Verdict::new(status, code::INTERNAL_ERROR, "unrecorded", error.to_string());
            verdict.may_have_executed = *executed;
            verdict.retryable = !executed;
            verdict
        }
        CallerError::SessionClosed => Verdict::new(
            StatusCode::OK,
            code::INTERNAL_ERROR,
            "session_closed",
            "the session has been closed",
        ),
        CallerError::Cancelled => {
            let mut verdict =
                Verdict::new(StatusCode::OK, code::INTERNAL_ERROR, "cancelled", "cancelled by the caller");
            verdict.may_have_executed = true;
            verdict
        }
    }
}

fn downstream(error: &DownstreamError) -> Verdict {
    let message = error.for_client();
    let mut verdict = Verdict::new(StatusCode::OK, code::INTERNAL_ERROR, error.fault.kind(), message);
    verdict.downstream = Some(error.downstream.to_string());
    verdict.may_have_executed = error.execution == Execution::Possible;
    verdict.retryable = error.fault.is_transient() && error.execution == Execution::NotStarted;
    verdict
}

#[cfg(test)]
mod tests;
