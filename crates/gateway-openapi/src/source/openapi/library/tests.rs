use gateway_domain::RawJson;

use super::{Resolver, Shelf, identifiers::join, pointer};

#[test]
fn items_are_found_by_their_number() {
    let list = RawJson::parse(r#"[ 10 ,{"a":[1,2]},"x,]" , [] ]"#).unwrap();
    for (token, expected) in [
        ("0", Some("10")),
        ("1", Some(r#"{"a":[1,2]}"#)),
        ("2", Some(r#""x,]""#)),
        ("3", Some("[]")),
        ("4", None),
        ("01", None),
        ("+1", None),
        ("-", None),
        ("99999999999999999999", None),
    ] {
        let found = pointer::item(&list, token);
        assert_eq!(found.as_ref().map(RawJson::as_str), expected, "{token}");
        if let Some(found) = found {
            assert!(list.as_bytes().as_ptr_range().contains(&found.as_bytes().as_ptr()), "not copied");
        }
    }
    assert_eq!(pointer::item(&RawJson::parse("[]").unwrap(), "0"), None);
}

/// What there is no room for in indexes is found all the same, each time.
#[test]
fn large_objects_and_lists_are_looked_into_without_being_kept() {
    let members = |n: usize| (0..n).map(|i| format!(r#""{i}":{i}"#)).collect::<Vec<_>>().join(",");
    let items = (0..400_000).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let large = members(160_000);
    let document = RawJson::parse(format!(r#"{{"a":{{{large}}},"b":{{{large}}},"c":[{items}]}}"#)).unwrap();
    let shelf = Shelf::new(document);
    let resolver = Resolver::new(&shelf, usize::MAX);
    for _ in 0..2 {
        for reference in ["#/a/7", "#/b/7", "#/c/7"] {
            let found = resolver.resolve(resolver.root().resource, reference);
            assert_eq!(found.unwrap().value.as_str(), "7", "{reference}");
        }
    }
    assert!(resolver.kept() <= 300_000);
    let poor = Resolver::new(&shelf, 20_000_000);
    let found: Vec<_> = (0..9).map(|_| poor.resolve(poor.root().resource, "#/c/7").is_ok()).collect();
    assert!(found[0] && !found[8] && poor.is_exhausted(), "{found:?}");
}

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
