//! Who may have a live session, and who gets the next place: the hand-off between those who let go, those
//! who wait, idle owners and the end of the pool. Each step is one critical section of one lock.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use gateway_domain::Session;
use tokio::{
    sync::oneshot,
    time::{Duration, Instant},
};

use crate::{
    Pooled,
    sync::{Mutex, MutexGuard},
};

/// The places of a pool. Whoever waits is served in order: by what is let go of, or by the tenant whose last
/// use is oldest among those nobody uses. Between any two calls nobody waits while there is either.
pub(crate) struct Places<S: Session + 'static> {
    max: usize,
    /// How many wait: written under the lock, read without it by tenants that have become idle. One of whom
    /// a waiter has not seen that it is idle has become so under its own lock after the waiter looked, and
    /// so sees the waiter here.
    wanted: AtomicUsize,
    state: Mutex<State<S>>,
}

struct State<S: Session + 'static> {
    free: usize,
    closed: bool,
    next_ticket: u64,
    /// First come, first served; each removes itself when it gives up.
    waiters: VecDeque<Waiter<S>>,
    /// At most twice as many as there are places.
    tenants: Vec<Weak<dyn Tenant<S>>>,
    evicted: u64,
}

struct Waiter<S: Session + 'static> {
    ticket: u64,
    granted: oneshot::Sender<Grant<S>>,
}

/// An owner that keeps its session, and so its place, between uses. Its methods are called under the lock of
/// the places and must not take that.
pub(crate) trait Tenant<S: Session + 'static>: Send + Sync {
    /// Since when nobody uses it; `None` while somebody does or when it has no session any more.
    fn idle_since(&self) -> Option<Instant>;

    /// Whether there is a session to take.
    fn has_session(&self) -> bool;

    /// Takes the session if nobody uses it; later users are refused.
    fn vacate(&self) -> Option<Pooled<S>>;

    /// Since when all its users only wait; `None` if it is idle or somebody does more.
    fn rests_since(&self) -> Option<Instant>;

    /// Takes the session if all its users only wait.
    fn vacate_resting(&self) -> Option<Pooled<S>>;

    /// Takes the session even from its users.
    fn give_up(&self) -> Option<Pooled<S>>;
}

/// A place that was asked for.
pub(crate) enum Grant<S: Session + 'static> {
    /// Free to use.
    Vacant(Permit<S>),
    /// With a session that has to be ended first. Dropping it ends that in the background.
    Occupied(Pooled<S>),
}

/// What asking for a place gives at once.
pub(crate) enum Asked<S: Session + 'static> {
    Granted(Grant<S>),
    Wait(Waiting<S>),
    /// The pool is closed.
    Closed,
}

