//! Secrets that are learnt while a redactor is used.

use gateway_domain::{NoticeScreen as _, RawObject};

use super::{
    super::{LiveRedactor, PatternConfig, RedactSettings, RedactorConfig},
    named,
};

fn config(secrets: &[&str], patterns: &[&str]) -> RedactorConfig {
    RedactorConfig {
        secrets: named(secrets),
        patterns: patterns.iter().map(|regex| PatternConfig::new("p", regex, None)).collect(),
        ..RedactorConfig::default()
    }
}

fn live(secrets: &[&str]) -> LiveRedactor {
    LiveRedactor::new(config(secrets, &[]), RedactSettings::default()).unwrap()
}

fn knows(live: &LiveRedactor, text: &str) -> bool {
    live.current().redactor.redact_text(text) == "[REDACTED]"
}

#[test]
fn another_configuration_is_taken_on_and_old_secrets_stay_known() {
    let live = live(&["the first one"]);
    live.learn("the learnt one");
    let settings = RedactSettings { results: false, ..RedactSettings::default() };
    live.replace(config(&["the second one"], &["[0-9]{4}"]), settings).unwrap();
    live.replace(config(&["the third one"], &["[0-9]{5}"]), settings).unwrap();
    for text in ["the first one", "the learnt one", "the second one", "the third one", "12345"] {
        assert!(knows(&live, text), "{text}");
    }
    assert!(!knows(&live, "1234"), "a pattern is no secret");
    assert!(!live.current().settings.results);
    assert!(live.current().of_results().is_none() && live.current().of_arguments().is_some());
}

#[test]
fn a_configuration_that_cannot_be_used_changes_nothing() {
    let live = live(&["the first one"]);
    assert!(live.replace(config(&["short"], &[]), RedactSettings::default()).is_err());
    assert!(knows(&live, "the first one"));
    live.replace(config(&["the second one"], &[]), RedactSettings::default()).unwrap();
    assert!(knows(&live, "the first one") && knows(&live, "the second one"));
}

#[test]
fn what_is_no_secret_is_not_learnt() {
    let live = live(&[]);
    for text in ["", "1234567", "REDACTED"] {
        live.learn(text);
        assert!(!knows(&live, text), "{text}");
        assert!(live.current().redactor.is_empty(), "{text}");
    }
    live.learn("12345678");
    assert!(knows(&live, "12345678"));
}

#[test]
fn of_what_is_learnt_and_of_what_was_replaced_the_oldest_go_first() {
    let live = live(&["the configured one"]);
    for number in 0..LiveRedactor::MOST + 2 {
        // Compiling each would take long.
        live.lock().keep_learnt(&format!("the learnt one {number:04}"));
    }
    live.learn("the last one that is learnt");
    for (text, is_known) in [
        ("the learnt one 0002", false),
        ("the learnt one 0003", true),
        ("the last one that is learnt", true),
        ("the configured one", true),
    ] {
        assert_eq!(knows(&live, text), is_known, "{text}");
    }
    let many: Vec<_> = (0..LiveRedactor::MOST).map(|number| format!("the former one {number:04}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    for secrets in [&*many, &[]] {
        live.replace(config(secrets, &[]), RedactSettings::default()).unwrap();
    }
    for (text, is_known) in
        [("the configured one", false), ("the former one 0000", true), ("the learnt one 0003", true)]
    {
        assert_eq!(knows(&live, text), is_known, "{text}");
    }
}

#[test]
fn what_is_met_again_outlives_what_is_not() {
    let live = live(&[]);
    live.learn_all(["the one in use", "the one forgotten"]);
    for number in 2..LiveRedactor::MOST {
        live.lock().keep_learnt(&format!("the learnt one {number:04}"));
    }
    live.learn("the one in use");
    live.learn_all(["the last one", "the very last one", "the last one"]);
    for (text, is_known) in [
        ("the one in use", true),
        ("the one forgotten", false),
        ("the learnt one 0002", false),
        ("the learnt one 0003", true),
        ("the last one", true),
        ("the very last one", true),
    ] {
        assert_eq!(knows(&live, text), is_known, "{text}");
    }
}

#[test]
fn what_is_said_outside_any_call_is_redacted_but_for_what_it_is_known_by() {
    let live = live(&["s3cret-value"]);
    let off = LiveRedactor::new(
        config(&["s3cret-value"], &[]),
        RedactSettings { results: false, ..RedactSettings::default() },
    );
    let off = off.unwrap();
    for (said, shown) in [
        (
            r#"{"level":"info","logger":"s3cret-value","data":{"s3cret-value":["a s3cret-value"]}}"#,
            r#"{"level":"info","logger":"[REDACTED]","data":{"[REDACTED]":["a [REDACTED]"]}}"#,
        ),
        (
            r#"{"uri":"x:s3cret-value","title":"s3cret-value"}"#,
            r#"{"uri":"x:s3cret-value","title":"[REDACTED]"}"#,
        ),
        (
            r#"{"elicitationId":"s3cret-value","_meta":{"a":"s3cret-value"}}"#,
            r#"{"elicitationId":"s3cret-value","_meta":{"a":"[REDACTED]"}}"#,
        ),
        (r#"{ "data" : 1.0 }"#, r#"{ "data" : 1.0 }"#),
    ] {
        let params = || RawObject::parse(said.to_owned()).unwrap();
        assert_eq!(live.shown(params()).as_str(), shown);
        assert_eq!(off.shown(params()).as_str(), said);
    }
}
