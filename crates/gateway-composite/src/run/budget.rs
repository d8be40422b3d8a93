use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::StepError;

/// What one run may use up (C-W18).
#[derive(Debug)]
pub(super) struct Budget {
    calls: Meter,
    bytes: Meter,
}

impl Budget {
    pub(super) fn new(max_calls: u64, max_bytes: u64) -> Self {
        Self { calls: Meter::new("calls", max_calls), bytes: Meter::new("bytes of results", max_bytes) }
    }

    pub(super) fn charge_call(&self) -> Result<(), StepError> {
        self.calls.charge(1)
    }

    pub(super) fn charge_bytes(&self, bytes: usize) -> Result<(), StepError> {
        self.bytes.charge(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// Counts something up to a limit. What goes beyond it is not counted.
#[derive(Debug)]
struct Meter {
    what: &'static str,
    limit: u64,
    used: AtomicU64,
}

impl Meter {
    fn new(what: &'static str, limit: u64) -> Self {
        Self { what, limit, used: AtomicU64::new(0) }
    }

    fn charge(&self, amount: u64) -> Result<(), StepError> {
        let within = |used: u64| used.checked_add(amount).filter(|sum| *sum <= self.limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within) {
            Ok(_) => Ok(()),
            Err(_) => Err(StepError::LimitExceeded { what: self.what, limit: self.limit }),
        }
    }
}

#[cfg(test)]
mod tests;
