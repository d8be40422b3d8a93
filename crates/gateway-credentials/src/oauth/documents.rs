//! The documents of the standards, as far as a client reads them.

use serde::{Deserialize, Serialize};

/// Protected resource metadata (RFC 9728 §2).
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ResourceMetadata {
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
}

/// Metadata of an authorization server (RFC 8414 §2, OpenID Connect Discovery 1.0 §3).
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct IssuerMetadata {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    pub(crate) client_id_metadata_document_supported: bool,
}

/// A request for registration (RFC 7591 §2).
#[derive(Debug, Serialize)]
pub(crate) struct RegistrationRequest<'a> {
    pub(crate) client_name: &'a str,
    pub(crate) redirect_uris: [&'a str; 1],
    pub(crate) grant_types: [&'a str; 2],
    pub(crate) response_types: [&'a str; 1],
    pub(crate) token_endpoint_auth_method: &'a str,
    pub(crate) application_type: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) scope: &'a str,
}

/// What registration answers (RFC 7591 §3.2.1).
#[derive(Deserialize)]
pub(crate) struct Registration {
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<String>,
    pub(crate) client_secret_expires_at: Option<u64>,
    pub(crate) token_endpoint_auth_method: Option<String>,
}

/// What a token endpoint answers (RFC 6749 §5.1).
#[derive(Deserialize)]
pub(crate) struct TokenAnswer {
    pub(crate) access_token: String,
    pub(crate) token_type: String,
    pub(crate) expires_in: Option<Seconds>,
    pub(crate) refresh_token: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) issued_token_type: Option<String>,
}

/// Seconds; some servers write them as a text.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Seconds {
    Number(u64),
    Text(String),
    Fraction(f64),
}

impl Seconds {
    pub(crate) fn whole(&self) -> Option<u64> {
        match self {
            Self::Number(seconds) => Some(*seconds),
            Self::Text(text) => text.parse().ok(),
            Self::Fraction(seconds) => (0.0..1e15).contains(seconds).then_some(*seconds as u64),
        }
    }
}

/// Why an endpoint refuses (RFC 6749 §5.2, RFC 7591 §3.2.2).
#[derive(Deserialize)]
pub(crate) struct Refusal {
    pub(crate) error: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_however_they_are_written() {
        let rows = [
            ("3600", Some(3600)),
            (r#""3600""#, Some(3600)),
            ("3600.9", Some(3600)),
            ("0.0", Some(0)),
            ("-1.5", None),
            ("1e15", None),
            (r#""soon""#, None),
        ];
        for (text, expected) in rows {
            assert_eq!(serde_json::from_str::<Seconds>(text).unwrap().whole(), expected, "{text}");
        }
    }
}
