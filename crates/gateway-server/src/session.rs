//! Sessions of legacy clients (protocol.md §4.4). An id alone opens nothing: a session belongs to the
//! caller and the path that it was opened with, and to anybody else it is not there (P-W6).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwap;
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use gateway_domain::{SessionKey, View};
use gateway_protocol::Revision;
use tokio::{sync::watch, time::Instant};

use crate::{auth::Principal, config::Limits, in_flight::Calls, rescue::Refusal};

/// Random bytes of an id; 128 bits is what security.md §1.1 asks for.
const ID_BYTES: usize = 24;

/// One legacy session.
#[derive(Debug)]
pub(crate) struct Session {
    id: Arc<str>,
    principal: Arc<Principal>,
    view: View,
    revision: Revision,
    opened: Instant,
    used: Mutex<Instant>,
    /// Requests and streams that are open now; a session with any is not idle.
    open: AtomicUsize,
    streams: AtomicBool,
    initialized: AtomicBool,
    calls: Arc<Calls>,
    ended: watch::Sender<bool>,
}

impl Session {
    /// A session that is in no table, for the one client of the stdio face.
    pub(crate) fn new(
        principal: Arc<Principal>,
        view: View,
        revision: Revision,
    ) -> Result<Arc<Self>, Refusal> {
        let now = Instant::now();
        Ok(Arc::new(Self {
            id: new_id()?,
            principal,
            view,
            revision,
            opened: now,
            used: Mutex::new(now),
            open: AtomicUsize::new(0),
            streams: AtomicBool::new(false),
            initialized: AtomicBool::new(false),
            calls: Arc::default(),
            ended: watch::Sender::new(false),
        }))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn key(&self) -> SessionKey {
        SessionKey::Legacy { id: self.id.clone() }
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn revision(&self) -> Revision {
        self.revision
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
        InUse { session: self.clone(), streams: false }
    }

    /// As [`Self::enter`], for the one stream a session may have.
    pub(crate) fn stream(self: &Arc<Self>) -> Result<InUse, Refusal> {
        if self.streams.swap(true, Ordering::AcqRel) {
            return Err(Refusal::StreamTaken);
        }
        let mut in_use = self.enter();
        in_use.streams = true;
        Ok(in_use)
    }

    /// Becomes true when the session has ended.
    pub(crate) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    /// Ends streams and calls. What is held downstream is for the caller to let go.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
        self.calls.end();
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
    streams: bool,
}

impl Drop for InUse {
    fn drop(&mut self) {
        *locked(&self.session.used) = Instant::now();
        if self.streams {
            self.session.streams.store(false, Ordering::Release);
        }
        self.session.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// All sessions, bounded in number and time.
#[derive(Debug)]
pub(crate) struct SessionTable {
    sessions: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    limits: ArcSwap<Limits>,
}

impl SessionTable {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { sessions: Mutex::default(), limits: ArcSwap::from_pointee(limits) }
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
        revision: Revision,
    ) -> Result<(Arc<Session>, Option<Arc<Session>>), Refusal> {
        let session = Session::new(principal.clone(), view.clone(), revision)?;
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

fn new_id() -> Result<Arc<str>, Refusal> {
    let mut bytes = [0; ID_BYTES];
    // Without randomness there is no session that nobody can guess, so there is none.
    SystemRandom::new().fill(&mut bytes).map_err(|_| Refusal::Busy)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes).into())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
