use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use gateway_domain::{Catalog, CatalogEntry};

/// One page: the first `size` entries whose names are strictly greater than the name in `cursor`,
/// and the cursor of the next page. An empty cursor is the beginning; an empty next cursor means
/// that this page is the last, also when it is exactly full.
///
/// The page shares the catalogue's entries: its cost is one binary search and the cursor's text, whatever
/// the size of the catalogue (A-W4). Nothing is kept between calls. The names may be any text, not
/// only `downstream__tool`, so the unprefixed view of one downstream pages alike.
///
/// A cursor is base64url without padding over a name, and each name has exactly one: padding, line
/// breaks, stray trailing bits and bytes that are not UTF-8 are refused (A-W8). The name itself need not
/// be in the catalogue any more.
///
/// # Errors
/// [`PageError::ZeroSize`], looked at first, or [`PageError::Cursor`].
pub fn page(catalog: &Catalog, cursor: &str, size: usize) -> Result<(Catalog, String), PageError> {
    if size == 0 {
        return Err(PageError::ZeroSize);
    }
    let after = decode(cursor)?;
    let (page, more) = catalog.window(after.as_deref(), size);
    let next = page.entries().last().filter(|_| more).map(CatalogEntry::name).map(encode);
    Ok((page, next.unwrap_or_default()))
}

/// As [`page`], of any entries in the byte order of their names, each name once.
///
/// # Errors
/// As [`page`].
pub fn page_of<'a, T>(
    entries: &'a [T],
    name: impl Fn(&T) -> &str,
    cursor: &str,
    size: usize,
) -> Result<(&'a [T], String), PageError> {
    if size == 0 {
        return Err(PageError::ZeroSize);
    }
    let after = decode(cursor)?;
    let start = after.map_or(0, |after| entries.partition_point(|entry| *name(entry) <= *after));
    let rest = &entries[start..];
    let shown = &rest[..size.min(rest.len())];
    let next = shown.last().filter(|_| shown.len() < rest.len()).map(|last| encode(name(last)));
    Ok((shown, next.unwrap_or_default()))
}

/// The name after which the page of a cursor begins; `None`: at the beginning. For whoever puts more entries between
/// those of a page that has been cut already.
///
/// # Errors
/// [`PageError::Cursor`], for the cursors that [`page`] refuses.
pub fn after(cursor: &str) -> Result<Option<String>, PageError> {
    decode(cursor)
}

/// Why there is no page. Both are the caller's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The page size is 0.
    #[error("the page size is 0: it must be at least 1")]
    ZeroSize,
    /// The cursor is none that [`page`] gave out.
    #[error("the cursor {0}: pass the one of the previous page unchanged, or none to begin again")]
    Cursor(CursorFault),
}

/// What is wrong with a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorFault {
    /// It is not base64url without padding, or not in the one form that encoding gives.
    #[error("is not base64url without padding")]
    Encoding,
    /// It holds bytes that are not UTF-8, which no name is.
    #[error("does not hold a name")]
    Text,
}

fn encode(name: &str) -> String {
    match name {
        "" => AFTER_EMPTY_NAME.to_owned(),
        name => URL_SAFE_NO_PAD.encode(name),
    }
}

fn decode(cursor: &str) -> Result<Option<String>, PageError> {
    match cursor {
        "" => return Ok(None),
        AFTER_EMPTY_NAME => return Ok(Some(String::new())),
        _ => {}
    }
    let name = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| PageError::Cursor(CursorFault::Encoding))?;
    String::from_utf8(name).map(Some).map_err(|_| PageError::Cursor(CursorFault::Text))
}

/// The cursor after the empty name, whose own encoding is the empty cursor, "from the beginning": a client
/// would take it for the last page and miss all others. It is base64url of C0 80, which is not UTF-8 and
/// so is no other name's cursor. Only an unprefixed view can hold the empty name.
const AFTER_EMPTY_NAME: &str = "wIA";

#[cfg(test)]
mod tests {
    use gateway_domain::Tool;
    use proptest::prelude::*;

    use super::*;

    fn unprefixed(names: &[&str]) -> Catalog {
        let entries = names.iter().map(|name| CatalogEntry::unprefixed("d", Tool::new(name))).collect();
        Catalog::new(entries).expect("names are unique")
    }

