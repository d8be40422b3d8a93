//! Workflows as tools: what clients are shown of them, and for whom they are there (C-1 to C-10, C-16 to C-23).

mod annotations;
mod conflict;
mod convert;
mod filter;
mod reference;
mod table;

use std::{collections::BTreeMap, sync::Arc};

pub(crate) use self::{
    annotations::{Floor, contradiction, hint_of},
    convert::tool_of,
    reference::{Found, find, split},
};
pub use self::{
    conflict::{ToolNameConflict, validate_no_tool_conflicts},
    convert::convert_workflow_defs_to_tools,
    filter::filter_workflow_defs_for_session,
    table::{RoutingTable, SessionTools},
};
use crate::plan::Workflow;

/// Workflows by name.
pub type Definitions = BTreeMap<Arc<str>, Arc<Workflow>>;

#[cfg(test)]
mod tests;
