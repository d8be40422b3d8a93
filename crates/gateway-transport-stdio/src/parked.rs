//! Calls that wait for answers.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use async_trait::async_trait;
use gateway_domain::{CallerError, Error, Exchange, Outcome, ParkedCall, RawObject};
use gateway_protocol::client::questions::Owner;

use crate::conversation::Conversation;

/// A call that waits for answers; empty once it goes on or was given up.
#[derive(Debug)]
pub(crate) struct Parked(Mutex<Option<Conversation>>);

impl Parked {
    pub(crate) fn new(call: Conversation) -> Self {
        Self(Mutex::new(Some(call)))
    }

    fn take(&self) -> Option<Conversation> {
        // No code that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn is_beside(&self, owner: &Owner) -> bool {
        let call = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        call.as_ref().is_some_and(|call| call.is_beside(owner))
    }
}

#[async_trait]
impl ParkedCall for Parked {
    fn is_over(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(Conversation::is_over)
    }

    async fn resume(&self, responses: &RawObject, exchange: &Exchange) -> Result<Outcome, Error> {
        self.take().ok_or(CallerError::UnknownState)?.resume(responses, exchange).await
    }
}

/// The calls of a session that wait. Whoever keeps them decides how long; here they are only known.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<Vec<Weak<Parked>>>);

impl Waiting {
    pub(crate) fn remember(&self, parked: &Arc<Parked>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(is_waiting);
        waiting.push(Arc::downgrade(parked));
    }

    /// Whether none is in the way of a call of this owner.
    pub(crate) fn is_empty(&self, next: &Owner) -> bool {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !waiting.iter().any(|parked| is_waiting(parked) && !is_beside(parked, next))
    }

    /// Gives all up that are in the way of a call of this owner. Returns how many there were.
    pub(crate) fn give_up(&self, next: &Owner) -> usize {
        let in_the_way: Vec<_> = {
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.extract_if(.., |parked| !is_beside(parked, next)).collect()
        };
        in_the_way.iter().filter_map(|parked| parked.upgrade()?.take()).count()
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}

fn is_beside(parked: &Weak<Parked>, next: &Owner) -> bool {
    parked.upgrade().is_some_and(|parked| parked.is_beside(next))
}

fn is_waiting(parked: &Weak<Parked>) -> bool {
    parked.upgrade().is_some_and(|parked| !parked.is_empty())
}
