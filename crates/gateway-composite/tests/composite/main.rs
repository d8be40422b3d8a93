//! What workflows do, as those see it who write and call them.

mod decorator;
mod live;
mod rules;
mod tools;
