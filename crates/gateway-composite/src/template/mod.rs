//! The template language: text with `{{ expression }}` in it, in every string of a JSON tree (C-55 to C-58).
//!
//! Only expressions: no statements, no environment, nothing but what a [`Scope`] holds. A template that is exactly one
//! expression keeps the value's type and, where it is a value as it came, its bytes (C-W4, C-W6).

mod coerce;
mod context;
mod effort;
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

use std::sync::Arc;

use gateway_domain::{RawJson, printable};

pub(crate) use self::{
    context::Context,
    effort::Effort,
    json::count,
    scope::{ForEachScope, Scope, StepScope, WorkflowScope},
    tree::Tree,
    write::Writer,
};
use self::{
    expression::Expression,
    split::{Segment, split},
};
use crate::error::TemplateError;

/// How many bytes a template's text may have.
const TEXT_LIMIT: usize = 64 * 1024;
/// How many expressions may stand in it, or in all of a tree. The language bounds the work of single expressions, and
/// [`Effort`] how many of them may do much.
const EXPRESSION_LIMIT: usize = 200;
/// How many bytes of JSON a template, a tree, or the output of a workflow may come to (C-57).
pub(crate) const RESULT_LIMIT: usize = 10_000_000;
/// How many characters of a value an error shows (C-59).
const SHOWN: usize = 100;

/// A compiled template. Clones share it.
#[derive(Clone)]
pub(crate) struct Template {
    parts: Arc<[Part]>,
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
            check_expressions(expressions)?;
        }
        Ok(Self { parts: parts.into() })
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
    pub(crate) fn value(&self, context: &Context) -> Result<RawJson, TemplateError> {
        self.value_in(context, Writer::new(RESULT_LIMIT))
    }

    /// The same, as far as `out` goes.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub(crate) fn value_in(&self, context: &Context, mut out: Writer) -> Result<RawJson, TemplateError> {
        self.write(context, &mut out)?;
        out.finish()
    }

    /// The same as text, of so many bytes of JSON at most: strings as they are, other values as JSON.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub(crate) fn text_within(&self, context: &Context, limit: usize) -> Result<String, TemplateError> {
        let value = self.value_in(context, Writer::new(limit))?;
        Ok(value.to_text().map_or_else(|| value.as_str().to_owned(), |text| text.into_owned()))
    }

    /// The same as a condition (C-45): the value true or false, or one of the texts `true`, `True`, `TRUE`, `false`,
    /// `False`, `FALSE`. `Ok(Err(found))`: anything else, cut.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub(crate) fn condition(&self, context: &Context) -> Result<Result<bool, String>, TemplateError> {
        let value = self.value(context)?;
        let truth = value.to_bool().or_else(|| truth(&value.to_text()?));
        Ok(truth.ok_or_else(|| printable(value.as_str(), SHOWN)))
    }

    fn expressions(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Expression(_))).count()
    }

    /// Writes what it comes to.
    fn write(&self, context: &Context, out: &mut Writer) -> Result<(), TemplateError> {
        if let [Part::Expression(expression)] = &*self.parts {
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
        for part in &*self.parts {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Expression(expression) => write!(f, "{{{{ {} }}}}", expression.source())?,
            }
        }
        f.write_str("\"")
    }
}

/// What a text says that is a word for true or false (C-45).
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn check_expressions(count: usize) -> Result<(), TemplateError> {
    match count > EXPRESSION_LIMIT {
        true => Err(invalid(format!("there may be {EXPRESSION_LIMIT} expressions"))),
        false => Ok(()),
    }
}

fn invalid(reason: String) -> TemplateError {
    TemplateError { place: String::new(), reason, is_missing: false }
}
