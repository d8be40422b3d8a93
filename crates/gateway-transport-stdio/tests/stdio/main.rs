//! Sessions with real child processes: `gateway_testkit::stdio` is the server, its switches are the faults.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops where its set-up fails")]

mod calls;
mod ending;
mod faults;
mod opening;
mod support;
mod tree;
mod wire;
