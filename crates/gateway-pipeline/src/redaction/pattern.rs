use regex::{Regex, RegexBuilder};

use super::{
    anchor,
    config::{PatternConfig, RedactorError},
    marked::Marked,
};

/// The most memory that a compiled expression takes, in bytes; for the table that it is run with, as much again.
const MOST_BYTES: usize = 1_048_576;
/// How deep an expression may nest.
const DEEPEST: u32 = 100;
/// Of an expression without a bound, or with a larger one, so much is taken to be a match where it matters.
const LONGEST: usize = 65_536;

/// A pattern that can be used.
#[derive(Debug)]
pub(super) struct Pattern {
    config: PatternConfig,
    regex: Regex,
    longest: usize,
}

impl Pattern {
    /// Checks a pattern.
    pub(super) fn new(config: PatternConfig) -> Result<Self, RedactorError> {
        let name = || config.name.clone();
        let bad = |reason: String| RedactorError::Pattern { name: name(), reason };
        let hir = regex_syntax::ParserBuilder::new()
            .nest_limit(DEEPEST)
            .build()
            .parse(&config.regex)
            .map_err(|error| bad(error.to_string()))?;
        let regex = RegexBuilder::new(&config.regex)
            .nest_limit(DEEPEST)
            .size_limit(MOST_BYTES)
            .dfa_size_limit(MOST_BYTES)
            .build()
            .map_err(|error| bad(error.to_string()))?;
        if hir.properties().minimum_len().is_none_or(|length| length == 0) {
            return Err(RedactorError::MatchesNothing { name: name() });
        }
        let is_useless = |text: &&String| text.is_empty() || !anchor::is_required(&hir, text.as_bytes());
        if let Some(anchor) = config.anchor.as_ref().filter(is_useless) {
            return Err(RedactorError::Anchor { name: name(), anchor: anchor.clone() });
        }
        let longest = hir.properties().maximum_len().unwrap_or(LONGEST).min(LONGEST);
        Ok(Self { config, regex, longest })
    }

    pub(super) fn config(&self) -> &PatternConfig {
        &self.config
    }

    /// How long a match can be, in bytes, up to a bound.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Replaces all matches and counts them. What lies within a mark is none.
    pub(super) fn hide(&self, marked: &mut Marked<'_>) -> u64 {
        let text = marked.text();
        if self.config.anchor.as_ref().is_some_and(|anchor| !text.contains(anchor.as_str())) {
            return 0;
        }
        let found = self.regex.find_iter(text).map(|found| found.range());
        let found: Vec<_> = found.filter(|range| !marked.is_mark(range)).collect();
        if !found.is_empty() {
            marked.replace(&found, false);
        }
        found.len() as u64
    }
}
