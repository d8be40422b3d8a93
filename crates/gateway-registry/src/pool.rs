use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use gateway_domain::{
    DownstreamFault, DownstreamName, Era, Error, Factory, InternalError, Session, SessionProfile,
};
use tokio::{
    sync::{Semaphore, oneshot, watch},
    time::Instant,
};
use tracing::Instrument as _;

use crate::{
    closing::side_by_side,
    place::{Place, Presence, Purpose, closing_for, end},
    places::{Asked, Grant, Places},
};

/// Bounds of a pool. A field of zero takes its default.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// How many sessions may be in use at once. The one that a manager reads lists from has a place of its
    /// own beside these. Default 16.
    pub max: usize,
    /// How long [`Pool::acquire`] waits for one to come back or to be idle with its client. Default 2 s.
    pub acquire_timeout: Duration,
    /// How long a session that nobody uses is kept. Default 90 s.
    pub idle_ttl: Duration,
    /// How long [`Pool::close`] waits for all sessions to be gone. It should be longer than a session takes
    /// to close: for a child process twice its `terminate` and 3 s. Default 8 s.
    pub close_timeout: Duration,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            max: 16,
            acquire_timeout: Duration::from_secs(2),
            idle_ttl: Duration::from_secs(90),
            close_timeout: Duration::from_secs(8),
        }
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
            close_timeout: time(self.close_timeout, default.close_timeout),
        }
    }
}

/// What a pool holds at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Sessions that somebody has, that are being opened or being closed; with the one that lists are read
    /// from and one that finds out how the downstream is, two more than the pool's `max` at the most.
    pub in_use: usize,
    /// Sessions that wait to be used again.
    pub idle: usize,
    /// Sessions that were ever opened.
    pub created: u64,
}

/// Whether a session that was opened for `opened` serves `wanted`. What came with the request is another each time, so
/// that whose it was counts; of those whom nobody knows each is another.
fn suits(opened: &SessionProfile, wanted: &SessionProfile) -> bool {
    let is_same_caller = match (&opened.incoming, &wanted.incoming) {
        (None, None) => true,
        (Some(opened), Some(wanted)) => opened.caller == wanted.caller && !wanted.caller.is_anonymous(),
        _ => false,
    };
    is_same_caller && opened.era == wanted.era && opened.capabilities == wanted.capabilities
}

/// How long a session whose users only wait is left to them, whoever else wants its place: about what a person
/// needs to see a question and answer it.
const REST: Duration = Duration::from_secs(60);

/// A bounded set of sessions to one downstream. Clones share it.
///
/// Idle sessions hold no place; one is closed when opening another would make more than `max` live
/// sessions. A session that is being opened or closed has a place until it is gone, so there are never more
/// than `max`, not even for a moment (R-W14). Dropping the last clone drops the idle sessions unclosed.
///
/// Sessions that clients of a manager keep between their calls have their places all that time. Where none
/// is left, the one whose last use is oldest among those nobody uses is closed to make room, also for who
/// waits already when one becomes idle. So any number of clients is served, as long as no more than `max`
/// call at the same time; a client that had to make room begins with a new session, and its server has
/// forgotten what it knew. A pool that is smaller than the number of clients that are active together makes
/// them take turns at that price. Sessions that only wait, for a person's answer or for changes, are not idle; but
/// one that has done so for a minute is taken by who has waited in vain for a place.
pub struct Pool<F: Factory + ?Sized + 'static> {
    factory: Arc<F>,
    shared: Arc<Shared<F::Session>>,
}

struct Shared<S: Session + 'static> {
    name: DownstreamName,
    config: PoolConfig,
    places: Arc<Places<S>>,
    /// One place beyond `max` ([`Purpose::Lists`]).
    reserved: Arc<Places<S>>,
    /// Another, for a short time ([`Purpose::Probes`]).
    probes: Arc<Places<S>>,
    state: Mutex<State<S>>,
    /// When closing began.
    closing: watch::Sender<Option<Instant>>,
}

struct State<S> {
    /// Most recently returned last.
    idle: Vec<Idle<S>>,
    created: u64,
    closed: bool,
    evictions_told: Option<EvictionsTold>,
}

