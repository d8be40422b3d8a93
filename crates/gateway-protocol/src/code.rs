//! JSON-RPC error codes and what they mean in which era (protocol.md §2.4).

/// The body is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// Not a JSON-RPC message.
pub const INVALID_REQUEST: i64 = -32600;
/// Unknown method, or one behind a capability that is not advertised.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Unknown tool, bad arguments, bad cursor, missing modern `_meta`.
pub const INVALID_PARAMS: i64 = -32602;
/// The gateway or a downstream failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// Modern: a mirrored header is missing, malformed or different from the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// Modern: the request needs a capability that the client did not declare.
pub const MISSING_CAPABILITY: i64 = -32021;
/// Modern: the request names a revision that is not spoken here.
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// Legacy: no such resource.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// 2025-11-25 only: a user has to visit a URL first.
pub const URL_REQUIRED: i64 = gateway_domain::PeerError::URL_REQUIRED;
/// Legacy, as observed: no or unknown session.
pub const NO_SESSION: i64 = -32001;
/// As observed: no or wrong key (requirements.md §7c).
pub const UNAUTHORIZED: i64 = -32000;

/// Codes that only a modern server emits: proof that the peer is one (protocol.md §7.3).
pub fn proves_modern(code: i64) -> bool {
    matches!(code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
}
