//! Whose a token is, as a server that has the crate sees it: authorization servers are fakes behind the port of
//! outgoing requests, time is the paused one.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what helpers of tests find wrong fails the test")]

mod forge;
mod introspection;
mod keys;
mod laws;
mod log;
mod matrix;
mod server;
mod settings;
mod verdicts;
