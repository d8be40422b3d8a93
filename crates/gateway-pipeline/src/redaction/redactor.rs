use std::{borrow::Cow, collections::BTreeSet, fmt};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use gateway_domain::{RawJson, RawObject};

use super::{
    config::{Direction, NamedSecret, RedactorConfig, RedactorError},
    document, forms,
    marked::{MARK, Marked, merged},
    pattern::Pattern,
    sieve::Sieve,
};

/// Finds secrets and what looks like one, and puts [`MARK`] in their place. Immutable, and used by any number of
/// threads at once.
///
/// Secrets are found all in one pass (P-39): as they are, and JSON-escaped (once more, as in a JSON text within a string:
/// as little as may be, with `\/`, in ASCII alone, or with numbers for what means something in a page), percent-encoded
/// or in base64 (also within a longer text that was encoded). Other encodings, such as hexadecimal digits of the bytes
/// or mixtures of these, are not recognised. Where they overlap or touch they become one mark (P-40). Patterns run after them, on
/// what is left, one after the other (P-41); then secrets are looked for once more if a pattern has changed anything.
///
/// The values of the secrets stay in memory as long as the redactor does.
pub struct Redactor {
    /// All forms of all secrets first, then all anchors; `None`: there are none.
    needles: Option<AhoCorasick>,
    /// For what holds none of them.
    sieve: Sieve,
    /// How many of the needles are forms of secrets.
    forms: usize,
    /// In the order of the configuration.
    patterns: Vec<Pattern>,
    /// The longest text that can be found, in bytes, up to a bound.
    longest: usize,
}

/// What came of redacting something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<T> {
    /// The same without what was found; if nothing was, the very same bytes.
    pub value: T,
    /// How many merged secrets and matches of patterns there were (P-42).
    pub count: u64,
}

impl Redactor {
    /// Up to so many bytes of needles are looked for with a full table, which is faster and much larger.
    const FAST: usize = 8_192;

    /// Compiles what is to be found.
    ///
    /// # Errors
    /// [`RedactorError`] for the first secret or pattern that cannot be used (P-43).
    pub fn new(config: RedactorConfig) -> Result<Self, RedactorError> {
        let mut needles = BTreeSet::new();
        for secret in config.secrets.iter().filter(|secret| !secret.value.expose().is_empty()) {
            check(secret, config.min_secret_bytes)?;
            needles.extend(forms::forms(secret.value.expose()));
        }
        let patterns: Vec<_> = config.patterns.into_iter().map(Pattern::new).collect::<Result<_, _>>()?;
        let longest = needles.iter().map(String::len).chain(patterns.iter().map(Pattern::longest)).max();
        let mut needles: Vec<_> = needles.iter().map(String::as_str).collect();
        let forms = needles.len();
        needles.extend(patterns.iter().filter_map(|pattern| pattern.config().anchor.as_deref()));
        let sieve = Sieve::new(&needles);
        let needles = match needles.is_empty() {
            true => None,
            false => Some(automaton(&needles)?),
        };
        Ok(Self { needles, sieve, forms, patterns, longest: longest.unwrap_or(0) })
    }

    /// Whether there is nothing to be found.
    pub fn is_empty(&self) -> bool {
        self.needles.is_none() && self.patterns.is_empty()
    }

