//! Workflows as tools: what clients are shown of them, and for whom they are there (C-1 to C-10, C-16 to C-23).

mod annotations;
mod conflict;
mod convert;
mod filter;
mod reference;

use std::{collections::BTreeMap, sync::Arc};

use gateway_domain::OfferedTool;

pub(crate) use self::{
    annotations::{Floor, contradiction},
    reference::{Found, find},
};
pub use self::{
    conflict::{ToolNameConflict, validate_no_tool_conflicts},
    convert::convert_workflow_defs_to_tools,
    filter::filter_workflow_defs_for_session,
};
use crate::plan::Workflow;

/// Workflows by name.
pub type Definitions = BTreeMap<Arc<str>, Arc<Workflow>>;

/// The tools that one session can use in a workflow.
pub trait RoutingTable: Send + Sync {
    /// The tool that clients call by this name, `downstream__tool`.
    fn exact(&self, name: &str) -> Option<Arc<OfferedTool>>;

    /// A downstream's tool by its own name.
    fn of(&self, downstream: &str, tool: &str) -> Option<Arc<OfferedTool>>;
}
