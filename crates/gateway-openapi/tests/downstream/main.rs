//! An API as one downstream among others.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot run has failed")]

mod proving;
mod sessions;
mod sources;
mod support;
mod troubles;
