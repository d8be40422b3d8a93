use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, packed};

/// How much of the beginning of a needle is looked for, in bytes: it bounds what a text costs that is full of such
/// beginnings.
const BEGINNING: usize = 32;

/// Leaves out texts that hold none of the needles, as nearly all do.
///
/// Where there are few needles, their beginnings are looked for many bytes at a time. What is found by its beginning
/// alone may be none, so it is looked at again by whoever wants to know. Not to be shown: it has secrets in it.
pub(super) struct Sieve(Option<packed::Searcher>);

impl Sieve {
    /// A sieve for these. It may have no means of its own: there are too many of them, or one is empty, or the processor
    /// cannot compare many bytes at a time.
    pub(super) fn new(needles: &[&str]) -> Self {
        let beginnings: BTreeSet<_> =
            needles.iter().map(|needle| &needle.as_bytes()[..needle.len().min(BEGINNING)]).collect();
        Self(packed::Searcher::new(beginnings))
    }

    /// Whether a text may hold one of the needles, of which `all` finds each.
    pub(super) fn holds_back(&self, text: &[u8], all: &AhoCorasick) -> bool {
        match &self.0 {
            Some(beginnings) => beginnings.find(text).is_some(),
            None => all.is_match(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(needles: &[&str], has_means: bool, text: &str, is_held_back: bool) {
        let (sieve, all) = (Sieve::new(needles), AhoCorasick::new(needles).unwrap());
        // Elsewhere there may be no such instructions.
        if cfg!(target_arch = "x86_64") {
            assert_eq!(sieve.0.is_some(), has_means, "for {needles:?}");
        }
        assert_eq!(sieve.holds_back(text.as_bytes(), &all), is_held_back, "{text:?} for {needles:?}");
    }

    #[test]
    fn what_may_hold_a_needle_is_held_back() {
        let long = format!("{}END", "long".repeat(20));
        let padded = format!("{}{long}", "x".repeat(100));
        for (text, is_held_back) in [
            ("", false),
            ("needl", false),
            ("needle", true),
            (" a needle", true),
            ("nothing at all, in a text that is longer than what is compared at once", false),
            ("nothing before a text that is longer than what is compared at once: needle", true),
            (padded.as_str(), true),
            // By its beginning alone.
            (&padded[..140], true),
            (&padded[..120], false),
        ] {
            check(&["needle", &long], true, text, is_held_back);
        }
    }

    #[test]
    fn without_means_all_needles_are_looked_for() {
        let many: Vec<_> = (0..100).map(|n| format!("needle {n:03}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        check(&many, false, "before needle 042 and after", true);
        check(&many, false, "before needle 042", true);
        check(&many, false, "before needle 10", false);
        check(&["", "needle"], false, "anything", true);
    }
}
