use std::ops::Range;

/// All strings of a checked JSON text, names of members included, from left to right.
#[derive(Debug)]
pub(super) struct Strings<'a> {
    text: &'a [u8],
    at: usize,
}

/// A string of a JSON text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quoted {
    /// Where it stands, without its quotes.
    pub(super) inner: Range<usize>,
    /// Whether it has escapes.
    pub(super) is_escaped: bool,
}

impl<'a> Strings<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self::within(text, 0..text.len())
    }

    /// Those of a part of a text, which begins and ends outside strings.
    pub(super) fn within(text: &'a str, part: Range<usize>) -> Self {
        Self { text: &text.as_bytes()[..part.end], at: part.start }
    }
}

impl Iterator for Strings<'_> {
    type Item = Quoted;

    fn next(&mut self) -> Option<Quoted> {
        // Outside strings a quote can only begin one.
        let start = self.at + memchr::memchr(b'"', self.text.get(self.at..)?)? + 1;
        let (mut end, mut is_escaped) = (start, false);
        loop {
            end += memchr::memchr2(b'"', b'\\', self.text.get(end..)?)?;
            if self.text[end] == b'"' {
                self.at = end + 1;
                return Some(Quoted { inner: start..end, is_escaped });
            }
            is_escaped = true;
            end += 2;
        }
    }
}

impl Quoted {
    /// Whether it is the name of a member of the text that it was read from.
    pub(super) fn is_name(&self, text: &str) -> bool {
        text.as_bytes()[self.inner.end + 1..].trim_ascii_start().first() == Some(&b':')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_found_with_its_kind() {
        let text = r#"{"a":"","b\"" : [1,"\\","x:y",{"":"\u0022"}],"c":null}"#;
        let found: Vec<_> = Strings::of(text)
            .map(|quoted| (&text[quoted.inner.clone()], quoted.is_escaped, quoted.is_name(text)))
            .collect();
        let expected = [
            ("a", false, true),
            ("", false, false),
            (r#"b\""#, true, true),
            (r"\\", true, false),
            ("x:y", false, false),
            ("", false, true),
            (r"\u0022", true, false),
            ("c", false, true),
        ];
        assert_eq!(found, expected);
        assert_eq!(Strings::of("[1,true]").next(), None);
    }
}
