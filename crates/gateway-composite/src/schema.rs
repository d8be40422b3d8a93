//! JSON Schemas that the author of a workflow writes, and values that are judged by them (C-31, C-42, C-66, C-W8).

use gateway_domain::{RawJson, RawObject};

/// A compiled schema. Nothing is fetched; formats are not asserted; patterns are matched in linear time.
#[derive(Debug)]
pub(crate) struct Schema;

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn compile(_schema: &RawObject) -> Result<Self, String> {
        Ok(Self)
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// What does not, in words for a model: where, and what should be there.
    pub(crate) fn check(&self, _value: &RawJson) -> Result<(), String> {
        Ok(())
    }

    /// The object with the defaults of the schema's properties for members that are missing; what is given stays as it
    /// is (C-42).
    pub(crate) fn complete(&self, given: &RawObject) -> RawObject {
        given.clone()
    }
}
