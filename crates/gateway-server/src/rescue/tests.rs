use std::time::Duration;

use gateway_domain::{DownstreamName, InternalError, JsonError, UnlistedError};

use gateway_domain::DownstreamFault;

use super::*;

/// Status, code, kind, retryable, may have executed.
type Row = (u16, i64, &'static str, bool, bool);

fn row(verdict: &Verdict) -> Row {
    let Verdict { status, code, kind, retryable, may_have_executed, .. } = verdict;
    (status.as_u16(), *code, kind, *retryable, *may_have_executed)
}

#[track_caller]
fn refusal(refusal: &Refusal, expected: Row) {
    for era in [Era::Modern, Era::Legacy] {
        assert_eq!(row(&refusal.verdict(era)), expected, "{refusal:?} towards {era:?}");
    }
}

fn envelope(fault: EnvelopeFault) -> Refusal {
    Refusal::Envelope(EnvelopeError { fault, id: None })
}

#[test]
fn what_the_edge_refuses() {
    let header = HeaderMismatch { header: "Mcp-Name".to_owned(), fault: "is missing" };
    let meta = MetaError { member: "m", fault: "is missing" };
    let twice = JsonError::Duplicate { name: "id".to_owned() };
    for (given, status, code, kind, retryable) in [
        (Refusal::MalformedHost, 400, -32600, "malformed_host", false),
        (Refusal::Forbidden, 403, -32600, "forbidden", false),
        (Refusal::Unauthorized, 401, -32000, "unauthorized", false),
        (Refusal::InvalidToken, 401, -32000, "unauthorized", false),
        (Refusal::MisplacedCredentials, 400, -32600, "misplaced_credentials", false),
        (Refusal::InsufficientScope { scopes: vec!["a".into()] }, 403, -32603, "insufficient_scope", false),
        (Refusal::FormType, 415, -32600, "media_type", false),
        (Refusal::PageTimeout, 504, -32603, "page_timeout", true),
        (Refusal::PageFailed, 500, -32603, "page_failed", true),
        (Refusal::TokensUnchecked, 503, -32603, "tokens_unchecked", true),
        (Refusal::NoSuchPath, 404, -32600, "unknown_path", false),
        (Refusal::MethodNotAllowed { allow: "GET" }, 405, -32600, "method_not_allowed", false),
        (Refusal::SessionNotNamed { allow: "GET" }, 405, -32600, "method_not_allowed", false),
        (Refusal::HeadTooLarge, 431, -32600, "head_too_large", false),
        (Refusal::Framing, 400, -32600, "framing", false),
        (Refusal::Expectation, 417, -32600, "expectation", false),
        (Refusal::ClientResponse, 400, -32600, "client_response", false),
        (Refusal::HttpVersion, 505, -32600, "http_version", false),
        (Refusal::NotAcceptable, 406, -32600, "not_acceptable", false),
        (Refusal::MediaType, 415, -32600, "media_type", false),
        (Refusal::BodyTooLarge { limit: 9 }, 413, -32600, "too_large", false),
        (Refusal::BodyTimeout, 408, -32600, "body_timeout", false),
        (Refusal::BodyUnreadable, 400, -32600, "body_unreadable", false),
        (envelope(EnvelopeFault::NotJson(JsonError::Syntax { at: 0 })), 400, -32700, "not_json", false),
        (envelope(EnvelopeFault::NotAMessage("x")), 400, -32600, "not_a_message", false),
        (envelope(EnvelopeFault::NotAcceptable(twice)), 400, -32600, "not_a_message", false),
        (Refusal::Batch("x"), 400, -32600, "batch", false),
        (Refusal::HeaderMismatch(header), 400, -32020, "header_mismatch", false),
        (Refusal::VersionMismatch, 400, -32020, "header_mismatch", false),
        (Refusal::Meta(meta), 400, -32602, "invalid_meta", false),
        (Refusal::EnvelopeMissing, 400, -32602, "invalid_meta", false),
        (Refusal::UnsupportedVersion { requested: "x".into() }, 400, -32022, "unsupported_version", false),
        (Refusal::LegacyVersion, 400, -32600, "unsupported_version", false),
        (Refusal::SessionMissing, 400, -32001, "session_missing", false),
        (Refusal::NotInitialized, 400, -32600, "not_initialized", false),
        (Refusal::SessionUnknown, 404, -32001, "session_unknown", false),
        (Refusal::SessionsFull, 503, -32603, "too_many_sessions", true),
        (Refusal::EventUnknown, 400, -32600, "event_unknown", false),
        (Refusal::StreamTaken, 409, -32600, "stream_taken", false),
        (Refusal::StreamsFull, 429, -32603, "too_many_streams", true),
        (Refusal::CallerBusy, 429, -32603, "caller_overloaded", true),
        (Refusal::Busy, 503, -32603, "overloaded", true),
    ] {
        refusal(&given, (status, code, kind, retryable, false));
    }
}

#[test]
fn an_unknown_method_is_404_only_where_that_is_not_a_dead_session() {
    let verdict = |era| row(&Refusal::UnknownMethod.verdict(era));
    assert_eq!(verdict(Era::Modern), (404, -32601, "unknown_method", false, false));
    assert_eq!(verdict(Era::Legacy), (200, -32601, "unknown_method", false, false));
}

#[test]
fn what_a_shutdown_cuts_off_may_have_run() {
    let verdict = |era| row(&Refusal::ShuttingDown.verdict(era));
    assert_eq!(verdict(Era::Modern), (503, -32603, "shutting_down", true, true));
    assert_eq!(verdict(Era::Legacy), (200, -32603, "shutting_down", true, true));
}

#[test]
fn what_went_wrong_behind_the_edge() {
    let files = DownstreamName::parse("files").unwrap();
    let secret = || "http://secret.internal:9/?key=hunter2".to_owned();
    let second = Duration::from_secs(1);
    for (fault, kind, transient) in [
        (DownstreamFault::Unreachable { reason: secret() }, "downstream_unreachable", true),
        (DownstreamFault::Ended { reason: secret() }, "downstream_ended", true),
        (DownstreamFault::Handshake { reason: secret() }, "downstream_handshake", false),
        (DownstreamFault::TimedOut { after: second }, "downstream_timeout", true),
        (DownstreamFault::Nonsense { reason: secret() }, "downstream_invalid_answer", false),
        (DownstreamFault::TooLarge { limit: 9 }, "downstream_answer_too_large", false),
        (DownstreamFault::Status { status: 502 }, "downstream_status", true),
        (DownstreamFault::Unauthorized { status: 401 }, "downstream_unauthorized", false),
        (DownstreamFault::Credentials { reason: secret(), visit: None }, "downstream_credentials", false),
        (DownstreamFault::CallerCredentials { what: "x" }, "downstream_credentials", false),
        (DownstreamFault::Exhausted { max: 3 }, "downstream_pool_exhausted", true),
        (DownstreamFault::Broken { retry_in: second, reason: secret() }, "downstream_broken", true),
        (DownstreamFault::Closed, "downstream_closed", true),
        (DownstreamFault::InputRequired, "downstream_input_required", false),
    ] {
        for (error, retryable, executed) in
            [(fault.clone().before(&files), transient, false), (fault.clone().during(&files), false, true)]
        {
            let verdict = rescue(&error);
            assert_eq!(row(&verdict), (200, -32603, kind, retryable, executed), "{error:?}");
            let object = verdict.object();
            assert!(object.contains(r#""downstream":"files""#), "{object}");
            assert!(!object.contains("hunter2") && !object.contains("internal:"), "{object}");
        }
    }
}

#[test]
fn what_the_caller_got_wrong() {
    let text = || "x".to_owned();
    for (error, expected) in [
        (CallerError::UnknownTool { name: text() }, (200, -32602, "unknown_tool", false, false)),
        (CallerError::UnknownDownstream { name: text() }, (200, -32602, "unknown_downstream", false, false)),
        (CallerError::InvalidParams { reason: text() }, (200, -32602, "invalid_params", false, false)),
        (CallerError::InvalidCursor, (200, -32602, "invalid_cursor", false, false)),
        (
            CallerError::Overloaded { what: "calls", limit: 1 },
            (429, -32603, "caller_overloaded", true, false),
        ),
        (
            CallerError::RateLimited { of: "of this tool", retry_in: Duration::from_micros(1_500_001) },
            (429, -32603, "rate_limited", true, false),
        ),
        (
            CallerError::InsufficientScope { scopes: vec![text()] },
            (403, -32603, "insufficient_scope", false, false),
        ),
        (CallerError::Unrecorded { executed: false }, (503, -32603, "unrecorded", true, false)),
        (CallerError::Unrecorded { executed: true }, (503, -32603, "unrecorded", false, true)),
        (CallerError::SessionClosed, (200, -32603, "session_closed", false, false)),
        (CallerError::Cancelled, (200, -32603, "cancelled", false, true)),
    ] {
        for era in [Era::Modern, Era::Legacy] {
            assert_eq!(row(&rescue(&error.clone().into()).towards(era)), expected, "{error:?} {era:?}");
        }
    }
    let reason = "a path /etc/secret".to_owned();
    let operator = rescue(&OperatorError::Configuration { reason }.into());
    assert_eq!(row(&operator), (200, -32603, "configuration", false, false));
    assert!(!operator.object().contains("secret"));
    let downstreams = ["a", "b"].map(|name| DownstreamName::parse(name).unwrap()).into();
    let unlisted = rescue(&UnlistedError { downstreams }.into());
    assert_eq!(row(&unlisted), (200, -32603, "downstreams_unlisted", true, false));
    assert_eq!(unlisted.message, "downstreams `a`, `b` could not be listed");
    let internal = rescue(&InternalError { what: "details" }.into());
    assert_eq!(row(&internal), (200, -32603, "internal", false, true));
}

#[test]
fn the_object_holds_the_data() {
    let error = CallerError::UnknownTool { name: "a\"b".to_owned() };
    assert_eq!(
        rescue(&error.into()).object(),
        r#"{"code":-32602,"message":"Unknown tool: a\"b","data":{"kind":"unknown_tool","retryable":false,"may_have_executed":false}}"#
    );
    let refusal = Refusal::UnsupportedVersion { requested: "2099-01-01".to_owned() };
    assert_eq!(
        refusal.verdict(Era::Modern).object(),
        concat!(
            r#"{"code":-32022,"message":"Unsupported protocol version","data":{"kind":"unsupported_version","#,
            r#""retryable":false,"may_have_executed":false,"supported":["2026-07-28"],"requested":"2099-01-01"}}"#
        )
    );
}

#[test]
fn what_each_era_is_told_in_its_own_way() {
    let text = || "x".to_owned();
    let required = RawJson::parse(r#"{"sampling":{}}"#).unwrap();
    let missing = CallerError::MissingCapability { required };
    let unanswered = CallerError::Unanswered { reason: text() };
    for (error, kind, modern, legacy) in [
        (CallerError::UnknownPrompt { name: text() }, "unknown_prompt", (200, -32602), (200, -32602)),
        (CallerError::UnknownResource { uri: text() }, "unknown_resource", (200, -32602), (200, -32002)),
        (CallerError::UnknownTask, "unknown_task", (200, -32602), (200, -32602)),
        (CallerError::UnknownState, "unknown_state", (200, -32602), (200, -32602)),
        (CallerError::UnknownMethod { method: text() }, "unknown_method", (404, -32601), (200, -32601)),
        (missing, "missing_capability", (400, -32021), (200, -32603)),
        (unanswered, "unanswered", (200, -32603), (200, -32603)),
    ] {
        for (era, (status, code)) in [(Era::Modern, modern), (Era::Legacy, legacy)] {
            let verdict = rescue(&error.clone().into()).towards(era);
            assert_eq!(row(&verdict), (status, code, kind, false, false), "{error:?} towards {era:?}");
        }
    }
}

#[test]
fn what_is_missing_and_what_was_asked_for_are_named() {
    let required = RawJson::parse(r#"{"elicitation":{"url":{}}}"#).unwrap();
    let missing = rescue(&CallerError::MissingCapability { required }.into()).object();
    assert!(missing.contains(r#""requiredCapabilities":{"elicitation":{"url":{}}}}"#), "{missing}");
    let resource = rescue(&CallerError::UnknownResource { uri: "a:\"b".into() }.into()).object();
    assert!(resource.contains(r#""uri":"a:\"b"}"#), "{resource}");
}

#[test]
fn a_refusal_says_when_to_come_again_and_what_for() {
    let limited = |retry_in| rescue(&CallerError::RateLimited { of: "of this tool", retry_in }.into());
    for (retry_in, millis) in [
        (Duration::from_micros(1_500_001), 1501),
        (Duration::from_millis(1500), 1500),
        (Duration::from_nanos(1), 1),
    ] {
        let verdict = limited(retry_in);
        assert!(verdict.object().contains(&format!(r#""retryAfterMs":{millis}}}"#)), "{}", verdict.object());
        assert_eq!(verdict.answer(None).hint, Hint::RetryIn(retry_in));
    }
    let scopes = vec!["a".to_owned(), "b".to_owned()];
    let lacking = rescue(&CallerError::InsufficientScope { scopes: scopes.clone() }.into());
    assert_eq!(lacking.answer(None).hint, Hint::Scopes(scopes));
    let same = |refusal: &Refusal| refusal.verdict(Era::Modern).object();
    assert_eq!(same(&Refusal::Unauthorized), same(&Refusal::InvalidToken));
    assert_eq!(Refusal::InvalidToken.answer(Era::Modern, None).hint, Hint::InvalidToken);
    assert_eq!(Refusal::Unauthorized.answer(Era::Modern, None).hint, Hint::None);
}
