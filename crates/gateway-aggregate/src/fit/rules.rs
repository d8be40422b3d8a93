use std::fmt;

use gateway_domain::NAMESPACE_SEPARATOR;

/// What clients accept, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FitRules {
    /// The longest exposed name, `downstream__tool`, in characters. Default 64: what model APIs accept;
    /// the protocol allows 128 (A-W7).
    pub max_length: usize,
    /// The characters a name may have. Default [`Characters::Portable`].
    pub characters: Characters,
    /// How many tools one downstream may offer. Default 2,000 (security.md §2.5).
    pub max_tools: usize,
    /// The largest definition, in bytes of its JSON text. Default 64 KiB (security.md §2.5).
    pub max_definition_bytes: usize,
}

impl Default for FitRules {
    fn default() -> Self {
        Self {
            max_length: 64,
            characters: Characters::default(),
            max_tools: 2_000,
            max_definition_bytes: 64 * 1024,
        }
    }
}

impl FitRules {
    /// Why a tool of `downstream` cannot be offered under `name`; `None` if it can.
    pub fn misfit(&self, downstream: &str, name: &str) -> Option<Misfit> {
        let odd = || name.chars().find(|c| !self.characters.contains(*c));
        let length = || self.prefix_length(downstream).saturating_add(name.chars().count());
        match name {
            "" => Some(Misfit::Empty),
            _ if name.contains(NAMESPACE_SEPARATOR) => Some(Misfit::Separator),
            _ if name.starts_with('_') => Some(Misfit::LeadingUnderscore),
            _ => match odd() {
                Some(character) => Some(Misfit::Character { character, allowed: self.characters }),
                None => Some(length())
                    .filter(|length| *length > self.max_length)
                    .map(|length| Misfit::TooLong { length, limit: self.max_length }),
            },
        }
    }

    /// How many characters of an exposed name are left for the tool's part.
    pub(super) fn room(&self, downstream: &str) -> usize {
        self.max_length.saturating_sub(self.prefix_length(downstream))
    }

    fn prefix_length(&self, downstream: &str) -> usize {
        downstream.chars().count() + NAMESPACE_SEPARATOR.len()
    }
}

/// An alphabet of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Characters {
    /// `[A-Za-z0-9_-]`: what model APIs accept.
    #[default]
    Portable,
    /// `[A-Za-z0-9_.-]`: what the protocol accepts.
    Protocol,
}

impl Characters {
    /// Whether names may have this character.
    pub fn contains(self, character: char) -> bool {
        match character {
            '_' | '-' => true,
            '.' => self == Self::Protocol,
            _ => character.is_ascii_alphanumeric(),
        }
    }
}

impl fmt::Display for Characters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable => "letters, digits, `-` and `_`",
            Self::Protocol => "letters, digits, `-`, `_` and `.`",
        })
    }
}

/// Why a name does not fit. Displays as the end of a sentence whose subject is the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// There is nothing to call it by.
    #[error("is empty")]
    Empty,
    /// It contains the separator, so it could be taken apart in two ways.
    #[error("contains `{NAMESPACE_SEPARATOR}`, which separates downstream and tool")]
    Separator,
    /// Its first `_` would be taken for a part of the separator in front of it (A-W1).
    #[error("begins with `_`, which cannot be told from the separator `{NAMESPACE_SEPARATOR}` before it")]
    LeadingUnderscore,
    /// It has a character that clients refuse, or that nobody can see (security.md §2.5).
    #[error("has a character '{}' other than {allowed}", character.escape_default())]
    Character {
        /// The first such character.
        character: char,
        /// What is allowed.
        allowed: Characters,
    },
    /// With the downstream in front it is too long.
    #[error("makes an exposed name of {length} characters, more than max_length = {limit}")]
    TooLong {
        /// The length of `downstream__tool` in characters.
        length: usize,
        /// [`FitRules::max_length`].
        limit: usize,
    },
}
