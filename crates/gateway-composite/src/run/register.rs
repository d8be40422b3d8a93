use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::{Caller, CallerError};
use tokio::sync::watch;

use super::ComposerConfig;
use crate::state::{RunRecord, RunStatus};

/// The runs that there are: so many in all, so many of each caller (C-W18).
#[derive(Debug, Default)]
pub(super) struct Register {
    runs: Mutex<Runs>,
    /// How many there are.
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Runs {
    by_id: HashMap<Arc<str>, Running>,
    /// Callers that have none are not in it.
    per_caller: HashMap<Caller, usize>,
    is_closed: bool,
}

/// A run, as others can see and stop it.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) stop: Stop,
    pub(super) record: watch::Receiver<RunRecord>,
}

impl Register {
    /// Enters a run, until the place that it gets is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        caller: &Caller,
        running: Running,
        config: &ComposerConfig,
    ) -> Result<Place, CallerError> {
        let mut runs = self.locked();
        if runs.is_closed {
            return Err(CallerError::SessionClosed);
        }
        let of_caller = runs.per_caller.get(caller).copied().unwrap_or(0);
        for (count, limit) in [(of_caller, config.max_runs_per_caller), (runs.by_id.len(), config.max_runs)] {
            if count >= limit {
                return Err(CallerError::Overloaded { what: "workflows", limit });
            }
        }
        let id = running.record.borrow().id.clone();
        runs.per_caller.insert(caller.clone(), of_caller + 1);
        runs.by_id.insert(id.clone(), running);
        self.count.send_replace(runs.by_id.len());
        drop(runs);
        Ok(Place { register: self.clone(), id, caller: caller.clone() })
    }

    /// The run of this id.
    pub(super) fn get(&self, id: &str) -> Option<Running> {
        self.locked().by_id.get(id).cloned()
    }

    /// The records of all of them, in no order.
    pub(super) fn records(&self) -> Vec<RunRecord> {
        self.locked().by_id.values().map(|running| running.record.borrow().clone()).collect()
    }

    /// Cancels all, takes no more, and waits until none is left.
    pub(super) async fn close(&self) {
        let running: Vec<Running> = {
            let mut runs = self.locked();
            runs.is_closed = true;
            runs.by_id.values().cloned().collect()
        };
        for run in running {
            let _ = run.stop.cancel();
        }
        // Fails when the sender is gone, which is in `self`.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    fn locked(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one run. Dropping it leaves the register.
#[derive(Debug)]
pub(super) struct Place {
    register: Arc<Register>,
    id: Arc<str>,
    caller: Caller,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut runs = self.register.locked();
        runs.by_id.remove(&self.id);
        if let Some(count) = runs.per_caller.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                runs.per_caller.remove(&self.caller);
            }
        }
        self.register.count.send_replace(runs.by_id.len());
    }
}

/// Decides, once, whether a run is cancelled or ends by itself. Clones are the same.
#[derive(Debug, Clone)]
pub(super) struct Stop(Arc<watch::Sender<Phase>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Cancelled,
    Ended(RunStatus),
}

impl Stop {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Phase::Open)))
    }

    /// Cancels the run. Once is as good as many times.
    ///
    /// # Errors
    /// It has ended, as this says.
    pub(super) fn cancel(&self) -> Result<(), RunStatus> {
        self.settle(Phase::Cancelled);
        match *self.0.borrow() {
            Phase::Ended(status) => Err(status),
            Phase::Open | Phase::Cancelled => Ok(()),
        }
    }

    /// The run has ended like this, unless it has been cancelled before: then false.
    pub(super) fn end(&self, status: RunStatus) -> bool {
        self.settle(Phase::Ended(status));
        *self.0.borrow() != Phase::Cancelled
    }

    /// Whether the run goes on.
    pub(super) fn is_open(&self) -> bool {
        *self.0.borrow() == Phase::Open
    }

    /// Waits until the run is cancelled.
    pub(super) async fn cancelled(&self) {
        // Fails when the sender is gone, which is in `self`.
        let _ = self.0.subscribe().wait_for(|phase| *phase == Phase::Cancelled).await;
    }

    fn settle(&self, phase: Phase) {
        self.0.send_if_modified(|now| {
            let is_open = *now == Phase::Open;
            if is_open {
                *now = phase;
            }
            is_open
        });
    }
}

#[cfg(test)]
mod tests;
