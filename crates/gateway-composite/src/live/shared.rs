use std::{fmt, sync::Arc};

use gateway_domain::{Act, Caller, CallerError, Directory, Dispatcher, Error, SessionKey, View};

use super::availability::Outlook;
use crate::decorator::Runs;

/// What outlives a replacement of the definitions.
pub(super) struct Shared {
    pub(super) directory: Arc<dyn Directory>,
    /// What answers calls that are no workflow's.
    pub(super) calls: Arc<dyn Dispatcher>,
    pub(super) runs: Runs,
}

impl Shared {
    /// Whether the caller's token has the scopes for a workflow, by its own name: what its steps call needs none.
    pub(super) fn check_scopes(&self, caller: &Caller, workflow: &str) -> Result<(), Error> {
        match self.directory.missing_scopes(caller, Act::Call, &[workflow]) {
            Some(scopes) => Err(CallerError::InsufficientScope { scopes }.into()),
            None => Ok(()),
        }
    }

    /// A view of the catalogue as one caller's session sees it.
    pub(super) fn outlook<'a>(
        &'a self,
        view: &'a View,
        caller: &'a Caller,
        session: &'a SessionKey,
    ) -> Outlook<'a> {
        Outlook { directory: &self.directory, view, caller, session }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("runs", &self.runs).finish_non_exhaustive()
    }
}
