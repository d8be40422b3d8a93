use std::ops::Range;

use gateway_domain::RawJson;

use super::{
    config::Direction,
    decoded::{self, Decoded},
    marked::{MARK, Marked},
    names,
    redactor::{Redacted, Redactor},
    strings::{Quoted, Strings},
};

/// Redacts all strings of a value.
pub(super) fn redact(redactor: &Redactor, json: &RawJson, direction: Direction) -> Redacted<RawJson> {
    let same = || Redacted { value: json.clone(), count: 0 };
    // What stands in a string without escapes stands so among the bytes.
    let among_bytes = redactor.suspects(json.as_bytes(), Some(direction));
    if !among_bytes && memchr::memchr(b'\\', json.as_bytes()).is_none() {
        return same();
    }
    let mut work = Work { redactor, direction, text: json.as_str(), cuts: Vec::new(), count: 0 };
    let mut buffer = String::new();
    let mut is_renamed = false;
    for quoted in Strings::of(json.as_str()).filter(|quoted| among_bytes || quoted.is_escaped) {
        let is_changed = work.redact(&quoted, &mut buffer);
        is_renamed |= is_changed && quoted.is_name(json.as_str());
    }
    if work.count == 0 {
        return same();
    }
    let mut text = spliced(json.as_str(), &work.cuts);
    if is_renamed {
        text = names::distinct(text);
    }
    // Marks within strings leave valid JSON valid. Were it not so, nothing may be shown.
    let value = RawJson::parse(text).unwrap_or_else(|_| RawJson::string(MARK));
    Redacted { value, count: work.count }
}

struct Work<'a> {
    redactor: &'a Redactor,
    direction: Direction,
    text: &'a str,
    /// What is to be replaced, from left to right.
    cuts: Vec<Range<usize>>,
    count: u64,
}

impl Work<'_> {
    /// Redacts one string; says whether it has changed. `buffer` is only there to be used again.
    fn redact(&mut self, quoted: &Quoted, buffer: &mut String) -> bool {
        let (inner, at) = (&self.text[quoted.inner.clone()], quoted.inner.start);
        if !quoted.is_escaped {
            return self.cut(self.redactor.hide(inner, Some(self.direction)), |range| {
                at + range.start..at + range.end
            });
        }
        buffer.clear();
        decoded::decode(inner, buffer, |_, _, _| {});
        if !self.redactor.suspects(buffer.as_bytes(), Some(self.direction)) {
            return false;
        }
        let decoded = Decoded::read(inner);
        self.cut(self.redactor.hide(decoded.text(), Some(self.direction)), |range| {
            let range = decoded.raw(range);
            at + range.start..at + range.end
        })
    }

    fn cut(
        &mut self,
        hidden: Option<(Marked<'_>, u64)>,
        place: impl Fn(&Range<usize>) -> Range<usize>,
    ) -> bool {
        let Some((marked, count)) = hidden else { return false };
        self.cuts.extend(marked.replaced().map(place));
        self.count += count;
        true
    }
}

/// The text with a mark in place of each cut.
fn spliced(text: &str, cuts: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len() + cuts.len() * MARK.len());
    let mut copied = 0;
    for cut in cuts {
        out.push_str(&text[copied..cut.start]);
        out.push_str(MARK);
        copied = cut.end;
    }
    out.push_str(&text[copied..]);
    out
}
