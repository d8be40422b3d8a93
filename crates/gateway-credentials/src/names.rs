//! Which headers are whose.

use http::{HeaderName, header};

/// Headers that the connection, the body or the protocol decides: no credential stands in one.
const FRAMING: [HeaderName; 16] = [
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
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("traceparent"),
];

/// Headers of a client that are for the gateway, or say who is in front of it (security.md §2.3).
const OF_THE_HOP: [HeaderName; 14] = [
    header::AUTHORIZATION,
    header::PROXY_AUTHORIZATION,
    header::PROXY_AUTHENTICATE,
    header::WWW_AUTHENTICATE,
    header::COOKIE,
    header::SET_COOKIE,
    header::FORWARDED,
    header::VIA,
    header::ORIGIN,
    header::REFERER,
    HeaderName::from_static("cookie2"),
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("true-client-ip"),
];

const PREFIXES_OF_THE_HOP: [&str; 3] = ["x-forwarded-", "sec-", "proxy-"];

/// Whether no credential can stand in it.
pub(crate) fn is_framing(name: &HeaderName) -> bool {
    FRAMING.contains(name) || name.as_str().starts_with("mcp-")
}

/// Whether what a client says in it goes no further than the gateway.
pub(crate) fn stays(name: &HeaderName) -> bool {
    is_framing(name)
        || OF_THE_HOP.contains(name)
        || PREFIXES_OF_THE_HOP.iter().any(|prefix| name.as_str().starts_with(prefix))
}
