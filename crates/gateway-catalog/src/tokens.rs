//! JSON that has been checked already, piece by piece. Iterative: no depth exhausts the stack.

use std::{borrow::Cow, ops::Range};

use crate::hygiene::visible;

/// A piece of a JSON text. Commas, colons and white space are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// An object begins, or an array.
    Open(Container),
    /// The innermost object or array ends.
    Close,
    /// The name of a member, with its quotes.
    Key,
    /// A string, with its quotes.
    Text,
    /// A number, `true`, `false` or `null`.
    Scalar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Object,
    Array,
}

/// The pieces of a text, with where they stand.
#[derive(Debug, Clone)]
pub(crate) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    /// Of one checked value.
    pub(crate) fn of(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0 }
    }

    /// Where the string ends that begins at `start`.
    fn end_of_string(&self, start: usize) -> usize {
        let mut at = start + 1;
        loop {
            match self.bytes.get(at) {
                Some(b'\\') => at += 2,
                Some(b'"') => return at + 1,
                Some(_) => at += 1,
                None => return self.bytes.len(),
            }
        }
    }

    fn end_of_scalar(&self, start: usize) -> usize {
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        self.bytes[start..].iter().position(is_end).map_or(self.bytes.len(), |length| start + length)
    }

    fn is_key(&self, end: usize) -> bool {
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.bytes.get(end..).and_then(|rest| rest.iter().find(|byte| !is_space(byte))) == Some(&b':')
    }
}

impl Iterator for Tokens<'_> {
    type Item = (Token, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let is_between = |byte: &u8| matches!(byte, b',' | b':' | b' ' | b'\t' | b'\n' | b'\r');
        let start = self.at + self.bytes.get(self.at..)?.iter().position(|byte| !is_between(byte))?;
        let (token, end) = match self.bytes[start] {
            b'{' => (Token::Open(Container::Object), start + 1),
            b'[' => (Token::Open(Container::Array), start + 1),
            b'}' | b']' => (Token::Close, start + 1),
            b'"' => {
                let end = self.end_of_string(start);
                (if self.is_key(end) { Token::Key } else { Token::Text }, end)
            }
            _ => (Token::Scalar, self.end_of_scalar(start)),
        };
        self.at = end;
        Some((token, start..end))
    }
}

/// What a JSON string is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Char(char),
    /// Half of a pair without the other half.
    Lone(u16),
}

/// The units of a checked string with its quotes, escapes resolved, each with where it stands in there.
pub(crate) fn units(quoted: &str) -> impl Iterator<Item = (Unit, Range<usize>)> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    let mut at = 0;
    std::iter::from_fn(move || {
        let (unit, length) = first(&inner[at..])?;
        at += length;
        Some((unit, at + 1 - length..at + 1))
    })
}

fn first(text: &str) -> Option<(Unit, usize)> {
    let first = text.chars().next()?;
    if first != '\\' {
        return Some((Unit::Char(first), first.len_utf8()));
    }
    let plain = |c| Some((Unit::Char(c), 2));
    match text.as_bytes().get(1)? {
        b'b' => plain('\u{8}'),
        b'f' => plain('\u{c}'),
        b'n' => plain('\n'),
        b'r' => plain('\r'),
        b't' => plain('\t'),
        b'u' => escaped(text),
        other => plain(char::from(*other)),
    }
}

/// `\uXXXX`, or two of them that are a pair.
fn escaped(text: &str) -> Option<(Unit, usize)> {
    let half = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let high = half(text)?;
    if let Some(c) = char::from_u32(u32::from(high)) {
        return Some((Unit::Char(c), 6));
    }
    let low = text.get(6..).and_then(half);
    let pair = low.and_then(|low| char::decode_utf16([high, low]).next()?.ok());
    Some(pair.map_or((Unit::Lone(high), 6), |c| (Unit::Char(c), 12)))
}

/// A string decoded, what is no character as U+FFFD.
pub(crate) fn decoded(quoted: &str) -> Cow<'_, str> {
    if !quoted.contains('\\') {
        return Cow::Borrowed(quoted.trim_matches('"'));
    }
    let char_of = |(unit, _)| match unit {
        Unit::Char(c) => c,
        Unit::Lone(_) => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(units(quoted).map(char_of).collect())
}

/// The most characters of a name, and about the most of a way.
const PLACE: usize = 200;

/// The values in a text, with the way to each.
#[derive(Debug, Clone)]
pub(crate) struct Walk<'a> {
    text: &'a str,
    tokens: Tokens<'a>,
    levels: Vec<Level<'a>>,
}

