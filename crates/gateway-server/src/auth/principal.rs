use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use gateway_domain::{Caller, Grants};
use tokio::sync::watch;

/// A caller and what it has running, so that limits for one caller cost no look-up.
///
/// Everybody without a key is one caller in name only: what one of them has running must not count against
/// the others, so limits for one caller do not hold for that one.
#[derive(Debug)]
pub(crate) struct Principal {
    /// Who, whatever one request or another proves about what it may do.
    pub(crate) caller: Caller,
    /// Whether this may be many clients at once.
    shared: bool,
    /// Its requests in flight.
    pub(crate) in_flight: AtomicUsize,
    /// Its streams of change events.
    pub(crate) listens: AtomicUsize,
    /// Its legacy sessions.
    pub(crate) sessions: AtomicUsize,
    /// Whether what it proves itself with is no longer good. Never becomes false again.
    revoked: watch::Sender<bool>,
}

impl Principal {
    pub(crate) fn new(caller: Caller) -> Arc<Self> {
        Self::of(caller, false)
    }

    /// Everybody who needs to prove nothing.
    pub(crate) fn everybody() -> Arc<Self> {
        Self::of(Caller::anonymous(), true)
    }

    /// Somebody who is known from this request on. What its token grants belongs to the request.
    pub(super) fn identified(caller: &Caller) -> Arc<Self> {
        Self::new(match caller.issuer_and_subject() {
            Some((issuer, subject)) => Caller::user(issuer, subject, Grants::default()),
            None => caller.clone(),
        })
    }

    fn of(caller: Caller, shared: bool) -> Arc<Self> {
        let [in_flight, listens, sessions] = [0, 0, 0].map(AtomicUsize::new);
        let revoked = watch::Sender::new(false);
        Arc::new(Self { caller, shared, in_flight, listens, sessions, revoked })
    }

    /// A limit for one caller, as it holds for this one.
    pub(crate) fn limit(&self, per_caller: usize) -> usize {
        if self.shared { usize::MAX } else { per_caller }
    }

    /// Whether anything of it goes on.
    pub(super) fn is_busy(&self) -> bool {
        [&self.in_flight, &self.listens, &self.sessions].iter().any(|n| n.load(Ordering::Acquire) > 0)
    }

    /// Nothing of this caller goes on that outlives a request.
    pub(crate) fn revoke(&self) {
        self.revoked.send_replace(true);
    }

    pub(crate) fn is_revoked(&self) -> bool {
        *self.revoked.borrow()
    }

    /// Waits until what it proves itself with is no longer good.
    pub(crate) async fn revoked(&self) {
        // The sender lives here, so waiting cannot fail.
        let _ = self.revoked.subscribe().wait_for(|revoked| *revoked).await;
    }
}

/// Counts one more, unless there are `limit` already.
pub(crate) fn take(count: &AtomicUsize, limit: usize) -> bool {
    let more = |now: usize| (now < limit).then_some(now + 1);
    count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
}
