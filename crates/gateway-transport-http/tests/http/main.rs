//! The transport against real sockets: fake servers with switchable faults, and a few that speak raw bytes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has to stop"
)]

mod asking;
mod calling;
mod cancelling;
mod closing;
mod failing;
mod listening;
mod losing;
mod opening;
mod proving;
mod sse;
mod support;
mod tls;
mod watching;
