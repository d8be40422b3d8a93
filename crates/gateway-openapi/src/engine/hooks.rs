use std::{sync::Arc, time::Duration};

use gateway_domain::printable;

use super::{CallError, Response};
use crate::ir::{Method, Operation};

/// Turns an answer into the text that a model reads (E-32).
pub type ShapeFunc = Arc<dyn Fn(&Response) -> String + Send + Sync>;

/// Changes the annotations that follow from an operation's method (E-12).
pub type AnnotateFunc = Arc<dyn Fn(&Operation, Annotations) -> Annotations + Send + Sync>;

/// Hears of each call that has come to an end, refused and rate-limited ones included (E-28, E-W13).
pub type AuditFunc = Arc<dyn Fn(&AuditEvent) + Send + Sync>;

/// Writes one line per call (E-53), at debug level under the target `gateway_openapi::audit`: id, method, path with its
/// placeholders, status, time in milliseconds, and in a word why there was no answer. Nothing of arguments and answers.
pub fn log_audit() -> AuditFunc {
    Arc::new(|event| {
        tracing::debug!(
            target: "gateway_openapi::audit",
            id = %event.operation_id,
            method = %event.method,
            path = %printable(&event.path, 200),
            status = event.status,
            ms = u64::try_from(event.duration.as_millis()).unwrap_or(u64::MAX),
            error = event.error.as_ref().map(kind),
            "call of an API"
        );
    })
}

/// The texts of errors may have parts of arguments in them.
fn kind(error: &CallError) -> &'static str {
    match error {
        CallError::Arguments { .. } => "arguments",
        CallError::Encoding { .. } => "encoding",
        CallError::Request { .. } => "request",
        CallError::Credentials { .. } => "credentials",
        CallError::RateLimited { .. } => "rate limited",
        CallError::Busy { .. } => "busy",
        CallError::Upstream(_) => "upstream",
        CallError::TimedOut { .. } => "timed out",
        CallError::Cancelled => "cancelled",
        CallError::Body(_) => "body",
    }
}

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

#[cfg(test)]
mod tests {
    use std::{
        fmt::Write as _,
        sync::{Arc, Mutex},
    };

    use tracing::{Event, Metadata, Subscriber, field, span};

    use super::*;

    /// Writes down what it hears.
    struct Ear(Arc<Mutex<String>>);

    struct Line<'a>(&'a mut String);

    impl field::Visit for Line<'_> {
        fn record_debug(&mut self, field: &field::Field, value: &dyn std::fmt::Debug) {
            write!(self.0, " {field}={value:?}").unwrap();
        }
    }

    impl Subscriber for Ear {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "gateway_openapi::audit"
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &Event<'_>) {
            let mut heard = self.0.lock().unwrap();
            heard.push_str(event.metadata().level().as_str());
            event.record(&mut Line(&mut heard));
            heard.push('\n');
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    #[test]
    fn the_log_has_one_line_per_call_and_nothing_of_arguments_in_it() {
        let heard = Arc::<Mutex<String>>::default();
        tracing::subscriber::with_default(Ear(heard.clone()), || {
            for error in [None, Some(CallError::Arguments { reason: "`n` must be \"private\"".into() })] {
                log_audit()(&AuditEvent {
                    operation_id: "op".into(),
                    method: Method::Get,
                    path: "/a/{b}".into(),
                    status: 200,
                    duration: Duration::from_millis(7),
                    error,
                });
            }
        });
        let line = "DEBUG message=call of an API id=op method=GET path=/a/{b} status=200 ms=7";
        assert_eq!(*heard.lock().unwrap(), format!("{line}\n{line} error=\"arguments\"\n"));
    }
}
