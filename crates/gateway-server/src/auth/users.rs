use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::Caller;
use tokio::time::Instant;

use super::principal::Principal;

/// Those who are not in the configuration and are known since they came, by who they are. Bounded: who has nothing
/// running makes room, the longest unseen first.
#[derive(Debug)]
pub(super) struct Users {
    known: Mutex<Known>,
    most: usize,
}

#[derive(Debug, Default)]
struct Known {
    users: HashMap<Caller, User>,
    /// Other rules count by now: who comes still is let in for one request and nothing that outlives it.
    closed: bool,
}

#[derive(Debug, Clone)]
struct User {
    principal: Arc<Principal>,
    seen: Instant,
}

/// All places are taken by users who have something running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl Users {
    pub(super) fn new(most: usize) -> Self {
        Self { known: Mutex::default(), most }
    }

    /// The principal of somebody who has just proved to be this caller.
    ///
    /// # Errors
    /// [`Full`].
    pub(super) fn principal(&self, caller: &Caller) -> Result<Arc<Principal>, Full> {
        let (mut known, now) = (self.locked(), Instant::now());
        if let Some(user) = known.users.get_mut(caller) {
            user.seen = now;
            return Ok(user.principal.clone());
        }
        let principal = Principal::identified(caller);
        if known.closed {
            principal.revoke();
            return Ok(principal);
        }
        if known.users.len() >= self.most {
            let longest_unseen =
                known.users.values().filter(|user| user.is_idle()).min_by_key(|user| user.seen);
            let evicted = longest_unseen.ok_or(Full)?.principal.caller.clone();
            known.users.remove(&evicted);
        }
        let user = User { principal: principal.clone(), seen: now };
        known.users.insert(principal.caller.clone(), user);
        Ok(principal)
    }

    /// Those who stay, for rules that come after.
    pub(super) fn retained(&self, most: usize, stays: impl Fn(&Caller) -> bool) -> Self {
        let known = self.locked();
        let staying = known.users.iter().filter(|(caller, _)| stays(caller));
        let users = staying.map(|(caller, user)| (caller.clone(), user.clone())).collect();
        Self { known: Mutex::new(Known { users, closed: false }), most }
    }

    /// Nobody becomes known any more.
    pub(super) fn close(&self) {
        self.locked().closed = true;
    }

    pub(super) fn has(&self, caller: &Caller) -> bool {
        self.locked().users.contains_key(caller)
    }

    pub(super) fn all(&self) -> Vec<Arc<Principal>> {
        self.locked().users.values().map(|user| user.principal.clone()).collect()
    }

    fn locked(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl User {
    /// Whether nobody is about to use it either.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.principal) == 1 && !self.principal.is_busy()
    }
}
