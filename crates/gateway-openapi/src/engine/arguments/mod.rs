//! Whether a JSON value is what a JSON Schema says, and whether a text is a JSON Schema.
//!
//! The one place with values that are not bytes: the validator knows nothing else. What is sent are the bytes.

#![expect(clippy::disallowed_types, reason = "the validator of JSON Schema takes nothing else")]

mod compile;
mod effort;
mod explain;
#[cfg(test)]
mod tests;
mod value;
mod vet;

use std::sync::OnceLock;

use gateway_domain::RawJson;

use self::compile::Compiled;
pub(crate) use self::vet::is_sound;

/// The most clauses of one explanation.
const CLAUSES: usize = 5;

/// A JSON Schema (2020-12) that values are checked against. It is compiled when it is first used, since most tools
/// never are.
#[derive(Debug)]
pub(crate) struct Checker {
    schema: RawJson,
    /// `None` inside: it cannot be compiled, and nothing is checked.
    compiled: OnceLock<Option<Box<Compiled>>>,
}

impl Checker {
    /// Takes a schema, which is complete in itself. Nothing is compiled yet.
    pub(crate) fn new(schema: RawJson) -> Self {
        Self { schema, compiled: OnceLock::new() }
    }

    /// Whether the value is what the schema says. A schema that cannot be compiled allows everything, which the log is
    /// told once.
    ///
    /// # Errors
    /// What is wrong, in at most five clauses for a model to read; values are not repeated.
    pub(crate) fn check(&self, value: &RawJson) -> Result<(), String> {
        let Some(compiled) = self.compiled.get_or_init(|| Compiled::new(&self.schema).map(Box::new)) else {
            return Ok(());
        };
        let Some(value) = value::parse(value) else {
            return Err("the value is nested too deeply".into());
        };
        if compiled.validator.is_valid(&value) {
            return Ok(());
        }
        if !compiled.effort.explains(&value) {
            return Err("the value is not what the schema says".into());
        }
        let errors = compiled.validator.iter_errors(&value).take(CLAUSES);
        Err(errors.map(|error| explain::clause(&error)).collect::<Vec<_>>().join("; "))
    }

    /// Whether anything is checked at all.
    #[cfg(test)]
    pub(crate) fn compiles(&self) -> bool {
        Compiled::new(&self.schema).is_some()
    }
}
