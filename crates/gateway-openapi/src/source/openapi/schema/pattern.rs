//! Patterns of strings, judged by the validator that will match them.

use std::collections::HashMap;

use jsonschema::PatternOptions;

/// Knows which patterns are regular expressions (ECMA-262, as JSON Schema 2020-12 §6.4) that can be used.
#[derive(Debug, Default)]
pub(super) struct Patterns(HashMap<String, bool>);

/// How long a pattern may be, in bytes.
const MOST_BYTES: usize = 4096;

/// How large one may become that is compiled, in bytes.
const MOST_COMPILED: usize = 1024 * 1024;

/// How many different ones are compiled of a document. Those after them are left out.
const MOST_PATTERNS: usize = 2_000;

impl Patterns {
    pub(super) fn is_usable(&mut self, pattern: &str) -> bool {
        if let Some(known) = self.0.get(pattern) {
            return *known;
        }
        if pattern.len() > MOST_BYTES || self.0.len() == MOST_PATTERNS {
            return false;
        }
        let usable = !is_delimited(pattern) && compiles(pattern);
        self.0.insert(pattern.to_owned(), usable);
        usable
    }
}

/// `/^a$/i`, which is how some languages write an expression with its options. As an expression it matches nothing.
fn is_delimited(pattern: &str) -> bool {
    let options = pattern.rsplit('/').next().unwrap_or_default();
    pattern.starts_with("/^")
        && pattern.len() > options.len() + 2
        && options.bytes().all(|o| o.is_ascii_lowercase())
}

fn compiles(pattern: &str) -> bool {
    let schema = serde_json::json!({ "pattern": pattern });
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(PatternOptions::fancy_regex().size_limit(MOST_COMPILED))
        .build(&schema)
        .is_ok()
}
