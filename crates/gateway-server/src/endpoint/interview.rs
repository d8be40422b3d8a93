//! Questions to a client that has a session: a call that needs answers asks for them here (design §1).

use std::sync::Arc;

use gateway_domain::{CallerError, Error, FollowUp, InputRequired};

use super::events::Events;
use crate::session::Session;

/// Asks one client on behalf of one call.
pub(crate) struct Interview {
    /// How often it has asked.
    rounds: usize,
}

impl Interview {
    /// An interview with the client of this session. Its questions go where the call's events go.
    pub(crate) fn new(_session: &Arc<Session>, _events: &Events) -> Self {
        Self { rounds: 0 }
    }

    /// Asks what is required and gives the answers for the next round.
    ///
    /// # Errors
    /// [`CallerError::Unanswered`], and whatever else keeps the call from going on.
    pub(crate) async fn answer(&mut self, required: InputRequired) -> Result<FollowUp, Error> {
        self.rounds += 1;
        let asked = required.requests.map_or(0, |requests| requests.len());
        let reason = format!("{asked} questions in round {} cannot be asked yet", self.rounds);
        Err(CallerError::Unanswered { reason }.into())
    }
}
