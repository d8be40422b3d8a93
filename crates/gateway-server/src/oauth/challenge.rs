use std::fmt::Write;

use http::HeaderValue;

use super::check::is_scope;

/// Why a request is refused, as far as its client can do something about it (RFC 6750 §3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// It came without a token.
    Missing,
    /// Its token is not good.
    Invalid,
    /// Its token lacks some of these scopes.
    Scopes(Vec<String>),
}

impl Challenge {
    /// The header's value; `advised` are the scopes that a first token should have.
    pub(super) fn write(&self, metadata: &str, advised: &[String]) -> HeaderValue {
        let (error, scopes) = match self {
            Self::Missing => ("", advised),
            Self::Invalid => (r#"error="invalid_token", "#, advised),
            Self::Scopes(scopes) => (r#"error="insufficient_scope", "#, scopes.as_slice()),
        };
        let scopes: Vec<_> = scopes.iter().map(String::as_str).filter(|scope| is_scope(scope)).collect();
        let mut text = format!(r#"Bearer {error}resource_metadata="{metadata}""#);
        if !scopes.is_empty() {
            // Writing to a String does not fail.
            let _ = write!(text, r#", scope="{}""#, scopes.join(" "));
        }
        if matches!(self, Self::Scopes(_)) {
            text.push_str(r#", error_description="the token lacks a scope that this request needs""#);
        }
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}
