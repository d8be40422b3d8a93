use super::*;

#[track_caller]
fn check(before: &str, now: &str, expected: &str) {
    let of = |text: &str| lock(&[("files__t", text)]);
    let changes = diff(&of(before), &of(now));
    assert_eq!(changes.iter().map(ToString::to_string).collect::<String>(), expected);
}

#[test]
fn what_changed_is_shown_member_by_member_with_its_code_points() {
    check(r#"{"name":"t","x":1}"#, r#" {"x":1, "name":"\u0074"}"#, "");
    check(
        r#"{"name":"t","description":"Reads a file.","inputSchema":{"properties":{"path":{"description":"Where"}}}}"#,
        "{\"name\":\"t\",\"description\":\"Reads a file.\u{202e}\u{e0041}\",\"inputSchema\":{\"properties\":{\"path\":{\"description\":\"Wh\u{435}re\"}}}}",
        r#"~ files__t
    description
      - "Reads a file."
      + "Reads a file.<U+202E><U+E0041>"
        has U+202E (change of direction), U+E0041 (invisible tag)
    inputSchema.properties.path.description
      - "Where"
      + "Whеre"
        has U+0435
"#,
    );
}

#[test]
fn kinds_of_values_and_members_that_come_and_go_are_told_apart() {
    check(
        r#"{"name":"t","a":1,"b":{},"c":[1,2],"d":"x"}"#,
        r#"{"name":"t","a":"1","b":[],"c":[1,3],"e":{"f":null}}"#,
        r#"~ files__t
    a
      - 1
      + "1"
    b
      - {}
      + []
    c[1]
      - 2
      + 3
    d
      - "x"
    e.f
      + null
"#,
    );
}

#[test]
fn of_a_long_text_the_part_that_differs_is_shown() {
    let of = |middle: &str| format!(r#"{{"name":"t","d":"{}{middle}{}"}}"#, "a".repeat(100), "b".repeat(100));
    let around = |middle: &str| format!("…{}{middle}{}…", "a".repeat(24), "b".repeat(24));
    check(
        &of("old"),
        &of("new"),
        &format!("~ files__t\n    d\n      - {}\n      + {}\n", around("old"), around("new")),
    );
    // What is only longer differs at its end.
    check(
        r#"{"name":"t","d":"aa"}"#,
        r#"{"name":"t","d":"aaa"}"#,
        "~ files__t\n    d\n      - \"aa\"\n      + \"aaa\"\n",
    );
}

#[test]
fn tools_that_come_and_go_are_told() {
    let before = lock(&[("files__a", r#"{"name":"a"}"#), ("files__c", r#"{"name":"c"}"#)]);
    let now =
        lock(&[("files__b", r#"{"name":"b","description":"Do\u200b it"}"#), ("files__c", r#"{"name":"c"}"#)]);
    let changes = diff(&before, &now);
    assert!(matches!(&changes[..], [Change::Removed { .. }, Change::Added { .. }]), "{changes:?}");
    assert_eq!(
        changes.iter().map(ToString::to_string).collect::<String>(),
        r#"- files__a
+ files__b
    (downstream)
      + files
    (name there)
      + "b"
    description
      + "Do<U+200B> it"
        has U+200B (character without width)
    name
      + "b"
"#
    );
}

#[test]
fn a_tool_of_another_downstream_is_another_one() {
    let web = DownstreamName::parse("web").unwrap();
    let of = |downstream: &DownstreamName| {
        Lock::new([("x".to_owned(), Locked::new(downstream, &tool(r#"{"name":"t"}"#)))])
    };
    let changes = diff(&of(&files()), &of(&web));
    assert_eq!(changes[0].to_string(), "~ x\n    (downstream)\n      - files\n      + web\n");
}

#[test]
fn no_change_is_shown_as_none() {
    for (before, now, expected) in [
        // A character, and what stands for it here.
        (r#""x":"\u202e""#, r#""x":"<U+202E>""#, "has U+202E"),
        (r#""x":"\ud800""#, r#""x":"\ufffd""#, "has U+D800 (half of a character)"),
        (r#""x":{"\ud800":1}"#, r#""x":{"\ufffd":1}"#, "compare the whole definitions"),
        (r#""x\u202e":1"#, r#""x":1"#, "x<U+202E>"),
        (r#""x":{"a":1,"a":2}"#, r#""x":{"a":2,"a":1}"#, "x.a"),
    ] {
        let of = |member: &str| lock(&[("files__t", &*format!(r#"{{"name":"t",{member}}}"#))]);
        let changes = diff(&of(before), &of(now));
        let shown = changes[0].to_string();
        assert!(shown.contains(expected), "{shown}");
        assert!(shown.chars().all(|c| c == '\n' || crate::Hazard::of(c).is_none()), "{shown:?}");
    }
}

#[test]
fn what_is_shown_is_bounded() {
    let many: Vec<_> = (0..500).map(|n| format!(r#""m{n}":1"#)).collect();
    let long: String = (0..3_000_u32).map(|n| char::from_u32(0x4e00 + n).unwrap()).collect();
    let lock = lock(&[
        ("files__many", &*format!(r#"{{"name":"t",{}}}"#, many.join(","))),
        ("files__long", &*format!(r#"{{"name":"t","d":"{long}"}}"#)),
    ]);
    let shown: Vec<_> = diff(&Lock::default(), &lock).iter().map(ToString::to_string).collect();
    assert!(shown[0].chars().count() < 1_200, "{}", shown[0]);
    assert!(shown[0].contains(", ...\n"));
    assert!(shown[1].ends_with("    ... and 403 more members\n"), "{}", shown[1]);
    let name = "n".repeat(5_000);
    let changes = diff(&Lock::new([(name, locked(r#"{"name":"t"}"#))]), &Lock::default());
    assert_eq!(changes[0].to_string(), format!("- {}\n", "n".repeat(200)));
}
