//! What servers write for people, made fit for a log.

use crate::EnvValue;

/// At most this much of a line is logged, in bytes.
pub(crate) const LINE: usize = 2048;

/// At most this much of a line is quoted, in bytes.
pub(crate) const SAMPLE: usize = 200;

/// The text without what could steer a terminal or forge a line of the log, cut to `limit` bytes.
pub(crate) fn printable(bytes: &[u8], limit: usize) -> String {
    let clipped = &bytes[..bytes.len().min(limit)];
    let mut out = String::with_capacity(clipped.len() + 4);
    for c in String::from_utf8_lossy(clipped).chars() {
        if (c.is_control() && c != '\t') || is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    if clipped.len() < bytes.len() {
        out.push('…');
    }
    out
}

/// Line and paragraph separators, and what changes the direction of text.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Hides values of the configuration that a server prints (R-W9). Short ones are no secrets and would hide
/// half the text.
pub(crate) fn redact<'a>(text: String, values: impl Iterator<Item = &'a EnvValue>) -> String {
    values
        .map(EnvValue::expose)
        .filter(|value| value.len() >= SECRET && text.contains(value))
        .fold(text.clone(), |text, value| text.replace(value, "[hidden]"))
}

/// The shortest value that is hidden, in bytes.
const SECRET: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_bytes_and_overlong_text_do_not_reach_the_log() {
        for (bytes, limit, expected) in [
            (&b"plain\ttext"[..], 99, "plain\ttext"),
            (b"\x1b[31mred\x07", 99, "\\u{1b}[31mred\\u{7}"),
            (b"a\r\nb", 99, "a\\u{d}\\u{a}b"),
            ("é\u{202e}".as_bytes(), 99, "é\\u{202e}"),
            (b"\xff", 99, "\u{fffd}"),
            (b"123456", 3, "123…"),
        ] {
            assert_eq!(printable(bytes, limit), expected);
        }
    }

    #[test]
    fn declared_values_are_hidden() {
        let values: [EnvValue; 2] = ["s3cret-token".into(), "1".into()];
        let shown = redact("key s3cret-token 1".into(), values.iter());
        assert_eq!(shown, "key [hidden] 1");
    }
}
