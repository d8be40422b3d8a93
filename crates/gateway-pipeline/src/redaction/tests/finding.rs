use std::borrow::Cow;

use gateway_domain::RawObject;

use super::{
    super::{Direction, PatternConfig, Redacted, Redactor, RedactorConfig},
    json, named, redactor,
};

fn check_json(redactor: &Redactor, text: &str, expected: &str, count: u64) {
    let Redacted { value, count: found } = redactor.redact_raw(&json(text), Direction::Results);
    assert_eq!((value.as_str(), found), (expected, count), "for {text}");
}

#[test]
fn overlapping_and_adjacent_secrets_become_one_mark() {
    let redactor = redactor(&["abcdef", "defghi", "cde", "xyz"], &[]);
    for (text, expected, count) in [
        ("-abcdef-", "-[REDACTED]-", 1),
        ("-abcdefghi-", "-[REDACTED]-", 1),
        ("-abcdefxyz-", "-[REDACTED]-", 1),
        ("-xyzxyz-", "-[REDACTED]-", 1),
        ("-abcdef-xyz-", "-[REDACTED]-[REDACTED]-", 2),
        ("-abcde-", "-ab[REDACTED]-", 1),
        ("-ABCDEF-", "-ABCDEF-", 0),
        ("", "", 0),
    ] {
        let redacted = redactor.redact_string(text.to_owned(), Direction::Results);
        assert_eq!((redacted.value.as_str(), redacted.count), (expected, count), "for {text}");
        assert_eq!(redactor.redact_text(text), expected);
    }
    assert!(matches!(redactor.redact_text("nothing"), Cow::Borrowed("nothing")));
}

