//! Who may call on a session where a question does not say which call it is about (protocol.md §20.6).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use gateway_domain::{CallerError, DownstreamFault, DownstreamName, Era, Error};
use gateway_protocol::{
    RequestId,
    client::{Patience, questions::Owner},
    method, write,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use crate::{
    link::Link,
    parked::{Parked, Waiting},
};

/// The calls of modern clients on one session: one at a time where the server may ask something, each in its turn.
/// A legacy client is asked in its session, so that it does not matter which of its calls it is about.
#[derive(Debug)]
pub(crate) struct Turns {
    /// `None`: nothing can be asked, so that calls need no turns.
    free: Option<Arc<Semaphore>>,
    waiting: AtomicUsize,
    limit: usize,
    /// The calls that have left their turn to others.
    parked: Waiting,
}

/// A turn; dropping it gives it to the next.
#[derive(Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "it is there to be dropped")] OwnedSemaphorePermit);

impl Turns {
    /// Turns if calls must be told apart; at most `limit` wait in line.
    pub(crate) fn new(apart: bool, limit: usize) -> Self {
        let free = apart.then(|| Arc::new(Semaphore::new(1)));
        Self { free, waiting: AtomicUsize::new(0), limit, parked: Waiting::default() }
    }

    /// Takes note of a call that waits for answers.
    pub(crate) fn remember(&self, parked: &Arc<Parked>) {
        self.parked.remember(parked);
    }

    /// A modern client may never come back with an answer, and does not say so; that must not keep its next call
    /// from being served. Many servers go on with others while they wait. One that does not even answer a ping
    /// hears that nobody will answer.
    ///
    /// The calls of the same run of a workflow are spared: their questions are put to the client beside the next one.
    pub(crate) async fn clear_the_way(&self, link: &Arc<Link>, next: &Owner) {
        if self.parked.is_empty(next) {
            return;
        }
        let patience = Patience::fixed(Instant::now().into(), ALIVE);
        let ping = |id| write::request(&RequestId::from(id), method::PING, b"{}");
        if link.ask(patience, ping).await.is_err() {
            let given_up = self.parked.give_up(next);
            tracing::debug!(downstream = %link.name, given_up, "it serves nobody while it waits for an answer");
        }
    }

    /// Waits for a turn for a client of this era.
    pub(crate) async fn take(&self, era: Era, patience: &Patience) -> Result<Option<Turn>, NoTurn> {
        let Some(free) = self.free.as_ref().filter(|_| era == Era::Modern) else { return Ok(None) };
        let line = InLine::join(self)?;
        let turn = timeout_at(patience.until().into(), Arc::clone(free).acquire_owned()).await;
        drop(line);
        match turn {
            // It is never closed.
            Ok(turn) => Ok(turn.ok().map(Turn)),
            Err(_) => Err(NoTurn::InTime(DownstreamFault::TimedOut { after: patience.limit().time() })),
        }
    }

    /// Takes a turn if it is free and nobody waits for it.
    pub(crate) fn take_free(&self, era: Era) -> Option<Turn> {
        let free = self.free.as_ref().filter(|_| era == Era::Modern)?;
        Arc::clone(free).try_acquire_owned().ok().map(Turn)
    }
}

/// Why a call that has not begun did not get its turn.
#[derive(Debug)]
pub(crate) enum NoTurn {
    /// Others took too long.
    InTime(DownstreamFault),
    /// Too many wait.
    AtAll {
        /// The limit in force.
        limit: usize,
    },
}

impl NoTurn {
    pub(crate) fn of(self, downstream: &DownstreamName) -> Error {
        match self {
            Self::InTime(fault) => fault.before(downstream),
            Self::AtAll { limit } => {
                CallerError::Overloaded { what: "calls in line for one downstream session", limit }.into()
            }
        }
    }
}

/// A place in line.
struct InLine<'a>(&'a Turns);

impl<'a> InLine<'a> {
    fn join(turns: &'a Turns) -> Result<Self, NoTurn> {
        let place = Self(turns);
        let before = turns.waiting.fetch_add(1, Ordering::Relaxed);
        if before >= turns.limit {
            return Err(NoTurn::AtAll { limit: turns.limit });
        }
        Ok(place)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long a server that waits for an answer may take to answer a ping.
const ALIVE: std::time::Duration = std::time::Duration::from_secs(2);
