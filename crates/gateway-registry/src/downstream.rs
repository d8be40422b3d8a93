use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::{
    DownstreamFault, DownstreamName, DownstreamSession, Era, Error, Factory, SessionProfile,
};

use crate::{Held, Pool, Pooled, place::Purpose, single_flight::SingleFlight};

/// A factory of sessions to a downstream, whatever carries them.
pub type DownstreamFactory = dyn Factory<Session = Arc<dyn DownstreamSession>>;

/// How a legacy downstream's sessions are shared among clients (design §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionMode {
    /// Each client session has its own: right for servers that keep state.
    #[default]
    PerClient,
    /// A session is taken for each call and given back: the operator says that no client state is kept.
    Shared,
}

/// A downstream as it is handed to the manager.
#[derive(Debug, Clone)]
pub struct ManagedDownstream {
    /// Its configured name.
    pub name: DownstreamName,
    /// How its sessions are shared.
    pub mode: SessionMode,
    /// Where they come from.
    pub pool: Pool<DownstreamFactory>,
}

/// The session that answers one call.
#[derive(Debug)]
pub(crate) enum Link {
    /// Modern: no session in the protocol's sense; one serves every caller, ids told apart.
    Stateless(Arc<Held>),
    /// Legacy, kept by the client that calls.
    Held(Arc<Held>),
    /// Legacy, taken from the pool for this call.
    Taken(Pooled<Arc<dyn DownstreamSession>>),
}

impl Link {
    /// The session.
    pub(crate) fn session(&self) -> &Arc<dyn DownstreamSession> {
        match self {
            Self::Stateless(held) | Self::Held(held) => held.session(),
            Self::Taken(pooled) => pooled,
        }
    }
}

/// A downstream with what is common to all callers.
pub(crate) struct Downstream {
    pub(crate) name: DownstreamName,
    pub(crate) mode: SessionMode,
    pub(crate) pool: Pool<DownstreamFactory>,
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
    Stateless(Arc<Held>),
    /// The downstream gives legacy sessions: here is one for lists, if it was opened for them.
    Legacy { listing: Option<Arc<Held>> },
}

#[derive(Default)]
struct Common {
    /// The modern session, once there is one.
    stateless: Option<Arc<Held>>,
    /// The legacy session that lists are read from; no client is ever given it (R-W24).
    listing: Option<Arc<Held>>,
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
    /// Lets go of sessions that have ended, so that their places in the pool are free for new ones.
    fn forget_ended(&mut self) {
        self.stateless.take_if(|held| !held.session().is_open());
        self.listing.take_if(|held| !held.session().is_open());
    }
}

impl Downstream {
    pub(crate) fn new(managed: ManagedDownstream) -> Self {
        let ManagedDownstream { name, mode, pool } = managed;
        let (opening_modern, opening_legacy) = (SingleFlight::default(), SingleFlight::default());
        Self { name, mode, pool, shared: Mutex::default(), opening_modern, opening_legacy }
    }

    /// The session that serves everybody, if the downstream is to be spoken to that way in `era` and it
    /// is open. This is the fast path of most calls.
    pub(crate) fn stateless(&self, era: Era) -> Option<Arc<Held>> {
        let common = self.common();
        let held = common.stateless.as_ref().filter(|held| held.session().is_open())?;
        (era == Era::Modern || common.modern_only).then(|| held.clone())
    }

    /// Opens a session for a caller of `profile`; one that serves everybody is kept and shared.
    pub(crate) async fn open(self: &Arc<Self>, profile: &SessionProfile) -> Result<Opened, Error> {
        if let Some(held) = self.stateless(profile.era) {
            return Ok(Opened::Stateless(held));
        }
        if !self.is_legacy_for(profile.era) {
            let opening = match profile.era {
                Era::Modern => &self.opening_modern,
                Era::Legacy => &self.opening_legacy,
            };
            let found = opening.join(|| self.clone().find_out_for_calls(profile.clone())).await?;
            // Nobody has to wait for one another any more; who was first finds the session idle.
            if let Found::Stateless(held) = found {
                return Ok(Opened::Stateless(held));
            }
        }
        // Asked for as what is kept, so that callers of both eras use the same idle sessions.
        let legacy = SessionProfile { era: Era::Legacy, ..profile.clone() };
        self.open_unknown(Purpose::Calls, &legacy).await
    }

    async fn find_out_for_calls(self: Arc<Self>, profile: SessionProfile) -> Result<Found, Error> {
        if let Some(held) = self.stateless(profile.era) {
            return Ok(Found::Stateless(held));
        }
        if self.is_legacy_for(profile.era) {
            return Ok(Found::Legacy { listing: None });
        }
        match self.open_unknown(Purpose::Calls, &profile).await? {
            Opened::Stateless(held) => Ok(Found::Stateless(held)),
            // It was never used, so it may go to any client of that profile.
            Opened::Legacy(_) => Ok(Found::Legacy { listing: None }),
        }
    }

    /// The session that lists are read from. The era is found out anew when it has to be opened.
    pub(crate) async fn listing(self: &Arc<Self>) -> Result<Arc<Held>, Error> {
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

    async fn open_for_lists(&self) -> Result<(Era, Arc<Held>), Error> {
        match self.open_unknown(Purpose::Lists, &SessionProfile::default()).await? {
            Opened::Stateless(held) => Ok((Era::Modern, held)),
            Opened::Legacy(pooled) => {
                let held = Arc::new(Held::new(pooled));
                self.remember(|common| common.listing = Some(held.clone()))?;
                Ok((Era::Legacy, held))
            }
        }
    }

    /// The session that lists are read from, if it is open.
    fn listed(&self) -> Option<Arc<Held>> {
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
    async fn keep(&self, pooled: Pooled<Arc<dyn DownstreamSession>>) -> Result<Arc<Held>, Error> {
        let held = Arc::new(Held::new(pooled));
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

    /// Ends what is common to all callers and closes the pool, side by side and within the pool's bound.
    pub(crate) async fn close(&self) {
        let common = std::mem::replace(&mut *self.common(), Common { closed: true, ..Common::default() });
        // They have places, and the pool waits for those.
        for kept in common.stateless.into_iter().chain(common.listing) {
            tokio::spawn(kept.end());
        }
        self.pool.close().await;
    }

    async fn acquire(
        &self,
        purpose: Purpose,
        profile: &SessionProfile,
    ) -> Result<Pooled<Arc<dyn DownstreamSession>>, Error> {
        self.common().forget_ended();
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

impl fmt::Debug for Downstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Downstream")
            .field("name", &self.name)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// What opening a session gave.
pub(crate) enum Opened {
    Stateless(Arc<Held>),
    Legacy(Pooled<Arc<dyn DownstreamSession>>),
}
