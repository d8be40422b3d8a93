use super::{RoutingTable, find};
use crate::plan::Workflow;

/// What the tools of a workflow allow to be said of it (C-20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Floor {
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) open_world: bool,
}

impl Floor {
    /// `None`: there are no tools.
    pub(crate) fn of(workflow: &Workflow, table: &dyn RoutingTable) -> Option<Self> {
        let _ = workflow.tools().map(|(_, tool)| find(table, tool));
        None
    }
}

/// What a workflow says of itself that is safer than its tools are, as a sentence that names them (C-22).
pub(crate) fn contradiction(_workflow: &Workflow, _table: &dyn RoutingTable) -> Option<String> {
    None
}
