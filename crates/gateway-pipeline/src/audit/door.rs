use std::time::Duration;

use gateway_domain::{Decision, DoorAudit, DoorRefusal};

use super::{log::AuditLog, record::Record};

/// Records refusals at the door (P-W8). They take places below the high-water mark only, and a share of these at the
/// most: whoever is not let in can use up neither those that calls need nor those of their records of success. Without
/// one the refusal stands, and the missing record is counted as unrecordable.
impl DoorAudit for AuditLog {
    fn refused(&self, refusal: &DoorRefusal<'_>) {
        let client = refusal.caller.map(ToString::to_string);
        let record = Record {
            client: client.as_deref(),
            name: refusal.name,
            decision: Decision::DeniedByDefault,
            latency: Duration::ZERO,
            is_broken: false,
            redactions: 0,
            truncated: false,
            error: Some(refusal.reason),
            method: refusal.method,
            downstream: None,
            origin: None,
            trace_id: None,
            peer: refusal.peer,
        };
        // Counted and logged there.
        let _ = self.keep(&record, self.room_at_door());
    }
}
