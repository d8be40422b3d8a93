use std::{fmt::Write as _, sync::LazyLock};

use gateway_domain::RawJson;
use proptest::prelude::*;

use super::{
    super::{Direction, MARK, Redacted, Redactor, strings::Strings},
    json, redactor,
};

const SECRETS: [&str; 8] =
    ["hunter22", "er22\"\\é\n", "aaaa", "x[REDACT", "D]yy", "0123456789", "1234567890123", "true,"];
const TOKEN: &str = "tok-aaa9";

static REDACTOR: LazyLock<Redactor> =
    LazyLock::new(|| redactor(&SECRETS, &[("tok-[a-z0-9]{4}", Some("tok-"))]));

/// A string with secrets and parts of them in it, some of its characters escaped.
fn string() -> impl Strategy<Value = String> {
    let known = SECRETS.iter().copied().chain([MARK, TOKEN, "hunter", "22\"", "aa", "x", "\\", "tok-"]);
    let part = prop_oneof![
        3 => prop::sample::select(known.collect::<Vec<_>>()).prop_map(str::to_owned),
        1 => "\\PC{0,3}",
    ];
    let text = prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat());
    (text, prop::collection::vec(0_u8..4, 1..8)).prop_map(|(text, escapes)| quoted(&text, &escapes))
}

fn quoted(text: &str, escapes: &[u8]) -> String {
    let mut out = String::from("\"");
    for (character, escape) in text.chars().zip(escapes.iter().cycle()) {
        if *escape == 0 {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                write!(out, "\\u{unit:04x}").unwrap();
            }
        } else {
            let plain = RawJson::string(character.encode_utf8(&mut [0; 4]));
            out.push_str(&plain.as_str()[1..plain.as_bytes().len() - 1]);
        }
    }
    out.push('"');
    out
}

fn document() -> impl Strategy<Value = String> {
    let number = prop::sample::select(vec![
        "0",
        "1234567890123",
        "-1.1234567890123e1234567890123",
        "-1.0",
        "1e400",
        "0123456789".trim_start_matches('0'),
        "true",
        "null",
    ]);
    let leaf = prop_oneof![2 => string(), 1 => number.prop_map(str::to_owned)];
    leaf.prop_recursive(4, 32, 5, |inner| {
        let member = (string(), inner.clone()).prop_map(|(name, value)| format!("{name} :{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

fn redact(json: &RawJson) -> Redacted<RawJson> {
    REDACTOR.redact_raw(json, Direction::Results)
}

fn inner(text: &str) -> Vec<&str> {
    Strings::of(text).map(|quoted| &text[quoted.inner]).collect()
}

fn decoded(text: &str) -> Vec<String> {
    inner(text)
        .into_iter()
        .map(|inner| json(&format!("\"{inner}\"")).to_text().unwrap().into_owned())
        .collect()
}

/// The text with all its strings empty.
fn skeleton(text: &str) -> String {
    let mut out = String::new();
    let mut copied = 0;
    for quoted in Strings::of(text) {
        out.push_str(&text[copied..quoted.inner.start]);
        copied = quoted.inner.end;
    }
    out + &text[copied..]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_secret_is_left_in_any_string(text in document()) {
        let redacted = redact(&json(&text)).value;
        for string in decoded(redacted.as_str()) {
            for secret in SECRETS.iter().chain([&TOKEN]) {
                prop_assert!(!string.contains(secret), "{} in {}", secret, string);
            }
        }
    }

    #[test]
    fn nothing_but_strings_changes(text in document()) {
        let redacted = redact(&json(&text)).value;
        prop_assert_eq!(skeleton(&text), skeleton(redacted.as_str()));
    }

    #[test]
    fn strings_without_matches_stay_byte_for_byte(text in document()) {
        let redacted = redact(&json(&text)).value;
        for ((before, after), plain) in
            inner(&text).into_iter().zip(inner(redacted.as_str())).zip(decoded(&text))
        {
            if REDACTOR.redact_text(&plain) == plain && !plain.contains(MARK) {
                prop_assert_eq!(before, after);
            }
        }
    }

    #[test]
    fn to_redact_twice_is_to_redact_once(text in document()) {
        let once = redact(&json(&text));
        let twice = redact(&once.value);
        prop_assert_eq!(twice, Redacted { value: once.value, count: 0 });
    }

    #[test]
    fn what_holds_no_match_is_the_same(text in document()) {
        let before = json(&text);
        let is_clean = decoded(&text).iter().all(|string| REDACTOR.redact_text(string) == *string);
        let redacted = redact(&before);
        prop_assert_eq!(redacted.count == 0, is_clean);
        if is_clean {
            prop_assert_eq!(redacted.value, before);
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        let redacted = REDACTOR.redact_text(&text).into_owned();
        prop_assert_eq!(REDACTOR.redact_text(&redacted), redacted.as_str());
    }
}