/// When the log last told of sessions that made room, and how many there had been.
#[derive(Clone, Copy)]
struct EvictionsTold {
    at: Instant,
    count: u64,
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
        let state = State { idle: Vec::new(), created: 0, closed: false, evictions_told: None };
        let [places, reserved, probes] = [config.max, 1, 1].map(|places| Arc::new(Places::new(places)));
        let (state, closing) = (Mutex::new(state), watch::Sender::new(None));
        let shared = Arc::new(Shared { name, config, places, reserved, probes, state, closing });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(reap_periodically(Arc::downgrade(&shared)));
        }
        Self { factory, shared }
    }

    /// An idle session of the same profile, most recently used first, or a new one.
    ///
    /// The timeout is for a place; closing an idle session to make room and opening the new one take as
    /// long as they take. When the future is dropped, a creation that has begun goes on to its end with its
    /// place, since only then is it known what is there (R-W14), and what it brings is kept idle; a session
    /// that has to make room is closed to its end.
    ///
    /// # Errors
    /// [`DownstreamFault::Exhausted`] after the acquire timeout, [`DownstreamFault::Closed`] at once
    /// when the pool is closed, also while waiting (R-5, R-W13); else what the factory says.
    pub async fn acquire(&self, profile: &SessionProfile) -> Result<Pooled<F::Session>, Error> {
        self.acquire_for(Purpose::Calls, profile).await
    }

    /// The same for a purpose. What lists are read from is never kept for others: there would be one too many.
    pub(crate) async fn acquire_for(
        &self,
        purpose: Purpose,
        profile: &SessionProfile,
    ) -> Result<Pooled<F::Session>, Error> {
        let shared = &self.shared;
        let (place, in_the_way) = match shared.place(purpose).await? {
            Grant::Occupied(pooled) => {
                let (place, in_the_way) = pooled.into_parts();
                (place, Some(in_the_way))
            }
            Grant::Vacant(permit) => {
                let place = Place::new(permit, shared.presence());
                let in_the_way = match shared.take_idle(purpose, profile) {
                    Idled::Closed => return Err(DownstreamFault::Closed.before(&shared.name)),
                    Idled::Reusable(session) => {
                        let mut pooled = shared.lend(session, place, purpose, profile.clone());
                        pooled.was_idle = true;
                        return Ok(pooled);
                    }
                    Idled::InTheWay(session) => Some(InTheWay { session, watched: None }),
                    Idled::Nothing => None,
                };
                (place, in_the_way)
            }
        };
        let (wanted, opened) = oneshot::channel();
        let (pool, profile) = (self.clone(), profile.clone());
        let open = async move {
            if let Some(InTheWay { session, watched }) = in_the_way {
                end(pool.shared.name.clone(), session, watched).await;
            }
            if !wanted.is_closed() {
                // What nobody waits for any more gives itself back.
                drop(wanted.send(pool.open(place, purpose, profile).await));
            }
        };
        tokio::spawn(open.in_current_span());
        opened.await.unwrap_or_else(|_| Err(InternalError { what: "opening a session panicked" }.into()))
    }

    async fn open(
        &self,
        mut place: Place<F::Session>,
        purpose: Purpose,
        profile: SessionProfile,
    ) -> Result<Pooled<F::Session>, Error> {
        let shared = &self.shared;
        let time = shared.config.close_timeout;
        let session = tokio::select! {
            created = self.factory.create(&profile) => created?,
            // What was being opened is given up and has most of the time that is left for its end.
            () = place.closing_for(Duration::ZERO) => {
                tokio::select! {
                    () = self.factory.wound_up() => {}
                    () = place.closing_for(time - time / 8) => {}
                }
                return Err(DownstreamFault::Closed.before(&shared.name));
            }
        };
        tracing::debug!(downstream = %shared.name, "session opened");
        shared.state().created += 1;
        let pooled = shared.lend(session, place, purpose, profile);
        if shared.state().closed {
            pooled.discard().await;
            return Err(DownstreamFault::Closed.before(&shared.name));
        }
        Ok(pooled)
    }

    /// A snapshot.
    pub fn stats(&self) -> Stats {
        let shared = &self.shared;
        let state = shared.state();
        let in_use = shared.places.taken() + shared.reserved.taken() + shared.probes.taken();
        Stats { in_use, idle: state.idle.len(), created: state.created }
    }

    /// How many sessions were closed so far because other clients needed their places.
    pub fn evicted(&self) -> u64 {
        self.shared.places.evicted()
    }

    /// Completes when the pool begins to close. Cancel-safe.
    pub(crate) async fn closing(&self) {
        closing_for(&mut self.shared.presence(), Duration::ZERO).await;
    }

    /// How long a caller waits for a place, after defaulting.
    pub(crate) fn acquire_timeout(&self) -> Duration {
        self.shared.config.acquire_timeout
    }

    /// How long the end of a session may take, after defaulting.
    pub(crate) fn close_timeout(&self) -> Duration {
        self.shared.config.close_timeout
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

    /// Closes all idle sessions and those that clients keep, and wakes all waiters; other sessions in use are
    /// closed when they come back. Returns when everything is gone, also what was being opened or closed before, or when the
    /// close timeout is over since this was first called. An opening is given up at once. Idempotent, and the same for whoever calls it. Dropping the future
    /// does not stop what it has begun.
    pub async fn close(&self) {
        let shared = &self.shared;
        let idle: Vec<_> = {
            let mut state = shared.state();
            state.closed = true;
            let idle = std::mem::take(&mut state.idle);
            // Before anybody else can see that there are no idle ones.
            idle.into_iter().map(|idle| (idle.session, shared.presence())).collect()
        };
        let places = [&shared.places, &shared.reserved, &shared.probes];
        let kept: Vec<_> = places.into_iter().flat_map(|it| it.close()).collect();
        let mut began = Instant::now();
        shared.closing.send_if_modified(|closing| match closing {
            Some(first) => {
                began = *first;
                false
            }
            None => closing.replace(began).is_none(),
        });
        for (session, presence) in idle {
            tokio::spawn(end(shared.name.clone(), session, presence));
        }
        // They close themselves.
        drop(kept);
        let gone = tokio::time::timeout_at(began + shared.config.close_timeout, shared.closing.closed());
        if gone.await.is_err() {
            tracing::warn!(downstream = %shared.name, "sessions are left after the time for closing");
        }
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

    fn presence(&self) -> Presence {
        self.closing.subscribe()
    }

    /// Waits for a place.
    async fn place(&self, purpose: Purpose) -> Result<Grant<S>, Error> {
        let (places, max) = match purpose {
            Purpose::Calls | Purpose::Watches => (&self.places, self.config.max),
            Purpose::Lists => (&self.reserved, 1),
            Purpose::Probes => (&self.probes, 1),
        };
        let granted = match places.ask() {
            Asked::Granted(grant) => Some(grant),
            Asked::Wait(mut waiting) => {
                match tokio::time::timeout(self.config.acquire_timeout, waiting.granted()).await {
                    Ok(granted) => granted,
                    Err(_) => {
                        let resting =
                            (purpose != Purpose::Watches).then(|| places.take_resting(REST)).flatten();
                        let resting = resting.map(Grant::Occupied);
                        Some(resting.ok_or_else(|| DownstreamFault::Exhausted { max }.before(&self.name))?)
                    }
                }
            }
            Asked::Closed => None,
        };
        if matches!(granted, Some(Grant::Occupied(_))) {
            self.tell_evictions();
        }
        granted.ok_or_else(|| DownstreamFault::Closed.before(&self.name))
    }

    /// Says in the log that sessions make room for others, once per minute at most.
    fn tell_evictions(&self) {
        let (now, count) = (Instant::now(), self.places.evicted());
        let since = {
            let mut state = self.state();
            let last = state.evictions_told;
            if last.is_some_and(|last| now - last.at < Duration::from_secs(60)) {
                return;
            }
            state.evictions_told = Some(EvictionsTold { at: now, count });
            count - last.map_or(0, |last| last.count)
        };
        tracing::info!(
            downstream = %self.name, evicted = since, max = self.config.max,
            "idle clients' sessions were closed to make room for other clients; \
             a larger pool lets them keep their sessions"
        );
    }

    fn lend(
        self: &Arc<Self>,
        session: S,
        place: Place<S>,
        purpose: Purpose,
        profile: SessionProfile,
    ) -> Pooled<S> {
        let (reusable, was_idle, watched) =
            (matches!(purpose, Purpose::Calls | Purpose::Watches), false, None);
        let live = Some((session, place));
        Pooled { live, reusable, was_idle, watched, profile, shared: self.clone() }
    }

    /// Finds the holder of a permit a session to use or, where there is none, at most one to close: an ended
    /// one (R-W12), or the oldest if a new session would be one too many. More than one would not be covered
    /// by the permit.
    fn take_idle(&self, purpose: Purpose, profile: &SessionProfile) -> Idled<S> {
        let mut state = self.state();
        if state.closed {
            return Idled::Closed;
        }
        if purpose == Purpose::Probes {
            return Idled::Nothing;
        }
        let usable = |idle: &Idle<S>| suits(&idle.profile, profile) && idle.session.is_open();
        if let Some(at) = state.idle.iter().rposition(usable) {
            return Idled::Reusable(state.idle.remove(at).session);
        }
        let ended = state.idle.iter().position(|idle| !idle.session.is_open());
        let full = purpose != Purpose::Lists && self.places.taken() + state.idle.len() > self.config.max;
        let oldest = (full && !state.idle.is_empty()).then_some(0);
        match ended.or(oldest) {
            Some(at) => Idled::InTheWay(state.idle.remove(at).session),
            None => Idled::Nothing,
        }
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
        let mut places = Vec::new();
        let mut allowed = || match self.places.take_free() {
            Some(permit) => {
                places.push(Place::new(permit, self.presence()));
                true
            }
            None => false,
        };
        let unfit = |idle: &Idle<S>| now - idle.since > self.config.idle_ttl || !idle.session.is_open();
        let closing: Vec<_> = {
            let mut state = self.state();
            state.idle.extract_if(.., |idle| unfit(idle) && allowed()).map(|idle| idle.session).collect()
        };
        let close = |(session, place)| end(self.name.clone(), session, place);
        side_by_side(closing.into_iter().zip(places).map(close)).await;
    }
}

/// A session that has to be ended before another is opened in its place.
struct InTheWay<S> {
    session: S,
    /// Let go of when it is gone.
    watched: Option<watch::Receiver<()>>,
}

/// What the idle set has for the holder of a permit.
enum Idled<S> {
    Reusable(S),
    InTheWay(S),
    Nothing,
    /// The pool is closed.
    Closed,
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
    live: Option<(S, Place<S>)>,
    /// Whether others may have it after this user.
    reusable: bool,
    /// Whether it was idle before this user, and may have ended then without anybody noticing.
    was_idle: bool,
    /// Let go of when the session is gone.
    watched: Option<watch::Receiver<()>>,
    profile: SessionProfile,
    shared: Arc<Shared<S>>,
}

impl<S: Session + 'static> Pooled<S> {
    pub(crate) fn was_idle(&self) -> bool {
        self.was_idle
    }

    /// Closes itself when dropped, for a user who leaves state behind.
    pub(crate) fn unshared(mut self) -> Self {
        self.reusable = false;
        self
    }

    /// Lets go of `watched` when the session is gone, however it ends.
    pub(crate) fn watched(mut self, watched: watch::Receiver<()>) -> Self {
        self.watched = Some(watched);
        self
    }

    /// The places that its own is one of, if it is for calls.
    pub(crate) fn places(&self) -> Arc<Places<S>> {
        self.shared.places.clone()
    }

    /// The session, to be ended, and its place, to be used again.
    #[expect(clippy::expect_used, reason = "the session is only taken by value or in drop")]
    fn into_parts(mut self) -> (Place<S>, InTheWay<S>) {
        let (session, place) = self.live.take().expect("present until dropped");
        (place, InTheWay { session, watched: self.watched.take() })
    }

    /// Comes back as a session of this era, whichever was asked for.
    pub(crate) fn keep_for(&mut self, era: Era) {
        self.profile.era = era;
    }

    /// Takes the place beyond `max`, if it is free, for what serves everybody and never makes room.
    pub(crate) fn reserve(&mut self) {
        if let (Some(permit), Some((_, place))) = (self.shared.reserved.take_free(), &mut self.live) {
            *place = Place::new(permit, self.shared.presence());
        }
    }

    /// Takes another place than the one for probes, one for lists first; `false` if there is none.
    pub(crate) fn settle(&mut self) -> bool {
        let places = [&self.shared.reserved, &self.shared.places];
        let (Some(permit), Some((_, place))) =
            (places.into_iter().find_map(Places::take_free), &mut self.live)
        else {
            return false;
        };
        *place = Place::new(permit, self.shared.presence());
        true
    }

    /// Closes the session, then frees its place; it is never used again.
    pub async fn discard(mut self) {
        if let Some((session, place)) = self.live.take() {
            let until = (place, self.watched.take());
            // To its end, even if the caller gives up; the place is free only then. A panic in `close` has
            // been reported by its hook.
            drop(tokio::spawn(end(self.shared.name.clone(), session, until)).await);
        }
    }
}

impl<S: Session + 'static> Deref for Pooled<S> {
    type Target = S;

    #[expect(clippy::expect_used, reason = "the session is only taken by value or in drop")]
    fn deref(&self) -> &S {
        self.live.as_ref().map(|(session, _)| session).expect("present until dropped")
    }
}

impl<S: Session + 'static> Drop for Pooled<S> {
    fn drop(&mut self) {
        let Some((session, place)) = self.live.take() else { return };
        let unfit = match self.reusable {
            true => self.shared.put_idle(session, self.profile.clone()),
            false => Some(session),
        };
        let Some(unfit) = unfit else { return };
        let until = (place, self.watched.take());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(end(self.shared.name.clone(), unfit, until));
        }
    }
}

impl<S: Session + 'static> fmt::Debug for Pooled<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pooled").field("name", &self.shared.name).finish_non_exhaustive()
    }
}