    #[track_caller]
    fn check(names: &[&str], cursor: &str, size: usize, expected: Result<(&[&str], &str), PageError>) {
        let found = page(&unprefixed(names), cursor, size);
        let found = found.as_ref().map(|(page, next)| {
            (page.entries().iter().map(CatalogEntry::name).collect::<Vec<_>>(), next.as_str())
        });
        assert_eq!(found, expected.as_ref().map(|(page, next)| (page.to_vec(), *next)));
        let mut sorted = names.to_vec();
        sorted.sort_unstable();
        let other = page_of(&sorted, |name| name, cursor, size);
        let other = other.as_ref().map(|(page, next)| (page.to_vec(), next.as_str()));
        assert_eq!(other, expected.as_ref().map(|(page, next)| (page.to_vec(), *next)));
    }

    #[test]
    fn pages_resume_after_the_name_in_the_cursor() {
        let abc = &["a__c", "a__a", "a__b"];
        check(abc, "", 2, Ok((&["a__a", "a__b"], "YV9fYg")));
        check(abc, "YV9fYg", 2, Ok((&["a__c"], "")));
        check(abc, "", 3, Ok((&["a__a", "a__b", "a__c"], "")));
        check(abc, "", usize::MAX, Ok((&["a__a", "a__b", "a__c"], "")));
        check(abc, "YV9fYg", usize::MAX, Ok((&["a__c"], "")));
        // The name in the cursor is gone; the name in the cursor is beyond the last.
        check(&["a__a", "a__c"], "YV9fYg", 2, Ok((&["a__c"], "")));
        check(abc, &encode("b"), 2, Ok((&[], "")));
        check(&[], "", 1, Ok((&[], "")));
        check(&[], "YV9fYg", 1, Ok((&[], "")));
    }

    #[test]
    fn the_size_is_checked_before_the_cursor() {
        check(&["a"], "", 0, Err(PageError::ZeroSize));
        check(&["a"], "!", 0, Err(PageError::ZeroSize));
        check(&[], "!", 0, Err(PageError::ZeroSize));
    }

    #[test]
    fn one_name_has_one_cursor() {
        let encoding = PageError::Cursor(CursorFault::Encoding);
        for bad in [
            "!", "a.b", "YV9fYg=", "YV9fYg==", "YV9fYg\n", "YV9f\nYg", " YV9fYg", "YV9fYg ", "YV9fYh", "Y",
            "==", "=", "+/+/", "YV9\u{0}", "é", "\n",
        ] {
            check(&["a__a"], bad, 1, Err(encoding));
        }
        let text = PageError::Cursor(CursorFault::Text);
        // A raw name is no cursor, even where it happens to be base64url.
        check(&["a__a"], "a__a", 1, Err(text));
        for bad in [&[0xff][..], &[0xc0, 0x81], &[0xc0, 0x80, b'a'], &[b'a', 0x80], &[0xed, 0xa0, 0x80]] {
            check(&["a__a"], &URL_SAFE_NO_PAD.encode(bad), 1, Err(text));
        }
    }

    #[test]
    fn the_empty_name_does_not_end_the_walk() {
        check(&["", "\0", "a"], "", 1, Ok((&[""], AFTER_EMPTY_NAME)));
        check(&["", "\0", "a"], AFTER_EMPTY_NAME, 1, Ok((&["\0"], "AA")));
        check(&[""], "", 1, Ok((&[""], "")));
        assert!(String::from_utf8(URL_SAFE_NO_PAD.decode(AFTER_EMPTY_NAME).expect("base64url")).is_err());
    }

    #[test]
    fn a_cursor_says_after_which_name_its_page_begins() {
        for (cursor, name) in [("", None), ("YV9fYg", Some("a__b")), (AFTER_EMPTY_NAME, Some(""))] {
            assert_eq!(after(cursor), Ok(name.map(str::to_owned)));
        }
        assert_eq!(after("a.b"), Err(PageError::Cursor(CursorFault::Encoding)));
    }

    #[test]
    fn errors_say_what_to_do() {
        assert_eq!(PageError::ZeroSize.to_string(), "the page size is 0: it must be at least 1");
        assert_eq!(
            PageError::Cursor(CursorFault::Encoding).to_string(),
            "the cursor is not base64url without padding: pass the one of the previous page unchanged, or none \
             to begin again"
        );
    }

    proptest! {
        /// A-27, A-W8: what is given out is taken, and nothing else is.
        #[test]
        fn names_and_cursors_correspond(name in any::<String>(), cursor in prop_oneof!["[A-Za-z0-9_-]{1,9}=?", any::<String>()]) {
            let given = encode(&name);
            prop_assert!(!given.is_empty() && given != name);
            prop_assert_eq!(decode(&given), Ok(Some(name)));
            if let Ok(Some(name)) = decode(&cursor) {
                prop_assert_eq!(encode(&name), cursor);
            }
        }
    }
}
