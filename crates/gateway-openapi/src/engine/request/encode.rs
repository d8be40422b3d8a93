//! Percent-encoding (RFC 3986 §2). What stands in place of a value is unreserved or encoded; `%` always is, so that
//! decoding once gives the value back.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All but the unreserved characters.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// As [`COMPONENT`], with the reserved characters left that neither end the query nor begin another member of it
/// (`allowReserved`): `#`, `[` and `]` may not stand in a query, `&` and `+` would not arrive as what they are, and `;`
/// begins another member to some servers.
const RESERVED: &AsciiSet = &COMPONENT
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b'=');

/// As [`RESERVED`], for parts between commas.
const RESERVED_ITEM: &AsciiSet = &RESERVED.add(b',');

/// What may not stand in a path, besides `%`, which is looked at apart.
const PATH: &AsciiSet = &COMPONENT
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// What may not stand in a cookie's value (RFC 6265 §4.1.1).
const COOKIE: &AsciiSet = &percent_encoding::CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\');

/// How much of a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Everything that is reserved.
    Component,
    /// What would end or divide the query (`allowReserved`).
    Reserved,
}

impl Encoding {
    /// A value that stands alone.
    pub(super) fn value(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Component => component(text),
            Self::Reserved => utf8_percent_encode(text, RESERVED).into(),
        }
    }

    /// A value beside others, with commas between.
    pub(super) fn item(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Component => component(text),
            Self::Reserved => utf8_percent_encode(text, RESERVED_ITEM).into(),
        }
    }
}

pub(super) fn component(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, COMPONENT).into()
}

/// What the operator wrote as a cookie.
pub(super) fn cookie(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, COOKIE).into()
}

/// Text of a path's template: what is encoded already stays.
pub(super) fn path(text: &str) -> String {
    literal(text, PATH)
}

/// Text of a query in a path's template.
pub(super) fn query(text: &str) -> String {
    const QUERY: &AsciiSet = &PATH.remove(b'?');
    literal(text, QUERY)
}

fn literal(text: &str, set: &'static AsciiSet) -> String {
    let mut parts = text.split('%');
    let mut out = utf8_percent_encode(parts.next().unwrap_or_default(), set).to_string();
    for part in parts {
        let is_encoded = part.len() >= 2 && part.bytes().take(2).all(|b| b.is_ascii_hexdigit());
        out.push_str(if is_encoded { "%" } else { "%25" });
        out.extend(utf8_percent_encode(part, set));
    }
    out
}

/// The bytes, decoded once.
pub(super) fn decode(text: &str) -> Vec<u8> {
    percent_decode_str(text).collect()
}

/// Whether a path, as it stands in a URL, leads elsewhere than it says.
pub(in crate::engine) fn has_dots(path: &str) -> bool {
    is_dotted(path.as_bytes()) || is_dotted(&decode(path))
}

/// Whether there is a `.` or `..` between slashes of either kind, alone or before what some servers cut off: path
/// parameters (`..;x`), a query or a fragment.
pub(super) fn is_dotted(segment: &[u8]) -> bool {
    segment.split(|b| matches!(b, b'/' | b'\\')).any(|piece| {
        let name = piece.split(|b| matches!(b, b';' | b'?' | b'#')).next().unwrap_or_default();
        matches!(name.trim_ascii(), b"." | b"..")
    })
}