    /// A text that is not JSON, such as a line of a log. All patterns are looked for.
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.hide(text, None) {
            Some((marked, _)) => Cow::Owned(marked.into_text()),
            None => Cow::Borrowed(text),
        }
    }

    /// A text that is a part of something that goes one way.
    pub fn redact_string(&self, text: String, direction: Direction) -> Redacted<String> {
        match self.hide(&text, Some(direction)) {
            Some((marked, count)) => Redacted { value: marked.into_text(), count },
            None => Redacted { value: text, count: 0 },
        }
    }

    /// All strings of a value, names of members included. Names that come to be the same are numbered.
    pub fn redact_raw(&self, json: &RawJson, direction: Direction) -> Redacted<RawJson> {
        document::redact(self, json, direction)
    }

    /// As [`Self::redact_raw`], for an object.
    pub fn redact_object(&self, object: &RawObject, direction: Direction) -> Redacted<RawObject> {
        let Redacted { value, count } = self.redact_raw(object.raw(), direction);
        if count == 0 {
            return Redacted { value: object.clone(), count };
        }
        // An object stays one, with names that differ.
        Redacted { value: RawObject::try_from(value).unwrap_or_default(), count }
    }

    /// The longest text that can be found, in bytes, up to a bound.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Whether a decoded text may hold something that is to be found.
    pub(super) fn suspects(&self, text: &[u8], direction: Option<Direction>) -> bool {
        self.needles.as_ref().is_some_and(|needles| self.sieve.holds_back(text, needles))
            || self.runs_always(direction)
    }

    /// The text without what is found in it, and how much it was; `None`: nothing.
    pub(super) fn hide<'a>(&self, text: &'a str, direction: Option<Direction>) -> Option<(Marked<'a>, u64)> {
        if !self.suspects(text.as_bytes(), direction) {
            return None;
        }
        let mut marked = Marked::new(text);
        let secrets = self.hide_secrets(&mut marked);
        let patterns = self.patterns.iter().filter(|pattern| pattern.config().is_for(direction));
        let matches: u64 = patterns.map(|pattern| pattern.hide(&mut marked)).sum();
        let again = if matches > 0 { self.hide_secrets(&mut marked) } else { 0 };
        let count = secrets + matches + again;
        (count > 0).then_some((marked, count))
    }

    /// Until none is left: with what stands around it, a mark may make up a secret. As none is a part of a mark, each
    /// round takes some of the original text away.
    fn hide_secrets(&self, marked: &mut Marked<'_>) -> u64 {
        let Some(needles) = &self.needles else { return 0 };
        let mut count = 0;
        loop {
            let found = needles.find_overlapping_iter(marked.text());
            let found = found.filter(|found| found.pattern().as_usize() < self.forms);
            let mut found: Vec<_> = found.map(|found| found.range()).collect();
            if found.is_empty() {
                return count;
            }
            found.sort_unstable_by_key(|range| (range.start, range.end));
            let found = merged(found, true);
            count += found.len() as u64;
            marked.replace(&found, true);
        }
    }

    /// Whether some pattern has no anchor.
    fn runs_always(&self, direction: Option<Direction>) -> bool {
        let configs = self.patterns.iter().map(Pattern::config);
        configs.filter(|config| config.anchor.is_none()).any(|config| config.is_for(direction))
    }
}

/// Numbers alone.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("forms", &self.forms)
            .field("patterns", &self.patterns.len())
            .finish_non_exhaustive()
    }
}

/// Whether a value can be looked for.
pub(super) fn is_usable(value: &str, min: usize) -> bool {
    value.len() >= min.max(1) && !is_in_mark(value)
}

fn is_in_mark(value: &str) -> bool {
    MARK.repeat(value.len() / MARK.len() + 2).contains(value)
}

fn check(secret: &NamedSecret, min: usize) -> Result<(), RedactorError> {
    let (value, name) = (secret.value.expose(), || secret.name.clone());
    if value.len() < min {
        return Err(RedactorError::SecretTooShort { name: name(), min });
    }
    if is_in_mark(value) {
        return Err(RedactorError::SecretInMark { name: name() });
    }
    Ok(())
}

fn automaton(needles: &[&str]) -> Result<AhoCorasick, RedactorError> {
    let length: usize = needles.iter().map(|needle| needle.len()).sum();
    let kind = match length <= Redactor::FAST {
        true => AhoCorasickKind::DFA,
        false => AhoCorasickKind::ContiguousNFA,
    };
    AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(Some(kind))
        // It would look for the two or three rarest bytes of all needles, and cost several times as much as it saves in
        // texts where they are not rare.
        .prefilter(false)
        .build(needles)
        .map_err(|error| RedactorError::TooMuch { reason: error.to_string() })
}
