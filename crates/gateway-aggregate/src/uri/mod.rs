//! Resource URIs of many downstreams side by side (design §5).
//!
//! A URI stays as its downstream gave it as long as that says whose it is. Where it does not, because another
//! downstream has the same one, it is shown in its **marked form**: the downstream's name and the separator stand
//! in front of what follows the scheme, `ui://app/view` of `shop` as `ui://shop__app/view`. So
//!
//! - the scheme stays, and with it what clients do by scheme;
//! - a template stays a template: only literal text is added, in front of the first expression, so what it is
//!   expanded to is marked as well;
//! - it can be undone: names hold no `__` and do not end with `_`, so the first `__` is the mark;
//! - it is told from a URI that came like that, because such a one is always shown marked itself.
//!
//! `http` and `https` stay as they are: clients may fetch them themselves (protocol.md §20.9).

mod ownership;
mod template;

use gateway_domain::NAMESPACE_SEPARATOR;

pub use self::{
    ownership::{Owned, Owners, Ownership},
    template::{Effort, UriTemplate},
};

/// The marked form of a URI or template of `downstream`; `None` for one that is never marked.
pub fn mark_uri(downstream: &str, uri: &str) -> Option<String> {
    let (head, rest) = split(uri);
    let scheme = head.trim_end_matches("//").trim_end_matches(':');
    if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    Some(format!("{head}{downstream}{NAMESPACE_SEPARATOR}{rest}"))
}

/// Takes a marked form apart into the downstream's name and its own URI. `None` if it is none; whether there is
/// such a downstream is not known here.
pub fn unmark_uri(uri: &str) -> Option<(&str, String)> {
    let (head, rest) = split(uri);
    let (name, own) = rest.split_once(NAMESPACE_SEPARATOR)?;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if name.is_empty() || !name.bytes().all(is_name) {
        return None;
    }
    let own = format!("{head}{own}");
    // `x:a__//b` would be of `x://b`, whose marked form is another.
    mark_uri(name, &own).is_some_and(|marked| head.is_empty() || marked == uri).then_some((name, own))
}

/// The part up to where a mark stands, and the rest: `ui://` and `app/view`, `urn:` and `isbn:1`.
fn split(uri: &str) -> (&str, &str) {
    let Some(colon) = scheme_end(uri) else { return ("", uri) };
    let slashes = if uri[colon + 1..].starts_with("//") { 2 } else { 0 };
    uri.split_at(colon + 1 + slashes)
}

/// Where the colon after a scheme stands, if the text begins with one (RFC 3986 §3.1).
fn scheme_end(uri: &str) -> Option<usize> {
    let colon = uri.find(':')?;
    let mut scheme = uri[..colon].bytes();
    let is_scheme = scheme.next()?.is_ascii_alphabetic()
        && scheme.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    is_scheme.then_some(colon)
}

/// Whether a text begins with a scheme, as each URI does.
pub fn has_scheme(uri: &str) -> bool {
    scheme_end(uri).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_keep_the_scheme_and_can_be_undone() {
        #[track_caller]
        fn check(uri: &str, marked: &str) {
            assert_eq!(mark_uri("a-b", uri).as_deref(), Some(marked));
            assert_eq!(unmark_uri(marked), Some(("a-b", uri.to_owned())));
        }
        check("ui://app/view.html", "ui://a-b__app/view.html");
        check("file:///srv/x", "file://a-b__/srv/x");
        check("file:///{+path}", "file://a-b__/{+path}");
        check("db://{table}/{id}{?q}", "db://a-b__{table}/{id}{?q}");
        check("note:42", "note:a-b__42");
        check("x:/y", "x:a-b__/y");
        check("x://", "x://a-b__");
        check("x:", "x:a-b__");
        check("x://_y", "x://a-b___y");
        check("x://a-b__y", "x://a-b__a-b__y");
        check("X+1.2-3://q", "X+1.2-3://a-b__q");
        // No URI, but so are some templates.
        check("{+uri}", "a-b__{+uri}");
        check("plain", "a-b__plain");
        check("", "a-b__");
    }

    #[test]
    fn what_clients_may_fetch_themselves_is_left_alone() {
        for uri in ["http://h/p", "https://h", "HTTPS://h/{x}"] {
            assert_eq!(mark_uri("a", uri), None, "{uri}");
        }
        for unmarked in ["http://a__h/p", "ui://app", "ui://__x", "ui://a.b__x", "a__", "x:a__//y", "", "__"]
        {
            let expected = (unmarked == "a__").then(|| ("a", String::new()));
            assert_eq!(unmark_uri(unmarked), expected, "{unmarked}");
        }
    }

    #[test]
    fn what_a_marked_template_is_expanded_to_is_marked() {
        assert_eq!(unmark_uri("a__file:///x"), Some(("a", "file:///x".to_owned())), "of a__{{+uri}}");
        assert_eq!(unmark_uri("file://a__/srv/x"), Some(("a", "file:///srv/x".to_owned())));
    }

    fn name() -> impl Strategy<Value = String> {
        "[a-cA-C0-9]([a-c-]|_[a-c]){0,3}"
    }

    fn uri() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => "[a-c]{1,2}:(//)?[a-c_/{}+?:-]{0,8}",
            1 => "[a-c]_?[a-c_:/]{0,8}",
            1 => any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn marking_is_reversible_and_keeps_apart(a in name(), u in uri(), b in name(), v in uri()) {
            let (Some(marked), Some(other)) = (mark_uri(&a, &u), mark_uri(&b, &v)) else { return Ok(()) };
            prop_assert_eq!(unmark_uri(&marked), Some((a.as_str(), u.clone())));
            prop_assert_eq!(marked == other, (&a, &u) == (&b, &v));
            let (before, after) = (scheme_end(&u).map(|end| &u[..end]), scheme_end(&marked).map(|end| &marked[..end]));
            prop_assert_eq!(before, after, "the scheme stays");
        }

        #[test]
        fn unmarking_is_total(text in any::<String>()) {
            if let Some((name, own)) = unmark_uri(&text) {
                let again = mark_uri(name, &own);
                prop_assert!(again.as_deref() == Some(&text) || scheme_end(&text).is_none());
            }
        }
    }
}
