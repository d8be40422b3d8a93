use std::fmt::Write as _;

use proptest::{collection::vec, prelude::*};

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(canonical(&parsed(text)), expected, "{text}");
    assert_eq!(canonical(&parsed(expected)), expected, "it is canonical already");
}

#[test]
fn white_space_order_and_escapes_make_no_difference() {
    check("{}", "{}");
    check(r#" { "b" : [ 1 , { } , [ ] ] , "a" : null } "#, r#"{"a":null,"b":[1,{},[]]}"#);
    check(r#"{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}"#, r#"{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}"#);
    check(r#"{"\u0061\/":"\u00e9\ud83d\ude00\/"}"#, r#"{"a/":"é😀/"}"#);
    check(r#"{"a":"\"\\\n\t\r\b\f\u0000\u001F"}"#, r#"{"a":"\"\\\n\t\u000d\u0008\u000c\u0000\u001f"}"#);
    check(r#"{"a":"\uD800x","b":"\ude00"}"#, r#"{"a":"\ud800x","b":"\ude00"}"#);
    check("{\"a\":\"\u{202e}\u{7f}\"}", "{\"a\":\"\u{202e}\u{7f}\"}");
    check(r#"{"a":[1.0,1,1e2,-0,true,false]}"#, r#"{"a":[1.0,1,1e2,-0,true,false]}"#);
    check(r#"{"x":{"a":2,"a":1}}"#, r#"{"x":{"a":2,"a":1}}"#);
}

#[test]
fn every_other_difference_is_one() {
    let base = r#"{"name":"a","description":"x","inputSchema":{"type":"object"},"n":1}"#;
    let digest = locked(base).digest().to_owned();
    assert_eq!(digest.len(), 64);
    for (from, to) in [
        (r#""x""#, r#""x ""#),
        (r#""x""#, r#""X""#),
        (r#""x""#, r#""x\u200b""#),
        (r#""x""#, r#""\u0445""#),
        (r#""x""#, r#"["x"]"#),
        (r#""x""#, r#"null"#),
        (r#""description""#, r#""descriptiom""#),
        (r#""n":1"#, r#""n":1.0"#),
        (r#""n":1"#, r#""n":"1""#),
        (r#""n":1"#, r#""n":1,"m":1"#),
        (r#","n":1"#, ""),
        (r#""object""#, r#""array""#),
        (r#"{"type":"object"}"#, r#"{"type":"object","x":{}}"#),
    ] {
        let changed = base.replacen(from, to, 1);
        assert_ne!(changed, base);
        assert_ne!(locked(&changed).digest(), digest, "{changed}");
    }
    // The order of elements means something.
    assert_ne!(locked(r#"{"name":"a","x":[1,2]}"#).digest(), locked(r#"{"name":"a","x":[2,1]}"#).digest());
    // A half is not what stands for one, nor its digits.
    let halves = [r#""\ud800""#, r#""\ufffd""#, r#""\\ud800""#, r#""\ufffdd800""#, r#""\ud801""#];
    let digests: std::collections::HashSet<_> = halves
        .iter()
        .map(|half| locked(&format!(r#"{{"name":"a","x":{half}}}"#)).digest().to_owned())
        .collect();
    assert_eq!(digests.len(), halves.len());
}

#[test]
fn the_digest_is_sha_256_of_the_canonical_form() {
    // As `printf '{"name":"a"}' | sha256sum` has it.
    let expected = "d9d719b27480b55cd4918020e7473e716ed3569c8adafe926cf9b10b4f8ef064";
    assert_eq!(locked(r#"{ "name" : "\u0061" }"#).digest(), expected);
}

#[test]
fn depth_is_no_danger() {
    let deep = format!(r#"{{"name":"a","x":{}{}}}"#, "[".repeat(126), "]".repeat(126));
    check(&deep, &deep);
}

/// A JSON value that can be written in several ways.
#[derive(Debug, Clone)]
enum Json {
    Scalar(&'static str),
    Text(String),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Json {
    fn any() -> impl Strategy<Value = Self> {
        let name = "[a-c\u{202e}\"\\\\\n]{1,3}";
        let leaf = prop_oneof![
            prop_oneof![Just("1"), Just("1.0"), Just("true"), Just("null")].prop_map(Self::Scalar),
            any::<String>().prop_map(Self::Text),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Self::Array),
                prop::collection::btree_map(name, inner, 0..4)
                    .prop_map(|members| Self::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Written in one of the ways, which `choice` picks.
    fn write(&self, out: &mut String, choice: &mut u64) {
        let mut pick = |ways: u64| {
            *choice = choice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*choice >> 33) % ways
        };
        out.push_str(["", " ", "\t \r\n"][pick(3) as usize]);
        match self {
            Self::Scalar(text) => out.push_str(text),
            Self::Text(text) => string(text, out, choice),
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    item.write(out, choice);
                }
                out.push_str(" ]");
            }
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                let turn = pick(4) as usize % members.len().max(1);
                members.rotate_left(turn);
                out.push('{');
                for (at, (name, value)) in members.into_iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    string(name, out, choice);
                    out.push(':');
                    value.write(out, choice);
                }
                out.push('}');
            }
        }
    }
}

fn string(text: &str, out: &mut String, choice: &mut u64) {
    out.push('"');
    for c in text.chars() {
        *choice = choice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if c < ' ' || c == '"' || c == '\\' || (*choice >> 40).is_multiple_of(3) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| write!(out, "\\u{unit:04X}").unwrap());
        } else {
            out.push(c);
        }
    }
    out.push('"');
}

fn written(value: &Json, mut choice: u64) -> String {
    let mut text = r#"{"v":"#.to_owned();
    value.write(&mut text, &mut choice);
    text + "}"
}

proptest! {
    #[test]
    fn all_ways_to_write_a_definition_have_one_form(value in Json::any(), a in any::<u64>(), b in any::<u64>()) {
        let [a, b] = [a, b].map(|choice| canonical(&parsed(&written(&value, choice))));
        prop_assert_eq!(&a, &b);
        prop_assert_eq!(canonical(&parsed(&a)), a);
    }

    #[test]
    fn different_definitions_have_different_forms(one in Json::any(), other in Json::any()) {
        let same = format!("{one:?}") == format!("{other:?}");
        let [a, b] = [&one, &other].map(|value| canonical(&parsed(&written(value, 0))));
        prop_assert_eq!(a == b, same);
    }

    #[test]
    fn a_lock_file_gives_back_its_lock(values in vec((any::<String>(), Json::any(), any::<String>()), 0..5)) {
        let tools = values.iter().map(|(name, value, original)| {
            let definition = parsed(&written(value, 7));
            (name.clone(), Locked::of("files".to_owned(), original.clone(), &definition))
        });
        let lock = Lock::new(tools);
        let text = lock.render();
        prop_assert!(text.chars().all(|c| crate::Hazard::of(c).is_none()), "{text:?}");
        let read = Lock::parse(&text, &LockBounds::default());
        prop_assert_eq!(read.as_ref(), Ok(&lock), "{}", text);
    }
}
