use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gateway_domain::{
    DownstreamFault, DownstreamName, DownstreamSession, Era, Error, Factory, RawObject, SessionCounts,
    SessionProfile,
};
use tokio::sync::watch;

use crate::{
    Health, Held, Pool, Pooled,
    closing::side_by_side,
    held::{Kept, Resting},
    monitor,
    place::Purpose,
    single_flight::SingleFlight,
};

/// A factory of sessions to a downstream, whatever carries them.
pub type DownstreamFactory = dyn Factory<Session = Arc<dyn DownstreamSession>>;

/// How a legacy downstream's sessions are shared among clients (design §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionMode {
    /// Each client session has its own: right for servers that keep state (R-40).
    #[default]
    PerClient,
    /// The same where requests carry credentials of the caller: what came with a client's request goes along when its
    /// session is opened, and no session ever serves another caller (security.md §5.2).
    PerCaller,
    /// A session is taken for each call and given back: the operator says that no client state is kept, and requests
    /// carry credentials of the gateway alone.
    Shared,
}

/// A downstream as it is handed to the manager (R-29).
#[derive(Debug, Clone)]
pub struct ManagedDownstream {
    /// Its configured name.
    pub name: DownstreamName,
    /// How its sessions are shared.
    pub mode: SessionMode,
    /// Where they come from.
    pub pool: Pool<DownstreamFactory>,
    /// Whether it answers; see [`supervise`](crate::supervise).
    pub health: Arc<Health>,
}

impl ManagedDownstream {
    /// A downstream whose health nobody watches.
    pub fn new(name: DownstreamName, mode: SessionMode, pool: Pool<DownstreamFactory>) -> Self {
        let health = Health::off(name.clone());
        Self { name, mode, pool, health }
    }
}

/// The session that answers one call.
#[derive(Debug)]
pub(crate) enum Link {
    /// Modern: no session in the protocol's sense; one serves every caller, ids told apart.
    Stateless(Arc<Kept>),
    /// Legacy, kept by the client that calls.
    Held(Held),
    /// Legacy, taken from the pool for this call.
    Taken(Pooled<Arc<dyn DownstreamSession>>),
}

impl Link {
    /// The session.
    pub(crate) fn session(&self) -> &Arc<dyn DownstreamSession> {
        match self {
            Self::Stateless(kept) => kept.session(),
            Self::Held(held) => held.session(),
            Self::Taken(pooled) => pooled,
        }
    }
}

impl Link {
    /// Keeps the session for a call that waits.
    pub(crate) fn rest(self) -> Lease {
        match self {
            Self::Stateless(kept) => Lease::Stateless(kept),
            Self::Held(held) => Lease::Held(held.rest()),
            Self::Taken(pooled) => Lease::Taken(pooled),
        }
    }

    /// The use of a session that stays where it is after the call.
    pub(crate) fn held(&self) -> Option<&Held> {
        match self {
            Self::Held(held) => Some(held),
            Self::Stateless(_) | Self::Taken(_) => None,
        }
    }
}

/// The session of a call that waits.
#[derive(Debug)]
pub(crate) enum Lease {
    /// It serves everybody, so nobody's rest says anything about it.
    Stateless(Arc<Kept>),
    Held(Resting),
    Taken(Pooled<Arc<dyn DownstreamSession>>),
}

impl Lease {
    /// Whether the session has been taken away, to make room or because its client ended.
    pub(crate) fn is_given_up(&self) -> bool {
        match self {
            Self::Stateless(kept) => kept.is_given_up(),
            Self::Held(resting) => resting.held().kept().is_given_up(),
            Self::Taken(_) => false,
        }
    }

    /// The call goes on.
    pub(crate) fn wake(self) -> Link {
        match self {
            Self::Stateless(kept) => Link::Stateless(kept),
            Self::Held(resting) => Link::Held(resting.held().clone()),
            Self::Taken(pooled) => Link::Taken(pooled),
        }
    }
}

/// A downstream, told apart from those before and after it under the same name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) name: DownstreamName,
    generation: u64,
}

/// A downstream with what is common to all callers.
pub(crate) struct Downstream {
    pub(crate) name: DownstreamName,
    pub(crate) mode: SessionMode,
    pub(crate) pool: Pool<DownstreamFactory>,
    pub(crate) health: Arc<Health>,
    /// Calls that were refused because all sessions were in use (R-74).
    pub(crate) exhausted: AtomicU64,
    /// Grows with each downstream a manager is given, so that of two of one name the later is known.
    pub(crate) generation: u64,
    /// Closed when nothing is left of the one of the same name before.
    predecessor: Option<watch::Receiver<()>>,
    shared: Mutex<Common>,
    /// The opening of sessions that may turn out to serve everybody, so that a crowd of first callers opens
    /// one. By the era that is asked for: an answer in one is none in the other.
    opening_modern: SingleFlight<Found>,
    opening_legacy: SingleFlight<Found>,
}

