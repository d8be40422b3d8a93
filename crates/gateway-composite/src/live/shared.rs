use std::{fmt, sync::Arc};

use gateway_domain::{Caller, Directory, Dispatcher, SessionKey};

use super::availability::Outlook;
use crate::{decorator::Runs, tools::SessionTools};

/// What outlives a replacement of the definitions.
pub(super) struct Shared {
    pub(super) directory: Arc<dyn Directory>,
    /// What answers calls that are no workflow's.
    pub(super) calls: Arc<dyn Dispatcher>,
    pub(super) runs: Runs,
}

impl Shared {
    pub(super) fn tools(&self, caller: &Caller, session: &SessionKey) -> SessionTools {
        SessionTools::new(self.directory.clone(), caller.clone(), session.clone())
    }

    /// The catalogue as one caller's session sees it.
    pub(super) fn outlook<'a>(&'a self, caller: &'a Caller, session: &'a SessionKey) -> Outlook<'a> {
        Outlook { directory: &*self.directory, caller, session, tools: self.tools(caller, session) }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("runs", &self.runs).finish_non_exhaustive()
    }
}
