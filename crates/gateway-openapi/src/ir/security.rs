use super::Location;

/// A set of credentials that are needed together. Empty: none is needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirement(pub Vec<SchemeUse>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemeUse {
    /// The name of the security scheme, as in [`super::Listing::schemes`].
    pub name: String,
    /// What of it is needed.
    pub scopes: Vec<String>,
}

/// A way of the API's to know who asks. Credentials for it come from the operator, never from arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityScheme {
    /// A key in a header, the query or a cookie.
    ApiKey {
        /// Where.
        location: Location,
        /// The name it has there.
        name: String,
    },
    /// `Authorization: Basic`.
    Basic,
    /// `Authorization: Bearer`.
    Bearer,
    /// OAuth 2: a bearer token, for which the client credentials grant is offered if there is a `token_url`.
    OAuth2 {
        /// Where tokens are given. Named by the document, so not trusted: see
        /// the engine's credentials.
        token_url: Option<String>,
    },
    /// OpenID Connect: a bearer token.
    OpenIdConnect,
    /// A way that this crate has no credentials for, by its name in the source.
    Other(String),
}
