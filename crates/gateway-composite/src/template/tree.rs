use gateway_domain::{RawJson, RawObject};

use super::{Reference, Scope};
use crate::error::TemplateError;

/// A JSON value whose strings are templates (C-57). What has none in it keeps its bytes.
#[derive(Debug)]
pub(crate) struct Tree;

impl Tree {
    /// Compiles all strings of a value, however nested.
    ///
    /// # Errors
    /// Every template that does not compile, with its place.
    pub(crate) fn compile(_value: &RawJson) -> Result<Self, Vec<TemplateError>> {
        Ok(Self)
    }

    /// What its templates refer to, each with the place of the template.
    pub(crate) fn references(&self) -> Vec<(String, Reference)> {
        Vec::new()
    }

    /// The value with all templates expanded. `limit` bounds its bytes while they are written (C-W20). With the
    /// `inputSchema` of a tool, texts become the numbers and booleans that it wants, if they can (C-46).
    ///
    /// # Errors
    /// The first template that does not come to a value, with its place; or there is too much to write.
    pub(crate) fn expand(
        &self,
        _scope: &Scope,
        _schema: Option<&RawObject>,
        _limit: usize,
    ) -> Result<RawJson, TemplateError> {
        Ok(RawObject::empty().raw().clone())
    }
}
