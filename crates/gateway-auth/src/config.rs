use std::{fmt, path::PathBuf, sync::Arc, time::Duration, time::SystemTime};

use gateway_domain::{Secret, View};

use crate::Algorithm;

/// What tells the time of day; tokens are dated with it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// The time that a function tells.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Since 1970; nothing before.
    pub(crate) fn since_epoch(&self) -> Duration {
        (self.0)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Whose tokens are accepted, and how they are checked.
#[derive(Debug, Clone, Default)]
pub struct VerifierConfig {
    /// The issuers, each once.
    pub issuers: Vec<IssuerConfig>,
    /// Tokens and subjects that are refused before they expire: a text file, one `jti VALUE` or `sub VALUE` on a line,
    /// `#` for comments; at most 1 MiB and 10,000 entries. It is read again within 5 s of a change. While it has never
    /// been read, no token is accepted; if it becomes unreadable, the last entries stay.
    pub deny_list: Option<PathBuf>,
    /// How many tokens that were found good are remembered until they expire, and as many answers of introspection.
    pub remembered: Remembered,
    /// The time of day.
    pub clock: Clock,
}

impl VerifierConfig {
    /// Whether it can work, without asking anybody.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn check(&self) -> Result<(), ConfigError> {
        crate::validate::check(self)
    }
}

/// A number of tokens. Default 10,000; at least 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered(pub usize);

impl Default for Remembered {
    fn default() -> Self {
        Self(10_000)
    }
}

/// One authorization server.
#[derive(Debug, Clone)]
pub struct IssuerConfig {
    /// The `iss` of its tokens, byte for byte.
    pub issuer: String,
    /// Whom its tokens must be for.
    pub audiences: Audiences,
    /// How its tokens are checked.
    pub check: Check,
    /// How far clocks may differ. Default 30 s, at most 60 s.
    pub skew: Duration,
    /// How old a token may be by its `iat`, which is required then. Default: any age.
    pub max_age: Option<Duration>,
    /// Claims whose values count as scopes, besides `scope` and `scp`.
    pub roles: Vec<RoleMapping>,
}

impl IssuerConfig {
    /// An issuer with defaults.
    pub fn new(issuer: impl Into<String>, audiences: Audiences, check: Check) -> Self {
        Self {
            issuer: issuer.into(),
            audiences,
            check,
            skew: Duration::from_secs(30),
            max_age: None,
            roles: Vec::new(),
        }
    }
}

/// The resources that a view answers to (RFC 8707): the canonical URI and its aliases, byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audiences {
    /// For every view that has none of its own.
    pub general: Vec<String>,
    /// For single views, instead of the general ones. With an empty list the issuer's tokens are refused there.
    pub views: Vec<(View, Vec<String>)>,
}

impl Audiences {
    /// The same for every view.
    pub fn general(resources: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { general: resources.into_iter().map(Into::into).collect(), views: Vec::new() }
    }

    /// Those of a view.
    pub(crate) fn of(&self, view: &View) -> &[String] {
        let own = self.views.iter().find(|(known, _)| known == view);
        own.map_or(&self.general, |(_, resources)| resources)
    }

    /// Whether there is any resource at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.general.is_empty() && self.views.iter().all(|(_, resources)| resources.is_empty())
    }

    /// All there are.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        self.general.iter().chain(self.views.iter().flat_map(|(_, resources)| resources))
    }
}

/// A claim whose values become scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleMapping {
    /// The name of the claim, or a JSON pointer to it if it begins with `/` (RFC 6901): `/realm_access/roles`.
    /// Its value is a string, which is one role, or an array of strings.
    pub claim: String,
    /// What stands before each value in the scope.
    pub prefix: String,
}

/// How the tokens of an issuer are checked.
#[derive(Debug, Clone)]
pub enum Check {
    /// As JWTs, with the issuer's keys.
    Keys(JwtConfig),
    /// By asking the issuer (RFC 7662). At most one issuer is asked: it gets the tokens that are not JWTs, too.
    Introspection(IntrospectionConfig),
}

