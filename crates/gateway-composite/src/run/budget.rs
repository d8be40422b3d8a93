use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::error::StepError;

/// What one run may use up (C-W18).
#[derive(Debug)]
pub(super) struct Budget {
    calls: Meter,
    bytes: Arc<Meter>,
}

impl Budget {
    pub(super) fn new(max_calls: u64, max_bytes: u64) -> Self {
        let bytes = Arc::new(Meter::new("bytes of results", max_bytes));
        Self { calls: Meter::new("calls", max_calls), bytes }
    }

    pub(super) fn charge_call(&self) -> Result<(), StepError> {
        self.calls.charge(1)
    }

    pub(super) fn charge_bytes(&self, bytes: usize) -> Result<(), StepError> {
        self.bytes.charge(amount(bytes))
    }

    pub(super) fn hold_bytes(&self, bytes: usize) -> Result<Held, StepError> {
        let amount = amount(bytes);
        self.bytes.charge(amount)?;
        Ok(Held { meter: self.bytes.clone(), amount })
    }
}

fn amount(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// What is used up only for a time: until this is dropped.
#[derive(Debug)]
#[must_use = "dropped at once it is given back at once"]
pub(crate) struct Held {
    meter: Arc<Meter>,
    amount: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.meter.used.fetch_sub(self.amount, Ordering::Relaxed);
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
