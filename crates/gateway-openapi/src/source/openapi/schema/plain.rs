use gateway_domain::RawJson;

use super::number::is_finite;

/// Whether a value that is no schema may stand in one as it is: an example, a default, an item of an `enum`.
///
/// Whoever looks for references would take those in it for some. Parsers that keep no digits refuse numbers beyond a
/// double, and most refuse half a surrogate pair.
pub(super) fn is_plain(value: &RawJson, most_levels: usize) -> bool {
    !value.mentions(b"\"$ref\"") && !value.mentions(b"\"$id\"") && is_portable(value.as_bytes(), most_levels)
}

fn is_portable(text: &[u8], most_levels: usize) -> bool {
    let (mut at, mut levels) = (0, 0_usize);
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'"' => match string(&text[at..]) {
                Some(length) => length,
                None => return false,
            },
            b'-' | b'0'..=b'9' => {
                let length = text[at..].iter().take_while(|byte| !b" \t,]}".contains(byte)).count();
                if !str::from_utf8(&text[at..at + length]).is_ok_and(is_finite) {
                    return false;
                }
                length
            }
            b'[' | b'{' => {
                levels += 1;
                1
            }
            b']' | b'}' => {
                levels = levels.saturating_sub(1);
                1
            }
            _ => 1,
        };
        if levels > most_levels {
            return false;
        }
    }
    true
}

/// The length of the string that begins here, with its quotes; `None` if it holds half a surrogate pair.
fn string(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' if text.get(at + 1) == Some(&b'u') => match unit(text, at)? {
                0xd800..=0xdbff if matches!(unit(text, at + 6), Some(0xdc00..=0xdfff)) => at += 12,
                0xd800..=0xdfff => return None,
                _ => at += 6,
            },
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn unit(text: &[u8], at: usize) -> Option<u16> {
    let escape = text.get(at..at + 6).filter(|escape| escape.starts_with(b"\\u"))?;
    u16::from_str_radix(str::from_utf8(&escape[2..]).ok()?, 16).ok()
}
