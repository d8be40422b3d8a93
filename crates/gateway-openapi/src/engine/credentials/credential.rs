use http::Uri;

use super::Secret;

/// What the operator has for one security scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// The value of an API key, as it is sent: for a key in `Authorization`, word and all.
    ApiKey(Secret),
    /// Name and password (RFC 7617), sent in UTF-8. The name has no colon.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token that somebody else sees to (RFC 6750): for bearer, OAuth 2 and OpenID Connect.
    Bearer(Secret),
    /// Tokens that are fetched when they are needed (RFC 6749 §4.4): for bearer, OAuth 2 and OpenID Connect.
    ClientCredentials(ClientCredentials),
}

/// How tokens are fetched (RFC 6749 §4.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCredentials {
    /// Who asks.
    pub client_id: String,
    /// How it is believed.
    pub client_secret: Secret,
    /// Where tokens are given. `None`: where the API's description says, if that is on the API's own scheme, host and
    /// port; a description alone never decides where secrets go.
    pub token_url: Option<Uri>,
    /// The scopes to ask for. `None`: those that each operation names.
    pub scopes: Option<Vec<String>>,
    /// How the secret is sent.
    pub authentication: ClientAuthentication,
    /// What the token is for (RFC 8707).
    pub resource: Option<String>,
    /// The same, as some servers want it.
    pub audience: Option<String>,
}

impl ClientCredentials {
    /// With the defaults of everything else.
    pub fn new(client_id: impl Into<String>, client_secret: Secret) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret,
            token_url: None,
            scopes: None,
            authentication: ClientAuthentication::default(),
            resource: None,
            audience: None,
        }
    }
}

/// How a client says who it is where tokens are given (RFC 6749 §2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientAuthentication {
    /// `client_secret_basic`: in the `Authorization` header.
    #[default]
    Basic,
    /// `client_secret_post`: in the form.
    Post,
}
