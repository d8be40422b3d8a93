use gateway_egress::Challenge;
use http::{HeaderValue, StatusCode};

use super::scopes::Scopes;

/// What a server's `WWW-Authenticate` says about bearer tokens (RFC 6750 §3, RFC 9728 §5.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BearerChallenge {
    /// Where its metadata is, as it said.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the request needs, as it said.
    pub(crate) scope: Option<String>,
    /// Why the token was not good enough.
    pub(crate) error: Option<String>,
}

impl BearerChallenge {
    /// What the values of `WWW-Authenticate` say about the scheme `Bearer`; the first word about each thing counts.
    pub(crate) fn read(values: &[HeaderValue]) -> Self {
        let mut found = Self::default();
        for value in values.iter().filter_map(|value| value.to_str().ok()) {
            for (scheme, name, value) in Parameters::of(value) {
                if scheme.eq_ignore_ascii_case("bearer") {
                    found.note(&name, value);
                }
            }
        }
        found
    }

    /// Whether more scopes are asked for: 403 with `insufficient_scope`.
    pub(crate) fn asks_for_more(&self, challenge: &Challenge<'_>) -> bool {
        challenge.status == StatusCode::FORBIDDEN && self.error.as_deref() == Some("insufficient_scope")
    }

    pub(crate) fn scopes(&self) -> Option<Scopes> {
        self.scope.as_deref().map(Scopes::read)
    }

    fn note(&mut self, name: &str, value: String) {
        let place = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut self.resource_metadata,
            "scope" => &mut self.scope,
            "error" => &mut self.error,
            _ => return,
        };
        place.get_or_insert(value);
    }
}

/// The parameters of a list of challenges (RFC 9110 §11.6.1), each with its scheme. What cannot be read ends it.
struct Parameters<'a> {
    rest: &'a str,
    scheme: &'a str,
}

impl<'a> Parameters<'a> {
    fn of(text: &'a str) -> Self {
        Self { rest: text, scheme: "" }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|one: char| !is_token(one)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn quoted(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = self.rest.get(at + 1..)?;
                    return Some(value);
                }
                '\\' => value.push(letters.next()?.1),
                other => value.push(other),
            }
        }
        None
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = (&'a str, String, String);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', ',']);
            let word = self.word();
            if word.is_empty() {
                return None;
            }
            let after = self.rest.trim_start_matches([' ', '\t']);
            let Some(value) = after.strip_prefix('=') else {
                self.scheme = word;
                continue;
            };
            self.rest = value.trim_start_matches([' ', '\t']);
            let value = if self.rest.starts_with('"') { self.quoted()? } else { self.word().to_owned() };
            return Some((self.scheme, word.to_owned(), value));
        }
    }
}

fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/:".contains(letter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(values: &[&str]) -> [Option<String>; 3] {
        let values: Vec<_> = values.iter().map(|value| HeaderValue::from_str(value).unwrap()).collect();
        let BearerChallenge { resource_metadata, scope, error } = BearerChallenge::read(&values);
        [resource_metadata, scope, error]
    }

    #[test]
    fn what_is_said_about_bearer_is_found() {
        type Row<'a> = (&'a [&'a str], [Option<&'a str>; 3]);
        let rows: &[Row<'_>] = &[
            (&[], [None; 3]),
            (&["Bearer"], [None; 3]),
            (
                &[r#"Bearer resource_metadata="https://a/x", scope="b c""#],
                [Some("https://a/x"), Some("b c"), None],
            ),
            (
                &[r#"bearer SCOPE=b , error = "insufficient_scope""#],
                [None, Some("b"), Some("insufficient_scope")],
            ),
            (&[r#"Basic realm="x, Bearer", scope="no", Bearer scope="yes""#], [None, Some("yes"), None]),
            (&[r#"DPoP scope="no""#, r#"Bearer scope="yes", scope="late""#], [None, Some("yes"), None]),
            (&[r#"Bearer scope="a\"b\\""#], [None, Some("a\"b\\"), None]),
            (&[r#"Bearer scope="never ends"#], [None; 3]),
            (&[r#"Bearer resource_metadata=https://a/x"#], [Some("https://a/x"), None, None]),
            (&[r#"Bearer a="b";scope="c""#], [None; 3]),
        ];
        for (values, expected) in rows {
            assert_eq!(read(values), expected.map(|one| one.map(str::to_owned)), "{values:?}");
        }
    }

    #[test]
    fn only_403_with_its_code_asks_for_more() {
        for (status, error, more) in [
            (StatusCode::FORBIDDEN, Some("insufficient_scope"), true),
            (StatusCode::FORBIDDEN, None, false),
            (StatusCode::FORBIDDEN, Some("invalid_token"), false),
            (StatusCode::UNAUTHORIZED, Some("insufficient_scope"), false),
        ] {
            let bearer = BearerChallenge { error: error.map(str::to_owned), ..Default::default() };
            let challenge = Challenge { status, authenticate: &[], sent: &[] };
            assert_eq!(bearer.asks_for_more(&challenge), more, "{status} {error:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_sent_makes_it_fail(value in "[ -~]*") {
            read(&[&value]);
        }
    }
}
