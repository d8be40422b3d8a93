use http::{HeaderMap, HeaderName, header};
use percent_encoding::percent_decode_str;

/// The longest bearer token that is looked at, in bytes (security.md §5.1 no. 1).
const LONGEST: usize = 8_192;

/// Names under which keys and tokens come in a URL, where they must not (RFC 6750 §2.3).
const IN_URLS: [&str; 3] = ["access_token", "api_key", "key"];

/// What a request says about who sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence<'a> {
    /// Nothing.
    None,
    /// Something that is no bearer token or key.
    Unusable,
    /// A key, in the header that is for keys only.
    Key(&'a [u8]),
    /// A key or a token.
    Bearer(&'a [u8]),
}

/// A request says in more than one place who sends it, or says it in its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Misplaced;

impl<'a> Evidence<'a> {
    /// Reads the headers; `key_header` is the one for keys, if there is one.
    pub(crate) fn read(headers: &'a HeaderMap, key_header: Option<&HeaderName>) -> Result<Self, Misplaced> {
        let authorization = only(headers, &header::AUTHORIZATION)?;
        let key = key_header.map(|name| only(headers, name)).transpose()?.flatten();
        match (authorization, key) {
            (None, None) => Ok(Self::None),
            (Some(_), Some(_)) => Err(Misplaced),
            (None, Some(key)) => Ok(if key.is_empty() { Self::Unusable } else { Self::Key(key) }),
            (Some(value), None) => Ok(bearer(value).map_or(Self::Unusable, Self::Bearer)),
        }
    }

    /// The token that this is, if its form is that of one.
    pub(crate) fn token(self) -> Option<&'a str> {
        let Self::Bearer(token) = self else { return None };
        let body = token.trim_ascii_end();
        let unpadded = body.iter().rposition(|byte| *byte != b'=').map_or(&[][..], |last| &body[..=last]);
        let is_token68 = |byte: &u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/')
        };
        let fits = token.len() <= LONGEST && !unpadded.is_empty() && unpadded.iter().all(is_token68);
        std::str::from_utf8(token).ok().filter(|_| fits)
    }
}

/// Whether a query names a key or a token, however it is written.
pub(crate) fn is_in_query(query: Option<&str>) -> bool {
    let named = |pair: &str| {
        let name = percent_decode_str(pair.split('=').next().unwrap_or_default());
        IN_URLS.iter().any(|known| name.clone().map(|byte| byte.to_ascii_lowercase()).eq(known.bytes()))
    };
    query.is_some_and(|query| query.split(['&', ';']).any(named))
}

/// The value of a header that stands there once or not at all.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a [u8]>, Misplaced> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value.map(|value| value.as_bytes().trim_ascii())),
        (_, Some(_)) => Err(Misplaced),
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(b"bearer".len())?;
    let separated = key.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    let key = key.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer") && separated && !key.is_empty()).then_some(key)
}
