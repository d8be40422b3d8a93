//! Workflows as tools: what clients are shown of them, and for whom they are there (C-1 to C-10, C-16 to C-23).

mod annotations;
mod conflict;
mod convert;
mod definitions;
mod filter;
mod pinned;
mod reference;
mod table;

pub(crate) use self::{
    annotations::{Floor, contradiction, is_repeatable},
    convert::tool_of,
    pinned::Pinned,
    reference::{Found, find, split},
};
pub use self::{
    conflict::{ToolNameConflict, validate_no_tool_conflicts},
    convert::convert_workflow_defs_to_tools,
    definitions::{Definitions, DuplicateWorkflow},
    filter::filter_workflow_defs_for_session,
    table::{RoutingTable, SessionTools},
};

#[cfg(test)]
mod tests;
