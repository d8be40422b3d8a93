//! The engine against an API over real sockets, whose every byte and fault is written down in the test, and against one
//! in the same process, where time can stand still.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod answers;
mod api;
mod auditing;
mod building;
mod headers;
mod limits;
mod network;
mod router;
mod shop;
mod tls;
