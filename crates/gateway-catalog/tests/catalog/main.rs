//! The live catalogue in front of scripted downstreams, in paused time: what is asserted of durations is
//! exact.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod changes;
mod crowd;
mod fake;
mod first_list;
mod freshness;
mod health;
mod hidden;
mod lists;
mod log;
mod pages;
mod private;
mod profiles;
mod refresh;
mod resolve;
mod rules;
mod scopes;
mod screen;
mod store;
mod together;
mod uris;
mod visits;
mod walk;
