//! Patterns over names.

use std::collections::HashSet;

use gateway_domain::{Access, Act, DownstreamName, NAMESPACE_SEPARATOR};
use wildmatch::WildMatch;

use super::{
    config::Effect,
    uri::{Reading, canonical_pattern},
};

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
    Any {
        pattern: WildMatch,
        /// What comes before the first wildcard.
        prefix: Box<str>,
    },
}

impl Glob {
    fn new(pattern: &str) -> Self {
        match pattern.strip_suffix('*') {
            Some(prefix) if !is_wild(prefix) => Self::Prefix(prefix.into()),
            _ => {
                let prefix = pattern.split(['*', '?']).next().unwrap_or_default().into();
                Self::Any { pattern: WildMatch::new(pattern), prefix }
            }
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Prefix(prefix) => text.starts_with(&**prefix),
            Self::Any { pattern, .. } => pattern.matches(text),
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

/// Which spelling of a name is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// One that means the same to everybody.
    Told,
    /// One that may mean the same to a server.
    Loose,
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

/// Whether what is asked for may be named by a URI.
pub(super) fn has_uri(act: Act) -> bool {
    matches!(act, Act::Read | Act::Subscribe | Act::Complete)
}

/// Patterns over what has a name on `/mcp`.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// As they are written, and as what means the same to everybody.
    names: Globs,
    /// As servers may read them: matched with what is read like that alone, so that nothing more is allowed.
    loose: Globs,
    /// The `DOWNSTREAM` of each `DOWNSTREAM__*`.
    downstreams: Globs,
}

impl Names {
    pub(super) fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = Self::default();
        for pattern in patterns {
            names.names.add(pattern);
            for (globs, reading) in [(&mut names.names, Reading::Strict), (&mut names.loose, Reading::Loose)]
            {
                if let Some(canonical) = canonical_pattern(pattern, reading).filter(|it| it != pattern) {
                    globs.add(&canonical);
                }
            }
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

    pub(super) fn fit(&self, effect: Effect, access: &Access<'_>, spelling: Spelling) -> Fit {
        if self.names.names(access.name) {
            return Fit::Exact;
        }
        // A denial is wide.
        let is_loose = spelling == Spelling::Loose || effect == Effect::Deny && has_uri(access.act);
        if is_loose && self.loose.matches(access.name) {
            return Fit::Wild;
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

impl Names {
    /// Whether one of them could be about something of a downstream. One that begins like the names of another, or like
    /// those of workflows, could not; what a resource or a method is called nobody can tell.
    pub(super) fn could_be_of(&self, downstream: &DownstreamName) -> bool {
        self.downstreams.matches(downstream.as_str())
            || self.names.exact.iter().any(|name| could_be(name, false, downstream))
            || self.names.wild.iter().any(|glob| glob.could_be_of(downstream))
    }

    /// Whether one of them is about everything of a downstream.
    pub(super) fn cover(&self, downstream: &DownstreamName) -> bool {
        self.downstreams.matches(downstream.as_str()) || self.names.wild.iter().any(Glob::is_all)
    }
}

impl Glob {
    fn could_be_of(&self, downstream: &DownstreamName) -> bool {
        match self {
            Self::Prefix(prefix) | Self::Any { prefix, .. } => could_be(prefix, true, downstream),
        }
    }

    fn is_all(&self) -> bool {
        matches!(self, Self::Prefix(prefix) if prefix.is_empty())
    }
}

/// Whether a name, or one that begins like this, could be something of a downstream.
fn could_be(text: &str, is_beginning: bool, downstream: &DownstreamName) -> bool {
    let own = format!("{downstream}{NAMESPACE_SEPARATOR}");
    if text.starts_with(&own) || is_beginning && own.starts_with(text) {
        return true;
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    if !text.chars().all(is_word) {
        // Of another downstream, whatever comes after.
        let (first, _) = text.split_once(NAMESPACE_SEPARATOR).unwrap_or_default();
        return first.is_empty() || DownstreamName::parse(first).is_err();
    }
    is_beginning && !text.contains('_')
}
