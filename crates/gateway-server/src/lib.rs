//! The edge that MCP clients talk to: HTTP and stdio, both eras.
//!
//! **For**: who may connect (hosts, origins, keys, certificates, tokens), bodies within bounds, sessions of legacy clients,
//! which era a message belongs to, and what its answer looks like there. The only place where an error
//! becomes a status or a code.
//!
//! **Must not know**: how a downstream is reached. Everything behind the edge is a port: [`Ports`].
//!
//! [`Server`] is the HTTP face, whose addresses can be taken beforehand ([`Bound`]), [`stdio::Face`] the
//! other one; both take a [`ServerConfig`].
//!
//! ```no_run
//! use gateway_protocol::Implementation;
//! use gateway_server::{ClientKey, Ports, Server, ServerConfig};
//!
//! # async fn example(ports: Ports) -> Result<(), gateway_server::BindError> {
//! let mut config = ServerConfig::new(Implementation::new("gateway", "Gateway", "1.0.0"));
//! config.clients.push(ClientKey::new("desk", "a long random key"));
//! let server = Server::bind(config, ports).await?;
//! println!("listening on http://{}/mcp", server.local_addr());
//! let drained = server.run(std::future::pending()).await;
//! # let _ = drained;
//! # Ok(())
//! # }
//! ```

pub mod stdio;

mod auth;
mod body;
mod bound;
mod config;
mod connection;
mod edge;
mod endpoint;
mod face;
mod field;
mod guard;
mod in_flight;
mod listen;
mod listener;
mod metrics;
mod oauth;
mod pages;
mod rescue;
mod rules;
mod seal;
mod session;
mod settings;
mod tls;

pub use bound::Bound;
pub use config::{BindError, ClientKey, DigestError, Limits, ServerConfig, StateKey};
pub use edge::Ports;
pub use listener::Server;
pub use oauth::{OauthConfig, ScopeRule};
pub use pages::{PageAnswer, PageRequest, Pages};
pub use settings::{Rulings, Settings};
pub use tls::{ClientCertificates, TlsConfig};
