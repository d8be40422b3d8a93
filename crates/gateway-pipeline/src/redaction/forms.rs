use std::{collections::BTreeSet, fmt::Write as _};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use gateway_domain::RawJson;

/// Shorter texts are found by chance.
const LEAST_CORE: usize = 8;

/// Characters that are written as `\u00XX` by who puts JSON into pages, one set for each habit.
const HTML: [&str; 5] = ["", "<>&\u{2028}\u{2029}", "<>&'\u{2028}\u{2029}", "<>&'+", "<>&'+\"`"];

/// The texts in which a secret is recognised: as it is; as it stands in a JSON text that is itself a string, escaped as
/// little as may be, with `\/`, in ASCII alone, with `\u00XX` for what means something in a page, and in all that
/// together, with hexadecimal digits of either case; with percent signs for all but the unreserved characters (RFC 3986
/// §2.3), in either case; in both alphabets of base64 (RFC 4648), alone or, if it is long enough, anywhere in a longer
/// text that was encoded with it, as a user's name and password are. Not among them: hexadecimal digits of the bytes.
pub(super) fn forms(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([
        secret.to_owned(),
        percent_encoded(secret, |out, byte| write!(out, "%{byte:02X}")),
        percent_encoded(secret, |out, byte| write!(out, "%{byte:02x}")),
    ]);
    forms.extend(json_escaped(secret));
    forms.extend([STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].map(|engine| engine.encode(secret)));
    for before in 0..3 {
        forms.extend([STANDARD_NO_PAD, URL_SAFE_NO_PAD].iter().filter_map(|engine| {
            let text = [vec![0; before].as_slice(), secret.as_bytes()].concat();
            // A digit holds six bits. The first and last ones also hold bits of what is around the secret.
            let whole = (before * 8).div_ceil(6)..text.len() * 8 / 6;
            let encoded = engine.encode(text);
            encoded.get(whole).filter(|core| core.len() >= LEAST_CORE).map(str::to_owned)
        }));
    }
    forms
}

/// The texts as which it stands in a JSON string.
fn json_escaped(secret: &str) -> BTreeSet<String> {
    let quoted = RawJson::string(secret);
    let least = &quoted.as_str()[1..quoted.as_bytes().len() - 1];
    let mut forms = BTreeSet::from([least.to_owned()]);
    if least.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return forms;
    }
    for is_ascii in [false, true] {
        for slash in ["/", "\\/"] {
            for special in HTML {
                forms.extend([false, true].map(|is_upper| {
                    let escaping = Escaping { is_ascii, slash, special, is_upper };
                    escaping.escaped(secret)
                }));
            }
        }
    }
    forms
}

/// How somebody writes JSON strings.
#[derive(Clone, Copy)]
struct Escaping {
    is_ascii: bool,
    slash: &'static str,
    /// What is written by its number.
    special: &'static str,
    is_upper: bool,
}

impl Escaping {
    fn escaped(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 16);
        for character in text.chars() {
            match character {
                _ if self.special.contains(character) => self.number(&mut out, character),
                _ if self.is_ascii && !character.is_ascii() => self.number(&mut out, character),
                '/' => out.push_str(self.slash),
                '"' => out.push_str("\\\""),
                '\\' => out.push_str(r"\\"),
                '\n' => out.push_str(r"\n"),
                '\r' => out.push_str(r"\r"),
                '\t' => out.push_str(r"\t"),
                '\u{8}' => out.push_str(r"\b"),
                '\u{c}' => out.push_str(r"\f"),
                '\0'..' ' => self.number(&mut out, character),
                _ => out.push(character),
            }
        }
        out
    }

    fn number(self, out: &mut String, character: char) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            _ = if self.is_upper { write!(out, "\\u{unit:04X}") } else { write!(out, "\\u{unit:04x}") };
        }
    }
}

fn percent_encoded(text: &str, escape: impl Fn(&mut String, u8) -> std::fmt::Result) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => encoded.push(byte.into()),
            // Writing to a string does not fail.
            _ => _ = escape(&mut encoded, byte),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_found(secret: &str, text: &str) -> bool {
        forms(secret).iter().any(|form| text.contains(form.as_str()))
    }

    #[test]
    fn a_secret_is_known_in_each_of_its_forms() {
        for (text, is_so) in [
            (r#"a"b\c/é?+=&"#, true),
            (r#"a\"b\\c/é?+=&"#, true),
            ("a%22b%5Cc%2F%C3%A9%3F%2B%3D%26", true),
            ("a%22b%5cc%2f%c3%a9%3f%2b%3d%26", true),
            ("YSJiXGMvw6k/Kz0m", true),
            ("YSJiXGMvw6k_Kz0m", true),
            (r#"A"B\c/é?+=&"#, false),
            (r#"a"b\c/é?+="#, false),
        ] {
            assert_eq!(is_found(r#"a"b\c/é?+=&"#, text), is_so, "{text}");
        }
        for text in [
            // As Python, PHP, Go, Rails and .NET write it.
            r#"a\"b\\c/\u00e9?+=&\ud83d\ude00"#,
            r#"a\"b\\c\/\u00e9?+=&\ud83d\ude00"#,
            r#"a\"b\\c/é?+=\u0026😀"#,
            r#"a\"b\\c\/é?+=&😀"#,
            r#"a\u0022b\\c/\u00E9?\u002B=\u0026\uD83D\uDE00"#,
        ] {
            assert!(is_found(r#"a"b\c/é?+=&😀"#, text), "{text}");
        }
        // The padding goes with it.
        assert!(forms("0123456789").contains("MDEyMzQ1Njc4OQ=="));
    }

    proptest! {
        #[test]
        fn a_secret_is_known_wherever_it_stands_in_what_was_encoded(
            before in any::<Vec<u8>>(), secret in ".{8,}", after in any::<Vec<u8>>(),
        ) {
            let text = [&before, secret.as_bytes(), &after].concat();
            for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
                prop_assert!(is_found(&secret, &engine.encode(&text)));
            }
        }
    }
}