/// What was found out by opening a session.
#[derive(Clone)]
enum Found {
    /// It serves everybody.
    Stateless(Arc<Kept>),
    /// The downstream gives legacy sessions: here is one for lists, if it was opened for them.
    Legacy { listing: Option<Arc<Kept>> },
}

#[derive(Default)]
struct Common {
    /// The modern session, once there is one.
    stateless: Option<Arc<Kept>>,
    /// The legacy session that lists are read from; no client is ever given it (R-W24).
    listing: Option<Arc<Kept>>,
    /// Those that were lost and of which something may be left. Each has its place in the pool.
    ending: Vec<Arc<Kept>>,
    /// It was asked for a modern session and gave a legacy one, and has not given a modern one since.
    legacy_only: bool,
    /// It was asked for a legacy session and gave a modern one.
    modern_only: bool,
    /// It has given a legacy session, and has not given a modern one instead since.
    legacy_works: bool,
    /// Nothing is kept any more.
    closed: bool,
}

impl Common {
    /// Lets go of sessions that have ended; gives those whose places in the pool are not free yet.
    fn forget_ended(&mut self) -> Vec<Arc<Kept>> {
        self.ending.retain(|kept| !kept.is_gone());
        for kept in [&mut self.stateless, &mut self.listing] {
            self.ending.extend(kept.take_if(|kept| !kept.session().is_open()));
        }
        self.ending.clone()
    }
}

impl Downstream {
    /// A downstream that opens nothing before `predecessor` is closed. Within a tokio runtime a background
    /// task watches over its health.
    pub(crate) fn new(
        managed: ManagedDownstream,
        generation: u64,
        predecessor: Option<watch::Receiver<()>>,
    ) -> Arc<Self> {
        let ManagedDownstream { name, mode, pool, health } = managed;
        let downstream = Arc::new(Self {
            name,
            mode,
            pool,
            health,
            exhausted: AtomicU64::new(0),
            generation,
            predecessor,
            shared: Mutex::default(),
            opening_modern: SingleFlight::default(),
            opening_legacy: SingleFlight::default(),
        });
        monitor::start(&downstream);
        downstream
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity { name: self.name.clone(), generation: self.generation }
    }

    /// What became of its sessions.
    pub(crate) fn counts(&self) -> SessionCounts {
        let stats = self.pool.stats();
        SessionCounts {
            in_use: stats.in_use as u64,
            idle: stats.idle as u64,
            opened: stats.created,
            evicted: self.pool.evicted(),
            exhausted: self.exhausted.load(Ordering::Relaxed),
            ..self.health.counts()
        }
    }

    /// Whether it has been closed: removed, replaced, or with the manager.
    pub(crate) fn is_closed(&self) -> bool {
        self.common().closed
    }

    /// The session that serves everybody, if the downstream is to be spoken to that way in `era` and it
    /// is open. This is the fast path of most calls.
    pub(crate) fn stateless(&self, era: Era) -> Option<Arc<Kept>> {
        let common = self.common();
        let held = common.stateless.as_ref().filter(|held| held.session().is_open())?;
        (era == Era::Modern || common.modern_only).then(|| held.clone())
    }

    /// Opens a session for a caller of `profile`; one that serves everybody is kept and shared.
    pub(crate) async fn open(
        self: &Arc<Self>,
        purpose: Purpose,
        profile: &SessionProfile,
    ) -> Result<Opened, Error> {
        if let Some(held) = self.stateless(profile.era) {
            return Ok(Opened::Stateless(held));
        }
        if self.mode == SessionMode::PerCaller {
            // Why one caller gets no session is nobody else's affair.
            return self.open_unknown(purpose, profile).await;
        }
        if !self.is_legacy_for(profile.era) {
            let opening = match profile.era {
                Era::Modern => &self.opening_modern,
                Era::Legacy => &self.opening_legacy,
            };
            let found = opening.join(|| self.clone().find_out_for_calls(purpose, profile.clone())).await?;
            // Nobody has to wait for one another any more; who was first finds the session idle.
            if let Found::Stateless(held) = found {
                return Ok(Opened::Stateless(held));
            }
        }
        // Asked for as what is kept, so that callers of both eras use the same idle sessions.
        let legacy = SessionProfile { era: Era::Legacy, ..profile.clone() };
        self.open_unknown(purpose, &legacy).await
    }

