use gateway_domain::Secret;

use super::marked::MARK;

/// What is to be redacted.
#[derive(Debug, Clone)]
pub struct RedactorConfig {
    /// The secrets that the gateway itself holds. Empty ones are ignored (P-39).
    pub secrets: Vec<NamedSecret>,
    /// What else looks like a secret, in the order in which it is looked for.
    pub patterns: Vec<PatternConfig>,
    /// The least length of a secret, in bytes. A shorter one would be found in what has nothing to do with it (P-W4).
    pub min_secret_bytes: usize,
}

impl RedactorConfig {
    /// The default of [`Self::min_secret_bytes`].
    pub const MIN_SECRET_BYTES: usize = 8;
}

impl Default for RedactorConfig {
    fn default() -> Self {
        Self { secrets: Vec::new(), patterns: Vec::new(), min_secret_bytes: Self::MIN_SECRET_BYTES }
    }
}

/// A secret with what it is called in errors.
#[derive(Debug, Clone)]
pub struct NamedSecret {
    /// Where it comes from, as the operator knows it: a variable, a file, a setting.
    pub name: String,
    /// Its value.
    pub value: Secret,
}

/// Something that looks like a secret.
#[derive(Debug, Clone)]
pub struct PatternConfig {
    /// What it is called in errors.
    pub name: String,
    /// A regular expression of the `regex` crate. It has to match something, and is run on one decoded string at a
    /// time, in which the secrets have been redacted already (P-41).
    pub regex: String,
    /// A text that stands, in this case, in all that the expression matches. The expression is only run where it
    /// occurs; without one it is run on every string.
    pub anchor: Option<String>,
    /// Whether it is looked for in what clients send.
    pub arguments: bool,
    /// Whether it is looked for in what clients are sent.
    pub results: bool,
}

impl PatternConfig {
    /// A pattern that is looked for both ways.
    pub fn new(name: &str, regex: &str, anchor: Option<&str>) -> Self {
        let (name, regex, anchor) = (name.to_owned(), regex.to_owned(), anchor.map(str::to_owned));
        Self { name, regex, anchor, arguments: true, results: true }
    }

    pub(super) fn is_for(&self, direction: Option<Direction>) -> bool {
        match direction {
            Some(Direction::Arguments) => self.arguments,
            Some(Direction::Results) => self.results,
            None => true,
        }
    }
}

/// Which way something goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From a client to a downstream.
    Arguments,
    /// From a downstream to a client.
    Results,
}

/// Why there is no redactor. None of the texts holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedactorError {
    /// A secret is so short that it would be found everywhere.
    #[error("secret `{name}` has fewer than {min} bytes and cannot be redacted; use a longer one")]
    SecretTooShort {
        /// Its name.
        name: String,
        /// The least length, in bytes.
        min: usize,
    },
    /// A secret stands in the mark that is put in place of secrets.
    #[error("secret `{name}` is a part of {MARK}, which is put in place of secrets; use another one")]
    SecretInMark {
        /// Its name.
        name: String,
    },
    /// A regular expression cannot be used (P-43).
    #[error("redaction pattern `{name}`: {reason}")]
    Pattern {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A regular expression matches where there is nothing.
    #[error("redaction pattern `{name}` matches the empty text; have it match something")]
    MatchesNothing {
        /// Its name.
        name: String,
    },
    /// An anchor does not stand in all that its expression matches, so that some of it would be missed (P-W16).
    #[error(
        "redaction pattern `{name}` can match text without its anchor {anchor:?}; \
             give a text that stands in every match, in the same case, or none"
    )]
    Anchor {
        /// The pattern's name.
        name: String,
        /// The anchor.
        anchor: String,
    },
    /// All secrets together are more than can be looked for.
    #[error("there are too many secrets to redact, or they are too long: {reason}")]
    TooMuch {
        /// What the limit is.
        reason: String,
    },
}
