use super::{
    super::{NamedSecret, PatternConfig, Redactor, RedactorConfig, RedactorError},
    named,
};

fn build(secrets: Vec<NamedSecret>, patterns: Vec<PatternConfig>) -> Result<Redactor, RedactorError> {
    Redactor::new(RedactorConfig { secrets, patterns, ..RedactorConfig::default() })
}

#[test]
fn secrets_that_cannot_be_redacted_are_refused_by_name() {
    for (secret, said) in [
        (
            "hunter2",
            Some("secret `secret 1` has fewer than 8 bytes and cannot be redacted; use a longer one"),
        ),
        (
            "REDACTED",
            Some(
                "secret `secret 1` is a part of [REDACTED], which is put in place of secrets; use another one",
            ),
        ),
        (
            "ACTED][RED",
            Some(
                "secret `secret 1` is a part of [REDACTED], which is put in place of secrets; use another one",
            ),
        ),
        (
            "][REDACTED][",
            Some(
                "secret `secret 1` is a part of [REDACTED], which is put in place of secrets; use another one",
            ),
        ),
        ("hunter22", None),
        ("ünter22", None),
        ("", None),
    ] {
        let built = build(named(&["long enough", secret]), Vec::new());
        assert_eq!(built.err().map(|error| error.to_string()).as_deref(), said, "{secret}");
    }
}

#[test]
fn patterns_that_cannot_be_used_are_refused_by_name() {
    let check = |regex: &str, anchor: Option<&str>, begins: Option<&str>| {
        let good = PatternConfig::new("good", "ab+", Some("a"));
        let built = build(Vec::new(), vec![good, PatternConfig::new("bad", regex, anchor)]);
        match (built, begins) {
            (Ok(_), None) => {}
            (Err(error), Some(begins)) => {
                assert!(error.to_string().starts_with(begins), "{regex}: {error}");
            }
            (built, _) => panic!("{regex}: {built:?}"),
        }
    };
    check("a(", None, Some("redaction pattern `bad`: regex parse error"));
    check("(?:[a-z]{500}){500}", None, Some("redaction pattern `bad`: Compiled regex exceeds size limit"));
    check(&"(".repeat(101), None, Some("redaction pattern `bad`: regex parse error"));
    check("a*", None, Some("redaction pattern `bad` matches the empty text"));
    check(r"\b", None, Some("redaction pattern `bad` matches the empty text"));
    check("ab+", Some("abb"), Some("redaction pattern `bad` can match text without its anchor \"abb\""));
    check("(?i)ab+", Some("a"), Some("redaction pattern `bad` can match text without its anchor \"a\""));
    check("ab+", Some(""), Some("redaction pattern `bad` can match text without its anchor \"\""));
    check("ab+", Some("ab"), None);
    check("ab+", None, None);
}

#[test]
fn no_secret_is_shown_by_a_redactor() {
    let redactor = build(named(&["hunter22hunter22"]), Vec::new()).unwrap();
    assert!(!format!("{redactor:?}").contains("hunter22"));
    assert!(!redactor.is_empty());
    assert!(build(named(&[""]), Vec::new()).unwrap().is_empty());
}
