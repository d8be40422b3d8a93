//! Whether a JSON value is what a JSON Schema says.

use gateway_domain::RawJson;

/// A JSON Schema (2020-12) that values are checked against. Compiled when it is first used.
#[derive(Debug)]
pub(crate) struct Checker {
    schema: RawJson,
}

impl Checker {
    /// Takes a schema, which is complete in itself. Nothing is compiled yet.
    pub(crate) fn new(schema: RawJson) -> Self {
        Self { schema }
    }

    /// Whether the value is what the schema says.
    ///
    /// # Errors
    /// What is wrong, in at most five clauses for a model to read; values are not repeated.
    pub(crate) fn check(&self, value: &RawJson) -> Result<(), String> {
        let _ = (value, &self.schema);
        Ok(())
    }
}
