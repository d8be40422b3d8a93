//! The template language: text with `{{ expression }}` in it, in every string of a JSON tree (C-55 to C-58).
//!
//! Only expressions: no statements, no environment, nothing but what a [`Scope`] holds. A template that is exactly one
//! expression keeps the value's type and, where it is a value as it came, its bytes (C-W4, C-W6).

mod scope;
mod tree;

use gateway_domain::RawJson;

pub(crate) use self::{
    scope::{ForEachScope, Scope, StepScope, WorkflowScope},
    tree::Tree,
};
use crate::error::TemplateError;

/// A compiled template.
#[derive(Debug)]
pub(crate) struct Template;

/// What an expression refers to, as `steps.fetch.output.items`; ends where a part is not constant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Reference {
    pub(crate) path: Vec<String>,
    /// Whether a `default` stands behind it, so that it may be missing.
    pub(crate) may_be_missing: bool,
}

impl Template {
    /// Compiles a template.
    ///
    /// # Errors
    /// It does not parse, or is larger or more nested than it may be.
    pub(crate) fn compile(_text: &str) -> Result<Self, TemplateError> {
        Ok(Self)
    }

    /// What its expressions refer to.
    pub(crate) fn references(&self) -> Vec<Reference> {
        Vec::new()
    }

    /// What it comes to: a value if it is exactly one expression, else a string.
    ///
    /// # Errors
    /// A value is missing, an operation is impossible, or there is too much to do or to write.
    pub(crate) fn value(&self, _scope: &Scope) -> Result<RawJson, TemplateError> {
        Ok(RawJson::string(""))
    }

    /// The same as text: strings as they are, other values as JSON.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub(crate) fn text(&self, _scope: &Scope) -> Result<String, TemplateError> {
        Ok(String::new())
    }

    /// The same as a condition (C-45): the value true or false, or one of the texts `true`, `True`, `TRUE`, `false`,
    /// `False`, `FALSE`. `Ok(Err(found))`: anything else, cut.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub(crate) fn condition(&self, _scope: &Scope) -> Result<Result<bool, String>, TemplateError> {
        Ok(Ok(true))
    }
}
