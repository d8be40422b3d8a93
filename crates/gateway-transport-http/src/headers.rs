//! The headers that every request of an endpoint carries.

use gateway_domain::{Exchange, RawObject};
use gateway_protocol::{
    Implementation,
    meta::{TRACEPARENT, TRACESTATE},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// What a server's answer may be; both have to be listed (protocol.md §4.2, §5.1).
pub(crate) const ACCEPT: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Headers that the connection, the body or the protocol decides (security.md §2.3).
const OURS: [HeaderName; 14] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::EXPECT,
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    HeaderName::from_static("keep-alive"),
    LAST_EVENT_ID,
];
/// What the names of the protocol's own headers begin with.
const PROTOCOL_PREFIX: &str = "mcp-";

/// Whether a header belongs to the connection, the body or the protocol, so that
/// [`HttpConfig::headers`](crate::HttpConfig::headers) may not hold it.
pub fn is_reserved_header(name: &HeaderName) -> bool {
    OURS.contains(name) || name.as_str().starts_with(PROTOCOL_PREFIX)
}

/// Says where a call stands in its trace, if it does in one (W3C Trace Context).
pub(crate) fn trace(headers: &mut HeaderMap, exchange: &Exchange) {
    let Some(trace) = &exchange.trace else { return };
    headers.remove(TRACESTATE);
    if let Ok(parent) = HeaderValue::try_from(trace.to_string()) {
        headers.insert(TRACEPARENT, parent);
    }
    if let Some(Ok(state)) = trace.state.as_ref().map(HeaderValue::try_from) {
        headers.insert(TRACESTATE, state);
    }
}

/// Checks configured headers and adds what all requests have in common.
///
/// # Errors
/// A sentence that names the header, never its value.
pub(crate) fn base(configured: &[(String, String)], client: &Implementation) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(configured.len() + 8);
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::ACCEPT, ACCEPT);
    for (name, value) in configured {
        let parsed: HeaderName = name.parse().map_err(|_| format!("`{name}` is not a header name"))?;
        if is_reserved_header(&parsed) {
            return Err(format!("the header `{name}` cannot be configured; the gateway sets it"));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of header `{name}` has characters that no header may have"))?;
        value.set_sensitive(true);
        if headers.insert(parsed, value).is_some() {
            return Err(format!("the header `{name}` stands twice"));
        }
    }
    if let Some(agent) = user_agent(client)
        && !headers.contains_key(header::USER_AGENT)
    {
        headers.insert(header::USER_AGENT, agent);
    }
    Ok(headers)
}

fn user_agent(client: &Implementation) -> Option<HeaderValue> {
    let client = RawObject::parse(client.as_str().to_owned()).ok()?;
    let (name, version) = (client.get_text("name")?, client.get_text("version")?);
    HeaderValue::from_str(&format!("{name}/{version}")).ok()
}

/// What the body of an answer is, by its `Content-Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Events,
    Other,
}

/// Reads `Content-Type`. A body without one is tried as JSON.
pub(crate) fn form(headers: &HeaderMap) -> Form {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Form::Json };
    let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Form::Json
    } else if essence.eq_ignore_ascii_case("text/event-stream") {
        Form::Events
    } else {
        Form::Other
    }
}

/// Whether the body is compressed, which was never asked for (security.md §2.6).
pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// How many bytes the fields take up on the wire.
pub(crate) fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(configured: &[(&str, &str)], expected: Result<(), &str>) {
        let configured: Vec<_> =
            configured.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let made = base(&configured, &Implementation::new("g", "G", "1")).map(|_| ());
        assert_eq!(made, expected.map_err(str::to_owned), "for {configured:?}");
    }

    #[test]
    fn headers_of_http_and_of_the_protocol_cannot_be_configured() {
        check(&[("Authorization", "Bearer x"), ("X-Api-Key", "k"), ("User-Agent", "me")], Ok(()));
        for name in [
            "Host",
            "content-length",
            "Transfer-Encoding",
            "Connection",
            "Upgrade",
            "TE",
            "Accept",
            "Content-Type",
            "Accept-Encoding",
            "Mcp-Session-Id",
            "MCP-Protocol-Version",
            "mcp-param-x",
            "Last-Event-ID",
        ] {
            let error = format!("the header `{name}` cannot be configured; the gateway sets it");
            check(&[(name, "x")], Err(&error));
        }
        check(&[("a b", "x")], Err("`a b` is not a header name"));
        check(&[("", "x")], Err("`` is not a header name"));
        check(
            &[("X", "s3cret\r\nEvil: 1")],
            Err("the value of header `X` has characters that no header may have"),
        );
        check(&[("X", "1"), ("x", "2")], Err("the header `x` stands twice"));
    }

    #[test]
    fn we_introduce_ourselves_unless_told_how() {
        let us = Implementation::new("gate", "G", "1.2");
        assert_eq!(base(&[], &us).unwrap()[header::USER_AGENT], "gate/1.2");
        let told = [("user-agent".to_owned(), "other".to_owned())];
        assert_eq!(base(&told, &us).unwrap()[header::USER_AGENT], "other");
    }

    #[test]
    fn content_types_are_read_without_their_parameters() {
        for (value, expected) in [
            ("application/json", Form::Json),
            ("Application/JSON; charset=utf-8", Form::Json),
            ("text/event-stream;charset=utf-8", Form::Events),
            ("text/html", Form::Other),
            ("application/jsonp", Form::Other),
            ("", Form::Other),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(value));
            assert_eq!(form(&headers), expected, "for {value}");
        }
        assert_eq!(form(&HeaderMap::new()), Form::Json);
    }
}