impl<S: Session + 'static> Places<S> {
    pub(crate) fn new(max: usize) -> Self {
        let state = State {
            free: max,
            closed: false,
            next_ticket: 0,
            waiters: VecDeque::new(),
            tenants: Vec::new(),
            evicted: 0,
        };
        Self { max, wanted: AtomicUsize::new(0), state: Mutex::new(state) }
    }

    /// Asks for a place, behind all who wait already.
    pub(crate) fn ask(self: &Arc<Self>) -> Asked<S> {
        let mut state = self.state();
        if state.closed {
            return Asked::Closed;
        }
        if state.free > 0 {
            state.free -= 1;
            return Asked::Granted(Grant::Vacant(Permit { places: self.clone() }));
        }
        let (granted, grant) = oneshot::channel();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiters.push_back(Waiter { ticket, granted });
        self.note_wanted(&state);
        drop(state);
        let waiting = Waiting { ticket, places: self.clone(), grant };
        self.settle();
        Asked::Wait(waiting)
    }

    /// A place if one is free.
    pub(crate) fn take_free(self: &Arc<Self>) -> Option<Permit<S>> {
        let mut state = self.state();
        if state.closed || state.free == 0 {
            return None;
        }
        state.free -= 1;
        Some(Permit { places: self.clone() })
    }

    /// Gives waiters the places of idle tenants. To be called by whoever has become one.
    pub(crate) fn settle(&self) {
        while self.wanted.load(Ordering::Relaxed) > 0 {
            match self.match_idle() {
                Some((waiter, pooled)) => hand_over(waiter, Grant::Occupied(pooled)),
                None => return,
            }
        }
    }

    fn match_idle(&self) -> Option<(Waiter<S>, Pooled<S>)> {
        // The last to have one must not let go of it under the lock.
        let mut looked_at = Vec::new();
        let mut state = self.state();
        if state.waiters.is_empty() {
            return None;
        }
        let pooled =
            state.vacate_oldest(&mut looked_at, |tenant| tenant.idle_since(), |tenant| tenant.vacate())?;
        let waiter = state.waiters.pop_front()?;
        self.note_wanted(&state);
        drop(state);
        Some((waiter, pooled))
    }

    /// The session whose users have only waited for longest, `least` or more: the last resort of who has waited
    /// in vain.
    pub(crate) fn take_resting(&self, least: Duration) -> Option<Pooled<S>> {
        let now = Instant::now();
        // As in `match_idle`.
        let mut looked_at = Vec::new();
        let mut state = self.state();
        state.vacate_oldest(
            &mut looked_at,
            |tenant| tenant.rests_since().filter(|since| now.saturating_duration_since(*since) >= least),
            |tenant| tenant.vacate_resting(),
        )
    }

    /// Has one more owner that can make room. Refused when the pool is closed.
    #[must_use]
    pub(crate) fn admit(&self, tenant: Weak<dyn Tenant<S>>) -> bool {
        let mut looked_at = Vec::new();
        let mut state = self.state();
        if state.closed {
            return false;
        }
        if state.tenants.len() >= self.max.saturating_mul(2) {
            state.forget_those_without(&mut looked_at);
        }
        state.tenants.push(tenant);
        true
    }

    /// Refuses all who ask from now on and those who wait. Gives what the tenants have to be ended.
    pub(crate) fn close(&self) -> Vec<Pooled<S>> {
        let (waiters, tenants) = {
            let mut state = self.state();
            state.closed = true;
            let taken = (std::mem::take(&mut state.waiters), std::mem::take(&mut state.tenants));
            self.note_wanted(&state);
            taken
        };
        drop(waiters);
        tenants.iter().filter_map(Weak::upgrade).filter_map(|tenant| tenant.give_up()).collect()
    }

    /// Places that are taken.
    pub(crate) fn taken(&self) -> usize {
        self.max.saturating_sub(self.state().free)
    }

    /// How many tenants had to make room so far.
    pub(crate) fn evicted(&self) -> u64 {
        self.state().evicted
    }

    fn release(self: &Arc<Self>) {
        let waiter = {
            let mut state = self.state();
            let waiter = state.waiters.pop_front();
            match waiter {
                Some(_) => self.note_wanted(&state),
                None => state.free += 1,
            }
            waiter
        };
        if let Some(waiter) = waiter {
            hand_over(waiter, Grant::Vacant(Permit { places: self.clone() }));
        }
    }

    fn give_up_waiting(&self, ticket: u64) {
        let mut state = self.state();
        let given_up = state.waiters.iter().position(|waiter| waiter.ticket == ticket);
        let given_up = given_up.and_then(|at| state.waiters.remove(at));
        self.note_wanted(&state);
        drop(state);
        drop(given_up);
    }

    fn note_wanted(&self, state: &State<S>) {
        self.wanted.store(state.waiters.len(), Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        // Every critical section leaves the state consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Outside the lock: it wakes the waiter. If that has given up meanwhile, dropping the grant passes it on.
fn hand_over<S: Session + 'static>(waiter: Waiter<S>, grant: Grant<S>) {
    drop(waiter.granted.send(grant));
}

impl<S: Session + 'static> State<S> {
    /// Forgets tenants without a session. There are no more of the others than places.
    fn forget_those_without(&mut self, looked_at: &mut Vec<Arc<dyn Tenant<S>>>) {
        self.tenants.retain(|tenant| {
            let tenant = tenant.upgrade();
            let stays = tenant.as_ref().is_some_and(|tenant| tenant.has_session());
            looked_at.extend(tenant);
            stays
        });
    }

    fn vacate_oldest(
        &mut self,
        looked_at: &mut Vec<Arc<dyn Tenant<S>>>,
        since: impl Fn(&dyn Tenant<S>) -> Option<Instant>,
        vacate: impl Fn(&dyn Tenant<S>) -> Option<Pooled<S>>,
    ) -> Option<Pooled<S>> {
        looked_at.extend(self.tenants.iter().filter_map(Weak::upgrade));
        loop {
            let spare = looked_at.iter().filter_map(|tenant| Some((since(&**tenant)?, tenant)));
            let (_, oldest) = spare.min_by_key(|(since, _)| *since)?;
            // Somebody may have begun to use it since; then the next.
            if let Some(pooled) = vacate(&**oldest) {
                self.evicted += 1;
                return Some(pooled);
            }
        }
    }
}

impl<S: Session + 'static> fmt::Debug for Places<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").field("max", &self.max).finish_non_exhaustive()
    }
}

/// Leave to have one live session. Dropping it gives the place to the first who waits.
#[derive(Debug)]
pub(crate) struct Permit<S: Session + 'static> {
    places: Arc<Places<S>>,
}

impl<S: Session + 'static> Drop for Permit<S> {
    fn drop(&mut self) {
        self.places.release();
    }
}

/// A turn in the queue; dropping it gives it up, and passes on what it was given meanwhile.
pub(crate) struct Waiting<S: Session + 'static> {
    ticket: u64,
    places: Arc<Places<S>>,
    grant: oneshot::Receiver<Grant<S>>,
}

impl<S: Session + 'static> Waiting<S> {
    /// The place, or `None` when the pool is closed. Cancel-safe.
    pub(crate) async fn granted(&mut self) -> Option<Grant<S>> {
        (&mut self.grant).await.ok()
    }
}

impl<S: Session + 'static> Drop for Waiting<S> {
    fn drop(&mut self) {
        self.places.give_up_waiting(self.ticket);
    }
}
