//! The API behind a gateway, as one MCP server among others: a factory of sessions that all share what the source
//! said.
//!
//! The source is read when the first session is opened, and again when it says that it has changed; a bad reading
//! replaces no good one. Nothing of a session belongs to one client: it is a modern one and serves everybody. That the
//! API itself does not answer is no fault of a session, and ends none: calls say so in their results (E-29), lists are
//! remarked on, and a task looks whether the API is back.

mod api;
mod config;
mod factory;
mod loaded;
mod report;
mod session;
mod watch;

pub use config::{ApiConfig, BuildFunc};
pub use factory::{ApiFactory, Reports};
pub use report::{Report, Taken};
