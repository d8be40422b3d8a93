//! What workflows do, as those see it who write and call them.

mod rules;
