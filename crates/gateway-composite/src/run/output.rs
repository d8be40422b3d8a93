use gateway_domain::RawObject;

use crate::{error::WorkflowError, plan::PlannedOutput, template::Scope};

/// The output that the definition describes (C-70 to C-72).
///
/// # Errors
/// A property has no value and no default, or a required one is not there.
pub(crate) fn build(_planned: &PlannedOutput, _scope: &Scope) -> Result<RawObject, WorkflowError> {
    Ok(RawObject::empty())
}
