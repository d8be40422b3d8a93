//! MCP servers as child processes: spawn, frame, supervise, end.
//!
//! **For**: sessions over stdin and stdout (protocol.md §3). A process is started from an argv in a
//! session of its own with an environment of what it needs and what is declared; one task each owns its
//! stdin, stdout and stderr, and one its end. Requests are matched by id, so that calls run side by side;
//! dropping a call cancels it and nothing else. What a legacy server asks in mid-call ends the call's request and
//! parks the call; what it tells of changes, and of resources that are watched, is passed on. The end comes in order: end of stdin, SIGTERM, SIGKILL to
//! the group, and to whatever has left it; only then is the leader reaped. A [`lifeline`] ends the processes
//! even if this one is killed. The process becomes the subreaper of the servers it starts.
//!
//! **Must not know**: HTTP, pools, names that clients see, policy.
//!
//! **Main types**: [`StdioConfig`], [`StdioFactory`], [`StdioSession`].
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use gateway_domain::{
//!     ClientCapabilities, DownstreamName, DownstreamObserver, DownstreamSession, Era, ListKind, Session,
//!     SessionProfile,
//! };
//! use gateway_protocol::Implementation;
//! use gateway_transport_stdio::{StdioConfig, StdioFactory};
//!
//! struct Deaf;
//! impl DownstreamObserver for Deaf {
//!     fn list_changed(&self, _: ListKind) {}
//!     fn session_lost(&self, _: &str) {}
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = StdioConfig::new(vec!["mcp-server-time".into()], Implementation::new("me", "Me", "1.0"));
//! let factory = StdioFactory::new(DownstreamName::parse("time")?, config, Arc::new(Deaf))?;
//! let profile = SessionProfile { era: Era::Modern, capabilities: ClientCapabilities::none(), ..SessionProfile::default() };
//! let session = factory.open(&profile).await?;
//! for tool in session.list_tools(None).await?.tools {
//!     assert!(!tool.name().is_empty());
//! }
//! session.close().await;
//! # Ok(())
//! # }
//! ```

mod config;
mod conversation;
mod factory;
mod group;
mod keeper;
mod launch;
pub mod lifeline;
mod link;
mod opening;
mod parent;
mod parked;
mod process;
mod processes;
mod reader;
mod session;
mod stderr;
mod text;
mod turns;
mod watching;
mod writer;

pub use config::{EnvValue, InheritEnv, StdioConfig};
pub use factory::StdioFactory;
pub use session::StdioSession;
