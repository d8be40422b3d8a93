//! An API as one downstream among others.

mod sessions;
mod sources;
mod support;
mod troubles;
