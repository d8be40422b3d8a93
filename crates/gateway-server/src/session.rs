//! Sessions of legacy clients (protocol.md §4.4). An id alone opens nothing: a session belongs to the
//! caller and the path that it was opened with, and to anybody else it is not there (P-W6).

mod client;
mod journal;
mod kept;
mod link;
mod questions;
mod watch;

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwap;
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use gateway_domain::{ClientCapabilities, Generations, LogLevel, NoticeScreen, SessionKey, Unscreened, View};
use gateway_protocol::Revision;
use prometheus_client::metrics::counter::Counter;
use tokio::time::Instant;

pub(crate) use self::{
    client::Client,
    journal::{EventId, Journal, Reader},
    kept::keep,
    questions::{Questions, Unheard, Voice},
    watch::{Grant, PAUSE, updates},
};
use self::{
    journal::{Bounds, Shelf},
    kept::Kept,
    link::Roots,
    watch::Watched,
};
use crate::{auth::Principal, config::Limits, endpoint::Payload, in_flight::Calls, rescue::Refusal};

/// Random bytes of an id; 128 bits is what security.md §1.1 asks for.
const ID_BYTES: usize = 24;

/// One legacy session.
#[derive(Debug)]
pub(crate) struct Session {
    id: Arc<str>,
    principal: Arc<Principal>,
    view: View,
    client: Client,
    opened: Instant,
    used: Mutex<Instant>,
    /// Requests and streams that are open now; a session with any is not idle.
    open: AtomicUsize,
    /// Which stream of its own it has; 0 is none.
    stream: AtomicU64,
    streams: AtomicU64,
    initialized: AtomicBool,
    calls: Arc<Calls>,
    level: Mutex<Option<LogLevel>>,
    questions: Questions,
    /// What is said outside any request.
    outbox: Arc<Journal>,
    kept: Kept,
    watched: Watched,
    roots: Roots,
    /// The questions by URL that were put to the client lately.
    visits: Mutex<VecDeque<String>>,
    /// The lists that the client has been told of.
    told: tokio::sync::Mutex<Generations>,
    shelf: Arc<Shelf>,
    notices: Arc<dyn NoticeScreen>,
    ended: tokio::sync::watch::Sender<bool>,
}

impl Session {
    /// A session that is in no table yet.
    fn new(
        principal: Arc<Principal>,
        view: View,
        client: Client,
        questions: Questions,
        (bounds, shelf): (Bounds, Arc<Shelf>),
        notices: Arc<dyn NoticeScreen>,
    ) -> Result<Arc<Self>, Refusal> {
        let now = Instant::now();
        Ok(Arc::new(Self {
            id: new_name()?.into(),
            principal,
            view,
            client,
            opened: now,
            used: Mutex::new(now),
            open: AtomicUsize::new(0),
            stream: AtomicU64::new(0),
            streams: AtomicU64::new(0),
            initialized: AtomicBool::new(false),
            calls: Arc::default(),
            level: Mutex::default(),
            questions,
            outbox: Journal::new(0, bounds),
            kept: Kept::default(),
            watched: Watched::default(),
            roots: Roots::default(),
            visits: Mutex::default(),
            told: tokio::sync::Mutex::default(),
            shelf,
            notices,
            ended: tokio::sync::watch::Sender::new(false),
        }))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Sees what its client is told outside any call.
    pub(crate) fn notices(&self) -> &dyn NoticeScreen {
        &*self.notices
    }

    pub(crate) fn key(&self) -> SessionKey {
        SessionKey::Legacy { id: self.id.clone() }
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn revision(&self) -> Revision {
        self.client.revision
    }

    /// What the client can do.
    pub(crate) fn capabilities(&self) -> &ClientCapabilities {
        &self.client.capabilities
    }

    /// The lowest level of log messages that the client wants, if it said.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        *locked(&self.level)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *locked(&self.level) = Some(level);
    }

    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    pub(crate) fn outbox(&self) -> &Arc<Journal> {
        &self.outbox
    }

    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    pub(crate) fn watched(&self) -> &Watched {
        &self.watched
    }

    /// Says something outside any request, unless nobody can have asked for it yet. Never waits.
    pub(crate) fn tell_client(&self, message: Payload) {
        if self.is_initialized() {
            self.outbox.tell(message);
        } else {
            self.lose_one();
        }
    }

    /// Counts a message that the client will not get.
    pub(crate) fn lose_one(&self) {
        self.shelf.drop_one();
    }

    /// The client has been told of no lists before these: nobody tells it of any yet.
    pub(crate) fn begins_with(&self, lists: Generations) {
        if let Ok(mut told) = self.told.try_lock() {
            *told = lists;
        }
    }

    /// The lists that the client has been told of. Held by whoever tells it of others.
    pub(crate) fn told(&self) -> &tokio::sync::Mutex<Generations> {
        &self.told
    }

    pub(crate) fn calls(&self) -> &Arc<Calls> {
        &self.calls
    }

    /// Whether the client has said that it is ready for notifications, or acted as if it had.
    pub(crate) fn is_initialized(&self) -> bool {
        self.initialized.load(Ordering::Acquire)
    }

    pub(crate) fn initialize(&self) {
        self.initialized.store(true, Ordering::Release);
    }

    /// Keeps the session from being idle while the value lives.
    pub(crate) fn enter(self: &Arc<Self>) -> InUse {
        self.open.fetch_add(1, Ordering::AcqRel);
        InUse { session: self.clone(), stream: 0 }
    }

    /// As [`Self::enter`], for the one stream a session may have.
    pub(crate) fn stream(self: &Arc<Self>) -> Result<InUse, Refusal> {
        let serial = self.streams.fetch_add(1, Ordering::AcqRel) + 1;
        let taken = self.stream.compare_exchange(0, serial, Ordering::AcqRel, Ordering::Acquire);
        taken.map_err(|_| Refusal::StreamTaken)?;
        Ok(self.enter_stream(serial))
    }

    /// The same for a client that goes on with it: we may not have seen yet that its connection broke.
    pub(crate) fn take_stream(self: &Arc<Self>) -> InUse {
        let serial = self.streams.fetch_add(1, Ordering::AcqRel) + 1;
        self.stream.store(serial, Ordering::Release);
        self.enter_stream(serial)
    }

    fn enter_stream(self: &Arc<Self>, serial: u64) -> InUse {
        let mut in_use = self.enter();
        in_use.stream = serial;
        in_use
    }

    /// Becomes true when the session has ended.
    pub(crate) fn ended(&self) -> tokio::sync::watch::Receiver<bool> {
        self.ended.subscribe()
    }

    /// Ends streams, calls, questions and subscriptions. What is held downstream is for the caller to let go.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
        self.calls.end();
        self.questions.end();
        self.watched.end();
        self.outbox.close();
        self.kept.end();
    }

