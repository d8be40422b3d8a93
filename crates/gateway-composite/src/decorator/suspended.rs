use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use gateway_domain::{Caller, Exchange, ParkId, Question, RawObject, SessionKey};
use tokio::{task::AbortHandle, time::sleep};
use uuid::Uuid;

use crate::run::{Run, Turn};

/// How long the result is kept of a run that had to go on without its client.
const RESULT_TIME: Duration = Duration::from_secs(10);

/// Whose run it is: who else names it is told that it is not there.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    pub(crate) caller: Caller,
    pub(crate) session: SessionKey,
    pub(crate) workflow: Arc<str>,
}

impl Owner {
    /// Whether it is what `other` owns. A modern caller has no session, and may declare other capabilities than
    /// before.
    fn is(&self, other: &Self) -> bool {
        let same_session = match (&self.session, &other.session) {
            (SessionKey::Legacy { id }, SessionKey::Legacy { id: other }) => id == other,
            (SessionKey::Modern { .. }, SessionKey::Modern { .. }) => true,
            _ => false,
        };
        same_session && self.caller == other.caller && self.workflow == other.workflow
    }
}

/// The runs that have asked their clients something, each good for one follow-up of its owner, for a time. How many
/// there are the composer bounds: each of them counts as a run there.
pub(crate) struct Suspended {
    held: Mutex<Held>,
    question_time: Duration,
}

#[derive(Default)]
struct Held {
    runs: HashMap<ParkId, Waiting>,
    is_closed: bool,
}

/// A run that waits. Dropping it cancels the run, and ends the task that would go on with it.
struct Waiting {
    owner: Owner,
    /// `None`: its time is over, and it goes on without its client.
    run: Option<Run>,
    #[expect(dead_code, reason = "it is there to be dropped")]
    expiry: Expiry,
}

struct Expiry(AbortHandle);

impl Drop for Expiry {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Suspended {
    pub(crate) fn new(question_time: Duration) -> Arc<Self> {
        Arc::new(Self { held: Mutex::default(), question_time })
    }

    /// Keeps a run for its owner, under a name that cannot be guessed, with the circumstances of the latest request.
    /// `None` after [`Self::close`]; then the run is cancelled.
    pub(crate) fn put(self: &Arc<Self>, owner: Owner, exchange: Exchange, run: Run) -> Option<ParkId> {
        let mut held = self.held();
        if held.is_closed {
            return None;
        }
        let park = ParkId(Uuid::new_v4().to_string().into());
        // It finds the run there, however short its time is: the lock is held until the run is in its place.
        let expiry = Expiry(self.expire(park.clone(), exchange));
        held.runs.insert(park.clone(), Waiting { owner, run: Some(run), expiry });
        Some(park)
    }

    /// Has the run go on without its client when its time is over, and keeps what comes of it for a while.
    fn expire(self: &Arc<Self>, park: ParkId, exchange: Exchange) -> AbortHandle {
        let (suspended, time) = (Arc::downgrade(self), self.question_time);
        let task = tokio::spawn(async move {
            sleep(time).await;
            let run = suspended.upgrade().and_then(|suspended| suspended.borrow(&park));
            let Some(mut run) = run else { return };
            tracing::info!(run = %run.id(), "a run goes on without its client, who has not answered in time");
            go_on_alone(&mut run, &exchange).await;
            if let Some(suspended) = suspended.upgrade() {
                suspended.give_back(&park, run);
            }
            sleep(RESULT_TIME).await;
            if let Some(suspended) = suspended.upgrade() {
                suspended.cancel(&park);
            }
        });
        task.abort_handle()
    }

    fn borrow(&self, park: &ParkId) -> Option<Run> {
        self.held().runs.get_mut(park)?.run.take()
    }

    fn give_back(&self, park: &ParkId, run: Run) {
        if let Some(waiting) = self.held().runs.get_mut(park) {
            waiting.run = Some(run);
        }
    }

    /// Gives a run away, for its one follow-up; `None` if it is not there, or another's.
    pub(crate) fn take(&self, park: &ParkId, owner: &Owner) -> Option<Run> {
        let mut held = self.held();
        held.runs.get(park).filter(|waiting| waiting.run.is_some() && waiting.owner.is(owner))?;
        held.runs.remove(park).and_then(|waiting| waiting.run)
    }

    /// Whether nobody has to answer it any more; `None`: there is no such run.
    pub(crate) fn is_over(&self, park: &ParkId) -> Option<bool> {
        self.held().runs.get(park).map(|waiting| waiting.run.as_ref().is_some_and(Run::is_over))
    }

    /// Cancels a run; whether it was there.
    pub(crate) fn cancel(&self, park: &ParkId) -> bool {
        let waiting = self.held().runs.remove(park);
        waiting.is_some()
    }

    /// Cancels the runs of those who are chosen.
    pub(crate) fn cancel_where(&self, is_chosen: impl Fn(&Owner) -> bool) {
        let cancelled: Vec<_> = self.held().runs.extract_if(|_, waiting| is_chosen(&waiting.owner)).collect();
        drop(cancelled);
    }

    /// Cancels all runs, and keeps no more.
    pub(crate) fn close(&self) {
        let cancelled = {
            let mut held = self.held();
            held.is_closed = true;
            std::mem::take(&mut held.runs)
        };
        drop(cancelled);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Every critical section leaves it consistent.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses what a run asks until it ends: its handlers decide what becomes of it. How long that takes is bounded by
/// its own time.
async fn go_on_alone(run: &mut Run, exchange: &Exchange) {
    while let Turn::Asks(requests) = run.next().await {
        let refusal = Question::refusal();
        let empty = RawObject::empty();
        let refusals =
            requests.iter().fold(empty.edit(), |all, (key, _)| all.set(&key, refusal.raw().as_bytes()));
        run.answer(&RawObject::try_from(refusals.finish()).unwrap_or_default(), exchange.clone());
    }
}

impl fmt::Debug for Suspended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suspended").field("runs", &self.held().runs.len()).finish_non_exhaustive()
    }
}
