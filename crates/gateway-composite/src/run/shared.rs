use std::sync::Arc;

use gateway_domain::{Caller, Dispatcher, Exchange, RawObject};

use super::ComposerConfig;
use crate::{error::StepError, plan::Workflow, tools::RoutingTable};

/// What the steps of one run share.
#[expect(dead_code, reason = "the contract")]
pub(crate) struct Shared {
    pub(crate) id: Arc<str>,
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) caller: Caller,
    pub(crate) tools: Arc<dyn RoutingTable>,
    pub(crate) calls: Arc<dyn Dispatcher>,
    pub(crate) config: Arc<ComposerConfig>,
}

#[expect(dead_code, reason = "the contract")]
impl Shared {
    /// The circumstances as they are now, those of the latest request. Logs of inner calls reach the client, their
    /// progress does not: the run tells its own.
    pub(crate) fn exchange(&self) -> Option<Exchange> {
        None
    }

    /// Takes note of one call, before it is made.
    pub(crate) fn charge_call(&self) -> Result<(), StepError> {
        Ok(())
    }

    /// Takes note of bytes that the run holds from now on.
    pub(crate) fn charge_bytes(&self, _bytes: usize) -> Result<(), StepError> {
        Ok(())
    }

    /// Asks the client for a step and waits for the answers: `requests` and what is returned are keyed alike. The keys
    /// are made unique on the way out. Cancel-safe: dropping the future takes the questions back.
    ///
    /// # Errors
    /// [`StepError::ElicitationNotConfigured`].
    pub(crate) async fn ask(&self, _step: &str, _requests: &RawObject) -> Result<RawObject, StepError> {
        Err(StepError::ElicitationNotConfigured)
    }

    /// Tells how many items of a loop are done.
    pub(crate) fn advance(&self, _step: &str, _done: usize, _of: usize) {}
}
