//! The registry against a fake downstream, by topic.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what helpers of tests find wrong fails the test")]

mod client;
mod fake;
mod fixture;
mod manager;
mod model;
mod pool;
mod supervision;