/// Where the walk is in one object or array.
#[derive(Debug, Clone)]
enum Level<'a> {
    Object(Cow<'a, str>),
    /// How many elements have begun.
    Array(usize),
}

impl<'a> Walk<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, tokens: Tokens::of(text), levels: Vec::new() }
    }

    /// The member of the innermost object that is being looked at.
    pub(crate) fn key(&self) -> Option<&str> {
        match self.levels.last()? {
            Level::Object(key) => Some(key),
            Level::Array(_) => None,
        }
    }

    /// The members that lead here, this one included.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().filter_map(|level| match level {
            Level::Object(key) => Some(&**key),
            Level::Array(_) => None,
        })
    }

    /// The way here, as `inputSchema.properties.path.description`, of a long one the beginning. All of it can be seen.
    pub(crate) fn place(&self) -> String {
        let mut place = String::new();
        for level in &self.levels {
            if place.len() > PLACE {
                place.push('…');
                break;
            }
            match level {
                Level::Object(key) => {
                    if !place.is_empty() {
                        place.push('.');
                    }
                    place.push_str(&visible(key.chars().take(PLACE).map(Unit::Char)));
                }
                Level::Array(begun) => place.push_str(&format!("[{}]", begun.saturating_sub(1))),
            }
        }
        place
    }

    fn enter(&mut self) {
        if let Some(Level::Array(begun)) = self.levels.last_mut() {
            *begun += 1;
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = (Token, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let (token, range) = self.tokens.next()?;
        match token {
            Token::Open(container) => {
                self.enter();
                self.levels.push(match container {
                    Container::Object => Level::Object(Cow::Borrowed("")),
                    Container::Array => Level::Array(0),
                });
            }
            Token::Close => drop(self.levels.pop()),
            Token::Key => {
                if let Some(Level::Object(key)) = self.levels.last_mut() {
                    *key = decoded(&self.text[range.clone()]);
                }
            }
            Token::Text | Token::Scalar => self.enter(),
        }
        Some((token, range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_in_pieces_with_the_way_to_each() {
        let text = r#"{"a":[1, "x\"]", {"b" : true}],"\u0063":{},"d":-1e5}"#;
        let mut walk = Walk::of(text);
        let mut found = Vec::new();
        while let Some((token, range)) = walk.next() {
            if matches!(token, Token::Text | Token::Scalar) {
                found.push((walk.place(), &text[range]));
            }
        }
        let found: Vec<_> = found.iter().map(|(place, text)| (&**place, *text)).collect();
        assert_eq!(found, [("a[0]", "1"), ("a[1]", r#""x\"]""#), ("a[2].b", "true"), ("d", "-1e5")]);
        let keys: Vec<_> = { Tokens::of(text) }
            .filter(|(token, _)| *token == Token::Key)
            .map(|(_, range)| decoded(&text[range]).into_owned())
            .collect();
        assert_eq!(keys, ["a", "b", "c", "d"]);
    }

    #[test]
    fn strings_come_in_characters_and_lone_halves() {
        let check = |quoted: &str, expected: &[Unit]| {
            let found: Vec<_> = units(quoted).collect();
            assert_eq!(found.iter().map(|(unit, _)| *unit).collect::<Vec<_>>(), expected, "{quoted}");
            let places = found.iter().map(|(_, range)| &quoted[range.clone()]);
            assert_eq!(format!("\"{}\"", places.collect::<String>()), quoted);
        };
        let chars = |text: &str| text.chars().map(Unit::Char).collect::<Vec<_>>();
        check(r#""""#, &[]);
        check(r#""aé😀""#, &chars("aé😀"));
        check(r#""\b\f\n\r\t\"\\\/""#, &chars("\u{8}\u{c}\n\r\t\"\\/"));
        check(r#""\u0041\uD83D\uDe00\u00e9""#, &chars("A😀é"));
        check(r#""\ud83dx""#, &[Unit::Lone(0xd83d), Unit::Char('x')]);
        check(r#""\ude00\ud83d""#, &[Unit::Lone(0xde00), Unit::Lone(0xd83d)]);
        check(r#""\ud83d\ud83d\ude00""#, &[Unit::Lone(0xd83d), Unit::Char('😀')]);
        check(r#""\ud83d\n""#, &[Unit::Lone(0xd83d), Unit::Char('\n')]);
        check(r#""\ud83d\u0041""#, &[Unit::Lone(0xd83d), Unit::Char('A')]);
    }
}
