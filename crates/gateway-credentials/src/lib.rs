//! What a gateway proves itself with to one downstream (security.md §5.2, protocol.md §18.3).
//!
//! **For**: implementations of [`Credentials`](gateway_egress::Credentials): fixed values from the environment, a file
//! or a command; headers of the client that the operator passes on; OAuth client credentials, assertions, token exchange,
//! and the authorization code flow with discovery, for the gateway itself or for each user.
//!
//! **Must not know**: MCP, transports, who may call what.

mod all;
pub mod fixed;
pub mod forward;
mod names;
pub mod oauth;

pub use all::All;
