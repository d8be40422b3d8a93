use proptest::prelude::*;

use super::*;
use gateway_domain::RawObject;

fn parsed(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found: Vec<_> = findings(&parsed(text)).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn every_kind_of_hazard_is_found_at_both_ends_of_its_ranges() {
    use Hazard::*;
    for (hazard, ranges) in [
        (Control, [(0_u32, 8_u32), (0xb, 0x1f), (0x7f, 0x9f)].as_slice()),
        (Direction, &[(0x61c, 0x61c), (0x200e, 0x200f), (0x202a, 0x202e), (0x2066, 0x2069)]),
        (Tag, &[(0xe0000, 0xe007f), (0xe0100, 0xe01ef)]),
        (Separator, &[(0x2028, 0x2029), (0xfff9, 0xfffb)]),
        (
            ZeroWidth,
            &[
                (0xad, 0xad),
                (0x34f, 0x34f),
                (0x180e, 0x180e),
                (0x200b, 0x200b),
                (0x2060, 0x2065),
                (0x206a, 0x206f),
                (0xfeff, 0xfeff),
            ],
        ),
        (Variation, &[(0x180b, 0x180d), (0x180f, 0x180f), (0xfe00, 0xfe0f)]),
        (Joiner, &[(0x200c, 0x200d)]),
        (Filler, &[(0x115f, 0x1160), (0x17b4, 0x17b5), (0x3164, 0x3164), (0xffa0, 0xffa0)]),
    ] {
        for (first, last) in ranges {
            for code in *first..=*last {
                assert_eq!(Hazard::of(char::from_u32(code).unwrap()), Some(hazard), "U+{code:04X}");
            }
        }
    }
    for harmless in
        "\t\n aZ~\u{a0}\u{ac}\u{ae}é日😀\u{2010}\u{202f}\u{2070}\u{fffd}\u{e0080}\u{e00ff}\u{e01f0}".chars()
    {
        assert_eq!(Hazard::of(harmless), None, "U+{:04X}", u32::from(harmless));
    }
}

#[test]
fn hazards_are_told_with_place_code_point_and_count() {
    check(r#"{"name":"a","description":"plain é 日本\n\tnext","inputSchema":{"type":"object"}}"#, &[]);
    check(
        "{\"name\":\"a\u{200b}\",\"description\":\"x\u{202e}y\u{202c}\",\"title\":\"\\u001b[31m\\r\"}",
        &[
            "1 × character without width (U+200B) in name",
            "2 × change of direction (U+202E) in description",
            "2 × control character (U+001B) in title",
        ],
    );
    check(
        r#"{"inputSchema":{"properties":{"p\u202e":{"enum":["ok","\udb40\udc41"]}}},"icons":[{},{"src":"\ud800"}]}"#,
        &[
            "1 × change of direction (U+202E) in inputSchema.properties.p<U+202E>",
            "1 × invisible tag (U+E0041) in inputSchema.properties.p<U+202E>.enum[1]",
            "1 × half of a character (U+D800) in icons[1].src",
        ],
    );
}

#[test]
fn several_kinds_in_one_place_are_told_each() {
    check(
        "{\"description\":\"\u{fe0f}\u{3164}\u{2028}\u{85}\u{fe01}\"}",
        &[
            "1 × control character (U+0085) in description",
            "1 × hidden separator (U+2028) in description",
            "1 × invisible filler (U+3164) in description",
            "2 × variation selector (U+FE0F) in description",
        ],
    );
}

#[test]
fn texts_that_nobody_reads_to_the_end_are_told() {
    let of = |length: usize| format!(r#"{{"description":"{}"}}"#, "x".repeat(length));
    check(&of(8_192), &[]);
    check(&of(8_193), &["very long text (8193 characters) in description"]);
    // Characters count, not bytes.
    check(&format!(r#"{{"description":"{}"}}"#, "é".repeat(8_192)), &[]);
}

#[test]
fn what_is_found_is_bounded() {
    let members: Vec<_> = (0..1_000).map(|n| format!(r#""m{n}":"\u202e\u0001""#)).collect();
    let found = findings(&parsed(&format!("{{{}}}", members.join(","))));
    assert_eq!((found.len(), &*found[63].place), (64, "m31"));
    let long = format!(r#"{{"{}":{{"{}":"\u202e"}}}}"#, "k".repeat(5_000), "l".repeat(5_000));
    assert!(findings(&parsed(&long))[0].place.chars().count() <= 402);
}

#[track_caller]
fn check_clean(hygiene: Hygiene, text: &str, expected: Option<&str>) {
    let cleaned = clean(&parsed(text), hygiene);
    assert_eq!(cleaned.as_ref().map(RawObject::as_str), expected, "{text}");
}

#[test]
fn nothing_is_touched_but_hazards_in_what_is_only_read() {
    let text = "{ \"name\":\"a\u{202e}\",\"x\":1.0, \"description\":\"\\u0041b\u{202e}c\\u001b[0m\u{e0041} d\",\"title\":\"t\\u0007\"}";
    let cleaned = "{ \"name\":\"a\u{202e}\",\"x\":1.0, \"description\":\"\\u0041bc[0m d\",\"title\":\"t\"}";
    check_clean(Hygiene::Clean, text, Some(cleaned));
    check_clean(Hygiene::Strict, text, Some(cleaned));
    check_clean(Hygiene::Report, text, None);
    check_clean(Hygiene::Off, text, None);
}

#[test]
fn only_strict_takes_what_some_scripts_need() {
    for text in ["❤\u{fe0f}\u{200d}🔥", "می\u{200c}خواهم"] {
        let bare: String = text.chars().filter(|c| Hazard::of(*c).is_none()).collect();
        let of = |text: &str| format!(r#"{{"description":"{text}"}}"#);
        check_clean(Hygiene::Clean, &of(text), None);
        check_clean(Hygiene::Strict, &of(text), Some(&of(&bare)));
    }
}

#[test]
fn words_stay_apart_and_halves_become_a_character() {
    for (text, expected) in [
        (r"safe\revil", "safe evil"),
        (r"one\r\ntwo\r", r"one\ntwo "),
        (r"a\u000bb\fc\u0085d", "a b c d"),
        ("a\u{2028}b\u{2029}c", "a b c"),
        ("a\u{fff9}b", "ab"),
        ("a\u{200b}b\u{feff}c\u{3164}d\u{e0101}", "abcd"),
        (r"a\ud800b\udc00", "a\u{fffd}b\u{fffd}"),
        (r#"\\u202e \" \u202e\u202e"#, r#"\\u202e \" "#),
    ] {
        let of = |text: &str| format!(r#"{{"title":"{text}"}}"#);
        check_clean(Hygiene::Clean, &of(text), Some(&of(expected)));
    }
}

#[test]
fn values_that_calls_carry_stay() {
    let bad = r#""a\u202e""#;
    for kept in [
        r#"{"name":X}"#,
        r#"{"inputSchema":{"properties":{"p":{"enum":[X]}}}}"#,
        r#"{"inputSchema":{"properties":{"p":{"const":{"description":X}}}}}"#,
        r#"{"inputSchema":{"properties":{"p":{"default":{"a":[{"title":X}]}}}}}"#,
        r#"{"inputSchema":{"examples":[{"title":X}]}}"#,
        r#"{"_meta":{"title":X}}"#,
        r#"{"icons":[{"src":X}]}"#,
        r#"{"description":[X]}"#,
        r#"{"inputSchema":{"properties":{"description":X}}}"#,
        r#"{"inputSchema":{"pattern":X}}"#,
    ] {
        let text = kept.replace('X', bad);
        check_clean(Hygiene::Strict, &text, None);
        assert_eq!(findings(&parsed(&text)).len(), 1, "it is told: {text}");
    }
    for cleaned in [
        r#"{"description":X}"#,
        r#"{"annotations":{"title":X}}"#,
        r#"{"arguments":[{"description":X}]}"#,
        r#"{"inputSchema":{"$comment":X,"items":[{"title":X}]}}"#,
        // Names that the author chose do not make a schema a value.
        r#"{"inputSchema":{"properties":{"default":{"description":X},"enum":{"title":X}}}}"#,
        r#"{"inputSchema":{"$defs":{"const":{"properties":{"properties":{"description":X}}}}}}"#,
        r#"{"inputSchema":{"patternProperties":{"examples":{"title":X}}}}"#,
    ] {
        check_clean(Hygiene::Clean, &cleaned.replace('X', bad), Some(&cleaned.replace('X', r#""a""#)));
    }
    let mixed = r#"{"inputSchema":{"properties":{"properties":{"default":{"title":X}}}}}"#;
    check_clean(Hygiene::Clean, &mixed.replace('X', bad), None);
}

#[test]
fn depth_is_no_danger() {
    let deep = format!(r#"{{"a":{}{{"description":"\u0007x"}}{}}}"#, "[".repeat(120), "]".repeat(120));
    assert_eq!(findings(&parsed(&deep)).len(), 1);
    check_clean(Hygiene::Clean, &deep, Some(&deep.replace("\\u0007", "")));
}

/// Characters of all kinds, escaped or not.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>()
            .prop_filter("as it stands", |c| *c >= ' ' && *c != '"' && *c != '\\')
            .prop_map(String::from),
        "\\\\[bfnrt/]",
        any::<u16>().prop_map(|unit| format!("\\u{unit:04x}")),
        prop_oneof![Just(0x202e_u32), Just(0xe0041), Just(0x7f), Just(0x200b)]
            .prop_map(|code| char::from_u32(code).unwrap().to_string()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn cleaning_leaves_nothing_to_clean(title in text(), other in text()) {
        let definition = parsed(&format!(r#"{{"title":"{title}","name":"{other}"}}"#));
        for hygiene in [Hygiene::Clean, Hygiene::Strict] {
            let cleaned = clean(&definition, hygiene);
            let dirty = findings(&definition).iter().any(|it| it.place == "title" && it.hazard.is_cleaned(hygiene));
            prop_assert_eq!(cleaned.is_some(), dirty);
            let Some(cleaned) = cleaned else { continue };
            prop_assert!(findings(&cleaned).iter().all(|it| it.place != "title" || !it.hazard.is_cleaned(hygiene)));
            prop_assert_eq!(cleaned.get("name"), definition.get("name"));
            prop_assert!(clean(&cleaned, hygiene).is_none());
        }
    }
}
