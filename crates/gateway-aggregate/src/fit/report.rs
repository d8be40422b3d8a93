use std::fmt;

use super::rules::Misfit;

/// What [`fit`](crate::fit) changed in one downstream's listing, for its operator.
///
/// Displays as one line per change, each naming the downstream. Names are shown with everything but
/// printable ASCII escaped, and long ones cut, so a line is safe in a terminal and in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitReport {
    /// The downstream.
    pub downstream: String,
    /// The changes, in the order of the tools they concern.
    pub changes: Vec<Change>,
}

impl FitReport {
    /// Whether every tool is offered as it was reported.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The tools that are offered under another name: (alias, name), both without the downstream.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.changes.iter().filter_map(|change| match change {
            Change::Aliased { name, alias, .. } => Some((alias.as_str(), name.as_str())),
            Change::Dropped { .. } => None,
        })
    }

    /// The tools that are not offered: name and cause.
    pub fn dropped(&self) -> impl Iterator<Item = (&str, DropCause)> {
        self.changes.iter().filter_map(|change| match change {
            Change::Dropped { name, cause } => Some((name.as_str(), *cause)),
            Change::Aliased { .. } => None,
        })
    }
}

impl fmt::Display for FitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, change) in self.changes.iter().enumerate() {
            let line_break = if at == 0 { "" } else { "\n" };
            write!(f, "{line_break}downstream {}: {change}", Shown(&self.downstream))?;
        }
        Ok(())
    }
}

/// What became of one tool that could not be offered as it was reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is offered under another name.
    Aliased {
        /// The name it came with.
        name: String,
        /// The name it is offered under, without the downstream.
        alias: String,
        /// Why.
        misfit: Misfit,
    },
    /// It is not offered.
    Dropped {
        /// The name it came with.
        name: String,
        /// Why.
        cause: DropCause,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aliased { name, alias, misfit } => {
                write!(f, "tool {} is offered as \"{alias}\": its name {misfit}", Shown(name))
            }
            Self::Dropped { name, cause } => write!(f, "tool {} is not offered: {cause}", Shown(name)),
        }
    }
}

/// Why a tool is not offered. Displays as a clause of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DropCause {
    /// An earlier tool of the listing has the same name.
    #[error("the downstream reports this name more than once, and the first one stays")]
    Duplicate,
    /// The definition is too large.
    #[error("its definition has {bytes} bytes, more than max_definition_bytes = {limit}")]
    TooLarge {
        /// The definition's size.
        bytes: usize,
        /// [`FitRules::max_definition_bytes`](crate::FitRules::max_definition_bytes).
        limit: usize,
    },
    /// The downstream has too many tools.
    #[error("the downstream has more tools than max_tools = {limit}, and the first in byte order stay")]
    TooMany {
        /// [`FitRules::max_tools`](crate::FitRules::max_tools).
        limit: usize,
    },
    /// The name does not fit and no alias does: the downstream's name leaves too little of `max_length`, or
    /// its other tools have all the names that would do.
    #[error("its name {misfit}, and no alias is free within max_length; shorten the downstream's name")]
    NoAlias {
        /// Why the name does not fit.
        misfit: Misfit,
    },
}

/// A quoted name, in printable ASCII and of bounded length.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 100;
        f.write_str("\"")?;
        for shown in self.0.chars().take(LONGEST) {
            write!(f, "{}", shown.escape_default())?;
        }
        f.write_str(if self.0.chars().nth(LONGEST).is_some() { "…\"" } else { "\"" })
    }
}
