//! The registry against a fake downstream, by topic.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what helpers of tests find wrong fails the test")]

mod ailing;
mod client;
mod clients;
mod fake;
mod fake_tasks;
mod fixture;
mod health;
mod live;
mod manager;
mod model;
mod outage;
mod parking;
mod parks;
mod per_caller;
mod pool;
mod pressure;
mod restarts;
mod subscriptions;
mod supervision;
mod table;
mod tasks;
