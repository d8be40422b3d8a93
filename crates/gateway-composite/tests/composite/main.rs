//! What workflows do, as those see it who write and call them.

mod fake;
mod graphs;
mod rules;
mod runs;
