use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use gateway_domain::{Caller, ParkId, SessionKey};
use tokio::task::AbortHandle;
use uuid::Uuid;

use crate::run::Run;

/// Whose run it is: who else names it is told that it is not there.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) caller: Caller,
    pub(super) session: SessionKey,
    pub(super) workflow: Arc<str>,
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
pub(super) struct Suspended {
    runs: Mutex<HashMap<ParkId, Waiting>>,
    question_time: Duration,
}

/// A run that waits. Dropping it cancels the run, and ends the task that would have.
struct Waiting {
    owner: Owner,
    run: Run,
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
    pub(super) fn new(question_time: Duration) -> Arc<Self> {
        Arc::new(Self { runs: Mutex::default(), question_time })
    }

    /// Keeps a run for its owner, under a name that cannot be guessed.
    pub(super) fn put(self: &Arc<Self>, owner: Owner, run: Run) -> ParkId {
        let park = ParkId(Uuid::new_v4().to_string().into());
        let expiry = Expiry(self.expire(park.clone()));
        self.runs().insert(park.clone(), Waiting { owner, run, expiry });
        park
    }

    fn expire(self: &Arc<Self>, park: ParkId) -> AbortHandle {
        let (suspended, time) = (Arc::downgrade(self), self.question_time);
        let task = tokio::spawn(async move {
            tokio::time::sleep(time).await;
            let expired = suspended.upgrade().and_then(|suspended| suspended.runs().remove(&park));
            if let Some(Waiting { owner, run, .. }) = expired {
                tracing::info!(workflow = %owner.workflow, run = %run.id(), "a run that nobody answered in time is cancelled");
            }
        });
        task.abort_handle()
    }

    /// Gives a run away, for its one follow-up; `None` if it is not there, or another's.
    pub(super) fn take(&self, park: &ParkId, owner: &Owner) -> Option<Run> {
        let mut runs = self.runs();
        runs.get(park).filter(|waiting| waiting.owner.is(owner))?;
        runs.remove(park).map(|waiting| waiting.run)
    }

    /// Whether nobody has to answer it any more; `None`: there is no such run.
    pub(super) fn is_over(&self, park: &ParkId) -> Option<bool> {
        self.runs().get(park).map(|waiting| waiting.run.is_over())
    }

    /// Cancels a run; whether it was there.
    pub(super) fn cancel(&self, park: &ParkId) -> bool {
        let waiting = self.runs().remove(park);
        waiting.is_some()
    }

    /// Cancels the runs of those who are chosen.
    pub(super) fn cancel_where(&self, is_chosen: impl Fn(&Owner) -> bool) {
        let cancelled: Vec<_> = self.runs().extract_if(|_, waiting| is_chosen(&waiting.owner)).collect();
        drop(cancelled);
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<ParkId, Waiting>> {
        // Every critical section leaves it consistent.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Suspended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suspended").field("runs", &self.runs().len()).finish_non_exhaustive()
    }
}
