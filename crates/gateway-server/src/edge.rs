use std::{
    future::Future,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use gateway_domain::{
    ClientCapabilities, Directory, Dispatcher, Era, EventSink, RawJson, SessionKey, Sessions, Silent,
};
use gateway_protocol::{Implementation, Revision, meta};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
};

use crate::{
    auth::Authority,
    config::ServerConfig,
    in_flight::Load,
    metrics::Metrics,
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
}

/// What may still be said after the drain time is said within this time.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

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
    pub(crate) config: ServerConfig,
    pub(crate) ports: Ports,
    pub(crate) authority: Authority,
    pub(crate) sessions: SessionTable,
    pub(crate) load: Arc<Load>,
    /// How many streams of change events are open in all.
    pub(crate) listens: AtomicUsize,
    /// One permit for each KiB of bodies that may be held.
    pub(crate) bodies: Arc<Semaphore>,
    pub(crate) metrics: Metrics,
    /// Waited for by [`Self::reaches`].
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) rendered: Rendered,
    /// Takes the events of calls whose client wants none.
    pub(crate) silent: Arc<dyn EventSink>,
    /// What downstreams are told of a client until interactive features are carried.
    pub(crate) no_capabilities: ClientCapabilities,
}

/// JSON that is the same for every client.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// The result of `server/discover`.
    pub(crate) discover: String,
    /// What follows the list in a modern `tools/list` result, without the closing brace.
    pub(crate) list_tail: String,
    /// What follows the revision in an `initialize` result, with the closing brace.
    pub(crate) initialize_tail: String,
}

impl Rendered {
    fn new(config: &ServerConfig, private: bool) -> Self {
        let instructions = config.instructions.as_deref().map(RawJson::string);
        let instructions = instructions.map(|text| format!(r#","instructions":{text}"#)).unwrap_or_default();
        let list_tail = modern_members(&config.identity, config.list_ttl, private);
        let identity = config.identity.as_str();
        Self {
            discover: format!(
                r#"{{"supportedVersions":["{}"],"capabilities":{CAPABILITIES}{instructions}{list_tail}}}"#,
                Revision::NEWEST_MODERN
            ),
            list_tail,
            initialize_tail: format!(
                r#","capabilities":{CAPABILITIES},"serverInfo":{identity}{instructions}}}"#
            ),
        }
    }
}

/// The same in both eras. Logs are not declared: what comes of them depends on the downstream.
const CAPABILITIES: &str = r#"{"tools":{"listChanged":true}}"#;

fn modern_members(identity: &Implementation, ttl: Duration, private: bool) -> String {
    let scope = if private { "private" } else { "public" };
    let (ttl, server, identity) = (ttl.as_millis(), meta::SERVER_INFO, identity.as_str());
    format!(
        r#","resultType":"complete","ttlMs":{ttl},"cacheScope":"{scope}","_meta":{{"{server}":{identity}}}"#
    )
}

impl Edge {
    pub(crate) fn new(config: ServerConfig, ports: Ports) -> Arc<Self> {
        let authority = Authority::new(&config.clients);
        let kib = (config.limits.buffered_bytes >> 10).clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            rendered: Rendered::new(&config, authority.is_closed()),
            sessions: SessionTable::new(config.limits.clone()),
            load: Arc::default(),
            listens: AtomicUsize::new(0),
            bodies: Arc::new(Semaphore::new(kib)),
            metrics: Metrics::new(),
            phase: watch::Sender::new(Phase::Serving),
            silent: Arc::new(Silent),
            no_capabilities: ClientCapabilities::none(),
            authority,
            config,
            ports,
        })
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
        let limits = &self.config.limits;
        let often = (limits.session_idle.min(limits.session_lifetime) / 30).max(Duration::from_millis(10));
        loop {
            tokio::time::sleep(often).await;
            for session in self.sessions.take_expired() {
                drop(self.let_go(session));
            }
        }
    }

    pub(crate) fn modern_key(&self, caller: &gateway_domain::Caller) -> SessionKey {
        SessionKey::Modern { caller: caller.clone(), capabilities: self.no_capabilities.clone() }
    }

    pub(crate) fn answered(&self, method: &str, era: Era, answer: &crate::endpoint::Answer) {
        self.metrics.answered(method, era, answer.kind);
    }
}
