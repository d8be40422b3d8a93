use std::sync::Arc;

use gateway_domain::{OfferedTool, ToolRef};

use super::RoutingTable;

/// A tool that a step calls.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The name clients call it by.
    pub(crate) exposed: Arc<str>,
    pub(crate) offered: Arc<OfferedTool>,
}

/// The tool that a step names: an exact key, else split at the first dot into downstream and own name, of which
/// neither is empty (C-10). No downstream's name has a dot in it, so there is one way to split.
pub(crate) fn find(table: &dyn RoutingTable, written: &str) -> Option<Found> {
    if let Some(offered) = table.exact(written) {
        return Some(Found { exposed: written.into(), offered });
    }
    let (downstream, tool) = split(written)?;
    let offered = table.of(downstream, tool)?;
    let exposed = ToolRef::new(downstream, offered.tool.name()).to_string();
    Some(Found { exposed: exposed.into(), offered })
}

/// Downstream and own name of a reference with a dot.
pub(crate) fn split(written: &str) -> Option<(&str, &str)> {
    written.split_once('.').filter(|(downstream, tool)| !downstream.is_empty() && !tool.is_empty())
}