#[test]
fn secrets_are_found_however_their_strings_are_escaped() {
    let redactor = redactor(&[r#"p"ss\wörd"#, "new\nline", "tok/en+="], &[]);
    for (text, expected, count) in [
        (r#"["p\"ss\\wörd"]"#, r#"["[REDACTED]"]"#, 1),
        (r#"["-\u0070\u0022ss\u005cw\u00f6rd-"]"#, r#"["-[REDACTED]-"]"#, 1),
        (r#"{"a\n":"new\nline\ttok\/en+="}"#, r#"{"a\n":"[REDACTED]\t[REDACTED]"}"#, 2),
        // A JSON text within a string, and one within that.
        (r#""{\"k\":\"p\\\"ss\\\\wörd\"}""#, r#""{\"k\":\"[REDACTED]\"}""#, 1),
        (r#""\ud800new\nline\ud83d\ude00\u0041""#, r#""\ud800[REDACTED]\ud83d\ude00\u0041""#, 1),
        (r#""http://h/?t=tok%2Fen%2B%3D&x""#, r#""http://h/?t=[REDACTED]&x""#, 1),
        (r#""Basic dXNlcjp0b2svZW4rPQ==""#, r#""Basic dXNlcjp[REDACTED]Q==""#, 1),
        (r#""dG9rL2VuKz0=""#, r#""[REDACTED]""#, 1),
        (r#"["p\"ss", "\\wörd", "new\\nlin"]"#, r#"["p\"ss", "\\wörd", "new\\nlin"]"#, 0),
    ] {
        check_json(&redactor, text, expected, count);
    }
}

#[test]
fn names_are_redacted_and_numbers_and_structure_are_not() {
    let redactor = redactor(&["12345678", "true", "secret"], &[]);
    for (text, expected, count) in [
        (
            r#"{ "a":12345678 ,"b" : [1e400,12345678.0,true], "c":"12345678"}"#,
            r#"{ "a":12345678 ,"b" : [1e400,12345678.0,true], "c":"[REDACTED]"}"#,
            1,
        ),
        (r#"{"secret":{"secret":"x"}}"#, r#"{"[REDACTED]":{"[REDACTED]":"x"}}"#, 2),
        (
            r#"{"secret":1,"12345678":2,"[REDACTED]":3}"#,
            r#"{"[REDACTED]":1,"[REDACTED] 2":2,"[REDACTED] 3":3}"#,
            2,
        ),
        // Across two strings nothing is found.
        (r#"["sec","ret"]"#, r#"["sec","ret"]"#, 0),
        ("12345678", "12345678", 0),
    ] {
        check_json(&redactor, text, expected, count);
    }
    let object = RawObject::parse(r#"{"secret":1,"12345678":2}"#).unwrap();
    let redacted = redactor.redact_object(&object, Direction::Results).value;
    assert_eq!((redacted.len(), redacted.contains("[REDACTED] 2")), (2, true));
}

#[test]
fn patterns_are_matched_after_secrets_on_what_is_left() {
    let secrets = ["hunter22"];
    for (patterns, text, expected, count) in [
        (&[("sk-[a-z]+", Some("sk-"))][..], "a sk-abc b sk-d", "a [REDACTED] b [REDACTED]", 2),
        (&[("pw=\\S+", Some("pw="))], "pw=hunter22 x", "[REDACTED] x", 2),
        (&[("pw=\\S+", Some("pw="))], "hunter22 pw=1", "[REDACTED] [REDACTED]", 2),
        // The second one sees what the first has left.
        (&[("b+", None), ("a.*c", Some("a"))], "abbc", "[REDACTED]", 2),
        (&[("a.*c", Some("a")), ("b+", None)], "abbc bb", "[REDACTED] [REDACTED]", 2),
        // What lies in a mark is no match, also in one that was there before.
        (
            &[("ACT", Some("ACT")), ("[A-Z]{8}", None)],
            "[REDACTED] ACT hunter22",
            "[REDACTED] [REDACTED] [REDACTED]",
            2,
        ),
        // A pattern makes room for a secret.
        (&[("-+", Some("-"))], "hunter-22", "hunter[REDACTED]22", 1),
        (&[("^x$", Some("x"))], "x", "[REDACTED]", 1),
        (&[("^x$", Some("x"))], "xx", "xx", 0),
    ] {
        let redacted = redactor(&secrets, patterns).redact_string(text.to_owned(), Direction::Results);
        assert_eq!((redacted.value.as_str(), redacted.count), (expected, count), "for {text}");
    }
}

#[test]
fn a_secret_that_a_mark_makes_up_is_none_either() {
    let redactor = redactor(&["abcd", "x[REDACTED]y", "z[RED"], &[("q+", Some("q"))]);
    for (text, expected) in
        [("xabcdy", "[REDACTED]"), ("zabcd", "[REDACTED]"), ("xqy", "[REDACTED]"), ("zqq", "[REDACTED]")]
    {
        assert_eq!(redactor.redact_text(text), expected, "for {text}");
    }
}

#[test]
fn a_pattern_is_run_on_one_decoded_string_at_a_time() {
    let anchored = redactor(&[], &[("^k=\"[a-z]+\"$", Some("k=\""))]);
    let free = redactor(&[], &[("^k=\"[a-z]+\"$", None)]);
    for redactor in [anchored, free] {
        check_json(
            &redactor,
            r#"["k=\"abc\"","-k=\"abc\"",{"k=\u0022a\"":1}]"#,
            r#"["[REDACTED]","-k=\"abc\"",{"[REDACTED]":1}]"#,
            2,
        );
    }
}

#[test]
fn a_pattern_is_looked_for_its_way_alone() {
    for anchor in [Some("b"), None] {
        for (arguments, results) in [(true, false), (false, true), (false, false)] {
            let pattern = PatternConfig { arguments, results, ..PatternConfig::new("p", "b+", anchor) };
            let config = RedactorConfig { patterns: vec![pattern], ..RedactorConfig::default() };
            let redactor = Redactor::new(config).unwrap();
            let count = |direction| redactor.redact_raw(&json(r#"["abc","\n"]"#), direction).count;
            assert_eq!(count(Direction::Arguments), u64::from(arguments));
            assert_eq!(count(Direction::Results), u64::from(results));
            assert_eq!(redactor.redact_text("abc"), "a[REDACTED]c");
        }
    }
}

#[test]
fn without_matches_the_very_same_bytes_come_back() {
    let redactor = redactor(&["hunter22"], &[("sk-[a-z]{8}", Some("sk-"))]);
    for text in [r#"{"a":["b",1.0]}"#, r#"{"a\n":"\u0041"}"#, r#"["sk-","hunter2"]"#] {
        let before = json(text);
        let after = redactor.redact_raw(&before, Direction::Results).value;
        assert_eq!(before.as_bytes().as_ptr(), after.as_bytes().as_ptr(), "{text} was copied");
    }
}

#[test]
fn long_and_many_secrets_are_found_too() {
    let many: Vec<_> = (0..500).map(|n| format!("the secret of number {n:04}")).collect();
    let long = "0123456789abcdef\n".repeat(200);
    let all: Vec<_> = many.iter().map(String::as_str).chain([long.as_str()]).collect();
    let redactor =
        Redactor::new(RedactorConfig { secrets: named(&all), ..RedactorConfig::default() }).unwrap();
    let text = format!("{} and {long}{} or {}x", many[7], many[499], many[250]);
    assert_eq!(redactor.redact_text(&text), "[REDACTED] and [REDACTED] or [REDACTED]x");
}
