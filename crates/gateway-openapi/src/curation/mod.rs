//! Which operations are offered (E-36 to E-38).

mod matcher;
mod path_glob;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::ir::{Listing, Operation, Skipped};

pub use matcher::{InvalidMatcher, Matcher};
pub use path_glob::PathGlob;

/// What is chosen of an API.
///
/// ```
/// use gateway_openapi::{curation::{Curation, Matcher}, ir::{Method, Operation}};
///
/// let curation = Curation { exclude: vec![Matcher::path("/admin/*")], ..Curation::default() };
/// assert!(curation.decide(&Operation::new("list", Method::Get, "/pets")).is_taken());
/// let decision = curation.decide(&Operation::new("users", Method::Get, "/admin/users"));
/// assert_eq!(decision.to_string(), "excluded by path `/admin/*`");
/// ```
#[derive(Debug, Clone)]
pub struct Curation {
    /// Only GET and HEAD. Default true (E-W15).
    pub read_only: bool,
    /// If there are any, one of them must match.
    pub include: Vec<Matcher>,
    /// None of them may match.
    pub exclude: Vec<Matcher>,
}

impl Default for Curation {
    fn default() -> Self {
        Self { read_only: true, include: Vec::new(), exclude: Vec::new() }
    }
}

impl Curation {
    /// Everything is taken.
    pub fn all() -> Self {
        Self { read_only: false, ..Self::default() }
    }

    /// Whether the operation is offered: the switch is asked first, then the includes, then the excludes (E-36).
    pub fn decide(&self, operation: &Operation) -> Decision {
        if self.read_only && !operation.is_read_only() {
            return Decision::LeftOut { reason: format!("not read-only: {}", operation.method) };
        }
        let matches = |matcher: &&Matcher| matcher.matches(operation);
        if !self.include.is_empty() && !self.include.iter().any(|matcher| matches(&matcher)) {
            return Decision::LeftOut { reason: "matches no include".into() };
        }
        match self.exclude.iter().find(matches) {
            Some(matcher) => Decision::LeftOut { reason: format!("excluded by {matcher}") },
            None => Decision::Taken,
        }
    }

    /// The listing with the operations that are offered, in their order; the others are skipped, with the reason.
    #[must_use]
    pub fn apply(&self, listing: Listing) -> Listing {
        let Listing { operations, mut skipped, .. } = listing;
        let mut taken = Vec::with_capacity(operations.len());
        for operation in operations {
            match self.decide(&operation) {
                Decision::Taken => taken.push(operation),
                Decision::LeftOut { reason } => skipped.push(Skipped {
                    method: operation.method.to_string(),
                    path: operation.path,
                    id: Some(operation.id),
                    reason,
                }),
            }
        }
        Listing { operations: taken, skipped, ..listing }
    }

    /// Whether every matcher can match something, so that a configuration with a slip is refused and does not offer
    /// what it was meant to exclude.
    ///
    /// # Errors
    /// All matchers that cannot.
    pub fn check(&self) -> Result<(), Vec<InvalidMatcher>> {
        let matchers = self.include.iter().chain(&self.exclude);
        let invalid: Vec<_> = matchers.filter_map(|matcher| matcher.check().err()).collect();
        if invalid.is_empty() { Ok(()) } else { Err(invalid) }
    }
}

/// Whether an operation is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It is.
    Taken,
    /// It is not.
    LeftOut {
        /// Why, for the operator.
        reason: String,
    },
}

impl Decision {
    /// Whether it is offered.
    pub fn is_taken(&self) -> bool {
        *self == Self::Taken
    }
}

/// "taken", or why not.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken => f.write_str("taken"),
            Self::LeftOut { reason } => f.write_str(reason),
        }
    }
}
