//! A fake downstream that falls ill and gets well again, under supervision, with what its observer heard.

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};

use async_trait::async_trait;
use gateway_domain::{
    DownstreamFault, DownstreamObserver, DownstreamSession, Error, Exchange, Factory, ListKind, ListPage,
    Outcome, Params, PeerInfo, Session, SessionProfile, Subject,
};
use gateway_registry::{
    Health, HealthConfig, ManagedDownstream, Manager, Pool, PoolConfig, SessionMode, SupervisorConfig,
    supervise,
};
use tokio::time::{Duration, Instant};

use crate::fake::{Fake, SECOND, Speaks, name};

/// How long a call may take.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, Clone)]
pub(crate) enum Ailment {
    /// Nobody listens.
    Gone,
    /// Nothing is answered any more on sessions that are used meanwhile; new ones open.
    Hangs,
    /// The same, and a handshake takes a while to fail.
    HangsFromTheStart,
    /// The same, and a handshake takes for ever.
    IsMute,
    /// Everything but pings is answered.
    IgnoresPings,
    /// Every request is answered so.
    Says(DownstreamFault),
    /// Sessions open and end with their first request.
    LosesSessions,
    /// Requests end after a second; their session does not.
    DropsConnections,
}

/// Clones share it.
#[derive(Clone)]
pub(crate) struct Ailing(Arc<State>);

pub(crate) struct State {
    pub(crate) fake: Fake,
    ailment: Mutex<Option<Ailment>>,
    /// When sessions were begun to be opened.
    pub(crate) starts: Mutex<Vec<Instant>>,
    /// Calls that reached it.
    pub(crate) calls: AtomicUsize,
    pub(crate) pings: AtomicUsize,
    /// How often the observer heard that the tools may be others.
    pub(crate) changes: Mutex<Vec<ListKind>>,
    pub(crate) heard: Mutex<Vec<(Instant, &'static str)>>,
}

impl Deref for Ailing {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl Ailing {
    pub(crate) fn new(speaks: Speaks) -> Self {
        Self(Arc::new(State {
            fake: Fake::new(speaks),
            ailment: Mutex::default(),
            starts: Mutex::default(),
            calls: AtomicUsize::default(),
            pings: AtomicUsize::default(),
            changes: Mutex::default(),
            heard: Mutex::default(),
        }))
    }

    /// A manager of this downstream, named `fake`.
    pub(crate) fn managed(
        &self,
        mode: SessionMode,
        supervisor: &SupervisorConfig,
        health: HealthConfig,
    ) -> (Manager, Arc<Health>) {
        let (factory, health) =
            supervise(name("fake"), self.clone(), supervisor, health, Arc::new(self.clone()));
        let pool = Pool::new(name("fake"), factory, PoolConfig { max: 64, ..PoolConfig::default() });
        let managed = ManagedDownstream { name: name("fake"), mode, pool, health: health.clone() };
        (Manager::new(vec![managed]).unwrap(), health)
    }
}

impl State {
    pub(crate) fn falls_ill(&self, ailment: Ailment) {
        *self.ailment.lock().unwrap() = Some(ailment);
    }

    pub(crate) fn gets_well(&self) {
        *self.ailment.lock().unwrap() = None;
    }

    fn ailment(&self) -> Option<Ailment> {
        self.ailment.lock().unwrap().clone()
    }

    pub(crate) fn started(&self) -> usize {
        self.starts.lock().unwrap().len()
    }

    /// The most sessions that were begun within a minute, since `since`.
    pub(crate) fn most_a_minute(&self, since: Instant) -> usize {
        let starts = self.starts.lock().unwrap();
        let within = |first: &Instant| {
            starts.iter().filter(|at| **at >= *first && **at - *first < 60 * SECOND).count()
        };
        starts.iter().filter(|start| **start >= since).map(within).max().unwrap_or(0)
    }

    /// What the observer heard, in order.
    pub(crate) fn heard(&self) -> Vec<&'static str> {
        self.heard.lock().unwrap().iter().map(|(_, what)| *what).collect()
    }

