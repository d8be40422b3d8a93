use std::{sync::Arc, time::Duration};

use super::{CallError, Response};
use crate::ir::{Method, Operation};

/// Turns an answer into the text that a model reads (E-32).
pub type ShapeFunc = Arc<dyn Fn(&Response) -> String + Send + Sync>;

/// Changes the annotations that follow from an operation's method (E-12).
pub type AnnotateFunc = Arc<dyn Fn(&Operation, Annotations) -> Annotations + Send + Sync>;

/// Hears of each call that has come to an end, refused and rate-limited ones included (E-28, E-W13).
pub type AuditFunc = Arc<dyn Fn(&AuditEvent) + Send + Sync>;

/// What a tool says of itself (MCP `ToolAnnotations`). Hints, not promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotations {
    /// For display.
    pub title: Option<String>,
    /// It changes nothing.
    pub read_only: bool,
    /// What it changes may be lost.
    pub destructive: bool,
    /// Twice is as good as once.
    pub idempotent: bool,
    /// It deals with the world outside.
    pub open_world: bool,
}

impl Annotations {
    /// What follows from an operation's method (E-13).
    pub fn of(operation: &Operation) -> Self {
        let (read_only, destructive, idempotent) = match operation.method {
            Method::Get | Method::Head => (true, false, true),
            Method::Post => (false, false, false),
            Method::Put | Method::Delete => (false, true, true),
            Method::Patch => (false, true, false),
        };
        Self { title: operation.summary.clone(), read_only, destructive, idempotent, open_world: true }
    }
}

/// One call of a tool (E-28).
#[derive(Debug, Clone)]
pub struct AuditEvent {
    /// The operation's id.
    pub operation_id: String,
    /// How the API was asked.
    pub method: Method,
    /// The operation's path, placeholders and all: what was put in them may be personal.
    pub path: String,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// From the arguments to the end of the answer.
    pub duration: Duration,
    /// Why there was no answer.
    pub error: Option<CallError>,
}
