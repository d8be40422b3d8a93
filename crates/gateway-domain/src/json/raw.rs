use std::{borrow::Cow, fmt, ops::Range};

use bytes::Bytes;

use super::{
    JsonError,
    scan::{Scanner, decode},
};

/// What kind of value a [`RawJson`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of JSON's own kinds")]
pub enum JsonKind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

/// One JSON value as the bytes that arrived: checked, cheap to clone, never re-serialised.
///
/// Number texts, key order, escapes and unknown members stay as they are. Two values are equal when
/// their bytes are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson {
    /// One complete value: UTF-8, RFC 8259, nesting within [`super::DEPTH_LIMIT`], no white space around
    /// it, and no CR or LF anywhere, so it can stand in a stdio line or an SSE `data:` field.
    bytes: Bytes,
}

impl RawJson {
    /// Checks `text` and keeps it. White space around the value is cut; if the text holds a line break
    /// all white space between tokens goes (nothing else changes).
    ///
    /// # Errors
    /// [`JsonError`] with the offset of what is wrong.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self, JsonError> {
        let bytes = single_line(text.into())?;
        let mut scanner = Scanner::new(utf8(&bytes)?);
        let range = scanner.value()?;
        scanner.end()?;
        Ok(Self::sliced(&bytes, range))
    }

    /// A JSON string that holds `text`.
    pub fn string(text: &str) -> Self {
        let mut quoted = String::with_capacity(text.len() + 2);
        quoted.push('"');
        // What needs no escape goes over in runs: whole answers are quoted here.
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            let (run, from) = rest.split_at(at);
            quoted.push_str(run);
            match from.as_bytes()[0] {
                b'"' => quoted.push_str("\\\""),
                b'\\' => quoted.push_str("\\\\"),
                b'\n' => quoted.push_str("\\n"),
                b'\r' => quoted.push_str("\\r"),
                b'\t' => quoted.push_str("\\t"),
                byte => quoted.push_str(&format!("\\u{byte:04x}")),
            }
            rest = &from[1..];
        }
        quoted.push_str(rest);
        quoted.push('"');
        Self { bytes: quoted.into() }
    }

    /// An array of values.
    pub fn array(elements: impl IntoIterator<Item = Self>) -> Self {
        let mut bytes = vec![b'['];
        for element in elements {
            if bytes.len() > 1 {
                bytes.push(b',');
            }
            bytes.extend_from_slice(element.as_bytes());
        }
        bytes.push(b']');
        Self { bytes: bytes.into() }
    }

    /// The part of `bytes` in `range`, which a [`Scanner`] over `bytes` has just checked.
    pub(super) fn sliced(bytes: &Bytes, range: Range<usize>) -> Self {
        Self { bytes: bytes.slice(range) }
    }

    /// Bytes that were put together from checked parts by this module.
    pub(super) fn assembled(bytes: Vec<u8>) -> Self {
        debug_assert!(Self::parse(bytes.clone()).is_ok(), "assembled from checked parts");
        Self { bytes: bytes.into() }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, shared with this value.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// Whether these bytes stand anywhere in it, which is found out fast. For what only concerns values that hold
    /// some word.
    pub fn mentions(&self, word: &[u8]) -> bool {
        memchr::memmem::find(&self.bytes, word).is_some()
    }

    /// How deep arrays and objects are nested in it: 0 of a scalar, 1 of `{}`, at most [`super::DEPTH_LIMIT`].
    pub fn depth(&self) -> usize {
        let (mut depth, mut deepest) = (0_usize, 0);
        let (mut is_quoted, mut is_escaped) = (false, false);
        for byte in self.as_bytes() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_quoted = !is_quoted,
                b'{' | b'[' if !is_quoted => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b'}' | b']' if !is_quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        deepest
    }

    /// The bytes as text.
    pub fn as_str(&self) -> &str {
        // Checked when the value was made; the fallback only spares a panic path.
        std::str::from_utf8(&self.bytes).unwrap_or("null")
    }

    /// The kind of value, from its first byte.
    pub fn kind(&self) -> JsonKind {
        match self.bytes.first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Boolean,
            Some(b'n') => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    /// The decoded string, if this is one.
    pub fn to_text(&self) -> Option<Cow<'_, str>> {
        (self.kind() == JsonKind::String).then(|| decode(self.as_str()))
    }

    /// The number, if this is an integer that fits. `1.0` is not an integer here.
    pub fn to_integer(&self) -> Option<i64> {
        (self.kind() == JsonKind::Number).then(|| self.as_str().parse().ok()).flatten()
    }

    /// The truth value, if this is one.
    pub fn to_bool(&self) -> Option<bool> {
        (self.kind() == JsonKind::Boolean).then(|| self.bytes.first() == Some(&b't'))
    }

    /// The elements, if this is an array; `None` for anything else or for more than `limit`.
    pub fn elements(&self, limit: usize) -> Option<Vec<Self>> {
        if self.kind() != JsonKind::Array {
            return None;
        }
        let mut scanner = Scanner::new(self.as_str().get(1..)?);
        let mut elements = Vec::new();
        while let Some(next) = scanner.peek() {
            match next {
                b']' => break,
                b',' => scanner.skip(),
                _ if elements.len() == limit => return None,
                _ => {
                    let range = scanner.value().ok()?;
                    elements.push(Self::sliced(&self.bytes, range.start + 1..range.end + 1));
                }
            }
        }
        Some(elements)
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The same text without line breaks. In valid JSON they only stand between tokens.
pub(super) fn single_line(text: Bytes) -> Result<Bytes, JsonError> {
    if memchr::memchr2(b'\n', b'\r', &text).is_none() {
        return Ok(text);
    }
    // What is dropped must be known to be white space, so the original is checked first.
    let mut scanner = Scanner::new(utf8(&text)?);
    scanner.value()?;
    scanner.end()?;
    let mut compact = Vec::with_capacity(text.len());
    let (mut quoted, mut escape) = (false, false);
    for &byte in &text {
        if !quoted && matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            continue;
        }
        if byte == b'"' && !escape {
            quoted = !quoted;
        }
        escape = quoted && byte == b'\\' && !escape;
        compact.push(byte);
    }
    Ok(compact.into())
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, JsonError> {
    std::str::from_utf8(bytes).map_err(|error| JsonError::Utf8 { at: error.valid_up_to() })
}