    fn hears(&self, what: &'static str) {
        self.heard.lock().unwrap().push((Instant::now(), what));
    }
}

impl DownstreamObserver for Ailing {
    fn list_changed(&self, list: ListKind) {
        self.changes.lock().unwrap().push(list);
    }

    fn session_lost(&self, _: &str) {}

    fn broken(&self, _: &str) {
        self.hears("broken");
    }

    fn recovered(&self) {
        self.hears("recovered");
    }
}

#[async_trait]
impl Factory for Ailing {
    type Session = Arc<dyn DownstreamSession>;

    async fn create(&self, profile: &SessionProfile) -> Result<Self::Session, Error> {
        self.starts.lock().unwrap().push(Instant::now());
        let fault = match self.ailment() {
            Some(Ailment::Gone) => Some(gone()),
            Some(Ailment::Says(fault)) => Some(fault),
            Some(Ailment::HangsFromTheStart) => {
                tokio::time::sleep(5 * SECOND).await;
                Some(DownstreamFault::Handshake { reason: "no answer".into() })
            }
            Some(Ailment::IsMute) => std::future::pending().await,
            Some(
                Ailment::Hangs | Ailment::LosesSessions | Ailment::DropsConnections | Ailment::IgnoresPings,
            )
            | None => None,
        };
        if let Some(fault) = fault {
            return Err(fault.before(&name("fake")));
        }
        let session = self.fake.create(profile).await?;
        let (hung, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Arc::new(AilingSession { session, ailing: self.clone(), hung, ended }))
    }
}

fn gone() -> DownstreamFault {
    DownstreamFault::Unreachable { reason: "connection refused".into() }
}

struct AilingSession {
    session: Arc<dyn DownstreamSession>,
    ailing: Ailing,
    hung: AtomicBool,
    ended: AtomicBool,
}

impl AilingSession {
    /// What becomes of a request.
    async fn suffer(&self, patience: Duration) -> Result<(), Error> {
        let fault = match self.ailing.ailment() {
            _ if self.hung.load(SeqCst) => None,
            Some(Ailment::Gone) => Some(gone()),
            Some(Ailment::Says(fault)) => Some(fault),
            Some(Ailment::Hangs | Ailment::HangsFromTheStart | Ailment::IsMute) => {
                self.hung.store(true, SeqCst);
                None
            }
            Some(Ailment::LosesSessions) => {
                self.ended.store(true, SeqCst);
                Some(DownstreamFault::Ended { reason: "exit status 1".into() })
            }
            Some(Ailment::DropsConnections) => {
                tokio::time::sleep(SECOND).await;
                Some(DownstreamFault::Ended { reason: "connection reset".into() })
            }
            Some(Ailment::IgnoresPings) | None => return Ok(()),
        };
        match fault {
            Some(fault) => Err(fault.during(&name("fake"))),
            None => {
                tokio::time::sleep(patience).await;
                Err(DownstreamFault::TimedOut { after: patience }.during(&name("fake")))
            }
        }
    }
}

#[async_trait]
impl Session for AilingSession {
    async fn close(&self) {
        self.session.close().await;
    }

    fn is_open(&self) -> bool {
        !self.ended.load(SeqCst) && self.session.is_open()
    }
}

#[async_trait]
impl DownstreamSession for AilingSession {
    fn peer(&self) -> &PeerInfo {
        self.session.peer()
    }

    /// A tool named `stuck` is never answered.
    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        self.ailing.calls.fetch_add(1, SeqCst);
        self.suffer(CALL_TIMEOUT).await?;
        if matches!(subject, Subject::Tool { name, .. } if **name == *"stuck") {
            tokio::time::sleep(CALL_TIMEOUT).await;
            return Err(DownstreamFault::TimedOut { after: CALL_TIMEOUT }.during(&name("fake")));
        }
        self.session.call(subject, params, exchange).await
    }

    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        self.suffer(CALL_TIMEOUT).await?;
        self.session.list(list, cursor).await
    }

    async fn ping(&self) -> Result<(), Error> {
        self.ailing.pings.fetch_add(1, SeqCst);
        if matches!(self.ailing.ailment(), Some(Ailment::IgnoresPings)) {
            std::future::pending::<()>().await;
        }
        self.suffer(3600 * SECOND).await?;
        self.session.ping().await
    }
}
