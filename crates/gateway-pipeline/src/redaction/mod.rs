//! Secrets and patterns that neither side is shown (P-39 to P-43).
//!
//! A [`Redactor`] looks for them in the *decoded* strings of JSON, names of members included, and splices
//! [`MARK`] into the bytes where it finds one: all other bytes stay as they are (P-W4). [`Redact`] is the stage that
//! does so to what passes in a call, with a [`LiveRedactor`], which learns more secrets while it is used. Numbers, truth values and structure are never touched.

mod anchor;
mod config;
mod decoded;
mod document;
mod errors;
mod events;
mod forms;
mod live;
mod marked;
mod names;
mod notices;
mod oversize;
mod pattern;
mod redactor;
mod sieve;
mod stage;
mod strings;

#[cfg(test)]
mod tests;

pub use self::{
    config::{Direction, NamedSecret, PatternConfig, RedactorConfig, RedactorError},
    live::{LiveRedactor, Redaction},
    marked::MARK,
    redactor::{Redacted, Redactor},
    stage::{Redact, RedactSettings},
};
