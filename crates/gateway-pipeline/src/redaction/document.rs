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
    let text = json.as_str();
    let mut work = Work { redactor, direction, text, cuts: Vec::new(), count: 0, is_renamed: false };
    let mut plain_from = 0;
    if memchr::memchr(b'\\', text.as_bytes()).is_some() {
        let mut buffer = String::new();
        for quoted in Strings::of(text).filter(|quoted| quoted.is_escaped) {
            work.redact_plain(plain_from..quoted.inner.start - 1);
            work.redact_escaped(&quoted, &mut buffer);
            plain_from = quoted.inner.end + 1;
        }
    }
    work.redact_plain(plain_from..text.len());
    if work.count == 0 {
        return Redacted { value: json.clone(), count: 0 };
    }
    let mut changed = spliced(text, &work.cuts);
    if work.is_renamed {
        changed = names::distinct(changed);
    }
    // Marks within strings leave valid JSON valid. Were it not so, nothing may be shown.
    let value = RawJson::parse(changed).unwrap_or_else(|_| RawJson::string(MARK));
    Redacted { value, count: work.count }
}

struct Work<'a> {
    redactor: &'a Redactor,
    direction: Direction,
    text: &'a str,
    /// What is to be replaced, from left to right.
    cuts: Vec<Range<usize>>,
    count: u64,
    /// Whether the name of a member is among it.
    is_renamed: bool,
}

impl Work<'_> {
    /// Redacts a part of the text in which no string has escapes: what is not among its bytes is in none of them.
    fn redact_plain(&mut self, part: Range<usize>) {
        if !self.redactor.suspects(&self.text.as_bytes()[part.clone()], Some(self.direction)) {
            return;
        }
        for quoted in Strings::within(self.text, part) {
            let hidden = self.redactor.hide(&self.text[quoted.inner.clone()], Some(self.direction));
            self.cut(&quoted, hidden, Range::clone);
        }
    }

    /// Redacts one string. `buffer` is only there to be used again.
    fn redact_escaped(&mut self, quoted: &Quoted, buffer: &mut String) {
        let inner = &self.text[quoted.inner.clone()];
        buffer.clear();
        decoded::decode(inner, buffer, |_, _, _| {});
        if !self.redactor.suspects(buffer.as_bytes(), Some(self.direction)) {
            return;
        }
        let decoded = Decoded::read(inner);
        let hidden = self.redactor.hide(decoded.text(), Some(self.direction));
        self.cut(quoted, hidden, |range| decoded.raw(range));
    }

    fn cut(
        &mut self,
        quoted: &Quoted,
        hidden: Option<(Marked<'_>, u64)>,
        raw: impl Fn(&Range<usize>) -> Range<usize>,
    ) {
        let Some((marked, count)) = hidden else { return };
        let at = quoted.inner.start;
        self.cuts.extend(marked.replaced().map(raw).map(|range| at + range.start..at + range.end));
        self.count += count;
        self.is_renamed |= quoted.is_name(self.text);
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
