use gateway_domain::{ParkId, State};

use crate::run::shared::Shared;

/// A call that waits for its follow-up in the registry's keeping. Dropped without one, it is given up there at once
/// rather than when its time is over.
pub(super) struct Parked<'a> {
    shared: &'a Shared,
    park: Option<ParkId>,
}

impl<'a> Parked<'a> {
    pub(super) fn of(shared: &'a Shared, state: &State) -> Self {
        let park = match state {
            State::Parked(park) => Some(park.clone()),
            State::None | State::Own(_) | State::Waiting(_) | State::Afresh => None,
        };
        Self { shared, park }
    }

    /// The follow-up is on its way.
    pub(super) fn resume(mut self) {
        self.park = None;
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        if let Some(park) = &self.park {
            self.shared.abandon(park);
        }
    }
}
