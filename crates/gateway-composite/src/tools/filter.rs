use std::borrow::Cow;

use super::{Definitions, RoutingTable, find};
use crate::plan::Workflow;

/// The workflows whose every tool is in the table (C-5 to C-9). Without a table those that call no tool.
pub fn filter_workflow_defs_for_session<'a>(
    definitions: &'a Definitions,
    table: Option<&dyn RoutingTable>,
) -> Cow<'a, Definitions> {
    if definitions.iter().all(|workflow| can_run(workflow, table)) {
        return Cow::Borrowed(definitions);
    }
    Cow::Owned(definitions.filtered(|workflow| can_run(workflow, table)))
}

fn can_run(workflow: &Workflow, table: Option<&dyn RoutingTable>) -> bool {
    workflow.tools().all(|(_, tool)| table.is_some_and(|table| find(table, tool).is_some()))
}
