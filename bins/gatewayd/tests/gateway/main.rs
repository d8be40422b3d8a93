//! The program as a whole: real processes and sockets in front of it and behind it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot run has failed"
)]

mod commands;
mod serve;
mod stdio;
mod support;
