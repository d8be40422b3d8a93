//! Sessions with real child processes: `gateway_testkit::stdio` is the server, its switches are the faults.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops where its set-up fails")]

mod asking;
mod calls;
mod ending;
mod faults;
mod hearing;
mod opening;
mod script;
mod support;
mod tree;
mod wire;
