//! Decisions on a call: who may make it, how often, what of it may be seen, and the record that it was made.
//!
//! **For**: the stages between the edge and what answers calls. Each is a [`Dispatcher`](gateway_domain::Dispatcher)
//! around a dispatcher and can be used alone (P-32, P-33); [`pipeline`] has their order.
//!
//! **Must not know**: MCP framing, transports, HTTP, how a downstream is reached, the configuration's notation.

pub mod audit;
mod ending;
pub mod limits;
pub mod metrics;
pub mod pipeline;
pub mod policy;
pub mod redaction;
pub mod scopes;
#[cfg(test)]
mod testing;
pub mod trace;
