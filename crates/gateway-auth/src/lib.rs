//! Whose a token is: the gateway as a resource server of OAuth 2.1 (security.md §5.1, protocol.md §18.2).
//!
//! **For**: a [`TokenVerifier`](gateway_domain::TokenVerifier) over configured issuers: JWTs by key sets from a file or
//! a URL (RFC 7519, RFC 9068), other tokens by introspection (RFC 7662).
//!
//! **Must not know**: MCP, HTTP towards clients, what a caller may do.
//!
//! A JWT is good until it expires, whatever happens to who has it. Where that is too long, let an issuer's tokens be
//! introspected, or name tokens and subjects on a deny list.

mod algorithm;
mod claims;
mod config;
mod deny_list;
mod files;
mod introspection;
mod issuer;
mod jws;
mod keys;
mod metrics;
mod reason;
mod remembered;
mod validate;
mod verifier;

pub use algorithm::Algorithm;
pub use config::{
    Audiences, Check, Clock, ConfigError, EndpointAuth, IntrospectionConfig, IssuerConfig, JwtConfig,
    KeySource, Remembered, RoleMapping, VerifierConfig,
};
pub use verifier::Verifier;
