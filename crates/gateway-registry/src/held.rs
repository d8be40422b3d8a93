use std::{
    fmt,
    sync::{Arc, PoisonError, Weak},
};

use gateway_domain::{ClientLink, DownstreamSession};
use tokio::{
    sync::watch,
    time::{Duration, Instant},
};

use crate::{
    Pooled,
    places::{Places, Tenant},
    sync::{Mutex, MutexGuard},
};

pub(crate) type PooledSession = Pooled<Arc<dyn DownstreamSession>>;

/// A session that stays with its owner between uses: a client's, the one that serves everybody, or the one
/// that lists are read from. When the owner lets go it is closed, never given to another client.
pub(crate) struct Kept {
    session: Arc<dyn DownstreamSession>,
    /// Has a receiver until the session is gone.
    presence: watch::Sender<()>,
    state: Mutex<State>,
    /// Where it makes room for others when it is idle; `None` for what serves all.
    places: Option<Arc<Places<Arc<dyn DownstreamSession>>>>,
}

struct State {
    /// `None` once it is being ended.
    pooled: Option<PooledSession>,
    users: usize,
    /// How many of them only wait: for answers of a client, or for changes.
    resting: usize,
    /// When the last use ended or came to rest.
    last_use: Instant,
    /// Whether it had to go for others while its users only waited.
    made_room: bool,
    /// The client it was told of, if any.
    client: Option<Weak<dyn ClientLink>>,
}

impl State {
    /// Whether all who use it only wait.
    fn rests(&self) -> bool {
        self.users > 0 && self.users == self.resting
    }
}

impl Kept {
    /// Keeps what serves everybody: it never makes room.
    pub(crate) fn for_all(pooled: PooledSession) -> Arc<Self> {
        Arc::new(Self::new(pooled, 0, None))
    }

    /// Keeps a client's own. It is born in use, so that nobody takes it from the first user. `None` when the
    /// pool is closed.
    pub(crate) fn for_one(pooled: PooledSession) -> Option<Held> {
        let places = pooled.places();
        let kept = Arc::new(Self::new(pooled, 1, Some(places.clone())));
        let tenant: Arc<dyn Tenant<_>> = kept.clone();
        let held = Held { kept };
        places.admit(Arc::downgrade(&tenant)).then_some(held)
    }

    fn new(
        pooled: PooledSession,
        users: usize,
        places: Option<Arc<Places<Arc<dyn DownstreamSession>>>>,
    ) -> Self {
        let session = Arc::clone(&pooled);
        let (presence, watched) = watch::channel(());
        let pooled = Some(pooled.unshared().watched(watched));
        Self {
            session,
            presence,
            state: Mutex::new(State {
                pooled,
                users,
                resting: 0,
                last_use: Instant::now(),
                made_room: false,
                client: None,
            }),
            places,
        }
    }

    /// The session.
    pub(crate) fn session(&self) -> &Arc<dyn DownstreamSession> {
        &self.session
    }

