//! Whose a token is: the gateway as a resource server of OAuth 2.1 (security.md §5.1, protocol.md §18.2).
//!
//! **For**: a [`TokenVerifier`](gateway_domain::TokenVerifier) over configured issuers: JWTs by key sets from a file or
//! a URL (RFC 7519, RFC 9068), other tokens by introspection (RFC 7662).
//!
//! **Must not know**: MCP, HTTP towards clients, what a caller may do.
