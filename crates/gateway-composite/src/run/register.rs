use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::CallerError;
use tokio::sync::watch;

use super::{
    ComposerConfig,
    places::{Owner, Place, Places},
};
use crate::state::{RunRecord, RunStatus};

/// The runs that go on, and the places that runs take (C-W18).
#[derive(Debug, Default)]
pub(super) struct Register {
    runs: Mutex<Runs>,
    /// How many go on.
    going: watch::Sender<usize>,
    places: Arc<Places>,
}

#[derive(Debug, Default)]
struct Runs {
    by_id: HashMap<Arc<str>, Running>,
    is_closed: bool,
}

/// A run, as others can see and stop it.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) stop: Stop,
    pub(super) record: watch::Receiver<RunRecord>,
}

impl Register {
    /// Enters a run of somebody, until what it gets is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        owner: Option<Owner>,
        running: Running,
        config: &ComposerConfig,
    ) -> Result<Entry, CallerError> {
        let mut runs = self.locked();
        if runs.is_closed {
            return Err(CallerError::SessionClosed);
        }
        let place = self.places.take(owner, config)?;
        let id = running.record.borrow().id.clone();
        runs.by_id.insert(id.clone(), running);
        self.going.send_replace(runs.by_id.len());
        drop(runs);
        Ok(Entry { register: self.clone(), id, place: Arc::new(place) })
    }

    /// The run of this id, if it goes on.
    pub(super) fn get(&self, id: &str) -> Option<Running> {
        self.locked().by_id.get(id).cloned()
    }

    /// The records of all that go on, in no order.
    pub(super) fn records(&self) -> Vec<RunRecord> {
        self.locked().by_id.values().map(|running| running.record.borrow().clone()).collect()
    }

    /// Cancels all, takes no more, and waits until none goes on. Places that are still taken then hold results that
    /// somebody may want: they are not waited for.
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
        let _ = self.going.subscribe().wait_for(|going| *going == 0).await;
    }

    fn locked(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that goes on. Dropping it leaves the register; the place is left by the last who has it.
#[derive(Debug)]
pub(super) struct Entry {
    register: Arc<Register>,
    id: Arc<str>,
    place: Arc<Place>,
}

impl Entry {
    /// The place of the run, to be held by whoever holds what came of it.
    pub(super) fn place(&self) -> Arc<Place> {
        self.place.clone()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut runs = self.register.locked();
        runs.by_id.remove(&self.id);
        self.register.going.send_replace(runs.by_id.len());
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
