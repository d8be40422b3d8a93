//! Requests over real sockets: what is reached, what is not, and what is told of it (security.md T24).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has to stop")]

mod fetching;
mod reaching;
mod support;
