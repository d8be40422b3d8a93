use super::*;

const READ: &str =
    r#"{"name":"read","description":"Reads a file; doesn't write.","inputSchema":{"type":"object"}}"#;

#[test]
fn a_lock_file_reads_like_one() {
    let odd = tool("{\"name\":\"r\u{e9}ad \\\"x\\\"\",\"description\":\"a\u{202e}b '''\"}");
    let lock = Lock::new([
        ("files__read".to_owned(), locked(READ)),
        ("files__odd".to_owned(), Locked::new(&files(), &odd)),
    ]);
    let [digest_of_odd, digest] = ["files__odd", "files__read"].map(|name| lock.get(name).unwrap().digest());
    let expected = format!(
        r#"# What the tools of all downstreams looked like when they were accepted.
# Written by `gatewayd pin`; read the changes, and keep this file under version control.
version = 1

[[tool]]
name = "files__odd"
downstream = "files"
original = "réad \"x\""
sha256 = "{digest_of_odd}"
definition = '''
{{"description":"a\u202eb \u0027\u0027\u0027",
"name":"réad \"x\""}}'''

[[tool]]
name = "files__read"
downstream = "files"
original = "read"
sha256 = "{digest}"
definition = '''
{{"description":"Reads a file; doesn't write.",
"inputSchema":{{"type":"object"}},
"name":"read"}}'''
"#
    );
    assert_eq!(lock.render(), expected);
    assert_eq!(Lock::parse(&expected, &LockBounds::default()), Ok(lock.clone()));
    // As a check-out on another system may have it.
    assert_eq!(Lock::parse(&expected.replace('\n', "\r\n"), &LockBounds::default()), Ok(lock));
}

#[test]
fn an_empty_lock_is_one_too() {
    let text = Lock::default().render();
    assert!(text.ends_with("version = 1\n"));
    let lock = Lock::parse(&text, &LockBounds::default()).unwrap();
    assert_eq!((lock.is_empty(), lock.len(), lock.names().len()), (true, 0, 0));
}

#[test]
fn names_are_those_of_the_tools() {
    let lock = lock(&[("files__b", r#"{"name":"b"}"#), ("files__a", r#"{"name":"a"}"#)]);
    assert_eq!(lock.names(), ["files__a".into(), "files__b".into()].into());
    assert_eq!(lock.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["files__a", "files__b"]);
    assert_eq!((lock.len(), lock.is_empty()), (2, false));
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let bounds = LockBounds { bytes: 4_000, tools: 2 };
    let error = Lock::parse(text, &bounds).map_or_else(|error| error.to_string(), |_| "none".to_owned());
    assert_eq!(error, expected, "{text}");
}

#[test]
fn a_lock_that_is_not_right_is_not_read() {
    let text = lock(&[("files__read", READ)]).render();
    check(&text, "none");
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    check("", "the lock is not of version 1");
    check(&changed("version = 1", "version = 2"), "the lock is not of version 1");
    check(&changed("version = 1", "version = \"1\""), "the lock is not of version 1");
    check(&changed("version = 1", "version = 1\nmore = 1"), "\"more\" does not belong here");
    check("version = 1\ntool = 1", "\"tool\" does not belong here");
    check("version = 1\ntool = [1]", "line 2: \"tool\" does not belong here");
    for member in ["name", "downstream", "original", "sha256", "definition"] {
        check(
            &changed(&format!("\n{member} = "), &format!("\n{member}_ = ")),
            &format!("line 5: a tool has no text `{member}`"),
        );
    }
    check(&changed("original = \"read\"", "original = 1"), "line 5: a tool has no text `original`");
    check(&changed("sha256", "more = 1\nsha256"), "line 5: \"more\" does not belong here");
    check(&changed("'''\n{", "'''\n["), "line 5: the definition of \"files__read\" is no JSON object");
    check(
        &changed("Reads", "Writes"),
        "line 5: the definition of \"files__read\" is not the one that its digest is of; accept it again",
    );
    let (_, table) = text.split_once("\n[[tool]]").unwrap();
    let another = |name: &str| format!("\n[[tool]]{}", table.replace("files__read", name));
    check(&format!("{text}{}", another("files__two")), "none");
    check(
        &format!("{text}{}", another("files__read")),
        "line 15: the tool \"files__read\" stands there twice",
    );
    let three = format!("{text}{}{}", another("files__two"), another("files__three"));
    check(&three, "line 25: the lock has more than 2 tools");
    check(&"#".repeat(4_001), "the lock has more than 4000 bytes");
    let syntax = Lock::parse(&changed("name = ", "name "), &LockBounds::default()).unwrap_err();
    assert_eq!(syntax.line, Some(6));
    assert!(matches!(syntax.fault, LockFault::Syntax { .. }), "{syntax}");
}
