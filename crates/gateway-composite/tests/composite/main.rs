//! What workflows do, as those see it who write and call them.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod corpus;
mod decorator;
mod fake;
mod graphs;
mod live;
mod rules;
mod runs;
mod tools;
