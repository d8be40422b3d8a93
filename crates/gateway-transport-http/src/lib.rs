//! Remote MCP servers over Streamable HTTP, in both eras of the protocol, and over the HTTP+SSE of 2024-11-05.
//!
//! **For**: connections and TLS, one POST per message, JSON and SSE answers, session and version headers,
//! the probe for the era and the fall back, change streams, watched resources, what a legacy server asks in mid-call. What the gateway's other crates see of it is a
//! [`Factory`](gateway_domain::Factory) of [`DownstreamSession`](gateway_domain::DownstreamSession)s.
//!
//! **Must not know**: processes, pools of sessions, names that clients are shown, policy.
//!
//! **Main types**: [`HttpConfig`] says where and with what limits, [`HttpFactory`] opens [`HttpSession`]s.
//!
//! What never happens here: a redirect is followed, a proxy is taken from the environment, a compressed
//! body is asked for or read, a request that may have been sent is sent again.
//!
//! ```
//! use std::sync::Arc;
//!
//! use gateway_domain::{DownstreamName, DownstreamObserver, ListKind};
//! use gateway_protocol::Implementation;
//! use gateway_transport_http::{HttpConfig, HttpFactory};
//!
//! struct Deaf;
//! impl DownstreamObserver for Deaf {
//!     fn list_changed(&self, _: ListKind) {}
//!     fn session_lost(&self, _: &str) {}
//! }
//!
//! let mut config = HttpConfig::new("http://127.0.0.1:9/mcp", Implementation::new("me", "Me", "1.0"));
//! config.headers.push(("Authorization".into(), "Bearer s3cret".into()));
//! assert!(!format!("{config:?}").contains("s3cret"));
//! let factory = HttpFactory::new(DownstreamName::parse("search")?, config, Arc::new(Deaf))?;
//! # drop(factory);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
mod calls;
mod cancel;
mod config;
mod deadline;
mod endpoint;
mod events;
mod factory;
mod failure;
mod going;
mod headers;
mod hub;
mod inquiry;
mod link;
mod listen;
mod memory;
mod mirror;
mod pace;
mod proof;
mod readers;
mod refusal;
mod session;
mod sse;
mod talk;
mod watches;

pub use config::HttpConfig;
pub use factory::HttpFactory;
pub use headers::is_reserved_header;
pub use session::HttpSession;