    fn idle_since(&self) -> Option<Instant> {
        (self.open.load(Ordering::Acquire) == 0).then(|| *locked(&self.used))
    }

    fn is_expired(&self, limits: &Limits, now: Instant) -> bool {
        now.duration_since(self.opened) >= limits.session_lifetime
            || self.idle_since().is_some_and(|since| now.duration_since(since) >= limits.session_idle)
    }
}

/// A session in use. Time of idleness begins when it is dropped.
#[derive(Debug)]
pub(crate) struct InUse {
    session: Arc<Session>,
    /// The stream that it is, if it is one.
    stream: u64,
}

impl Drop for InUse {
    fn drop(&mut self) {
        *locked(&self.session.used) = Instant::now();
        if self.stream > 0 {
            // Unless another one has taken its place.
            let (own, none) = (self.stream, 0);
            let _ = self.session.stream.compare_exchange(own, none, Ordering::AcqRel, Ordering::Acquire);
        }
        self.session.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// All sessions, bounded in number and time.
#[derive(Debug)]
pub(crate) struct SessionTable {
    sessions: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    limits: ArcSwap<Limits>,
    shelf: Arc<Shelf>,
    notices: Arc<dyn NoticeScreen>,
    /// The number of the last question in a session that is in no table.
    asked: Arc<AtomicU64>,
}

impl SessionTable {
    /// `dropped` counts what clients are not told.
    pub(crate) fn new(limits: Limits, dropped: Counter<u64, AtomicU64>) -> Self {
        let (sessions, shelf) = (Mutex::default(), Shelf::new(dropped));
        let (limits, notices) = (ArcSwap::from_pointee(limits), Arc::new(Unscreened));
        Self { sessions, limits, shelf, notices, asked: Arc::default() }
    }

    /// The same table, in whose sessions this sees what clients are told outside any call.
    pub(crate) fn screening(self, notices: Arc<dyn NoticeScreen>) -> Self {
        Self { notices, ..self }
    }

    /// How much a stream of a session keeps.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(&self.limits.load(), &self.shelf)
    }

    /// A session that is in no table, for the one client of the stdio face.
    ///
    /// # Errors
    /// [`Refusal::Busy`].
    pub(crate) fn apart(
        &self,
        principal: &Arc<Principal>,
        view: &View,
        client: Client,
    ) -> Result<Arc<Session>, Refusal> {
        self.create(principal, view, client, Questions::after(self.asked.clone()))
    }

    fn create(
        &self,
        principal: &Arc<Principal>,
        view: &View,
        client: Client,
        questions: Questions,
    ) -> Result<Arc<Session>, Refusal> {
        let kept = (self.bounds(), self.shelf.clone());
        Session::new(principal.clone(), view.clone(), client, questions, kept, self.notices.clone())
    }

    /// Sessions beyond other limits are not ended for that.
    pub(crate) fn set_limits(&self, limits: &Limits) {
        self.limits.store(Arc::new(limits.clone()));
    }

    /// Opens a session. If there are too many, the one of the same caller, or of anybody, that has been
    /// idle for longest makes room and is returned to be ended.
    ///
    /// # Errors
    /// [`Refusal::SessionsFull`] if all are in use, [`Refusal::Unauthorized`] if the key has just become bad.
    pub(crate) fn open(
        &self,
        principal: &Arc<Principal>,
        view: &View,
        client: Client,
    ) -> Result<(Arc<Session>, Option<Arc<Session>>), Refusal> {
        let session = self.create(principal, view, client, Questions::default())?;
        let limits = self.limits.load();
        let mut sessions = locked(&self.sessions);
        // Under the lock: what is opened before is found by `take_revoked`.
        if principal.is_revoked() {
            return Err(Refusal::Unauthorized);
        }
        let own = |session: &Session| session.principal.caller == principal.caller;
        let crowded =
            principal.sessions.load(Ordering::Acquire) >= principal.limit(limits.sessions_per_caller);
        let evicted = if crowded {
            Some(oldest_idle(&sessions, own).ok_or(Refusal::SessionsFull)?)
        } else if sessions.len() >= limits.sessions {
            Some(oldest_idle(&sessions, |_| true).ok_or(Refusal::SessionsFull)?)
        } else {
            None
        };
        if let Some(evicted) = &evicted {
            forget(&mut sessions, evicted);
        }
        principal.sessions.fetch_add(1, Ordering::AcqRel);
        sessions.insert(session.id.clone(), session.clone());
        Ok((session, evicted))
    }

    /// The session of this id if it belongs to this caller on this path and has not expired.
    pub(crate) fn find(&self, id: &str, principal: &Principal, view: &View) -> Option<Arc<Session>> {
        let session = locked(&self.sessions).get(id)?.clone();
        let own = session.principal.caller == principal.caller && session.view == *view;
        (own && !session.is_expired(&self.limits.load(), Instant::now())).then_some(session)
    }

    /// Tells those who were asked to make a visit of this id that it is over.
    pub(crate) fn tell_of_visit(&self, id: &str) {
        self.all().iter().for_each(|session| session.tell_of_visit(id));
    }

    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        locked(&self.sessions).values().cloned().collect()
    }

