//! The engine against an API over real sockets, whose every byte and fault is written down in the test.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod api;
mod network;
mod tls;
