use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use gateway_domain::{DownstreamFault, DownstreamName, Era, Error, Factory, Session, SessionProfile};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::closing::side_by_side;

/// Bounds of a pool. A field of zero takes its default.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// How many sessions may be in use at once. Default 16.
    pub max: usize,
    /// How long [`Pool::acquire`] waits for one to come back. Default 2 s.
    pub acquire_timeout: Duration,
    /// How long a session that nobody uses is kept. Default 90 s.
    pub idle_ttl: Duration,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self { max: 16, acquire_timeout: Duration::from_secs(2), idle_ttl: Duration::from_secs(90) }
    }
}

impl PoolConfig {
    fn or_defaults(self) -> Self {
        let default = Self::default();
        let time = |given: Duration, default| if given.is_zero() { default } else { given };
        Self {
            max: if self.max == 0 { default.max } else { self.max.min(Semaphore::MAX_PERMITS) },
            acquire_timeout: time(self.acquire_timeout, default.acquire_timeout),
            idle_ttl: time(self.idle_ttl, default.idle_ttl),
        }
    }
}

/// What a pool holds at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Sessions that somebody has, is being given, or that are being closed.
    pub in_use: usize,
    /// Sessions that wait to be used again.
    pub idle: usize,
    /// Sessions that were ever opened.
    pub created: u64,
}

/// A bounded set of sessions to one downstream. Clones share it.
///
/// Idle sessions hold no permit; one is closed when opening another would make more than `max` live
/// sessions. A session that is being closed has a permit until it is gone, so there are never more than
/// `max`, not even for a moment (R-W14). Dropping the last clone drops the idle sessions unclosed.
pub struct Pool<F: Factory + ?Sized> {
    factory: Arc<F>,
    shared: Arc<Shared<F::Session>>,
}

struct Shared<S> {
    name: DownstreamName,
    config: PoolConfig,
    permits: Arc<Semaphore>,
    state: Mutex<State<S>>,
}

struct State<S> {
    /// Most recently returned last.
    idle: Vec<Idle<S>>,
    created: u64,
    closed: bool,
}

struct Idle<S> {
    session: S,
    profile: SessionProfile,
    since: Instant,
}

impl<F: Factory + ?Sized + 'static> Pool<F> {
    /// A pool over `factory`, which opens sessions to the downstream `name`. Within a tokio runtime a
    /// background task closes idle sessions; it ends at its first step after the pool is closed or dropped.
    pub fn new(name: DownstreamName, factory: Arc<F>, config: PoolConfig) -> Self {
        let config = config.or_defaults();
        let state = State { idle: Vec::new(), created: 0, closed: false };
        let permits = Arc::new(Semaphore::new(config.max));
        let shared = Arc::new(Shared { name, config, permits, state: Mutex::new(state) });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(reap_periodically(Arc::downgrade(&shared)));
        }
        Self { factory, shared }
    }

    /// An idle session of the same profile, most recently used first, or a new one.
    ///
    /// The timeout is for a place; closing an idle session to make room and opening the new one take as
    /// long as they take. Cancel-safe: nothing is held or counted when the future is dropped, and a session
    /// that has to make room is still closed to its end.
    ///
    /// # Errors
    /// [`DownstreamFault::Exhausted`] after the acquire timeout, [`DownstreamFault::Closed`] at once
    /// when the pool is closed, also while waiting (R-5, R-W13); else what the factory says.
    pub async fn acquire(&self, profile: &SessionProfile) -> Result<Pooled<F::Session>, Error> {
        let shared = &self.shared;
        let permit =
            tokio::time::timeout(shared.config.acquire_timeout, shared.permits.clone().acquire_owned());
        let permit = match permit.await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(DownstreamFault::Closed.before(&shared.name)),
            Err(_) => return Err(DownstreamFault::Exhausted { max: shared.config.max }.before(&shared.name)),
        };
        let (permit, session) = match shared.take_idle(profile) {
            Idled::Reusable(session) => (permit, session),
            Idled::InTheWay(session) => {
                let permit = shared.close_with(permit, session).await?;
                (permit, self.create(profile).await?)
            }
            Idled::Nothing => (permit, self.create(profile).await?),
        };
        let pooled = Pooled {
            session: Some(session),
            permit: Some(permit),
            reusable: true,
            profile: profile.clone(),
            shared: shared.clone(),
        };
        if shared.state().closed {
            pooled.discard().await;
            return Err(DownstreamFault::Closed.before(&shared.name));
        }
        Ok(pooled)
    }

    async fn create(&self, profile: &SessionProfile) -> Result<F::Session, Error> {
        let session = self.factory.create(profile).await?;
        self.shared.state().created += 1;
        Ok(session)
    }

    /// A snapshot.
    pub fn stats(&self) -> Stats {
        let state = self.shared.state();
        Stats { in_use: self.shared.in_use(), idle: state.idle.len(), created: state.created }
    }

    /// The idle time after defaulting.
    pub fn idle_ttl(&self) -> Duration {
        self.shared.config.idle_ttl
    }

    /// Closes sessions that have ended or have been idle longer than the time-to-live, side by side (R-13,
    /// R-W22). One for which there is no permit is about to be taken or closed by whoever has it.
    pub async fn reap(&self) {
        self.shared.reap().await;
    }

    /// Closes all idle sessions and wakes all waiters; sessions in use are closed when they come back
    /// . Idempotent. Dropping the future does not stop what it has begun.
    pub async fn close(&self) {
        let idle = {
            let mut state = self.shared.state();
            state.closed = true;
            std::mem::take(&mut state.idle)
        };
        self.shared.permits.close();
        side_by_side(idle.into_iter().map(|idle| async move { idle.session.close().await })).await;
    }
}

