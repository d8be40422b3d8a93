use gateway_protocol::headers::{METHOD, NAME, PARAM_PREFIX, PROTOCOL_VERSION, SESSION};
use http::{HeaderName, header};

use super::{BindError, ServerConfig};

/// Headers that have a meaning of their own on the way to us, or that a request must not choose.
const TAKEN: [HeaderName; 22] = [
    header::ACCEPT,
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::DATE,
    header::EXPECT,
    header::FORWARDED,
    header::HOST,
    header::ORIGIN,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::REFERER,
    header::SET_COOKIE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::USER_AGENT,
    header::WWW_AUTHENTICATE,
];

/// The same of the protocol, and of what is written for us alone.
const TAKEN_NAMES: [&str; 8] =
    [METHOD, NAME, PROTOCOL_VERSION, SESSION, "last-event-id", "traceparent", "tracestate", "keep-alive"];
const TAKEN_PREFIXES: [&str; 4] = [PARAM_PREFIX, "x-gatewayd-", "sec-", "proxy-"];

/// Whether the headers that are named can be what they are named for.
pub(super) fn check(config: &ServerConfig) -> Result<(), BindError> {
    let refused = |name: &HeaderName, what| Err(BindError::Header { name: name.clone(), what });
    if let Some(name) = config.key_header.as_ref().filter(|name| is_taken(name)) {
        return refused(name, "the one for keys");
    }
    let passed = config.forward_headers.iter();
    let mut secret =
        passed.filter(|name| is_unforwardable(name) || Some(*name) == config.key_header.as_ref());
    secret.next().map_or(Ok(()), |name| refused(name, "passed on"))
}

fn is_taken(name: &HeaderName) -> bool {
    let text = name.as_str();
    TAKEN.contains(name)
        || TAKEN_NAMES.contains(&text)
        || TAKEN_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// A user agent and where a request comes from may be passed on; the rest may not.
fn is_unforwardable(name: &HeaderName) -> bool {
    is_taken(name) && ![header::USER_AGENT, header::REFERER, header::ORIGIN].contains(name)
}
