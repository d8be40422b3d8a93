use std::borrow::Cow;

/// The bytes as text. What is not text in this charset becomes U+FFFD; in a charset that is not known here, and
/// without one, they are read as UTF-8. A character that `is_cut` off at the end is dropped.
pub(super) fn decode<'a>(bytes: &'a [u8], charset: Option<&str>, is_cut: bool) -> Cow<'a, str> {
    match charset {
        // The web reads all of these as windows-1252 (WHATWG Encoding §4.2).
        Some("iso-8859-1" | "latin1" | "l1" | "us-ascii" | "ascii" | "windows-1252" | "cp1252") => {
            bytes.iter().map(|byte| western(*byte)).collect()
        }
        Some("utf-16" | "utf-16le") => utf16(bytes, u16::from_le_bytes, is_cut),
        Some("utf-16be") => utf16(bytes, u16::from_be_bytes, is_cut),
        _ => utf8(bytes, is_cut),
    }
}

fn utf8(bytes: &[u8], is_cut: bool) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let end = if is_cut { bytes.len() - unfinished(bytes) } else { bytes.len() };
    String::from_utf8_lossy(&bytes[..end])
}

/// How many bytes at the end begin a character that is not there as a whole.
fn unfinished(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let starts = (0..tail.len()).find(|at| {
        std::str::from_utf8(&tail[*at..])
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    });
    starts.map_or(0, |at| tail.len() - at)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, is_cut: bool) -> Cow<'static, str> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    if units.first() == Some(&0xfeff) {
        units.remove(0);
    } else if units.first() == Some(&0xfffe) {
        // The mark says that the bytes are the other way around.
        units.remove(0);
        units.iter_mut().for_each(|unit| *unit = unit.swap_bytes());
    }
    if is_cut && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
        units.pop();
    }
    let mut text = String::from_utf16_lossy(&units);
    if !odd.is_empty() && !is_cut {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text.into()
}

/// A byte of windows-1252 (WHATWG Encoding, index-windows-1252): latin-1 but for 0x80 to 0x9f.
fn western(byte: u8) -> char {
    const MIDDLE: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => MIDDLE[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_read_in_their_charset() {
        for (bytes, charset, expected) in [
            (&b"caf\xc3\xa9"[..], None, "café"),
            (b"caf\xc3\xa9", Some("utf-8"), "café"),
            (b"\xef\xbb\xbfx", None, "x"),
            (b"caf\xe9", Some("iso-8859-1"), "café"),
            (b"5 \x80", Some("latin1"), "5 €"),
            (b"caf\xe9", None, "caf\u{fffd}"),
            (b"caf\xe9", Some("klingon"), "caf\u{fffd}"),
            (b"h\0i\0", Some("utf-16le"), "hi"),
            (b"\0h\0i", Some("utf-16be"), "hi"),
            (b"\xff\xfeh\0", Some("utf-16"), "h"),
            (b"\xfe\xff\0h", Some("utf-16"), "h"),
            (b"h\0i", Some("utf-16le"), "h\u{fffd}"),
            (b"", Some("utf-16"), ""),
        ] {
            assert_eq!(decode(bytes, charset, false), expected, "for {bytes:?} in {charset:?}");
        }
    }

    #[test]
    fn a_character_that_was_cut_is_dropped_at_every_offset() {
        let text = "a§€𝄞b";
        for end in 0..=text.len() {
            let shown = text.floor_char_boundary(end);
            assert_eq!(decode(&text.as_bytes()[..end], None, true), text[..shown], "cut at {end}");
        }
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for end in 0..=wide.len() {
            let cut = decode(&wide[..end], Some("utf-16le"), true);
            assert!(text.starts_with(&*cut) && cut.len() + 4 > end / 2, "{cut:?} cut at {end}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_some_text(bytes: Vec<u8>, charset in 0..4_usize, is_cut: bool) {
            let charset = [None, Some("latin1"), Some("utf-16"), Some("utf-16be")][charset];
            let text = decode(&bytes, charset, is_cut);
            prop_assert!(text.len() <= bytes.len() * 3 + 3);
        }

        #[test]
        fn text_is_itself(text: String) {
            prop_assume!(!text.starts_with('\u{feff}'));
            prop_assert_eq!(decode(text.as_bytes(), None, true), text.as_str());
        }
    }
}
