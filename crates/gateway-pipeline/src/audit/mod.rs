//! The record that a call was made: one per call, whatever happened (P-34, P-58 to P-65).
//!
//! Records are lines of JSON. A record is a *security record* if it says that something was not allowed or that
//! something was redacted. Those are never lost silently: a call that may need one has its room in the queue before it
//! begins, and is refused if there is none (P-W9).

mod config;
mod counts;
mod door;
mod log;
mod queue;
mod record;
mod sink;
mod slots;
mod stage;
mod writer;

pub use self::{
    config::{AuditConfig, Overflow},
    counts::AuditCounts,
    log::AuditLog,
    sink::{FileSink, OpenError, Rotation, Sink, StdoutSink},
    stage::Audit,
};

#[cfg(test)]
mod tests;
