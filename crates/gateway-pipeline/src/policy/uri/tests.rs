use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(uri: &str, strict: &str, loose: &str) {
    let forms = spellings(uri).unwrap();
    assert_eq!([&*forms[0], &*forms[1], &*forms[2]], [uri, strict, loose], "{uri}");
}

#[test]
fn one_resource_has_one_canonical_spelling() {
    const FILE: &str = "file:///priv/b";
    for same in [
        FILE,
        "FILE:///priv/b",
        "file:///%70riv/b",
        "file:///%70%72iv/b",
        "file:////priv/b",
        "file:///./priv/b",
        "file:///priv//b",
        "file:///pub/../priv/b",
        "file:///pub/%2e%2E/priv/b",
        "file:///pub/.%2e/priv/b",
        "file:///../priv/b",
        "file://localhost/priv/b",
        "file://LocalHost/priv/b",
        "file:/priv/b",
        "file:priv/b",
        "file:///priv/b#x",
        "file:///priv/%%36%32",
    ] {
        check(same, FILE, FILE);
    }
    check("file:///pub/..%2fpriv/b", "file:///pub/..%2Fpriv/b", FILE);
    check("file:///pub/..%5cpriv/b", "file:///pub/..%5Cpriv/b", FILE);
    check("file:///pub/..\\priv\\b", "file:///pub/..\\priv\\b", FILE);
    check("file://elsewhere/priv/b", "file://elsewhere/priv/b", FILE);
    check("file:///priv/b?x=1", "file:///priv/b?x=1", FILE);
    check(" file:///pr\niv/b", " file:///pr\niv/b", FILE);
    check("file:///a%20b@c", "file:///a%20b@c", "file:///a b@c");
    check("file:///%C3%a9%ff%00", "file:///é%FF%00", "file:///é%FF%00");
    check("file:///%252e%252e/a", "file:///%252e%252e/a", "file:///%252e%252e/a");
    check("file:///a/..", "file:///", "file:///");
    check("file:///a/b/.", "file:///a/b/", "file:///a/b/");
    check("file:", "file:///", "file:///");
}

#[test]
fn other_schemes_keep_what_they_may_mean_by_it() {
    check("DB://Secret/A", "db://secret/A", "db://secret/A");
    check("db://%73ecret", "db://secret", "db://secret");
    check("db://x/../secret", "db://x/secret", "db://secret");
    check("db://x/../Secret", "db://x/Secret", "db://secret");
    check("db:x/../secret", "db:secret", "db://secret");
    check("db:///a//b", "db:///a//b", "db://a/b");
    check("db://a?t=%41%2f..%2F", "db://a?t=A%2F..%2F", "db://a?t=A/../");
    check("x:..", "x:..", "x://");
    check("x:a/..", "x:", "x://");
    check("http://U@H:80/./a", "http://u@h/a", "http://h/a");
    check("https://h.:443", "https://h./", "https://h/");
    check("https://h:80/", "https://h:80/", "https://h:80/");
    check("http://h:/a//b", "http://h/a//b", "http://h/a/b");
    check("http://h?q", "http://h/?q", "http://h/?q");
    check("x:{a}/{+b}", "x:{a}/{+b}", "x://{a}/{+b}");
    check("/pub/../priv", "/priv", "/priv");
    check("pub/../priv", "pub/../priv", "priv");
    check("files__read", "files__read", "files__read");
    check("files__a:B", "files__a:B", "files__a:B");
    check("", "", "");
    check("x:a%2A%3f%23%25", "x:a%2A%3F%23%25", "x://a%2a%3f%23%25");
    check("x:%ef%b7%90%EF%B7%91", "x:%EF%B7%90%EF%B7%91", "x://%ef%b7%90%ef%b7%91");
}

#[test]
fn what_is_wrapped_too_often_has_no_spelling() {
    let wrapped = |times: usize| (0..times).fold("a".to_owned(), |it, _| it.replace('a', "%%36%31"));
    assert!(spellings(&format!("x:{}", wrapped(5))).is_some());
    // Each round takes one wrap off.
    let deep = (0..20).fold("%61".to_owned(), |it, _| it.replacen('6', "%36", 1));
    assert_eq!(spellings(&format!("x:{deep}")), None);
}

#[test]
fn patterns_are_read_around_their_wildcards() {
    #[track_caller]
    fn check(pattern: &str, strict: Option<&str>, loose: Option<&str>) {
        let of = |reading| canonical_pattern(pattern, reading);
        let forms = [of(Reading::Strict), of(Reading::Loose)];
        assert_eq!([forms[0].as_deref(), forms[1].as_deref()], [strict, loose], "{pattern}");
    }
    let both = |pattern, canonical| check(pattern, Some(canonical), Some(canonical));
    both("*", "*");
    both("files__*", "files__*");
    both("FILE:///Priv/*", "file:///Priv/*");
    both("file:/pub/../priv/*", "file:///priv/*");
    both("file:///home/.*", "file:///home/.*");
    both("file:///home/..*", "file:///home/..*");
    both("file:///home/.?", "file:///home/.?");
    both("file:*", "file:///*");
    both("*://secret/*", "*://secret/*");
    both("https://*.Example.com/*", "https://*.example.com/*");
    check("db:*", Some("db:*"), Some("db://*"));
    check(" a", Some(" a"), Some("a"));
    check("x:a%2A*", Some("x:a%2A*"), Some("x://a%2a*"));
    for unknown in
        ["file:///*/../b", "file:///a?/..", "x:*%2F%2e%2e/b", "x:*\\..\\b", "x:\u{fdd0}*", "\u{fdd1}"]
    {
        check(unknown, None, None);
    }
}

fn uri() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-c/.:%@?#\\\\]",
        Just("%2e".to_owned()),
        Just("%2F".to_owned()),
        Just("%5c".to_owned()),
        Just("../".to_owned()),
        Just("./".to_owned()),
        Just("//".to_owned()),
        "%[0-9a-f]{2}",
        "\\PC",
    ];
    let scheme =
        prop_oneof![Just("file:"), Just("FILE://"), Just("db://"), Just("x:"), Just("http://"), Just("")];
    (scheme, prop::collection::vec(piece, 0..12))
        .prop_map(|(scheme, pieces)| format!("{scheme}{}", pieces.concat()))
}

proptest! {
    #[test]
    fn what_is_canonical_stays(uri in uri()) {
        for reading in [Reading::Strict, Reading::Loose] {
            if let Some(canonical) = canonical(&uri, reading) {
                prop_assert_eq!(super::canonical(&canonical, reading), Some(canonical.clone()));
            }
        }
    }

    #[test]
    fn no_file_leads_up(uri in uri()) {
        if let Some(loose) = canonical(&uri, Reading::Loose)
            && let Some(path) = loose.strip_prefix("file://")
        {
            prop_assert!(path.starts_with('/'), "{}", loose);
            prop_assert!(!path.split('/').any(|part| part == ".." || part == "."), "{}", loose);
            prop_assert!(!path.contains("//"), "{}", loose);
        }
    }

    #[test]
    fn a_pattern_without_wildcards_is_read_as_what_it_matches(uri in uri()) {
        prop_assume!(!uri.contains(['*', '?', '\u{fdd0}', '\u{fdd1}']));
        for reading in [Reading::Strict, Reading::Loose] {
            prop_assert_eq!(canonical_pattern(&uri, reading), canonical(&uri, reading).map(|it| it.into_owned()));
        }
    }
}
