//! What is wrong with a configuration, said so that its writer can mend it.

use std::fmt;

/// One thing that keeps the configuration from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// File and line, environment variable or flag, then the dotted key.
    pub(crate) place: String,
    /// What is wrong. Never holds the value of something that may be secret.
    pub(crate) what: String,
    /// What to write instead.
    pub(crate) hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", printable(&self.place), printable(&self.what))?;
        match &self.hint {
            Some(hint) => write!(f, "; hint: {}", printable(hint)),
            None => Ok(()),
        }
    }
}

/// Every problem of a configuration at once (P-10), one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problems(pub(crate) Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Something the operator should know about a configuration that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// As in [`Problem::place`].
    pub(crate) place: String,
    /// The remark.
    pub(crate) text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", printable(&self.place), printable(&self.text))
    }
}

/// A fault of one value, before it is known where that value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: String,
    pub(super) hint: Option<String>,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The known word nearest to `word`, if it is near enough to be a slip of the pen.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('-', "_");
    let (distance, best) =
        known.iter().map(|candidate| (strsim::damerau_levenshtein(&word, candidate), *candidate)).min()?;
    // A third of the letters wrong is a typing error; more is another word.
    (distance <= (best.len().max(3)) / 3).then_some(best)
}

/// Text from files goes to terminals and logs.
fn printable(text: &str) -> String {
    gateway_domain::printable(text, 1000)
}
