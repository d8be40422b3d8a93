use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::{Caller, CallerError, SessionKey};

use super::ComposerConfig;

/// Whose runs count towards one bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Caller(Caller),
    /// A legacy session without a known caller is a caller of its own.
    Session(Arc<str>),
}

impl Owner {
    /// `None` for modern callers without a name: they cannot be told apart, and none is to be in the way of all others.
    pub(super) fn of(caller: &Caller, session: &SessionKey) -> Option<Self> {
        match session {
            _ if !caller.is_anonymous() => Some(Self::Caller(caller.clone())),
            SessionKey::Legacy { id } => Some(Self::Session(id.clone())),
            SessionKey::Modern { .. } => None,
        }
    }
}

/// The places for runs: so many in all, so many for each owner.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    in_all: usize,
    /// Owners that have none are not in it.
    by_owner: HashMap<Owner, usize>,
}

impl Places {
    /// Takes a place, until it is dropped.
    pub(super) fn take(
        self: &Arc<Self>,
        owner: Option<Owner>,
        config: &ComposerConfig,
    ) -> Result<Place, CallerError> {
        let mut taken = self.locked();
        let own = owner.as_ref().and_then(|owner| taken.by_owner.get(owner)).copied().unwrap_or(0);
        if owner.is_some() && own >= config.max_runs_per_caller {
            let (what, limit) = ("workflows of this caller", config.max_runs_per_caller);
            return Err(CallerError::Overloaded { what, limit });
        }
        if taken.in_all >= config.max_runs {
            return Err(CallerError::Overloaded { what: "workflows", limit: config.max_runs });
        }
        taken.in_all += 1;
        if let Some(owner) = &owner {
            taken.by_owner.insert(owner.clone(), own + 1);
        }
        drop(taken);
        Ok(Place { places: self.clone(), owner })
    }

    fn locked(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one run: taken while it goes on, and as long as somebody holds what came of it.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    owner: Option<Owner>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.locked();
        taken.in_all -= 1;
        let Some(owner) = &self.owner else { return };
        if let Some(own) = taken.by_owner.get_mut(owner) {
            *own -= 1;
            if *own == 0 {
                taken.by_owner.remove(owner);
            }
        }
    }
}

#[cfg(test)]
mod tests;
