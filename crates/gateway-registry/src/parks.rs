//! Calls that wait inside legacy sessions for answers of their clients (design §1).

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use gateway_domain::{CallerError, Error, ParkId, ParkedCall};
use tokio::{sync::Notify, time::Instant};

use crate::{
    commons::ClientId,
    downstream::{Downstream, Lease},
    shelf::{Bounds, Owner, Put, Shelf},
};

/// A call that waits, and the lease of its session. Dropping it gives the call up.
#[derive(Debug)]
pub(crate) struct Park {
    pub(crate) call: Arc<dyn ParkedCall>,
    pub(crate) downstream: Arc<Downstream>,
    /// Which client session holds the downstream session, of those that were handed out too; none if it serves
    /// everybody.
    pub(crate) client: Option<ClientId>,
    pub(crate) lease: Lease,
}

/// The parked calls of all clients, each good for one follow-up of its owner, for a time.
#[derive(Debug)]
pub(crate) struct Parks {
    shelf: Mutex<Shelf<ParkId, Park>>,
    changed: Arc<Notify>,
}

impl Parks {
    /// Within a tokio runtime a background task gives up what is not asked for in time.
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        let parks = Arc::new(Self { shelf: Mutex::new(Shelf::new(bounds)), changed: Arc::default() });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(sweep(Arc::downgrade(&parks), parks.changed.clone()));
        }
        parks
    }

    pub(crate) fn set_bounds(&self, bounds: Bounds) {
        self.shelf().set_bounds(bounds);
    }

    /// Keeps a call for its owner. Also whether its session has been taken away already: who takes one away later
    /// finds the call here.
    ///
    /// # Errors
    /// [`CallerError::Overloaded`] when there are too many and none may go for it, [`CallerError::SessionClosed`]
    /// after the end; then the call is given up.
    pub(crate) fn put(&self, owner: Owner, park: Park) -> Result<(ParkId, bool), Error> {
        let id = unguessable();
        let (put, is_given_up) = {
            let mut shelf = self.shelf();
            let is_given_up = park.lease.is_given_up();
            (shelf.put(id.clone(), owner, park, Instant::now()), is_given_up)
        };
        self.changed.notify_one();
        // Whatever goes is dropped here, outside the lock: that tells its downstream.
        match put {
            Put::Kept { instead } => {
                if let Some(park) = instead {
                    tracing::debug!(downstream = %park.downstream.name, "the oldest of too many parked calls is given up");
                }
                Ok((id, is_given_up))
            }
            Put::Full(_, limit) => {
                Err(CallerError::Overloaded { what: "calls that wait for answers", limit }.into())
            }
            Put::Closed(_) => Err(CallerError::SessionClosed.into()),
        }
    }

    /// Gives a call away, for its one follow-up.
    ///
    /// # Errors
    /// [`CallerError::UnknownState`] if it is not there, not this owner's, or its session had to make room.
    pub(crate) fn take(&self, id: &ParkId, owner: &Owner) -> Result<Park, Error> {
        let park = self.shelf().take(id, owner, Instant::now());
        let alive = park.filter(|park| !park.lease.is_given_up());
        alive.ok_or_else(|| CallerError::UnknownState.into())
    }

    /// Whether nobody has to answer it any more.
    pub(crate) fn is_over(&self, id: &ParkId) -> bool {
        self.shelf()
            .get_any(id, Instant::now())
            .is_none_or(|park| park.lease.is_given_up() || park.call.is_over())
    }

    pub(crate) fn abandon(&self, id: &ParkId) {
        let park = self.shelf().remove(id);
        drop(park);
    }

    pub(crate) fn abandon_where(&self, chosen: impl Fn(&Owner, &Park) -> bool) {
        let parks = self.shelf().remove_where(chosen);
        drop(parks);
    }

    /// Gives up what was not asked for in time, and what had to make room.
    pub(crate) fn sweep(&self) {
        let (expired, evicted) = {
            let mut shelf = self.shelf();
            (shelf.remove_expired(Instant::now()), shelf.remove_where(|_, park| park.lease.is_given_up()))
        };
        for park in &expired {
            tracing::info!(downstream = %park.downstream.name, "a call that nobody answered in time is given up");
        }
        drop((expired, evicted));
    }

    /// How many there are of a downstream.
    pub(crate) fn count(&self, downstream: &Downstream) -> usize {
        let of = downstream.identity();
        let shelf = self.shelf();
        let parks = shelf.iter().filter(|(owner, park)| owner.downstream == of && !park.lease.is_given_up());
        parks.count()
    }

    pub(crate) fn close(&self) {
        let parks = self.shelf().close();
        drop(parks);
        self.changed.notify_one();
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf<ParkId, Park>> {
        // Every critical section leaves it consistent.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Parks {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

async fn sweep(parks: Weak<Parks>, changed: Arc<Notify>) {
    let next = || {
        let parks = parks.upgrade()?;
        let shelf = parks.shelf();
        (!shelf.is_closed()).then(|| shelf.due())
    };
    while let Some(due) = next() {
        match due {
            None => changed.notified().await,
            Some(due) => {
                tokio::select! {
                    () = changed.notified() => {}
                    () = tokio::time::sleep_until(due) => {}
                }
                if let Some(parks) = parks.upgrade() {
                    parks.sweep();
                }
            }
        }
    }
}

/// 128 bits of a keyed hash whose keys nobody knows. It never leaves the gateway but sealed; this is for the case
/// that it does (security.md: handles).
fn unguessable() -> ParkId {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let half = |half: u8| KEYS.hash_one((number, half));
    ParkId(format!("{:016x}{:016x}", half(0), half(1)).into())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_long_and_never_the_same() {
        let names: HashSet<_> = (0..10_000).map(|_| unguessable()).collect();
        assert_eq!(names.len(), 10_000);
        assert!(names.iter().all(|name| name.0.len() == 32), "128 bits");
    }
}
