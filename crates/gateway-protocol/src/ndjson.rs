//! One message a line: the framing of stdio (protocol.md §3).

use bytes::{Buf, Bytes, BytesMut};

/// What a line turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line that is not blank, without its end.
    Text(Bytes),
    /// A line longer than the limit; it is skipped, but for its [`LineDecoder::head`].
    TooLong,
}

/// How much is kept of a line that is too long, in bytes: enough for what an answer begins with.
const HEAD: usize = 512;

/// Cuts a byte stream into lines, wherever the stream is split. Blank lines are passed over and a CR
/// before the LF is part of the line's end.
#[derive(Debug)]
pub struct LineDecoder {
    buffer: BytesMut,
    /// How much of `buffer` is known to hold no line end.
    searched: usize,
    /// Whether the rest of an overlong line is being passed over.
    skipping: bool,
    limit: usize,
    /// The beginning of the last line that was too long.
    head: Vec<u8>,
}

impl LineDecoder {
    /// A decoder for lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, skipping: false, limit, head: Vec::new() }
    }

    /// Where the next bytes of the stream go; append only.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// How the line began that was [`Line::TooLong`] last: its first 512 bytes, or as many as the limit allows.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The next line that is complete.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                return self.incomplete();
            };
            let line = self.buffer.split_to(self.searched + end);
            self.buffer.advance(1);
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if let Some(line) = self.judge(line) {
                return Some(line);
            }
        }
    }

    /// What is left when the stream has ended without a line end.
    pub fn finish(&mut self) -> Option<Line> {
        let line = self.buffer.split();
        self.searched = 0;
        if std::mem::take(&mut self.skipping) { None } else { self.judge(line) }
    }

    /// What a line without its LF is; `None` if it is blank.
    fn judge(&mut self, mut line: BytesMut) -> Option<Line> {
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.limit {
            self.keep_head(&line);
            return Some(Line::TooLong);
        }
        (!line.iter().all(u8::is_ascii_whitespace)).then(|| Line::Text(line.freeze()))
    }

    fn incomplete(&mut self) -> Option<Line> {
        self.searched = self.buffer.len();
        // One byte more than the limit may be the CR of the line's end.
        if self.searched <= self.limit.saturating_add(1) && !self.skipping {
            return None;
        }
        let line = self.buffer.split();
        self.searched = 0;
        if std::mem::replace(&mut self.skipping, true) {
            return None;
        }
        self.keep_head(&line);
        Some(Line::TooLong)
    }

    fn keep_head(&mut self, line: &[u8]) {
        self.head.clear();
        self.head.extend_from_slice(&line[..HEAD.min(self.limit)]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(chunks: &[&[u8]], limit: usize) -> Vec<Line> {
        let mut decoder = LineDecoder::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            decoder.buffer().extend_from_slice(chunk);
            lines.extend(std::iter::from_fn(|| decoder.next_line()));
        }
        lines.extend(decoder.finish());
        lines
    }

    fn text(line: &str) -> Line {
        Line::Text(Bytes::from(line.to_owned()))
    }

    #[test]
    fn lines_end_with_lf_or_crlf_and_blank_ones_are_passed_over() {
        assert_eq!(lines(&[b"{}\n\r\n  \n[1]\r\nrest"], 9), [text("{}"), text("[1]"), text("rest")]);
    }

    #[test]
    fn overlong_lines_are_reported_once_and_do_not_grow_the_buffer() {
        let mut decoder = LineDecoder::new(4);
        let mut seen = Vec::new();
        for _ in 0..1000 {
            decoder.buffer().extend_from_slice(b"0123456789");
            seen.extend(decoder.next_line());
            assert!(decoder.buffer().len() <= 10);
        }
        decoder.buffer().extend_from_slice(b"\nok\n");
        seen.extend(std::iter::from_fn(|| decoder.next_line()));
        assert_eq!(seen, [Line::TooLong, text("ok")]);
        assert_eq!(decoder.head(), b"0123");
        assert_eq!(lines(&[b"1234\r\n12345\n"], 4), [text("1234"), Line::TooLong]);
    }

    proptest! {
        #[test]
        fn where_the_stream_is_split_makes_no_difference(
            stream in "[a-c \r\n]{0,60}", cuts in prop::collection::vec(0usize..61, 0..6)
        ) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(lines(&chunks, 8), lines(&[bytes], 8));
        }
    }
}
