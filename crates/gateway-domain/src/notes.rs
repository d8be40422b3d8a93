use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::{Decision, DownstreamName};

/// What the layers find out about one call while they answer it, for its record and its metrics (P-4, P-66). Shared
/// by everything that is done for the call.
#[derive(Debug, Default)]
pub struct Notes {
    found: Mutex<Found>,
    redactions: AtomicU64,
    truncated: AtomicBool,
}

/// What was noted about a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The downstream that has what was asked for; `None`: nobody, several, or a workflow.
    pub downstream: Option<DownstreamName>,
    /// What the rules say; `None`: it was not come to that, as for a name that nothing has.
    pub decision: Option<Decision>,
}

impl Notes {
    /// Notes whose call it is.
    pub fn resolved(&self, downstream: &DownstreamName) {
        self.with(|found| found.downstream = Some(downstream.clone()));
    }

    /// Notes what the rules say. A denial stands, whatever is decided about another part of the call.
    pub fn decided(&self, decision: Decision) {
        self.with(|found| {
            if found.decision.is_none_or(Decision::is_allowed) {
                found.decision = Some(decision);
            }
        });
    }

    /// What the rules say, as far as it was come to that.
    pub fn decision(&self) -> Option<Decision> {
        let mut decision = None;
        self.with(|found| decision = found.decision);
        decision
    }

    /// Counts what was redacted in what goes out (P-42).
    pub fn redacted(&self, count: u64) {
        self.redactions.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes that the result was replaced because it is too large (P-37).
    pub fn truncated(&self) {
        self.truncated.store(true, Ordering::Relaxed);
    }

    /// How much was redacted.
    pub fn redactions(&self) -> u64 {
        self.redactions.load(Ordering::Relaxed)
    }

    /// Whether the result was replaced.
    pub fn is_truncated(&self) -> bool {
        self.truncated.load(Ordering::Relaxed)
    }

    /// What was found out so far.
    pub fn found(&self) -> Found {
        let mut copy = Found::default();
        self.with(|found| copy.clone_from(found));
        copy
    }

    fn with(&self, change: impl FnOnce(&mut Found)) {
        // Every critical section leaves it consistent.
        change(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
