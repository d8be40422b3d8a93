use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use gateway_domain::{DownstreamFault, DownstreamName, Error, Factory, Session, SessionProfile};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::Instant,
};

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
            max: if self.max == 0 { default.max } else { self.max },
            acquire_timeout: time(self.acquire_timeout, default.acquire_timeout),
            idle_ttl: time(self.idle_ttl, default.idle_ttl),
        }
    }
}

/// What a pool holds at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Sessions that somebody has.
    pub in_use: usize,
    /// Sessions that wait to be used again.
    pub idle: usize,
    /// Sessions that were ever opened.
    pub created: u64,
}

/// A bounded set of sessions to one downstream. Clones share it.
///
/// Idle sessions hold no permit; one is closed when opening another would make more than `max` live
/// sessions. A session that is being closed keeps its permit until it is gone (R-W14).
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
    /// background task closes idle sessions; it ends with the pool.
    pub fn new(name: DownstreamName, factory: Arc<F>, config: PoolConfig) -> Self {
        let config = config.or_defaults();
        let state = State { idle: Vec::new(), created: 0, closed: false };
        let permits = Arc::new(Semaphore::new(config.max.min(Semaphore::MAX_PERMITS)));
        let shared = Arc::new(Shared { name, config, permits, state: Mutex::new(state) });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(reap_periodically(Arc::downgrade(&shared)));
        }
        Self { factory, shared }
    }

    /// An idle session of the same profile, most recently used first, or a new one.
    ///
    /// Cancel-safe: nothing is held or counted when the future is dropped.
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
        let (reused, surplus) = shared.take_idle(profile);
        close_all(surplus).await;
        let session = match reused {
            Some(session) => session,
            None => {
                let session = self.factory.create(profile).await?;
                shared.state().created += 1;
                session
            }
        };
        let pooled = Pooled {
            session: Some(session),
            permit: Some(permit),
            profile: profile.clone(),
            shared: shared.clone(),
        };
        if shared.state().closed {
            pooled.discard().await;
            return Err(DownstreamFault::Closed.before(&shared.name));
        }
        Ok(pooled)
    }

    /// A snapshot.
    pub fn stats(&self) -> Stats {
        let state = self.shared.state();
        let free = self.shared.permits.available_permits();
        let in_use = if state.closed { 0 } else { self.shared.config.max.saturating_sub(free) };
        Stats { in_use, idle: state.idle.len(), created: state.created }
    }

    /// The idle time after defaulting.
    pub fn idle_ttl(&self) -> Duration {
        self.shared.config.idle_ttl
    }

    /// Closes sessions that have been idle longer than the time-to-live, side by side (R-13, R-W22).
    pub async fn reap(&self) {
        self.shared.reap().await;
    }

    /// Closes all idle sessions and wakes all waiters; sessions in use are closed when they come back
    /// . Idempotent.
    pub async fn close(&self) {
        let idle = {
            let mut state = self.shared.state();
            state.closed = true;
            std::mem::take(&mut state.idle)
        };
        self.shared.permits.close();
        close_all(idle.into_iter().map(|idle| idle.session)).await;
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

    /// The best idle session, and those that must go: ended ones (R-W12), and the oldest if a new
    /// session would be one too many.
    fn take_idle(&self, profile: &SessionProfile) -> (Option<S>, Vec<S>) {
        let mut state = self.state();
        let mut surplus = Vec::new();
        while let Some(at) = state.idle.iter().rposition(|idle| idle.profile == *profile) {
            let idle = state.idle.remove(at);
            if idle.session.is_open() {
                return (Some(idle.session), surplus);
            }
            surplus.push(idle.session);
        }
        let in_use = self.config.max.saturating_sub(self.permits.available_permits());
        while !state.idle.is_empty() && in_use + state.idle.len() > self.config.max {
            surplus.push(state.idle.remove(0).session);
        }
        (None, surplus)
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
        let expired: Vec<_> = {
            let mut state = self.state();
            let ttl = self.config.idle_ttl;
            state.idle.extract_if(.., |idle| now - idle.since > ttl).map(|idle| idle.session).collect()
        };
        close_all(expired).await;
    }
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

/// Closes sessions side by side: one that takes long does not delay the others.
async fn close_all<S: Session + 'static>(sessions: impl IntoIterator<Item = S>) {
    let mut closing = JoinSet::new();
    for session in sessions {
        closing.spawn(async move { session.close().await });
    }
    while closing.join_next().await.is_some() {}
}

/// A session taken from a pool. It gives itself back when dropped (R-9, R-W11).
pub struct Pooled<S: Session + 'static> {
    /// `None` only while being dropped.
    session: Option<S>,
    permit: Option<OwnedSemaphorePermit>,
    profile: SessionProfile,
    shared: Arc<Shared<S>>,
}

impl<S: Session + 'static> Pooled<S> {
    /// Closes the session, then frees its place; it is never used again.
    pub async fn discard(mut self) {
        let permit = self.permit.take();
        if let Some(session) = self.session.take() {
            // In a task of its own, so that a caller who gives up does not leave it half closed.
            let closing = tokio::spawn(async move {
                session.close().await;
                drop(permit);
            });
            // The task is not aborted and a panic in `close` has been reported by its hook.
            drop(closing.await);
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
        let Some(unfit) = self.shared.put_idle(session, self.profile.clone()) else { return };
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
