//! Names of downstreams and tools, and how they are joined (design §5).

use std::{fmt, sync::Arc};

/// What stands between a downstream's name and its tool's name in an exposed name.
pub const NAMESPACE_SEPARATOR: &str = "__";

/// How many times the separator occurs, overlaps counted: `a___b` has two, because it could be split in
/// two ways (A-W1).
pub fn separators_in(text: &str) -> usize {
    text.as_bytes()
        .windows(NAMESPACE_SEPARATOR.len())
        .filter(|w| *w == NAMESPACE_SEPARATOR.as_bytes())
        .count()
}

/// The name of a configured downstream: letters, digits, `-` and single `_` inside; never `__`, never a
/// leading or trailing `_` (design §5), so that joining it to a tool's name can be undone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DownstreamName(Arc<str>);

impl DownstreamName {
    /// The longest name, in characters. It must leave room for a tool's name within 64.
    pub const MAX_LENGTH: usize = 40;

    /// Checks a name.
    ///
    /// # Errors
    /// [`DownstreamNameError`], naming the rule that is broken.
    pub fn parse(name: &str) -> Result<Self, DownstreamNameError> {
        let fail = |rule| Err(DownstreamNameError { name: name.to_owned(), rule });
        match name {
            "" => fail("is empty"),
            _ if name.len() > Self::MAX_LENGTH => fail("is longer than 40 characters"),
            _ if name.contains(NAMESPACE_SEPARATOR) => {
                fail("contains `__`, which separates downstream and tool")
            }
            _ if name.starts_with('_') || name.ends_with('_') => fail("begins or ends with `_`"),
            _ if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') => {
                fail("has characters other than letters, digits, `-` and `_`")
            }
            _ => Ok(Self(name.into())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DownstreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for DownstreamName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Why a text cannot name a downstream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("downstream name {name:?} {rule}")]
pub struct DownstreamNameError {
    /// The text.
    pub name: String,
    /// The rule it breaks, as the end of a sentence.
    pub rule: &'static str,
}

/// A tool of a downstream. Its display form is the exposed name, `downstream__tool`.
///
/// Any two texts can be joined here; [`ToolRef::parse`] accepts only what can be taken apart again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolRef {
    downstream: String,
    tool: String,
}

impl ToolRef {
    /// Puts a reference together, unchecked.
    pub fn new(downstream: impl Into<String>, tool: impl Into<String>) -> Self {
        Self { downstream: downstream.into(), tool: tool.into() }
    }

    /// Takes an exposed name apart: exactly one separator, overlaps counted, and something on both sides
    /// . Never panics, whatever the text.
    ///
    /// # Errors
    /// [`ToolRefError`] with the name.
    pub fn parse(name: &str) -> Result<Self, ToolRefError> {
        let malformed = || ToolRefError { name: name.to_owned() };
        if separators_in(name) != 1 {
            return Err(malformed());
        }
        match name.split_once(NAMESPACE_SEPARATOR) {
            Some((downstream, tool)) if !downstream.is_empty() && !tool.is_empty() => {
                Ok(Self::new(downstream, tool))
            }
            _ => Err(malformed()),
        }
    }

    /// The downstream's name.
    pub fn downstream(&self) -> &str {
        &self.downstream
    }

    /// The tool's name on its downstream.
    pub fn tool(&self) -> &str {
        &self.tool
    }
}

impl fmt::Display for ToolRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{NAMESPACE_SEPARATOR}{}", self.downstream, self.tool)
    }
}

/// A text that is not `downstream__tool` with exactly one separator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed tool name {name:?}: it must be `downstream__tool` with exactly one `__`")]
pub struct ToolRefError {
    /// The text.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn downstream_names_follow_the_rule() {
        for good in ["a", "files", "my-server_2", "A_b", "0"] {
            assert_eq!(DownstreamName::parse(good).unwrap().as_str(), good);
        }
        for (bad, rule) in [
            ("", "is empty"),
            ("_", "begins or ends with `_`"),
            ("a_", "begins or ends with `_`"),
            ("_a", "begins or ends with `_`"),
            ("a__b", "contains `__`, which separates downstream and tool"),
            ("a.b", "has characters other than letters, digits, `-` and `_`"),
            ("my server", "has characters other than letters, digits, `-` and `_`"),
            ("é", "has characters other than letters, digits, `-` and `_`"),
        ] {
            assert_eq!(DownstreamName::parse(bad).unwrap_err().rule, rule, "for {bad:?}");
        }
        assert!(DownstreamName::parse(&"a".repeat(41)).is_err());
    }

    #[test]
    fn references_split_at_exactly_one_separator() {
        for malformed in ["", "nosep", "a__b__c", "__x", "x__", "a___x", "__", "___", "a____b"] {
            assert!(ToolRef::parse(malformed).is_err(), "{malformed:?} was accepted");
        }
        let reference = ToolRef::parse("a_b__c_d").unwrap();
        assert_eq!((reference.downstream(), reference.tool()), ("a_b", "c_d"));
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_undoes_display(text in any::<String>()) {
            if let Ok(reference) = ToolRef::parse(&text) {
                prop_assert_eq!(reference.to_string(), text);
            }
        }
    }
}