    async fn find_out_for_calls(
        self: Arc<Self>,
        purpose: Purpose,
        profile: SessionProfile,
    ) -> Result<Found, Error> {
        if let Some(held) = self.stateless(profile.era) {
            return Ok(Found::Stateless(held));
        }
        if self.is_legacy_for(profile.era) {
            return Ok(Found::Legacy { listing: None });
        }
        match self.open_unknown(purpose, &profile).await? {
            Opened::Stateless(held) => Ok(Found::Stateless(held)),
            // It was never used, so it may go to any client of that profile.
            Opened::Legacy(_) => Ok(Found::Legacy { listing: None }),
        }
    }

    /// The session that lists are read from. The era is found out anew when it has to be opened.
    pub(crate) async fn listing(self: &Arc<Self>) -> Result<Arc<Kept>, Error> {
        self.health.admits()?;
        // The first attempt may be a caller's, which brings nothing for lists.
        for _ in 0..2 {
            if let Some(held) = self.listed() {
                return Ok(held);
            }
            match self.opening_modern.join(|| self.clone().find_out_for_lists()).await? {
                Found::Stateless(held) | Found::Legacy { listing: Some(held) } => return Ok(held),
                Found::Legacy { listing: None } => {}
            }
        }
        self.open_for_lists().await.map(|(_, held)| held)
    }

    async fn find_out_for_lists(self: Arc<Self>) -> Result<Found, Error> {
        let (era, held) = match self.listed() {
            Some(held) => (held.session().peer().era, held),
            None => self.open_for_lists().await?,
        };
        Ok(match era {
            Era::Modern => Found::Stateless(held),
            Era::Legacy => Found::Legacy { listing: Some(held) },
        })
    }

    async fn open_for_lists(&self) -> Result<(Era, Arc<Kept>), Error> {
        match self.open_unknown(Purpose::Lists, &lists_profile()).await? {
            Opened::Stateless(held) => Ok((Era::Modern, held)),
            Opened::Legacy(pooled) => {
                let held = Kept::for_all(pooled);
                self.remember(|common| common.listing = Some(held.clone()))?;
                Ok((Era::Legacy, held))
            }
        }
    }

    /// The sessions that serve everybody and lists, as far as they are open.
    pub(crate) fn kept(&self) -> [Option<Arc<Kept>>; 2] {
        let common = self.common();
        [&common.stateless, &common.listing].map(|kept| kept.clone().filter(|held| held.session().is_open()))
    }

    /// A new session to find out with whether the downstream can be used.
    pub(crate) async fn open_probe(&self) -> Result<Pooled<Arc<dyn DownstreamSession>>, Error> {
        // It may be kept for lists.
        self.acquire(Purpose::Probes, &lists_profile()).await
    }

    /// Keeps a probe's session in the place of one that serves everybody or lists, if there is none and
    /// there is room; else closes it. Whether it is kept.
    pub(crate) async fn adopt(&self, mut probe: Pooled<Arc<dyn DownstreamSession>>) -> bool {
        let era = probe.peer().era;
        // Whoever opens the next session ends them, and waits for that.
        self.common().forget_ended();
        let [stateless, listing] = self.kept();
        let is_missing = match era {
            Era::Modern => stateless.is_none(),
            Era::Legacy => listing.is_none(),
        };
        if !is_missing || !probe.settle() {
            probe.discard().await;
            return false;
        }
        // Both fail only when the downstream is closed, and then the session closes itself.
        match era {
            Era::Modern => self.keep(probe).await.is_ok(),
            Era::Legacy => {
                let held = Kept::for_all(probe);
                self.remember(|common| common.listing = Some(held)).is_ok()
            }
        }
    }

    /// The session that lists are read from, if it is open.
    fn listed(&self) -> Option<Arc<Kept>> {
        let kept = self.common().listing.clone().filter(|held| held.session().is_open());
        kept.or_else(|| self.stateless(Era::Modern))
    }

    async fn open_unknown(&self, purpose: Purpose, profile: &SessionProfile) -> Result<Opened, Error> {
        let pooled = self.acquire(purpose, profile).await?;
        match pooled.peer().era {
            Era::Legacy => Ok(Opened::Legacy(pooled)),
            Era::Modern => Ok(Opened::Stateless(self.keep(pooled).await?)),
        }
    }

    /// Keeps a modern session for everybody, or gives it up for the one that is there already.
    async fn keep(&self, mut pooled: Pooled<Arc<dyn DownstreamSession>>) -> Result<Arc<Kept>, Error> {
        pooled.reserve();
        let held = Kept::for_all(pooled);
        let mut first = held.clone();
        self.remember(|common| {
            if let Some(kept) = common.stateless.as_ref().filter(|kept| kept.session().is_open()) {
                first = kept.clone();
            } else {
                common.stateless = Some(held.clone());
            }
        })?;
        if !Arc::ptr_eq(&first, &held) {
            held.end().await;
        }
        Ok(first)
    }

