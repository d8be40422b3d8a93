//! Whether a JSON value is what a JSON Schema says, and whether a text is a JSON Schema.
//!
//! The one place with values that are not bytes: the validator knows nothing else. What is sent are the bytes.

#![expect(clippy::disallowed_types, reason = "the validator of JSON Schema takes nothing else")]

mod compile;
mod effort;
mod explain;
mod height;
mod kept;
#[cfg(test)]
mod tests;
mod value;
mod vet;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use gateway_domain::RawJson;

use self::compile::Compiled;
pub(crate) use self::vet::is_sound;

/// The most clauses of one explanation.
const CLAUSES: usize = 5;

/// A JSON Schema (2020-12) that values are checked against. It is compiled when it is first used, since most tools
/// never are, and anew if it was not used for long.
#[derive(Debug)]
pub(crate) struct Checker {
    schema: RawJson,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Compiled(Weak<Compiled>),
    /// It cannot be compiled, and nothing is checked.
    Useless,
}

impl Checker {
    /// Takes a schema, which is complete in itself. Nothing is compiled yet.
    pub(crate) fn new(schema: RawJson) -> Self {
        Self { schema, state: Mutex::new(State::Compiled(Weak::new())) }
    }

    /// Whether the value is what the schema says. A schema that cannot be compiled allows everything, which the log is
    /// told once, and so does one that would make too much work of the value: the API judges it as well.
    ///
    /// # Errors
    /// What is wrong, in at most five clauses for a model to read; values are not repeated.
    pub(crate) fn check(&self, value: &RawJson) -> Result<(), String> {
        let Some(compiled) = self.compiled() else { return Ok(()) };
        let bytes = value.as_bytes().len();
        let value = value::parse(value).map_err(|reason| format!("the value {reason}"))?;
        if !compiled.effort.checks(&value, bytes) {
            tracing::debug!(bytes, "a value is too large or too deep for its schema and is not checked");
            return Ok(());
        }
        if compiled.validator.is_valid(&value) {
            return Ok(());
        }
        if !compiled.effort.explains(&value) {
            return Err("the value is not what the schema says".into());
        }
        let errors = compiled.validator.iter_errors(&value).take(CLAUSES);
        Err(errors.map(|error| explain::clause(&error)).collect::<Vec<_>>().join("; "))
    }

    fn compiled(&self) -> Option<Arc<Compiled>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State::Compiled(known) = &*state else { return None };
        if let Some(compiled) = known.upgrade() {
            kept::keep(&compiled, self.schema.as_bytes().len());
            return Some(compiled);
        }
        let compiled = Compiled::new(&self.schema).map(Arc::new);
        *state = match &compiled {
            Some(compiled) => {
                kept::keep(compiled, self.schema.as_bytes().len());
                State::Compiled(Arc::downgrade(compiled))
            }
            None => State::Useless,
        };
        compiled
    }

    /// Whether anything is checked at all.
    #[cfg(test)]
    pub(crate) fn compiles(&self) -> bool {
        self.compiled().is_some()
    }
}