/// How JWTs are checked.
#[derive(Debug, Clone)]
pub struct JwtConfig {
    /// Where the keys are.
    pub keys: KeySource,
    /// What tokens may be signed with. Default [`Algorithm::DEFAULT`].
    pub algorithms: Vec<Algorithm>,
    /// Whether a `typ` of `JWT`, or none, passes: many servers do not follow RFC 9068. Default `false`.
    pub accept_jwt_typ: bool,
    /// How long the last good keys are used while no new ones can be had. Default 24 h.
    pub keep: Duration,
}

impl JwtConfig {
    /// Keys with defaults.
    pub fn new(keys: KeySource) -> Self {
        Self {
            keys,
            algorithms: Algorithm::DEFAULT.to_vec(),
            accept_jwt_typ: false,
            keep: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// Where a key set (RFC 7517 §5) is. At most 512 KiB and 100 keys are read, in 5 s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A file, looked at every 5 s.
    File(PathBuf),
    /// A URL that the operator names; fetched every 10 min, or as often as its answers say within 1 min and 1 h.
    Url(String),
    /// Where the issuer's metadata says (RFC 8414, OpenID Connect Discovery); the metadata must name the same issuer.
    /// They are at the well-known places, or at `metadata`.
    Discovery {
        /// The URL of the metadata, if it is not a well-known one.
        metadata: Option<String>,
    },
}

/// How an issuer is asked about tokens.
#[derive(Debug, Clone)]
pub struct IntrospectionConfig {
    /// The URL of the endpoint.
    pub endpoint: String,
    /// How the gateway proves itself there.
    pub auth: EndpointAuth,
    /// Whether an answer must name an audience. Default `true`.
    pub require_audience: bool,
    /// How long one answer may take, waiting for a place included. Default 2 s.
    pub timeout: Duration,
    /// How many questions are on their way at once; 32 times as many may wait. Default 32.
    pub concurrency: usize,
    /// How long a good answer is used, at most. Default 60 s: so long is a revoked token accepted.
    pub active_for: Duration,
    /// How long a bad one is. Default 5 s.
    pub inactive_for: Duration,
}

impl IntrospectionConfig {
    /// An endpoint with defaults.
    pub fn new(endpoint: impl Into<String>, auth: EndpointAuth) -> Self {
        Self {
            endpoint: endpoint.into(),
            auth,
            require_audience: true,
            timeout: Duration::from_secs(2),
            concurrency: 32,
            active_for: Duration::from_secs(60),
            inactive_for: Duration::from_secs(5),
        }
    }
}

/// What the gateway proves itself with at an introspection endpoint (RFC 7662 §2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointAuth {
    /// As a client, in `Authorization: Basic` (RFC 6749 §2.3.1).
    Basic {
        /// `client_id`.
        id: String,
        /// `client_secret`.
        secret: Secret,
    },
    /// With a token of its own.
    Bearer(Secret),
}

/// The configuration cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// An issuer stands twice, or has no name.
    #[error("issuer {issuer:?} must have a name and stand once")]
    Issuer {
        /// The issuer.
        issuer: String,
    },
    /// Nobody's tokens are for this gateway.
    #[error("issuer {issuer:?} needs at least one audience, and none that is empty")]
    Audience {
        /// The issuer.
        issuer: String,
    },
    /// No algorithm.
    #[error("issuer {issuer:?} needs at least one algorithm")]
    Algorithms {
        /// The issuer.
        issuer: String,
    },
    /// Clocks may not differ so much.
    #[error("issuer {issuer:?} allows a skew of {skew:?}; at most 60 s are possible")]
    Skew {
        /// The issuer.
        issuer: String,
        /// The setting.
        skew: Duration,
    },
    /// A URL is none.
    #[error("issuer {issuer:?} has a URL that is none with a host, for its {what}")]
    Url {
        /// The issuer.
        issuer: String,
        /// What is there.
        what: &'static str,
    },
    /// Two issuers are asked.
    #[error(
        "issuer {issuer:?} is the second one with introspection; a token that is no JWT could be anybody's"
    )]
    SecondIntrospection {
        /// The issuer.
        issuer: String,
    },
    /// A secret that cannot be sent.
    #[error("issuer {issuer:?} has credentials for introspection that no header can hold")]
    Credentials {
        /// The issuer.
        issuer: String,
    },
    /// No number may be zero.
    #[error("issuer {issuer:?} has a setting of zero: {setting}")]
    Zero {
        /// The issuer.
        issuer: String,
        /// Its name.
        setting: &'static str,
    },
}
