use super::identifiers::join;

#[test]
fn names_are_joined_like_uris() {
    for (base, reference, expected) in [
        (None, "b.yaml", "b.yaml"),
        (Some("https://x.test/a/b"), "c", "https://x.test/a/c"),
        (Some("https://x.test/a/b?q#f"), "../c", "https://x.test/c"),
        (Some("https://x.test/a/b"), "./c/./d", "https://x.test/a/c/d"),
        (Some("https://x.test/a/b"), "../../../c", "https://x.test/c"),
        (Some("https://x.test"), "c", "https://x.test/c"),
        (Some("https://x.test/a/b"), "/c", "https://x.test/c"),
        (Some("https://x.test/a/b"), "//y.test/c", "https://y.test/c"),
        (Some("https://x.test/a/b"), "urn:x:y", "urn:x:y"),
    ] {
        assert_eq!(join(base, reference), expected, "{reference} at {base:?}");
    }
}
