//! JSON pointers (RFC 6901) as fragments of URIs.

use std::borrow::Cow;

use gateway_domain::{JsonKind, RawJson};

use super::super::object::object;

/// The tokens of a pointer that is percent-decoded already and begins with `/`.
pub(super) fn tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|token| match token.contains('~') {
        true => token.replace("~1", "/").replace("~0", "~").into(),
        false => token.into(),
    })
}

/// The member or item that a token names.
pub(super) fn child(value: &RawJson, token: &str) -> Option<RawJson> {
    match value.kind() {
        JsonKind::Object => object(value)?.get(token),
        JsonKind::Array => {
            let is_canonical = token == "0" || !token.starts_with(['0', '+']);
            let index = token.parse::<usize>().ok().filter(|_| is_canonical)?;
            value.elements(usize::MAX)?.into_iter().nth(index)
        }
        _ => None,
    }
}
