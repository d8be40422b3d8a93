//! The program as a whole: real processes and sockets in front of it and behind it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot run has failed")]
#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]

mod apis;
mod commands;
mod http_sessions;
mod lifeline;
mod reload;
mod secrets;
mod serve;
mod shop;
mod stdio;
mod support;
mod workflows;
