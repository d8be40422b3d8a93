//! The template language: text with `{{ expression }}` in it, in every string of a JSON tree (C-55 to C-58).
//!
//! Only expressions: no statements, no environment, nothing but what a [`Scope`] holds. A template that is exactly one
//! expression keeps the value's type and, where it is a value as it came, its bytes (C-W4, C-W6).

mod coerce;
mod context;
mod expression;
mod inspect;
mod json;
mod language;
mod node;
mod number;
mod scope;
mod split;
mod tree;
mod write;

#[cfg(test)]
mod tests;

use gateway_domain::{JsonKind, RawJson, printable};

use self::{
    context::Context,
    expression::Expression,
    split::{Segment, split},
    write::Writer,
};
pub(crate) use self::{
    scope::{ForEachScope, Scope, StepScope, WorkflowScope},
    tree::Tree,
};
use crate::error::TemplateError;

/// How many bytes a template's text may have.
const TEXT_LIMIT: usize = 64 * 1024;
/// How many expressions may stand in it.
const EXPRESSION_LIMIT: usize = 1000;
/// How many bytes of JSON one template may come to (C-57).
const RESULT_LIMIT: usize = 10_000_000;
/// How many characters of a value an error shows (C-59).
const SHOWN: usize = 100;

/// A compiled template.
pub(crate) struct Template {
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    Expression(Box<Expression>),
}

/// What an expression refers to, as `steps.fetch.output.items`; ends where a part is not constant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Reference {
    pub(crate) path: Vec<String>,
    /// Whether a `default` stands behind it, so that it may be missing.
    pub(crate) may_be_missing: bool,
    /// How many of its first parts a test around it looks at, too: the test of an `if`, or what stands before `and` or
    /// `or`.
    pub(crate) tested: usize,
}

impl Template {
    /// Compiles a template.
    ///
    /// # Errors
    /// It does not parse, or is larger or more nested than it may be.
    pub(crate) fn compile(text: &str) -> Result<Self, TemplateError> {
        if text.len() > TEXT_LIMIT {
            return Err(invalid(format!(
                "a template may have {TEXT_LIMIT} bytes; this one has {}",
                text.len()
            )));
        }
        let mut parts = Vec::new();
        let mut expressions = 0;
        for segment in split(text) {
            parts.push(match segment.map_err(invalid)? {
                Segment::Text(text) => Part::Text(text.to_owned()),
                Segment::Expression(source) => {
                    expressions += 1;
                    Part::Expression(Box::new(Expression::compile(source).map_err(invalid)?))
                }
            });
            if expressions > EXPRESSION_LIMIT {
                return Err(invalid(format!("a template may have {EXPRESSION_LIMIT} expressions")));
            }
        }
        Ok(Self { parts })
    }

    /// What its expressions refer to.
    pub(crate) fn references(&self) -> Vec<Reference> {
        let expressions = self.parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression.references()),
            Part::Text(_) => None,
        });
        expressions.flatten().cloned().collect()
    }

    /// What it comes to: a value if it is exactly one expression, else a string.
    ///
    /// # Errors
    /// A value is missing, an operation is impossible, or there is too much to do or to write.
    pub(crate) fn value(&self, scope: &Scope) -> Result<RawJson, TemplateError> {
        let mut out = Writer::new(RESULT_LIMIT);
        self.write(&Context::new(scope), &mut out)?;
        out.finish()
    }

    /// The same as text: strings as they are, other values as JSON.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub(crate) fn text(&self, scope: &Scope) -> Result<String, TemplateError> {
        let value = self.value(scope)?;
        Ok(value.to_text().map_or_else(|| value.as_str().to_owned(), |text| text.into_owned()))
    }

    /// The same as a condition (C-45): the value true or false, or one of the texts `true`, `True`, `TRUE`, `false`,
    /// `False`, `FALSE`. `Ok(Err(found))`: anything else, cut.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub(crate) fn condition(&self, scope: &Scope) -> Result<Result<bool, String>, TemplateError> {
        let value = self.value(scope)?;
        Ok(match value.kind() {
            JsonKind::Boolean => Ok(value.to_bool() == Some(true)),
            JsonKind::String => match value.to_text().as_deref() {
                Some("true" | "True" | "TRUE") => Ok(true),
                Some("false" | "False" | "FALSE") => Ok(false),
                _ => Err(printable(value.as_str(), SHOWN)),
            },
            _ => Err(printable(value.as_str(), SHOWN)),
        })
    }

    /// Writes what it comes to.
    fn write(&self, context: &Context, out: &mut Writer) -> Result<(), TemplateError> {
        if let [Part::Expression(expression)] = self.parts.as_slice() {
            return expression.write(context, out);
        }
        out.text(|out| {
            self.parts.iter().try_for_each(|part| match part {
                Part::Text(text) => out.escaped(text),
                Part::Expression(expression) => expression.write_text(context, out),
            })
        })
    }
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("\"")?;
        for part in &self.parts {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Expression(expression) => write!(f, "{{{{ {} }}}}", expression.source())?,
            }
        }
        f.write_str("\"")
    }
}

fn invalid(reason: String) -> TemplateError {
    TemplateError { place: String::new(), reason, is_missing: false }
}