impl<F: Factory + ?Sized> Clone for Pool<F> {
    fn clone(&self) -> Self {
        Self { factory: self.factory.clone(), shared: self.shared.clone() }
    }
}

impl<F: Factory + ?Sized> fmt::Debug for Pool<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

impl<S: Session + 'static> Shared<S> {
    fn state(&self) -> MutexGuard<'_, State<S>> {
        // Every critical section leaves the state consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_use(&self) -> usize {
        self.config.max.saturating_sub(self.permits.available_permits())
    }

    /// Finds the holder of a permit a session to use or, where there is none, at most one to close: an ended
    /// one (R-W12), or the oldest if a new session would be one too many. More than one would not be covered
    /// by the permit.
    fn take_idle(&self, profile: &SessionProfile) -> Idled<S> {
        let mut state = self.state();
        let usable = |idle: &Idle<S>| idle.profile == *profile && idle.session.is_open();
        if let Some(at) = state.idle.iter().rposition(usable) {
            return Idled::Reusable(state.idle.remove(at).session);
        }
        let ended = state.idle.iter().position(|idle| !idle.session.is_open());
        let oldest =
            (self.in_use() + state.idle.len() > self.config.max && !state.idle.is_empty()).then_some(0);
        match ended.or(oldest) {
            Some(at) => Idled::InTheWay(state.idle.remove(at).session),
            None => Idled::Nothing,
        }
    }

    /// Closes a session to its end, even if the caller gives up; the permit is free only then.
    async fn close_with(
        &self,
        permit: OwnedSemaphorePermit,
        session: S,
    ) -> Result<OwnedSemaphorePermit, Error> {
        let closing = tokio::spawn(async move {
            session.close().await;
            permit
        });
        // It fails only if `close` panics, which its hook has reported, or the runtime is shut down.
        closing.await.map_err(|_| DownstreamFault::Closed.before(&self.name))
    }

    /// Keeps a session for its next user, or gives it back to be closed.
    fn put_idle(&self, session: S, profile: SessionProfile) -> Option<S> {
        let mut state = self.state();
        if state.closed || !session.is_open() {
            return Some(session);
        }
        state.idle.push(Idle { session, profile, since: Instant::now() });
        None
    }

    async fn reap(&self) {
        let now = Instant::now();
        let mut permits = Vec::new();
        let mut allowed = || match self.permits.clone().try_acquire_owned() {
            Ok(permit) => {
                permits.push(permit);
                true
            }
            Err(_) => false,
        };
        let unfit = |idle: &Idle<S>| now - idle.since > self.config.idle_ttl || !idle.session.is_open();
        let closing: Vec<_> = {
            let mut state = self.state();
            state.idle.extract_if(.., |idle| unfit(idle) && allowed()).map(|idle| idle.session).collect()
        };
        let close = |(session, permit): (S, OwnedSemaphorePermit)| async move {
            session.close().await;
            drop(permit);
        };
        side_by_side(closing.into_iter().zip(permits).map(close)).await;
    }
}

/// What the idle set has for the holder of a permit.
enum Idled<S> {
    Reusable(S),
    InTheWay(S),
    Nothing,
}

async fn reap_periodically<S: Session + 'static>(pool: Weak<Shared<S>>) {
    loop {
        let Some(period) = pool.upgrade().map(|pool| (pool.config.idle_ttl / 2).max(Duration::from_secs(1)))
        else {
            return;
        };
        tokio::time::sleep(period).await;
        match pool.upgrade() {
            Some(pool) if !pool.state().closed => pool.reap().await,
            _ => return,
        }
    }
}

/// A session taken from a pool. It gives itself back when dropped (R-9, R-W11), or closes itself if it has
/// ended or the pool is closed. That takes a runtime; without one it is dropped as it is.
pub struct Pooled<S: Session + 'static> {
    /// `None` only while being dropped.
    session: Option<S>,
    permit: Option<OwnedSemaphorePermit>,
    /// Whether others may have it after this user.
    reusable: bool,
    profile: SessionProfile,
    shared: Arc<Shared<S>>,
}

impl<S: Session + 'static> Pooled<S> {
    /// Closes itself when dropped, for a user who leaves state behind.
    pub(crate) fn unshared(mut self) -> Self {
        self.reusable = false;
        self
    }

    /// Comes back as a session of this era, whichever was asked for.
    pub(crate) fn keep_for(&mut self, era: Era) {
        self.profile.era = era;
    }

    /// Closes the session, then frees its place; it is never used again.
    pub async fn discard(mut self) {
        if let (Some(session), Some(permit)) = (self.session.take(), self.permit.take()) {
            // A panic in `close` has been reported by its hook; the permit is free all the same.
            drop(self.shared.close_with(permit, session).await);
        }
    }
}

impl<S: Session + 'static> Deref for Pooled<S> {
    type Target = S;

    #[expect(clippy::expect_used, reason = "the session is only taken by value or in drop")]
    fn deref(&self) -> &S {
        self.session.as_ref().expect("present until dropped")
    }
}

impl<S: Session + 'static> Drop for Pooled<S> {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        let unfit = match self.reusable {
            true => self.shared.put_idle(session, self.profile.clone()),
            false => Some(session),
        };
        let Some(unfit) = unfit else { return };
        let permit = self.permit.take();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                unfit.close().await;
                drop(permit);
            });
        }
    }
}

impl<S: Session + 'static> fmt::Debug for Pooled<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pooled").field("name", &self.shared.name).finish_non_exhaustive()
    }
}
