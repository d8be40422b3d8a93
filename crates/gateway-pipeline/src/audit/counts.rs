use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What became of the records of a log (P-64), since it was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditCounts {
    /// Written to every sink.
    pub written: u64,
    /// Records of success that there was no room for.
    pub shed: u64,
    /// Security records that could not be kept: the call was refused, or a refusal at the door has no record. Also
    /// records of any kind that a close found no sink for.
    pub unrecordable: u64,
    /// Failures of sinks: to write, to make durable, to rotate, to reopen.
    pub sink_errors: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    written: AtomicU64,
    shed: Tally,
    unrecordable: Tally,
    sink_errors: AtomicU64,
}

/// Counts something that is logged once for as long as it goes on.
#[derive(Debug, Default)]
struct Tally {
    count: AtomicU64,
    is_known: AtomicBool,
}

impl Tally {
    /// Whether this is the first since all was well.
    fn add(&self) -> bool {
        self.count.fetch_add(1, Ordering::Relaxed);
        !self.is_known.swap(true, Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.is_known.load(Ordering::Relaxed) && self.is_known.swap(false, Ordering::Relaxed)
    }

    fn get(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(super) fn wrote(&self, records: usize) {
        self.written.fetch_add(number(records), Ordering::Relaxed);
    }

    pub(super) fn shed(&self) {
        if self.shed.add() {
            tracing::warn!("the audit log is behind; records of successful calls are dropped");
        }
    }

    pub(super) fn unrecordable(&self) {
        if self.unrecordable.add() {
            tracing::error!("there is no room in the audit log; what needs a record is refused or has none");
        }
    }

    /// Records that were to be written and never will be.
    pub(super) fn lost(&self, records: usize) {
        self.unrecordable.count.fetch_add(number(records), Ordering::Relaxed);
        tracing::error!(records, "the audit log was closed before all records were written");
    }

    pub(super) fn sink_failed(&self) {
        self.sink_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// There is room again.
    pub(super) fn recovered(&self) {
        let (shed, unrecordable) = (self.shed.is_over(), self.unrecordable.is_over());
        if shed || unrecordable {
            let AuditCounts { shed, unrecordable, .. } = self.read();
            tracing::info!(
                shed,
                unrecordable,
                "the audit log has room again; the counts are since the start"
            );
        }
    }

    pub(super) fn read(&self) -> AuditCounts {
        AuditCounts {
            written: self.written.load(Ordering::Relaxed),
            shed: self.shed.get(),
            unrecordable: self.unrecordable.get(),
            sink_errors: self.sink_errors.load(Ordering::Relaxed),
        }
    }
}

fn number(records: usize) -> u64 {
    u64::try_from(records).unwrap_or(u64::MAX)
}
