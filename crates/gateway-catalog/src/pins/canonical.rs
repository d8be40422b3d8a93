use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};
use gateway_domain::RawObject;

use crate::tokens::{Container, Token, Tokens, Unit, units};

/// The definition in the one form of all that mean the same: without white space, members sorted by their names,
/// strings with no other escapes than are needed. Numbers stay as they are written: `1.0` is another one than `1`.
/// Members of one name, where a definition has them inside, stay in their order.
///
/// So white space, the order of members and escapes make no difference, and everything else does. Iterative: no depth
/// exhausts the stack.
pub fn canonical(definition: &RawObject) -> String {
    let text = definition.as_str();
    let mut open = vec![Open::Array(String::new())];
    for (token, range) in Tokens::of(text) {
        let piece = &text[range];
        match token {
            Token::Open(Container::Object) => open.push(Open::Object(Vec::new(), String::new())),
            Token::Open(Container::Array) => open.push(Open::Array(String::new())),
            Token::Close => {
                let closed = open.pop().map(Open::close).unwrap_or_default();
                put(&mut open, closed);
            }
            Token::Key => {
                if let Some(Open::Object(_, key)) = open.last_mut() {
                    *key = string(piece);
                }
            }
            Token::Text => put(&mut open, string(piece)),
            Token::Scalar => put(&mut open, piece.to_owned()),
        }
    }
    match open.pop() {
        Some(Open::Array(all)) => all,
        _ => String::new(),
    }
}

/// SHA-256 of a canonical form, in hexadecimal digits.
pub(super) fn sha256(canonical: &str) -> String {
    digest(&SHA256, canonical.as_bytes()).as_ref().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What has not ended yet.
enum Open {
    /// The members so far, names and values in canonical form, and the name of the next.
    Object(Vec<(String, String)>, String),
    /// The elements so far with commas between.
    Array(String),
}

impl Open {
    fn close(self) -> String {
        match self {
            Self::Array(elements) => format!("[{elements}]"),
            Self::Object(mut members, _) => {
                members.sort_by(|a, b| a.0.cmp(&b.0));
                let members: Vec<_> = members.iter().map(|(name, value)| format!("{name}:{value}")).collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }
}

fn put(open: &mut [Open], value: String) {
    match open.last_mut() {
        Some(Open::Object(members, key)) => members.push((std::mem::take(key), value)),
        Some(Open::Array(elements)) if elements.is_empty() => *elements = value,
        Some(Open::Array(elements)) => {
            elements.push(',');
            elements.push_str(&value);
        }
        None => {}
    }
}

/// A string with the escapes that JSON demands, and those of halves of pairs, which have no other form.
fn string(quoted: &str) -> String {
    let mut text = String::with_capacity(quoted.len());
    text.push('"');
    for (unit, _) in units(quoted) {
        match unit {
            Unit::Char('"') => text.push_str("\\\""),
            Unit::Char('\\') => text.push_str("\\\\"),
            Unit::Char('\n') => text.push_str("\\n"),
            Unit::Char('\t') => text.push_str("\\t"),
            Unit::Char(c) if c < ' ' => escape(&mut text, c as u16),
            Unit::Char(c) => text.push(c),
            Unit::Lone(half) => escape(&mut text, half),
        }
    }
    text.push('"');
    text
}

/// As a JSON escape.
pub(super) fn escape(text: &mut String, unit: u16) {
    // Writing to a string cannot fail.
    let _ = write!(text, "\\u{unit:04x}");
}
