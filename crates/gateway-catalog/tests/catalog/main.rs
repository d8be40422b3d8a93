//! The live catalogue in front of scripted downstreams, in paused time: what is asserted of durations is
//! exact.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fake;
mod first_list;
mod log;
mod pages;
mod refresh;
mod resolve;
mod walk;
