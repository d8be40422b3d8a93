use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};

use gateway_domain::{
    ClientCapabilities, ClientLink, Era, ListKind, LogLevel, PeerInfo, RawObject, SessionProfile,
};
use tokio::sync::{Mutex, Semaphore, watch};

use crate::{calls::Calls, watches::Watches};

/// What is known in a session besides how it is carried: what runs in it, who hears what, what was declared.
pub(crate) struct Hub {
    pub(crate) peer: PeerInfo,
    /// What the handshake declared; nothing in the modern era, which declares with each request.
    pub(crate) declared: ClientCapabilities,
    pub(crate) calls: Calls,
    pub(crate) watches: Watches,
    /// The level of log messages that the server was last told.
    pub(crate) level: Mutex<Option<LogLevel>>,
    /// Whose session it is, once that is said.
    client: watch::Sender<Option<Weak<dyn ClientLink>>>,
    /// Whether that may yet be said.
    may_be_attended: bool,
    /// Whether it is known if the server has a stream for what belongs to no request.
    pub(crate) tried_stream: watch::Sender<bool>,
    lost_logs: AtomicU64,
    /// The places of those that tell the server of other roots: one at it, and one that waits for that. Whoever comes
    /// then has nothing to add.
    pub(crate) roots_news: Arc<Semaphore>,
    /// Held while the server is told.
    pub(crate) telling_roots: Mutex<()>,
}

impl Hub {
    pub(crate) fn new(peer: PeerInfo, profile: &SessionProfile) -> Self {
        let declared = match peer.era {
            Era::Legacy => profile.capabilities.clone(),
            Era::Modern => ClientCapabilities::none(),
        };
        Self {
            peer,
            declared,
            calls: Calls::default(),
            watches: Watches::default(),
            level: Mutex::new(None),
            client: watch::Sender::new(None),
            may_be_attended: profile.era == Era::Legacy,
            tried_stream: watch::Sender::new(false),
            lost_logs: AtomicU64::new(0),
            roots_news: Arc::new(Semaphore::new(2)),
            telling_roots: Mutex::new(()),
        }
    }

    pub(crate) fn attend(&self, client: Weak<dyn ClientLink>) {
        self.client.send_replace(Some(client));
    }

    /// The client whose session it is, if it is one's and still there.
    pub(crate) fn client(&self) -> Option<Arc<dyn ClientLink>> {
        self.client.borrow().as_ref()?.upgrade()
    }

    /// The client's roots. Servers ask for them as soon as they can, which may be before it is said whose session
    /// this is; so that is waited for. The caller bounds the wait.
    pub(crate) async fn roots(&self) -> Option<RawObject> {
        if !self.may_be_attended {
            return None;
        }
        self.client.subscribe().wait_for(Option::is_some).await.ok()?;
        self.client()?.roots().await
    }

    /// The lists whose changes the server says that it tells of.
    pub(crate) fn announced(&self) -> Vec<ListKind> {
        let lists = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];
        lists.into_iter().filter(|list| self.peer.announces_changes(*list)).collect()
    }

    /// Whether the server was told that it would be told of other roots.
    pub(crate) fn tells_roots(&self) -> bool {
        let roots = self.declared.raw().get_object("roots");
        roots.and_then(|roots| roots.get("listChanged")?.to_bool()).unwrap_or(false)
    }

    pub(crate) fn has_logs(&self) -> bool {
        self.peer.capabilities.contains("logging")
    }

    /// Counts a log message that is nobody's. Returns whether it is the first.
    pub(crate) fn lose_log(&self) -> bool {
        self.lost_logs.fetch_add(1, Ordering::Relaxed) == 0
    }
}
