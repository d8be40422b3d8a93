//! What a tool takes: the input schema of an operation and where each argument goes (E-5 to E-9).

mod bundle;

use std::collections::BTreeMap;

use gateway_domain::{RawJson, RawObject};

pub use self::bundle::bundle;
use super::{Argument, CallError, Reserved};
use crate::ir::Operation;

/// The longest input schema of a tool by default, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 32 * 1024;

/// The input schema of an operation from which nothing is taken away: one object with a property for each parameter
/// and one for the body.
pub fn input_schema(operation: &Operation) -> RawJson {
    Inputs::new(operation, &Reserved::default(), &BTreeMap::new(), MAX_SCHEMA_BYTES).schema().raw().clone()
}

/// The inputs of one tool.
#[derive(Debug)]
pub struct Inputs {
    schema: RawObject,
    notes: Vec<String>,
}

impl Inputs {
    /// Reads the inputs off an operation.
    ///
    /// Parameters with [`Reserved`] names are no inputs and never sent (E-W11). `arguments` are those that the caller
    /// does not give, by the name that the schema would have for them. `max_schema_bytes` bounds the schema; what does
    /// not fit is widened.
    pub fn new(
        operation: &Operation,
        reserved: &Reserved,
        arguments: &BTreeMap<String, Argument>,
        max_schema_bytes: usize,
    ) -> Self {
        let _ = (operation, reserved, arguments, max_schema_bytes);
        Self { schema: RawObject::empty(), notes: Vec::new() }
    }

    /// The tool's `inputSchema`: a JSON Schema (2020-12) that is complete in itself.
    pub fn schema(&self) -> &RawObject {
        &self.schema
    }

    /// What the operator should know: inputs that were renamed or left out, schemas that were widened.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether the arguments are what the schema says (E-W3).
    ///
    /// # Errors
    /// [`CallError::Arguments`].
    pub fn check(&self, arguments: &RawObject) -> Result<(), CallError> {
        let _ = arguments;
        Ok(())
    }
}
