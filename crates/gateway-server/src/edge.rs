use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use gateway_domain::{
    Directory, Dispatcher, DoorAudit, Era, EventSink, MetricsSource, NoticeScreen, Sessions, Silent,
    Subscriptions, Unrecorded, Unscreened,
};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
};

use crate::{
    auth::Principal,
    config::{BindError, Limits, ServerConfig},
    endpoint::ask_again,
    in_flight::{Load, Visitors},
    metrics::Metrics,
    pages::Pages,
    rules::Rules,
    session::{Session, SessionTable},
};

/// The layers behind this one. How a downstream is reached is not known here.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "ports are trait objects")]
pub struct Ports {
    /// What is offered.
    pub directory: Arc<dyn Directory>,
    /// Answers calls.
    pub dispatcher: Arc<dyn Dispatcher>,
    /// Lets go of what sessions hold.
    pub sessions: Arc<dyn Sessions>,
    /// Watches resources.
    pub subscriptions: Arc<dyn Subscriptions>,
    /// Hears of requests that are refused before they are calls (P-W8). Calls, once a dispatcher has them, are on
    /// record there, so that each has one record (P-34). Lists, handshakes and `server/discover` are no calls; only
    /// their refusals are told.
    pub audit: Arc<dyn DoorAudit>,
    /// Sees what clients are told outside any call. What they are told in a call was seen by the dispatcher.
    pub notices: Arc<dyn NoticeScreen>,
    /// Pages for the people behind clients, if there are any.
    pub pages: Option<Arc<dyn Pages>>,
    /// Have figures of their own on the page of metrics.
    pub metrics: Vec<Arc<dyn MetricsSource>>,
    /// What has to hold before the gateway is ready, besides that downstreams are. Must not block.
    pub ready: Vec<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Ports {
    /// With nobody who keeps records or looks at notices, no pages, no other figures, and nothing else to wait for.
    pub fn new(
        directory: Arc<dyn Directory>,
        dispatcher: Arc<dyn Dispatcher>,
        sessions: Arc<dyn Sessions>,
        subscriptions: Arc<dyn Subscriptions>,
    ) -> Self {
        let (audit, notices) = (Arc::new(Unrecorded), Arc::new(Unscreened));
        let (pages, metrics, ready) = (None, Vec::new(), Vec::new());
        Self { directory, dispatcher, sessions, subscriptions, audit, notices, pages, metrics, ready }
    }
}

/// What may still be said after the drain time is said within this time.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

/// How often sessions whose time is over are looked for, whatever that time is: it may become shorter. The
/// first also for whether a client's last request has been answered.
const OFTENEST: Duration = Duration::from_millis(10);
const SELDOMEST: Duration = Duration::from_secs(60);

/// How far a shutdown has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Serving,
    /// Streams end, requests in flight go on.
    Draining,
    /// Requests in flight are answered that it is too late, and connections may still say so.
    Ending,
    /// Nothing goes on.
    Closed,
}

/// What both faces share.
pub(crate) struct Edge {
    /// Taken once for each request, which sees the same ones to its end (P-20).
    rules: ArcSwap<Rules>,
    /// One replacement of the rules at a time; readers never wait for it.
    replacing: Mutex<()>,
    pub(crate) ports: Ports,
    pub(crate) sessions: SessionTable,
    pub(crate) load: Arc<Load>,
    /// How many streams of change events are open in all.
    pub(crate) listens: AtomicUsize,
    /// Those who are being shown a page.
    pub(crate) visitors: Visitors,
    /// One permit for each KiB of bodies that may be held.
    pub(crate) bodies: Arc<Semaphore>,
    pub(crate) metrics: Metrics,
    /// Waited for by [`Self::reaches`].
    pub(crate) phase: watch::Sender<Phase>,
    /// How often who may use what has become different.
    pub(crate) rulings: watch::Sender<u64>,
    /// The number of the last request.
    pub(crate) requests: AtomicU64,
    /// Takes the events of calls whose client wants none.
    pub(crate) silent: Arc<dyn EventSink>,
}

