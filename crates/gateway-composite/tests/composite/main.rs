//! What workflows do, as those see it who write and call them.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod corpus;
mod decorator;
mod fake;
mod fuzzed;
mod graphs;
mod live;
mod rules;
mod runs;
mod tools;
