use std::ops::Range;

/// The decoded text of a JSON string with escapes, and where each part of it stands among the bytes.
///
/// Surrogates that stand alone are read as U+FFFD, of which nothing that is looked for consists.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    text: String,
    /// In the order of the text.
    pieces: Vec<Piece>,
    /// How long the string is between its quotes, in bytes.
    length: usize,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where it begins in the decoded text, and between the quotes.
    text: usize,
    raw: usize,
    is_escape: bool,
}

impl Decoded {
    /// Decodes what stands between the quotes of a checked string.
    pub(super) fn read(inner: &str) -> Self {
        let mut decoded = Self { length: inner.len(), ..Self::default() };
        let pieces = &mut decoded.pieces;
        decode(inner, &mut decoded.text, |text, raw, is_escape| pieces.push(Piece { text, raw, is_escape }));
        decoded
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes that stand for a part of the text. Of an escape all are taken.
    pub(super) fn raw(&self, part: &Range<usize>) -> Range<usize> {
        let index = |at: usize| self.pieces.partition_point(|piece| piece.text <= at).saturating_sub(1);
        let raw = |index: usize, at: usize| match self.pieces.get(index) {
            Some(piece) => piece.raw + (at - piece.text),
            None => self.length,
        };
        let last = index(part.end.saturating_sub(1));
        let end = match self.pieces.get(last) {
            Some(piece) if piece.is_escape => {
                raw(last + 1, self.pieces.get(last + 1).map_or(0, |next| next.text))
            }
            _ => raw(last, part.end),
        };
        raw(index(part.start), part.start)..end
    }
}

/// Appends the decoded text of a checked string, or of the beginning of one, to `text`, and tells `piece` where each escape and each run without
/// one begins, in the text and between the quotes.
pub(super) fn decode(inner: &str, text: &mut String, mut piece: impl FnMut(usize, usize, bool)) {
    let mut at = 0;
    while at < inner.len() {
        let run = memchr::memchr(b'\\', &inner.as_bytes()[at..]).unwrap_or(inner.len() - at);
        if run > 0 {
            piece(text.len(), at, false);
            text.push_str(&inner[at..at + run]);
            at += run;
        }
        if at < inner.len() {
            piece(text.len(), at, true);
            let (character, length) = escape(&inner[at..]);
            text.push(character);
            at += length;
        }
    }
}

/// The character of the escape at the start of a text, and how long the escape is.
fn escape(text: &str) -> (char, usize) {
    let simple = |character| (character, 2);
    match text.as_bytes().get(1) {
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(b'n') => simple('\n'),
        Some(b'r') => simple('\r'),
        Some(b't') => simple('\t'),
        Some(b'u') => unicode(text),
        Some(other) => simple(char::from(*other)),
        None => (char::REPLACEMENT_CHARACTER, text.len()),
    }
}

fn unicode(text: &str) -> (char, usize) {
    let unit = |at: usize| u16::from_str_radix(text.get(at..at + 4)?, 16).ok();
    let first = unit(2).unwrap_or(0xfffd);
    let second = (text.get(6..8) == Some("\\u")).then(|| unit(8)).flatten();
    match (first, second) {
        (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
            let code = 0x1_0000 + ((u32::from(first) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_text_is_found_among_the_bytes() {
        let inner = r#"ab\n\u0041\ud83d\ude00c\"\ud800x\\"#;
        let decoded = Decoded::read(inner);
        assert_eq!(decoded.text(), "ab\nA😀c\"\u{fffd}x\\");
        for (part, raw) in [
            ("ab", "ab"),
            ("b", "b"),
            ("b\n", r"b\n"),
            ("\nA", r"\n\u0041"),
            ("A😀", r"\u0041\ud83d\ude00"),
            ("😀c", r"\ud83d\ude00c"),
            ("c\"", r#"c\""#),
            ("\u{fffd}", r"\ud800"),
            ("x\\", r"x\\"),
            ("ab\nA😀c\"\u{fffd}x\\", inner),
        ] {
            let at = decoded.text().find(part).unwrap();
            assert_eq!(&inner[decoded.raw(&(at..at + part.len()))], raw, "for {part:?}");
        }
    }

    #[test]
    fn every_escape_of_the_grammar_is_read() {
        for (inner, text) in [
            (r"\b\f\n\r\t", "\u{8}\u{c}\n\r\t"),
            (r#"\"\\\/"#, "\"\\/"),
            (r"\u00e9\uFFFF", "é\u{ffff}"),
            (r"\udc00\ud800", "\u{fffd}\u{fffd}"),
            (r"\ud800\ud83d\ude00", "\u{fffd}😀"),
            (r"\ud800\n", "\u{fffd}\n"),
            (r"\ud800", "\u{fffd}"),
            (r"a\u00", "a\u{fffd}"),
            (r"a\", "a\u{fffd}"),
        ] {
            assert_eq!(Decoded::read(inner).text(), text, "for {inner}");
        }
    }
}
