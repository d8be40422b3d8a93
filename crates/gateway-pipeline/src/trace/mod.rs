//! Calls as spans of traces (W3C Trace Context, SEP-414), and their export.

mod ids;
pub mod otlp;
mod span;
mod stage;

pub use self::{
    ids::{Ids, RandomIds},
    span::{Span, SpanSink},
    stage::{Traced, Tracer},
};

#[cfg(test)]
mod tests;
