use std::{fmt, sync::Arc};

use super::PathGlob;
use crate::{
    ir::{Method, Operation},
    source::legal_id,
};

/// Tells operations apart (E-37).
#[derive(Clone)]
pub enum Matcher {
    /// Those with exactly this tag.
    Tag(String),
    /// Those whose path matches.
    Path(PathGlob),
    /// Those with this method, in any case.
    Method(String),
    /// The one with exactly this id, as it is or as its source writes it: `repos/get` is `repos_get` (E-42).
    Operation(String),
    /// Those for which the test is true.
    Predicate {
        /// What reasons call it.
        name: String,
        /// The test.
        test: Arc<dyn Fn(&Operation) -> bool + Send + Sync>,
    },
}

/// A matcher that never matches what it is meant to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{matcher} matches nothing: {reason}")]
pub struct InvalidMatcher {
    /// Which: "path `/a[`".
    pub matcher: String,
    /// Why.
    pub reason: String,
}

impl Matcher {
    /// Those with exactly this tag.
    pub fn tag(tag: impl Into<String>) -> Self {
        Self::Tag(tag.into())
    }

    /// Those whose path matches the glob.
    pub fn path(glob: impl Into<String>) -> Self {
        Self::Path(PathGlob::new(glob))
    }

    /// Those with this method, in any case.
    pub fn method(name: impl Into<String>) -> Self {
        Self::Method(name.into())
    }

    /// The one with exactly this id.
    pub fn operation(id: impl Into<String>) -> Self {
        Self::Operation(id.into())
    }

    /// Those for which the test is true.
    pub fn predicate(
        name: impl Into<String>,
        test: impl Fn(&Operation) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::Predicate { name: name.into(), test: Arc::new(test) }
    }

    /// Whether it is one of them.
    pub fn matches(&self, operation: &Operation) -> bool {
        match self {
            Self::Tag(tag) => operation.tags.contains(tag),
            Self::Path(glob) => glob.matches(&operation.path),
            Self::Method(name) => Method::parse(name) == Some(operation.method),
            Self::Operation(id) => *id == operation.id || legal_id(id) == operation.id,
            Self::Predicate { test, .. } => test(operation),
        }
    }

    /// Whether it can match anything.
    ///
    /// # Errors
    /// A glob that cannot be understood, a method that no operation has, an empty tag or id, or one that looks like a
    /// glob: only paths have such, and what it was meant to exclude would be offered.
    pub fn check(&self) -> Result<(), InvalidMatcher> {
        let reason = match self {
            Self::Path(glob) => glob.fault().map(str::to_owned),
            Self::Method(name) => Method::parse(name).is_none().then(|| {
                let names = Method::ALL.map(Method::as_str).join(", ");
                format!("the methods are {names}")
            }),
            Self::Tag(text) | Self::Operation(text) if text.trim().is_empty() => Some("it is empty".into()),
            Self::Tag(text) | Self::Operation(text) => text
                .contains(['*', '?', '['])
                .then(|| "globs are for paths; here the whole name is needed".into()),
            Self::Predicate { .. } => None,
        };
        match reason {
            Some(reason) => Err(InvalidMatcher { matcher: self.to_string(), reason }),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, "tag `{tag}`"),
            Self::Path(glob) => write!(f, "path `{glob}`"),
            Self::Method(name) => write!(f, "method `{name}`"),
            Self::Operation(id) => write!(f, "operation `{id}`"),
            Self::Predicate { name, .. } => write!(f, "rule `{name}`"),
        }
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matcher({self})")
    }
}
