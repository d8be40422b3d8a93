mod gathering;
mod hostile;
mod law;
mod outlines;

use super::*;
use crate::ir::{Listing, Operation};

/// Reads a document that is written in either language.
pub(super) fn listing(document: &str) -> Listing {
    read(document.to_owned().into(), "x", &Limits::default()).unwrap()
}

/// A document with these members of `paths` and `components`, as JSON.
pub(super) fn document(version: &str, paths: &str, components: &str) -> String {
    let info = r#""info":{"title":"T","version":"1"}"#;
    format!(r#"{{"openapi":"{version}",{info},"paths":{{{paths}}},"components":{{{components}}}}}"#)
}

/// The only operation of a document.
#[track_caller]
pub(super) fn only(document: &str) -> Operation {
    let listing = listing(document);
    assert_eq!(listing.skipped, [], "nothing is skipped");
    assert_eq!(listing.operations.len(), 1);
    listing.operations.into_iter().next().unwrap()
}

/// The reason why the only operation of a document is skipped.
#[track_caller]
pub(super) fn reason(document: &str) -> String {
    let listing = listing(document);
    assert_eq!(listing.operations, []);
    assert_eq!(listing.skipped.len(), 1);
    listing.skipped[0].reason.clone()
}
