//! Outgoing connections: which addresses may be reached, whom to trust, and requests that are bounded in size and time.
//!
//! **For**: everything of a gateway that talks to a server of somebody else: transports, APIs, key sets, authorization
//! servers. A name is resolved once, every address is looked at, and the connection goes to one that was looked at
//! (security.md §5.3); no redirect is followed.
//!
//! **Must not know**: MCP, what is fetched and why, who calls.

mod address;
mod connector;
mod credentials;
mod dialler;
mod egress;
mod error;
mod fetch;
mod resolver;
mod target;
mod tls;

pub use connector::{ConnectError, Connector, ConnectorConfig, Schemes};
pub use credentials::{Challenge, CredentialError, Credentials, Reaction};
pub use egress::{Egress, EgressConfig};
pub use error::EgressError;
pub use fetch::{Answer, Bounds, Fetch};
pub use resolver::Resolver;
pub use target::{Authorities, Named, read_url};
pub use tls::{Identity, Trust};
