//! A validating scanner over JSON text that never builds values.
//!
//! serde_json could do this with `RawValue`, one pass for every level that is looked into. This scanner
//! indexes the envelope, `params` and `_meta` in a single pass and skips long strings with SIMD, which is
//! most of what a large message consists of. It is iterative, so no input can exhaust the stack.

use std::{borrow::Cow, ops::Range};

use super::JsonError;

/// How deep arrays and objects may nest (security.md §3.3).
pub const DEPTH_LIMIT: usize = 128;

/// The name of an object's member, as it stands in the text.
#[derive(Debug, Clone)]
pub struct Key<'a> {
    text: &'a str,
    quoted: Range<usize>,
    escaped: bool,
}

impl<'a> Key<'a> {
    /// The name with escapes resolved; borrowed where there are none.
    pub fn name(&self) -> Cow<'a, str> {
        if self.escaped { decode(&self.text[self.quoted.clone()]) } else { Cow::Borrowed(self.inner()) }
    }

    /// Whether the decoded name is exactly `name`. Case matters.
    pub fn is(&self, name: &str) -> bool {
        if self.escaped { self.name() == name } else { self.inner() == name }
    }

    /// Where the name stands in the text, with its quotes.
    pub(super) fn quoted(&self) -> Range<usize> {
        self.quoted.clone()
    }

    pub(super) fn escaped(&self) -> bool {
        self.escaped
    }

    fn inner(&self) -> &'a str {
        &self.text[self.quoted.start + 1..self.quoted.end - 1]
    }
}

/// Where the first control character is. In blocks without an early exit, which the compiler vectorises:
/// long strings are most of a large message.
fn control_in(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 128;
    let has_control = |block: &[u8]| block.iter().fold(false, |found, byte| found | (*byte < 0x20));
    let block = bytes.chunks(BLOCK).position(has_control)? * BLOCK;
    bytes[block..].iter().position(|byte| *byte < 0x20).map(|at| block + at)
}

/// Decodes a checked JSON string, quotes included. Lone surrogates become U+FFFD: such a name can
/// never equal one that is routed on.
pub(super) fn decode(quoted: &str) -> Cow<'_, str> {
    let inner = &quoted[1..quoted.len() - 1];
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    Cow::Owned(serde_json::from_str(quoted).unwrap_or_else(|_| inner.replace("\\u", "\u{fffd}")))
}

/// Reads one JSON text from left to right.
#[derive(Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Scanner<'a> {
    /// A scanner at the start of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, depth: 0 }
    }

    /// The next byte that is not white space, without consuming it.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// Passes one byte that the caller has peeked at.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// Where the scanner stands, in bytes.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Checks one whole value of any kind and returns where it stands.
    ///
    /// # Errors
    /// [`JsonError::Syntax`] or [`JsonError::Depth`].
    pub fn value(&mut self) -> Result<Range<usize>, JsonError> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'{' | b'[') => self.container()?,
            _ => self.scalar()?,
        }
        Ok(start..self.at)
    }

    /// Reads an object and hands each member's name to `visit` with the scanner before the value.
    /// `visit` may consume the value itself; otherwise it is checked and skipped.
    ///
    /// Returns where the object stands. `visit` is told where each value stood by the second closure.
    ///
    /// # Errors
    /// Whatever is wrong with the text, or what `visit` returns.
    pub fn object<E: From<JsonError>>(
        &mut self,
        mut visit: impl FnMut(&mut Self, &Key<'a>) -> Result<(), E>,
        mut member: impl FnMut(&Key<'a>, Range<usize>) -> Result<(), E>,
    ) -> Result<Range<usize>, E> {
        if self.peek() != Some(b'{') {
            return Err(JsonError::NotAnObject { at: self.at }.into());
        }
        let start = self.at;
        self.open()?;
        if self.peek() == Some(b'}') {
            self.close();
            return Ok(start..self.at);
        }
        loop {
            let key = self.key()?;
            self.peek();
            let before = self.at;
            visit(self, &key)?;
            if self.at == before {
                self.value()?;
            }
            member(&key, before..self.at)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.syntax().into()),
            }
        }
        self.close();
        Ok(start..self.at)
    }

    /// Checks that nothing but white space is left.
    ///
    /// # Errors
    /// [`JsonError::Syntax`] at the first byte too many.
    pub fn end(&mut self) -> Result<(), JsonError> {
        if self.peek().is_none() { Ok(()) } else { Err(self.syntax()) }
    }

    fn syntax(&self) -> JsonError {
        JsonError::Syntax { at: self.at }
    }

    fn open(&mut self) -> Result<(), JsonError> {
        if self.depth == DEPTH_LIMIT {
            return Err(JsonError::Depth { at: self.at, limit: DEPTH_LIMIT });
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    fn key(&mut self) -> Result<Key<'a>, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.syntax());
        }
        let start = self.at;
        let escaped = self.string()?;
        let key = Key { text: self.text, quoted: start..self.at, escaped };
        if self.peek() != Some(b':') {
            return Err(self.syntax());
        }
        self.at += 1;
        Ok(key)
    }

    /// Skips an array or object. One bit a level says which kind is open; the limit of 128 fits a u128.
    fn container(&mut self) -> Result<(), JsonError> {
        let base = self.depth;
        let mut objects: u128 = 0;
        loop {
            // Before a value: open as long as containers open, then take the scalar.
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    self.open()?;
                    objects = (objects << 1) | u128::from(open == b'{');
                    if self.peek() == Some(if open == b'{' { b'}' } else { b']' }) {
                        objects >>= 1;
                        self.close();
                    } else {
                        if open == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // After a value: close what ends here, or go on to the next element.
            loop {
                if self.depth == base {
                    return Ok(());
                }
                let in_object = objects & 1 == 1;
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if in_object {
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if in_object => {}
                    Some(b']') if !in_object => {}
                    _ => return Err(self.syntax()),
                }
                objects >>= 1;
                self.close();
            }
        }
    }

    fn scalar(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => Err(self.syntax()),
        }
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), JsonError> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.syntax());
        }
        self.at += word.len();
        Ok(())
    }

    /// Skips a string that begins here; says whether it holds escapes.
    fn string(&mut self) -> Result<bool, JsonError> {
        let mut escaped = false;
        self.at += 1;
        loop {
            let rest = &self.bytes[self.at..];
            let Some(stop) = memchr::memchr2(b'"', b'\\', rest) else { return Err(self.syntax()) };
            if let Some(control) = control_in(&rest[..stop]) {
                self.at += control;
                return Err(self.syntax());
            }
            self.at += stop + 1;
            if rest[stop] == b'"' {
                return Ok(escaped);
            }
            escaped = true;
            self.escape()?;
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        match self.bytes.get(self.at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 1..self.at + 5).ok_or_else(|| self.syntax())?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.syntax());
                }
                self.at += 5;
            }
            _ => return Err(self.syntax()),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        self.take(b'-');
        if !self.take(b'0') && !self.digits() {
            return Err(self.syntax());
        }
        if self.take(b'.') && !self.digits() {
            return Err(self.syntax());
        }
        if self.take(b'e') || self.take(b'E') {
            let _signed = self.take(b'+') || self.take(b'-');
            if !self.digits() {
                return Err(self.syntax());
            }
        }
        Ok(())
    }

    fn take(&mut self, byte: u8) -> bool {
        let here = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(here);
        here
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at > start
    }
}
