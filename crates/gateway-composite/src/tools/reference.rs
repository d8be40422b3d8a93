use std::sync::Arc;

use gateway_domain::OfferedTool;

use super::RoutingTable;

/// A tool that a step calls.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The name clients call it by.
    pub(crate) exposed: Arc<str>,
    pub(crate) offered: Arc<OfferedTool>,
}

/// The tool that a step names: an exact key, else split at the first dot into downstream and own name, of which
/// neither is empty (C-10).
pub(crate) fn find(_table: &dyn RoutingTable, _written: &str) -> Option<Found> {
    None
}
