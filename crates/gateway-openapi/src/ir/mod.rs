//! What is known of an HTTP API, whatever it was read from (requirements E-1 to E-4). Knows no source, and no MCP.

mod body;
mod definitions;
mod listing;
mod operation;
mod param;
mod security;

pub use body::{Body, BodyFormat, Field};
pub use definitions::Definitions;
pub(crate) use definitions::references;
pub use listing::{Listing, Skipped};
pub use operation::{Method, Operation};
pub use param::{Location, Param, ParamFormat, Style};
pub use security::{Requirement, SchemeUse, SecurityScheme};
