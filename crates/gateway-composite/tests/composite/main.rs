//! What workflows do, as those see it who write and call them.

mod decorator;
mod rules;
mod tools;