    /// Begins a use; `None` when the session has ended or is being ended. While somebody has a use, the
    /// session is neither idle nor taken to make room.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Held> {
        let mut state = self.state();
        if state.pooled.is_none() || !self.session.is_open() {
            return None;
        }
        state.users += 1;
        drop(state);
        Some(Held { kept: self.clone() })
    }

    /// Begins a use, be it of a session that has ended: that will tell.
    pub(crate) fn lease(self: &Arc<Self>) -> Held {
        self.state().users += 1;
        Held { kept: self.clone() }
    }

    /// Since when nobody uses it; `None` while somebody does.
    pub(crate) fn unused_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.users == 0).then_some(state.last_use)
    }

    /// Takes the session, to be ended, if nobody has used it for longer than `ttl` or it has ended.
    pub(crate) fn take_idle(&self, ttl: Duration, now: Instant) -> Option<PooledSession> {
        let mut state = self.state();
        let expired = state.users == 0 && now.saturating_duration_since(state.last_use) > ttl;
        if expired || !self.session.is_open() { state.pooled.take() } else { None }
    }

    /// Tells the session whose it is, once for each link of its client.
    pub(crate) fn attend(&self, client: &Arc<dyn ClientLink>) {
        let client = Arc::downgrade(client);
        {
            let mut state = self.state();
            if state.client.as_ref().is_some_and(|known| known.ptr_eq(&client)) {
                return;
            }
            state.client = Some(client.clone());
        }
        self.session.attend(client);
    }

    /// Whether the session has been taken away, to be ended.
    pub(crate) fn is_given_up(&self) -> bool {
        self.state().pooled.is_none()
    }

    /// Whether the session had to go for others while its users only waited.
    pub(crate) fn made_room(&self) -> bool {
        self.state().made_room
    }

    /// Closes the session, from the users too: their calls fail. Returns when it is gone and its place in the
    /// pool is free, whoever ends it. Dropping the future does not stop what it has begun.
    pub(crate) async fn end(self: Arc<Self>) {
        let pooled = self.state().pooled.take();
        if let Some(pooled) = pooled {
            pooled.discard().await;
        }
        self.gone().await;
    }

    /// Completes when the session is gone. Cancel-safe.
    pub(crate) async fn gone(&self) {
        self.presence.closed().await;
    }

    /// Whether nothing is left of the session.
    pub(crate) fn is_gone(&self) -> bool {
        self.presence.is_closed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every critical section is a few assignments.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tenant<Arc<dyn DownstreamSession>> for Kept {
    fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.users == 0 && state.pooled.is_some()).then_some(state.last_use)
    }

    fn has_session(&self) -> bool {
        self.state().pooled.is_some()
    }

    fn vacate(&self) -> Option<PooledSession> {
        let mut state = self.state();
        if state.users == 0 { state.pooled.take() } else { None }
    }

    fn rests_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.rests() && state.pooled.is_some()).then_some(state.last_use)
    }

    fn vacate_resting(&self) -> Option<PooledSession> {
        let mut state = self.state();
        if !state.rests() {
            return None;
        }
        let taken = state.pooled.take();
        state.made_room |= taken.is_some();
        taken
    }

    fn give_up(&self) -> Option<PooledSession> {
        self.state().pooled.take()
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// The use of a session that stays with its owner between uses. While it lives the session is not idle: it is
/// neither reaped nor taken to make room for another client. Its drop is the last use, also of
/// a call that is cancelled.
pub struct Held {
    kept: Arc<Kept>,
}

impl Held {
    /// The session.
    pub fn session(&self) -> &Arc<dyn DownstreamSession> {
        self.kept.session()
    }

    pub(crate) fn kept(&self) -> &Arc<Kept> {
        &self.kept
    }

    /// From now on it only waits.
    pub(crate) fn rest(self) -> Resting {
        let mut state = self.kept.state();
        state.resting += 1;
        state.last_use = Instant::now();
        drop(state);
        Resting(self)
    }
}

/// A use that only waits: for a client's answers, or for changes. The session is neither idle nor given to
/// others; but where nothing else is left, those who have waited long enough for a place take it from whoever has
/// rested longest, so that nobody starves for people who do not answer.
pub(crate) struct Resting(Held);

impl Resting {
    pub(crate) fn held(&self) -> &Held {
        &self.0
    }
}

impl Drop for Resting {
    fn drop(&mut self) {
        let mut state = self.0.kept.state();
        state.resting = state.resting.saturating_sub(1);
    }
}

impl fmt::Debug for Resting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resting").finish_non_exhaustive()
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        self.kept.lease()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let is_idle = {
            let mut state = self.kept.state();
            state.users = state.users.saturating_sub(1);
            state.last_use = Instant::now();
            state.users == 0
        };
        if let (true, Some(places)) = (is_idle, &self.kept.places) {
            places.settle();
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}
