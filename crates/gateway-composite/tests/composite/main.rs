//! What workflows do, as those see it who write and call them.

mod corpus;
mod decorator;
mod fake;
mod fuzzed;
mod graphs;
mod rules;
mod runs;
mod tools;
