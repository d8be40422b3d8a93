use gateway_domain::RawObject;

use super::{DefinitionErrors, WorkflowDefinition};

impl WorkflowDefinition {
    /// Reads a definition, in camelCase as C-24 to C-27 name its members; times are texts like `30s` or `1h 30m`.
    /// `name` may be left out where it stands elsewhere, as the key of a table; if it stands in both places they
    /// must agree.
    ///
    /// # Errors
    /// Everything whose form is wrong, unknown members included, with the nearest known one.
    pub fn read(definition: &RawObject, name: Option<&str>) -> Result<Self, DefinitionErrors> {
        let _ = (definition, name);
        Err(DefinitionErrors(Vec::new()))
    }
}
