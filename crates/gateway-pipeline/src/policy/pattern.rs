//! Patterns over names.

use std::collections::HashSet;

use gateway_domain::{Access, Act, NAMESPACE_SEPARATOR};
use wildmatch::WildMatch;

use super::config::Effect;

/// The longest pattern, in bytes.
pub(super) const LONGEST: usize = 1_024;

/// Whether a pattern is one, and no full name.
pub(super) fn is_wild(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

/// A pattern with `*` and `?`.
#[derive(Debug, Clone)]
enum Glob {
    /// Begins with it.
    Prefix(Box<str>),
    Any(WildMatch),
}

impl Glob {
    fn new(pattern: &str) -> Self {
        match pattern.strip_suffix('*') {
            Some(prefix) if !is_wild(prefix) => Self::Prefix(prefix.into()),
            _ => Self::Any(WildMatch::new(pattern)),
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Prefix(prefix) => text.starts_with(&**prefix),
            Self::Any(pattern) => pattern.matches(text),
        }
    }
}

/// A list of patterns: full names in a set, and those with wildcards.
#[derive(Debug, Clone, Default)]
pub(super) struct Globs {
    exact: HashSet<Box<str>>,
    wild: Vec<Glob>,
}

impl Globs {
    pub(super) fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let mut globs = Self::default();
        for pattern in patterns {
            globs.add(pattern);
        }
        globs
    }

    fn add(&mut self, pattern: &str) {
        if is_wild(pattern) {
            self.wild.push(Glob::new(pattern));
        } else {
            self.exact.insert(pattern.into());
        }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.names(text) || self.reaches(text)
    }

    /// Whether it stands there in full.
    fn names(&self, text: &str) -> bool {
        self.exact.contains(text)
    }

    /// Whether a wildcard matches it.
    fn reaches(&self, text: &str) -> bool {
        self.wild.iter().any(|glob| glob.matches(text))
    }
}

/// How a list of names is about an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    No,
    /// By a wildcard.
    Wild,
    /// By its full name.
    Exact,
}

/// Patterns over what has a name on `/mcp`.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    names: Globs,
    /// The `DOWNSTREAM` of each `DOWNSTREAM__*`.
    downstreams: Globs,
}

impl Names {
    pub(super) fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = Self::default();
        for pattern in patterns {
            names.names.add(pattern);
            let downstream = pattern.strip_suffix('*').and_then(|it| it.strip_suffix(NAMESPACE_SEPARATOR));
            if let Some(downstream) = downstream {
                names.downstreams.add(downstream);
            }
        }
        names
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.exact.is_empty() && self.names.wild.is_empty()
    }

    pub(super) fn fit(&self, effect: Effect, access: &Access<'_>) -> Fit {
        if self.names.names(access.name) {
            return Fit::Exact;
        }
        if self.names.reaches(access.name) || self.reach_downstream(effect, access) {
            return Fit::Wild;
        }
        Fit::No
    }

    /// Things without a prefix in their name, by whose they are.
    fn reach_downstream(&self, effect: Effect, access: &Access<'_>) -> bool {
        let is_meant = match access.act {
            Act::Read | Act::Subscribe | Act::Complete => true,
            Act::Other => effect == Effect::Deny,
            Act::Call | Act::Get => false,
        };
        is_meant && access.downstream.is_some_and(|downstream| self.downstreams.matches(downstream.as_str()))
    }
}