impl Edge {
    pub(crate) fn new(rules: Rules, ports: Ports) -> Arc<Self> {
        let limits = &rules.config.limits;
        let kib = (limits.buffered_bytes >> 10).clamp(1, Semaphore::MAX_PERMITS);
        let metrics = Metrics::new();
        Arc::new(Self {
            sessions: SessionTable::new(limits.clone(), metrics.dropped_events.clone())
                .screening(ports.notices.clone()),
            load: Arc::default(),
            listens: AtomicUsize::new(0),
            visitors: Visitors::default(),
            bodies: Arc::new(Semaphore::new(kib)),
            metrics,
            phase: watch::Sender::new(Phase::Serving),
            rulings: watch::Sender::new(0),
            requests: AtomicU64::new(0),
            silent: Arc::new(Silent),
            rules: ArcSwap::from_pointee(rules),
            replacing: Mutex::new(()),
            ports,
        })
    }

    /// The rules as they are now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.rules.load_full()
    }

    /// Serves by another configuration from the next request on, but for its addresses. Of those who have no
    /// key any more, sessions and streams end; their other requests in flight were let in and go on.
    ///
    /// # Errors
    /// [`BindError`], and nothing is changed.
    pub(crate) fn replace(self: &Arc<Self>, config: ServerConfig) -> Result<(), BindError> {
        let _one_at_a_time = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.rules();
        let rules = Arc::new(old.followed_by(config)?);
        self.sessions.set_limits(&rules.config.limits);
        self.rules.store(rules.clone());
        let gone = old.authority.gone_in(&rules.authority);
        gone.iter().for_each(|principal| principal.revoke());
        for session in self.sessions.take_revoked() {
            drop(self.let_go(session));
        }
        for principal in gone {
            tokio::spawn(self.clone().dismiss(principal));
        }
        Ok(())
    }

    /// Ends what a client that is there no more has downstream: once its requests in flight are answered, or
    /// have taken as long as a drain lets them.
    async fn dismiss(self: Arc<Self>, principal: Arc<Principal>) {
        let answered = async {
            while principal.in_flight.load(Ordering::Acquire) > 0 {
                tokio::time::sleep(OFTENEST).await;
            }
        };
        let drain = self.rules().config.limits.drain;
        // What is in flight after that fails.
        drop(tokio::time::timeout(drain, answered).await);
        // With another key, or let in again meanwhile, it goes on with what it has.
        if !self.rules().authority.has(&principal.caller) {
            self.ports.sessions.end_caller(&principal.caller).await;
        }
    }

    /// Has everybody who watches resources ask for them again.
    pub(crate) fn rules_changed(self: &Arc<Self>) {
        // In this order: who is not found in the table sees the number, and asks itself.
        self.rulings.send_modify(|number| *number += 1);
        for session in self.sessions.all().into_iter().filter(|session| session.watched().count() > 0) {
            tokio::spawn(ask_again(self.clone(), session));
        }
    }

    /// Waits until a shutdown has come so far.
    pub(crate) async fn reaches(&self, phase: Phase) {
        // The sender lives here, so waiting cannot fail.
        let _ = self.phase.subscribe().wait_for(|now| *now >= phase).await;
    }

    /// Goes on to this phase, unless a shutdown has come further.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.send_modify(|now| *now = (*now).max(phase));
    }

    /// What `work` gives, or `None` once the drain time is over.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.reaches(Phase::Ending) => None,
        }
    }

    /// Ends a session that is out of the table already, here and downstream.
    pub(crate) async fn end(&self, session: &Session) {
        session.end();
        self.ports.sessions.end(&session.key()).await;
    }

    /// As [`Self::end`], and goes on when nobody waits for it.
    pub(crate) fn let_go(self: &Arc<Self>, session: Arc<Session>) -> JoinHandle<()> {
        let edge = self.clone();
        tokio::spawn(async move { edge.end(&session).await })
    }

    /// Ends sessions whose time is over, for ever.
    pub(crate) async fn expire_sessions(self: &Arc<Self>) {
        // Looking this often keeps a session at most a thirtieth longer than it may live.
        let often = |limits: &Limits| limits.session_idle.min(limits.session_lifetime) / 30;
        loop {
            let often = often(&self.rules().config.limits).clamp(OFTENEST, SELDOMEST);
            tokio::time::sleep(often).await;
            for session in self.sessions.take_expired() {
                drop(self.let_go(session));
            }
        }
    }

    pub(crate) fn answered(&self, method: &str, era: Era, answer: &crate::endpoint::Answer) {
        self.metrics.answered(method, era, answer.kind);
    }
}
