//! The registry against a fake downstream, by topic.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what helpers of tests find wrong fails the test")]

mod ailing;
mod client;
mod clients;
mod fake;
mod fixture;
mod health;
mod live;
mod manager;
mod model;
mod outage;
mod pool;
mod pressure;
mod restarts;
mod supervision;
mod table;