    /// Takes a session out.
    pub(crate) fn remove(&self, session: &Arc<Session>) -> bool {
        forget(&mut locked(&self.sessions), session)
    }

    /// Takes the sessions out whose time is over.
    pub(crate) fn take_expired(&self) -> Vec<Arc<Session>> {
        let (now, limits) = (Instant::now(), self.limits.load());
        self.take(|session| session.is_expired(&limits, now))
    }

    /// Takes the sessions out whose owner's key is no longer good.
    pub(crate) fn take_revoked(&self) -> Vec<Arc<Session>> {
        self.take(|session| session.principal.is_revoked())
    }

    /// Takes all sessions out.
    pub(crate) fn take_all(&self) -> Vec<Arc<Session>> {
        self.take(|_| true)
    }

    pub(crate) fn len(&self) -> usize {
        locked(&self.sessions).len()
    }

    fn take(&self, chosen: impl Fn(&Session) -> bool) -> Vec<Arc<Session>> {
        let mut sessions = locked(&self.sessions);
        let taken: Vec<_> = sessions.values().filter(|session| chosen(session)).cloned().collect();
        for session in &taken {
            forget(&mut sessions, session);
        }
        taken
    }
}

fn forget(sessions: &mut HashMap<Arc<str>, Arc<Session>>, session: &Arc<Session>) -> bool {
    let found = sessions.remove(&session.id).is_some();
    if found {
        session.principal.sessions.fetch_sub(1, Ordering::AcqRel);
    }
    found
}

fn oldest_idle(
    sessions: &HashMap<Arc<str>, Arc<Session>>,
    chosen: impl Fn(&Session) -> bool,
) -> Option<Arc<Session>> {
    let idle = sessions.values().filter(|session| chosen(session));
    let idle = idle.filter_map(|session| Some((session.idle_since()?, session)));
    idle.min_by_key(|(since, _)| *since).map(|(_, session)| session.clone())
}

/// A name that nobody can guess.
///
/// # Errors
/// [`Refusal::Busy`]: without randomness there is none.
pub(crate) fn new_name() -> Result<String, Refusal> {
    let mut bytes = [0; ID_BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Refusal::Busy)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
