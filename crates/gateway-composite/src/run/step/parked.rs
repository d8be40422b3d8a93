use gateway_domain::{FollowUp, ParkId, State};

use crate::run::shared::Shared;

/// A call that waits for its follow-up in the registry's keeping. Dropped before one has been answered, it is given up
/// there at once rather than when its time is over. Giving up a call that goes on meanwhile does nothing.
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

    /// The follow-up has come to something, so the call waits no more.
    pub(super) fn resumed(mut self) {
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

/// What a call goes on with.
pub(super) struct Reply<'a> {
    pub(super) follow_up: FollowUp,
    /// The call that it is for.
    pub(super) parked: Parked<'a>,
}
