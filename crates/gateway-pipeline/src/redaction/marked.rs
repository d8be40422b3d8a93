use std::{borrow::Cow, ops::Range};

/// What stands where something was redacted.
pub const MARK: &str = "[REDACTED]";

/// A text of which parts have been replaced by [`MARK`].
#[derive(Debug)]
pub(super) struct Marked<'a> {
    original: &'a str,
    /// As it is now.
    text: Cow<'a, str>,
    /// From left to right; no two of them overlap.
    marks: Vec<Mark>,
}

#[derive(Debug)]
struct Mark {
    /// Where it begins in the text as it is now.
    at: usize,
    /// What it stands for.
    original: Range<usize>,
}

impl<'a> Marked<'a> {
    pub(super) fn new(original: &'a str) -> Self {
        Self { original, text: Cow::Borrowed(original), marks: Vec::new() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(self) -> String {
        self.text.into_owned()
    }

    /// The text up to a place of the original, a mark that reaches over it included, and how many marks that is.
    pub(super) fn until(&self, end: usize) -> (String, u64) {
        let count = self.marks.partition_point(|mark| mark.original.start < end);
        let end = match count.checked_sub(1).map(|last| &self.marks[last]) {
            Some(last) => (last.at + MARK.len()) + end.saturating_sub(last.original.end),
            None => end,
        };
        (self.text[..end].to_owned(), count as u64)
    }

    /// What has been replaced, in terms of the original.
    pub(super) fn replaced(&self) -> impl Iterator<Item = &Range<usize>> {
        self.marks.iter().map(|mark| &mark.original)
    }

    /// Whether all of the range is a mark already, be it one that stood in the original.
    pub(super) fn is_mark(&self, range: &Range<usize>) -> bool {
        let earliest = range.end.saturating_sub(MARK.len());
        (earliest..=range.start).any(|at| self.text.as_bytes()[at..].starts_with(MARK.as_bytes()))
    }

    /// Replaces ranges of the text as it is now, from left to right and apart from one another. One that reaches into
    /// a mark takes all of it; with `joined`, also one that touches it.
    pub(super) fn replace(&mut self, ranges: &[Range<usize>], joined: bool) {
        let mut replaced: Vec<_> = ranges.iter().map(|range| self.of_original(range)).collect();
        replaced.extend(self.marks.drain(..).map(|mark| mark.original));
        replaced.sort_unstable_by_key(|range| (range.start, range.end));
        let mut text = String::with_capacity(self.text.len());
        let mut copied = 0;
        for original in merged(replaced, joined) {
            text.push_str(&self.original[copied..original.start]);
            copied = original.end;
            self.marks.push(Mark { at: text.len(), original });
            text.push_str(MARK);
        }
        text.push_str(&self.original[copied..]);
        self.text = text.into();
    }

    /// What of the original a range of the text stands for.
    fn of_original(&self, range: &Range<usize>) -> Range<usize> {
        let before = |at: usize| self.marks.partition_point(|mark| mark.at < at).checked_sub(1);
        let place = |at: usize, mark: &Mark| at + mark.original.end - (mark.at + MARK.len());
        // The last mark that begins at the start of the range or before it.
        let start = match before(range.start + 1).map(|index| &self.marks[index]) {
            Some(mark) if range.start < mark.at + MARK.len() => mark.original.start,
            Some(mark) => place(range.start, mark),
            None => range.start,
        };
        let end = match before(range.end).map(|index| &self.marks[index]) {
            Some(mark) if range.end <= mark.at + MARK.len() => mark.original.end,
            Some(mark) => place(range.end, mark),
            None => range.end,
        };
        start..end
    }
}

/// Ranges in the order of their starts, those that overlap as one; with `joined`, also those that touch (P-40).
pub(super) fn merged(ranges: Vec<Range<usize>>, joined: bool) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end + usize::from(joined) => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_the_text_are_known_in_the_original() {
        let mut marked = Marked::new("0123456789abcdef");
        marked.replace(&[2..4, 8..10], false);
        assert_eq!(marked.text(), "01[REDACTED]4567[REDACTED]abcdef");
        for (range, original) in [
            (0..2, 0..2),
            (0..3, 0..4),
            (2..3, 2..4),
            (11..12, 2..4),
            (12..13, 4..5),
            (1..13, 1..5),
            (12..16, 4..8),
            (12..17, 4..10),
            (25..26, 8..10),
            (26..32, 10..16),
            (0..32, 0..16),
        ] {
            assert_eq!(marked.of_original(&range), original, "{range:?}");
        }
        marked.replace(std::slice::from_ref(&(13..16)), false);
        assert_eq!(marked.text(), "01[REDACTED]4[REDACTED][REDACTED]abcdef");
        marked.replace(std::slice::from_ref(&(32..34)), true);
        assert_eq!(marked.text(), "01[REDACTED]4[REDACTED]bcdef");
        assert_eq!(marked.replaced().cloned().collect::<Vec<_>>(), [2..4, 5..11]);
    }

    #[test]
    fn what_is_a_mark_already_is_known_in_every_part() {
        let marked = Marked::new("a[REDACTED]b");
        for (range, is_so) in [
            (1..11, true),
            (2..4, true),
            (1..2, true),
            (10..11, true),
            (0..4, false),
            (9..12, false),
            (0..1, false),
        ] {
            assert_eq!(marked.is_mark(&range), is_so, "{range:?}");
        }
    }
}
