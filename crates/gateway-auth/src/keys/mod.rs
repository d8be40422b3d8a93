//! The keys of one issuer: read, kept up to date, and for a while kept on when no new ones can be had.

mod jwk;
mod schedule;
mod set;
mod source;
mod store;

pub(crate) use jwk::Key;
pub(crate) use set::KeySet;
pub(crate) use source::{Source, is_url};
pub(crate) use store::{KeyStore, Loaded};
