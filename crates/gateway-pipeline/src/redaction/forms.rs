use std::{collections::BTreeSet, fmt::Write as _};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use gateway_domain::RawJson;

/// Shorter texts are found by chance.
const LEAST_CORE: usize = 8;

/// The texts in which a secret is recognised: as it is; as it stands in a JSON text that is itself a string; with
/// percent signs for all but the unreserved characters (RFC 3986 §2.3), in either case; in both alphabets of base64
/// (RFC 4648), alone or, if it is long enough, anywhere in a longer text that was encoded with it, as a user's name
/// and password are.
pub(super) fn forms(secret: &str) -> BTreeSet<String> {
    let quoted = RawJson::string(secret);
    let mut forms = BTreeSet::from([
        secret.to_owned(),
        quoted.as_str()[1..quoted.as_bytes().len() - 1].to_owned(),
        percent_encoded(secret, |out, byte| write!(out, "%{byte:02X}")),
        percent_encoded(secret, |out, byte| write!(out, "%{byte:02x}")),
    ]);
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