    /// Keeps something in common; what comes after the end is refused, since nobody would end it.
    fn remember(&self, keep: impl FnOnce(&mut Common)) -> Result<(), Error> {
        let mut common = self.common();
        if common.closed {
            return Err(DownstreamFault::Closed.before(&self.name));
        }
        keep(&mut common);
        Ok(())
    }

    /// Ends what is common to all callers, what clients keep, and the pool, side by side and within the pool's
    /// bound. Idempotent.
    pub(crate) async fn close(&self) {
        self.health.end();
        let common = std::mem::replace(&mut *self.common(), Common { closed: true, ..Common::default() });
        // They have places, and the pool waits for those.
        for kept in common.stateless.into_iter().chain(common.listing).chain(common.ending) {
            tokio::spawn(kept.end());
        }
        self.pool.close().await;
    }

    async fn acquire(
        &self,
        purpose: Purpose,
        profile: &SessionProfile,
    ) -> Result<Pooled<Arc<dyn DownstreamSession>>, Error> {
        self.predecessor_in_time(purpose).await?;
        self.end_lost().await;
        let mut pooled = self.pool.acquire_for(purpose, profile).await?;
        let spoken = pooled.peer().era;
        pooled.keep_for(spoken);
        let gave_legacy = spoken == Era::Legacy;
        let mut common = self.common();
        match profile.era {
            Era::Modern => {
                common.legacy_only = gave_legacy;
                common.legacy_works |= gave_legacy;
            }
            Era::Legacy => {
                common.modern_only = !gave_legacy;
                common.legacy_works = gave_legacy;
                common.legacy_only &= gave_legacy;
            }
        }
        drop(common);
        Ok(pooled)
    }

    /// Ends sessions that were lost and waits for that, within the time for closing: of two generations of a
    /// process the old one is gone before the new one starts.
    pub(crate) async fn end_lost(&self) {
        let lost = self.common().forget_ended();
        if lost.is_empty() {
            return;
        }
        let gone = side_by_side(lost.into_iter().map(Kept::end));
        if tokio::time::timeout(self.pool.close_timeout(), gone).await.is_err() {
            tracing::warn!(downstream = %self.name, "a lost session is not gone after the time for closing");
        }
    }

    /// Waits until the downstream this one replaces is gone or its time for closing is over.
    pub(crate) async fn predecessor_gone(&self) {
        if let Some(predecessor) = self.predecessor.clone() {
            gone(predecessor).await;
        }
    }

    /// Waits for the end of the downstream this one replaces: a call as long as it would wait for a place, what
    /// nobody waits for until it is over.
    async fn predecessor_in_time(&self, purpose: Purpose) -> Result<(), Error> {
        if self.predecessor.as_ref().is_none_or(|predecessor| predecessor.has_changed().is_err()) {
            return Ok(());
        }
        let patience = match purpose {
            Purpose::Calls | Purpose::Watches => self.pool.acquire_timeout(),
            // Its predecessors' own bounds for closing.
            Purpose::Lists | Purpose::Probes => Duration::MAX,
        };
        let in_time = tokio::time::timeout(patience, self.predecessor_gone()).await;
        in_time.map_err(|_| {
            let reason = "what it replaces is still being closed".into();
            DownstreamFault::Unreachable { reason }.before(&self.name)
        })
    }

    /// Whether a caller of this era is known to get a legacy session, which concerns nobody else.
    fn is_legacy_for(&self, era: Era) -> bool {
        let common = self.common();
        match era {
            Era::Modern => common.legacy_only,
            Era::Legacy => common.legacy_works,
        }
    }

    fn common(&self) -> MutexGuard<'_, Common> {
        // Every critical section is a few assignments.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Downstream {
    fn drop(&mut self) {
        self.health.end();
    }
}

impl fmt::Debug for Downstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Downstream")
            .field("name", &self.name)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// Lists are read as by a client that can do everything: there are servers that offer what asks something only to those
/// who can be asked. Nothing is called in such a session, and what is asked in it is refused.
fn lists_profile() -> SessionProfile {
    const EVERYTHING: &str = r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#;
    let capabilities = RawObject::parse(EVERYTHING).unwrap_or_default().into();
    SessionProfile { era: Era::Modern, capabilities, ..SessionProfile::default() }
}

/// Completes when the other end has been let go of.
pub(crate) async fn gone(mut leaving: watch::Receiver<()>) {
    while leaving.changed().await.is_ok() {}
}

/// What opening a session gave.
pub(crate) enum Opened {
    Stateless(Arc<Kept>),
    Legacy(Pooled<Arc<dyn DownstreamSession>>),
}
