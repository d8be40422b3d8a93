//! JSON pointers (RFC 6901) as fragments of URIs.

use std::borrow::Cow;

use gateway_domain::{JsonKind, RawJson, Scanner};

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
        JsonKind::Array => item(value, token),
        _ => None,
    }
}

/// The item of a list that a token names. Those before it are passed over, not kept.
pub(super) fn item(list: &RawJson, token: &str) -> Option<RawJson> {
    let is_canonical = token == "0" || !token.starts_with(['0', '+']);
    let index = token.parse::<usize>().ok().filter(|_| is_canonical)?;
    let text = list.as_str();
    let mut at = 1;
    let mut number = 0;
    loop {
        let mut scanner = Scanner::new(text.get(at..)?);
        match scanner.peek()? {
            b']' => return None,
            b',' => at += scanner.position() + 1,
            _ => {
                let range = scanner.value().ok()?;
                let (start, end) = (at + range.start, at + range.end);
                if number == index {
                    return RawJson::parse(list.clone().into_bytes().slice(start..end)).ok();
                }
                (number, at) = (number + 1, end);
            }
        }
    }
}
