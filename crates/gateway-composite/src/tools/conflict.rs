use std::{collections::BTreeSet, fmt};

use gateway_domain::Tool;

/// Names that both a tool and a workflow have (C-16, C-17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNameConflict {
    /// All of them, in order, each once.
    pub names: Vec<String>,
}

impl fmt::Display for ToolNameConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflows have the names of tools: {}", self.names.join(", "))
    }
}

impl std::error::Error for ToolNameConflict {}

/// Whether no workflow has the name of a tool.
///
/// # Errors
/// All names that stand on both sides.
pub fn validate_no_tool_conflicts(backend: &[Tool], composite: &[Tool]) -> Result<(), ToolNameConflict> {
    let taken: BTreeSet<_> = backend.iter().map(Tool::name).collect();
    let names: BTreeSet<_> = composite.iter().map(Tool::name).filter(|name| taken.contains(name)).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(ToolNameConflict { names: names.into_iter().map(str::to_owned).collect() }),
    }
}
