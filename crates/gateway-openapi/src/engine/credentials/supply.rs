use std::{fmt, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue, Uri, header};

use super::{Credential, CredentialError, Secret, grant::Grant, token_url, tokens::Tokens};
use crate::{
    engine::{CallError, Extras, HttpClient},
    ir::{Location, SecurityScheme},
};

/// What is put where for one scheme.
#[derive(Debug)]
pub(super) enum Supply {
    Header(HeaderName, HeaderValue),
    Query(String, Secret),
    Cookie(String, Secret),
    Tokens(Box<Tokens>),
}

impl Supply {
    pub(super) fn new(
        name: &str,
        credential: Credential,
        scheme: &SecurityScheme,
        base: &Uri,
        client: &Arc<dyn HttpClient>,
    ) -> Result<Self, CredentialError> {
        let unusable = |reason: &dyn fmt::Display| CredentialError::Unusable {
            scheme: name.into(),
            reason: reason.to_string(),
        };
        match (credential, scheme) {
            (Credential::ApiKey(value), SecurityScheme::ApiKey { location, name }) => {
                api_key(*location, name, value).map_err(|reason| unusable(&reason))
            }
            (Credential::Basic { user, password }, SecurityScheme::Basic) => {
                basic(&user, &password).map_err(|reason| unusable(&reason))
            }
            (Credential::Bearer(token), scheme) if takes_tokens(scheme) => {
                Ok(Self::Header(header::AUTHORIZATION, bearer(&token).map_err(|reason| unusable(&reason))?))
            }
            (Credential::ClientCredentials(config), scheme) if takes_tokens(scheme) => {
                let named = match scheme {
                    SecurityScheme::OAuth2 { token_url } => token_url.as_deref(),
                    _ => None,
                };
                let url = token_url::choose(config.token_url.as_ref(), named, base)
                    .map_err(|reason| unusable(&reason))?;
                let grant = Grant::new(config, url, Arc::clone(client));
                Ok(Self::Tokens(Box::new(Tokens::new(name, grant))))
            }
            (_, scheme) => {
                let (kind, needed) = describe(scheme);
                Err(CredentialError::Mismatch { scheme: name.into(), kind, needed })
            }
        }
    }

    /// Puts it into a request.
    pub(super) async fn add(&self, scopes: &[String], extras: &mut Extras) -> Result<(), CallError> {
        match self {
            Self::Header(name, value) => extras.headers.push((name.clone(), value.clone())),
            Self::Query(name, value) => extras.query.push((name.clone(), value.expose().to_owned())),
            Self::Cookie(name, value) => extras.cookies.push((name.clone(), value.expose().to_owned())),
            Self::Tokens(tokens) => {
                extras.headers.push((header::AUTHORIZATION, tokens.obtain(scopes).await?))
            }
        }
        Ok(())
    }

    /// See [`super::Credentials::reject`].
    pub(super) fn reject(&self, sent: &Extras) {
        let Self::Tokens(tokens) = self else { return };
        let sent = sent.headers.iter().filter(|(name, _)| name == header::AUTHORIZATION);
        sent.for_each(|(_, value)| tokens.reject(value));
    }

    /// Where it stands in a request; headers in lower case.
    pub(super) fn place(&self) -> (Location, String) {
        match self {
            Self::Header(name, _) => (Location::Header, name.as_str().to_owned()),
            Self::Tokens(_) => (Location::Header, header::AUTHORIZATION.as_str().to_owned()),
            Self::Query(name, _) => (Location::Query, name.clone()),
            Self::Cookie(name, _) => (Location::Cookie, name.clone()),
        }
    }
}

fn takes_tokens(scheme: &SecurityScheme) -> bool {
    matches!(scheme, SecurityScheme::Bearer | SecurityScheme::OAuth2 { .. } | SecurityScheme::OpenIdConnect)
}

/// What a scheme is, and what can be configured for it.
fn describe(scheme: &SecurityScheme) -> (String, &'static str) {
    match scheme {
        SecurityScheme::ApiKey { .. } => ("an API key".into(), "a key"),
        SecurityScheme::Basic => ("basic authentication".into(), "a user and a password"),
        SecurityScheme::Bearer => ("a bearer token".into(), "a token or client credentials"),
        SecurityScheme::OAuth2 { .. } => ("OAuth 2".into(), "a token or client credentials"),
        SecurityScheme::OpenIdConnect => ("OpenID Connect".into(), "a token or client credentials"),
        SecurityScheme::Other(kind) => (format!("of the kind {kind:?}"), "what only static headers can send"),
    }
}

fn api_key(location: Location, name: &str, value: Secret) -> Result<Supply, &'static str> {
    match location {
        Location::Header => {
            let name = name.parse().map_err(|_| "the API names a header that is none")?;
            if is_of_http(&name) {
                return Err("the API names a header that HTTP itself needs");
            }
            Ok(Supply::Header(name, secret_header(value.expose().to_owned())?))
        }
        Location::Query | Location::Cookie if name.is_empty() => Err("the API gives the key no name"),
        Location::Query => Ok(Supply::Query(name.to_owned(), value)),
        Location::Cookie => Ok(Supply::Cookie(name.to_owned(), value)),
        Location::Path | Location::QueryString => {
            Err("the API names a place where keys cannot be; a key is in a header, the query or a cookie")
        }
    }
}

/// Headers that frame the message or say where it goes, and `Cookie`, which has other cookies in it.
fn is_of_http(name: &HeaderName) -> bool {
    const NAMES: [HeaderName; 9] = [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::COOKIE,
        header::HOST,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ];
    NAMES.contains(name) || name == "keep-alive" || name.as_str().starts_with("proxy-")
}

fn basic(user: &str, password: &Secret) -> Result<Supply, &'static str> {
    if user.contains(':') {
        return Err("the user's name has a colon in it, which basic authentication cannot send (RFC 7617)");
    }
    let password = password.expose();
    if [user, password].iter().any(|text| text.chars().any(char::is_control)) {
        return Err("the user's name or the password has control characters (RFC 7617)");
    }
    let value = secret_header(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))?;
    Ok(Supply::Header(header::AUTHORIZATION, value))
}

/// `Authorization` for a token, which is of visible ASCII characters (RFC 6750 §2.1).
pub(super) fn bearer(token: &Secret) -> Result<HeaderValue, &'static str> {
    let token = token.expose();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a token is of visible ASCII characters without spaces");
    }
    secret_header(format!("Bearer {token}"))
}

/// A value that [`fmt::Debug`] does not show.
pub(super) fn secret_header(value: String) -> Result<HeaderValue, &'static str> {
    let mut value =
        HeaderValue::try_from(value).map_err(|_| "the value has characters that no header can have")?;
    value.set_sensitive(true);
    Ok(value)
}
