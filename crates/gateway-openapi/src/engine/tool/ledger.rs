use http::StatusCode;
use tokio::time::Instant;

use crate::{
    engine::{AuditEvent, AuditFunc, CallError},
    ir::Operation,
};

/// A call that will be told of, however it ends: also when it is dropped in the middle (E-W13).
pub(super) struct Entry<'a> {
    operation: &'a Operation,
    audit: Option<&'a AuditFunc>,
    begun: Instant,
}

impl<'a> Entry<'a> {
    pub(super) fn new(operation: &'a Operation, audit: Option<&'a AuditFunc>) -> Self {
        Self { operation, audit, begun: Instant::now() }
    }

    /// The call has come to its end.
    pub(super) fn close(mut self, status: Option<StatusCode>, error: Option<&CallError>) {
        self.tell(status, error.cloned());
    }

    fn tell(&mut self, status: Option<StatusCode>, error: Option<CallError>) {
        let Some(audit) = self.audit.take() else { return };
        audit(&AuditEvent {
            operation_id: self.operation.id.clone(),
            method: self.operation.method,
            path: self.operation.path.clone(),
            status: status.map_or(0, |status| status.as_u16()),
            duration: self.begun.elapsed(),
            error,
        });
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.tell(None, Some(CallError::Cancelled));
    }
}
