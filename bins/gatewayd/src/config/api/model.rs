use std::collections::BTreeMap;
use std::time::Duration;

use gateway_openapi::engine::{BaseUrl, ClientAuthentication, Override, RateLimit};
use gateway_openapi::ir::Method;
use gateway_openapi::source::Place;
use http::{HeaderName, Uri};

use crate::config::checked::Certificates;
use crate::config::secret::Secret;

/// An HTTP API with a description of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Api {
    /// Its OpenAPI document.
    pub(crate) document: Place,
    /// Files, folders, globs and URLs that the document may refer to.
    pub(crate) references: Vec<String>,
    /// Where its paths begin; the only server that is called.
    pub(crate) base_url: BaseUrl,
    /// Sent with every request; none that HTTP needs for itself.
    pub(crate) headers: Vec<(HeaderName, Secret)>,
    /// Credentials by the name of the security scheme that they are for.
    pub(crate) auth: BTreeMap<String, Auth>,
    pub(crate) part: Part,
    pub(crate) limits: CallLimits,
    /// Trusted besides the system's.
    pub(crate) certificates: Option<Certificates>,
    pub(crate) connect_timeout: Duration,
}

/// Which part of an API is offered, and how it looks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// Whether only operations that read are offered.
    pub(crate) read_only: bool,
    /// Of these at least one must fit, if there are any.
    pub(crate) include: Vec<Selector>,
    /// None of these may fit.
    pub(crate) exclude: Vec<Selector>,
    /// By operation id, or by method and path: `GET /pets/{id}`.
    pub(crate) overrides: BTreeMap<String, Override>,
    /// Whether tools say what they answer.
    pub(crate) output_schemas: bool,
    /// Bytes of one schema.
    pub(crate) max_schema_bytes: usize,
}

/// What each tool of an API may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CallLimits {
    pub(crate) rate: Option<RateLimit>,
    /// Calls at once.
    pub(crate) concurrent: usize,
    /// Bytes of an answer's text; 0 for all of it.
    pub(crate) response_bytes: usize,
}

/// What is sent so that the API answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Auth {
    /// An API key or a bearer token, whatever the scheme says.
    Token(Secret),
    /// HTTP Basic.
    Basic { username: String, password: Secret },
    /// Tokens that are fetched when they are needed.
    Client(OAuthClient),
}

/// OAuth 2.0 client credentials (RFC 6749 §4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    pub(crate) secret: Secret,
    /// Without one, where the document says, if that is on the API's own host.
    pub(crate) token_url: Option<Uri>,
    /// Without them, those that each operation names.
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) authentication: ClientAuthentication,
    pub(crate) resource: Option<String>,
    pub(crate) audience: Option<String>,
}

/// Fits an operation that has all of what is given here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) tag: Option<String>,
    /// A glob.
    pub(crate) path: Option<String>,
    pub(crate) method: Option<Method>,
    /// Its id.
    pub(crate) operation: Option<String>,
}
