//! The sections as the rest of the program may rely on them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use gateway_catalog::Lock;
use gateway_domain::{DownstreamName, Secret};
use http::{HeaderName, Uri};

/// All of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Security {
    /// Where people reach the gateway, without a path.
    pub(crate) public_url: Option<Uri>,
    /// Where a key may stand besides `Authorization`.
    pub(crate) key_header: Option<HeaderName>,
    pub(crate) policy: Policy,
    /// Authorization servers whose tokens are taken.
    pub(crate) oauth: Option<Oauth>,
    /// `None`: no records are kept.
    pub(crate) audit: Option<Audit>,
    pub(crate) redaction: Redaction,
    pub(crate) rates: Rates,
    pub(crate) pins: Pins,
    /// In the order of their names, which no downstream has.
    pub(crate) profiles: Vec<Profile>,
    pub(crate) tls: Option<Tls>,
    pub(crate) telemetry: Option<Telemetry>,
    /// Opens a URL for a person, which is put last; `None`: a browser.
    pub(crate) login: Option<Vec<String>>,
}

/// Somebody who may use the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) name: String,
    /// The bearer keys; no two clients have the same.
    pub(crate) keys: Vec<Key>,
    /// Whether it may read the page of metrics, which tells of everybody.
    pub(crate) metrics: bool,
    /// SHA-256 of certificates that it may prove itself with over TLS.
    pub(crate) certificates: Vec<[u8; 32]>,
    /// Globs over names on `/mcp`.
    pub(crate) allow: Vec<String>,
    /// Comes before everything else.
    pub(crate) deny: Vec<String>,
}

/// A key, or as much of it as is needed to recognise it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Plain(Secret),
    /// Its SHA-256.
    Digest([u8; 32]),
}

/// Who may do what besides what the clients say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    /// What holds where no rule does; by default nothing is allowed once anybody has to say who it is.
    pub(crate) allows_by_default: Option<bool>,
    pub(crate) rules: Vec<Rule>,
}

/// One rule; what is empty or `None` fits everybody and everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) allows: bool,
    pub(crate) clients: Vec<String>,
    pub(crate) issuers: Vec<String>,
    pub(crate) subjects: Vec<String>,
    /// All of them.
    pub(crate) scopes: Vec<String>,
    /// For each claim one of these values.
    pub(crate) claims: BTreeMap<String, Vec<String>>,
    pub(crate) names: Vec<String>,
    pub(crate) downstreams: Vec<String>,
    pub(crate) methods: Vec<String>,
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) through: Option<Through>,
}

/// By which way something is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    /// By a step of a workflow.
    Workflows,
    /// By the client itself.
    Client,
}

/// The gateway as a resource server (protocol.md §18.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Oauth {
    /// The public URL of `/mcp`.
    pub(crate) resource: String,
    /// Other URLs that tokens may be for.
    pub(crate) aliases: Vec<String>,
    /// URLs of `/mcp/NAME` whose tokens are for that path alone, by name.
    pub(crate) resources: BTreeMap<String, String>,
    /// A file with tokens and subjects that are refused.
    pub(crate) deny_list: Option<PathBuf>,
    pub(crate) issuers: Vec<Issuer>,
    pub(crate) scopes_supported: Vec<String>,
    pub(crate) required: RequiredScopes,
}

/// Scopes that a token needs, beside what the policy says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequiredScopes {
    /// For everything.
    pub(crate) always: Vec<String>,
    /// By method.
    pub(crate) methods: Methods,
    /// By globs over names on `/mcp`.
    pub(crate) tools: BTreeMap<String, Vec<String>>,
}

pub(crate) type Methods = BTreeMap<String, Vec<String>>;

/// An authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issuer {
    /// Compared as it is written.
    pub(crate) issuer: String,
    pub(crate) keys: KeySource,
    pub(crate) audiences: Vec<String>,
    pub(crate) algorithms: Vec<String>,
    pub(crate) accept_jwt_type: bool,
    pub(crate) leeway: Duration,
    pub(crate) max_age: Option<Duration>,
    /// Claims whose values count as scopes, with what is put in front.
    pub(crate) scope_claims: BTreeMap<String, String>,
}

/// What tokens of an issuer are checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// The issuer's metadata says where its keys are.
    Discovery,
    Url(Uri),
    File(PathBuf),
    /// It is asked about each (RFC 7662).
    Introspection {
        endpoint: Uri,
        client: String,
        secret: Secret,
        /// How long a good answer is used.
        cache: Duration,
    },
}

/// What is kept of calls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Audit {
    pub(crate) sinks: Sinks,
    pub(crate) queue: usize,
    pub(crate) high_water: f64,
    pub(crate) flush_records: usize,
    pub(crate) flush_interval: Duration,
    pub(crate) fsync_interval: Duration,
    pub(crate) overflow: Overflow,
    pub(crate) block_timeout: Duration,
    pub(crate) security_timeout: Duration,
    pub(crate) rotation: Rotation,
}

/// Where records go; at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sinks {
    pub(crate) stdout: bool,
    pub(crate) file: Option<PathBuf>,
}

/// What becomes of a record that is no security record when the queue is nearly full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overflow {
    Shed,
    Block,
}

/// When a file of records is laid aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// 0: never.
    pub(crate) max_bytes: usize,
    /// How many old ones are kept.
    pub(crate) keep: u32,
}

/// What neither side is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redaction {
    /// Whether the secrets of the configuration are redacted.
    pub(crate) secrets: bool,
    /// Others.
    pub(crate) values: Vec<(String, Secret)>,
    pub(crate) patterns: Vec<RedactionPattern>,
    pub(crate) arguments: bool,
    pub(crate) results: bool,
    /// `None`: results may have any size that the downstream may answer with.
    pub(crate) max_result_bytes: Option<usize>,
    pub(crate) preview_bytes: usize,
}

/// What looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedactionPattern {
    pub(crate) name: String,
    pub(crate) regex: String,
    pub(crate) anchor: Option<String>,
}

/// How often, and how many at once; `None`: as often as wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rates {
    pub(crate) per_caller: Option<Bucket>,
    pub(crate) per_caller_and_tool: Option<Bucket>,
    pub(crate) per_tool: Option<Bucket>,
    pub(crate) per_downstream: Option<Bucket>,
    pub(crate) tasks: Option<Bucket>,
    /// By globs over names on `/mcp`, in place of `per_tool`.
    pub(crate) tools: BTreeMap<String, Bucket>,
    pub(crate) concurrent_per_caller: Option<usize>,
    pub(crate) concurrent_per_tool: Option<usize>,
    pub(crate) concurrent_per_downstream: Option<usize>,
    pub(crate) queue: usize,
    pub(crate) queue_timeout: Duration,
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) per_second: f64,
    pub(crate) burst: u32,
}

/// Whether definitions of tools have to be those that were accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pins {
    pub(crate) mode: PinMode,
    pub(crate) lock: PathBuf,
    /// What is in it; nothing with the mode `off`.
    pub(crate) accepted: Lock,
    /// Whether control and invisible characters of definitions are neutralised.
    pub(crate) cleans: bool,
}

/// What becomes of tools that are not as they were accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PinMode {
    Off,
    Warn,
    Quarantine,
}

/// A view under a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) name: DownstreamName,
    /// Empty: all.
    pub(crate) downstreams: BTreeSet<DownstreamName>,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) workflows: Vec<String>,
    /// Names on `/mcp`, and what they are called here.
    pub(crate) renames: BTreeMap<String, String>,
    pub(crate) instructions: Option<String>,
}

/// TLS towards clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) client_ca: Option<PathBuf>,
    pub(crate) client_certificates: ClientCertificates,
    /// How often the files are looked at.
    pub(crate) reload: Duration,
}

/// Whether clients have certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientCertificates {
    Off,
    Request,
    Require,
}

/// Where spans go.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Telemetry {
    /// The collector's URL for traces.
    pub(crate) otlp: Uri,
    pub(crate) headers: Vec<(HeaderName, Secret)>,
    pub(crate) service: String,
    /// Which share of traces that begin here is recorded.
    pub(crate) sample: f64,
}

/// What a downstream is proved to who calls it, besides fixed headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) grant: Option<Grant>,
    /// Headers of the client's that are passed on.
    pub(crate) forward: Vec<HeaderName>,
}

impl Outgoing {
    /// Whether two callers may be proved differently.
    pub(crate) fn is_per_caller(&self) -> bool {
        self.exchanges_tokens() || self.is_per_user() || !self.forward.is_empty()
    }

    /// Whether callers' own tokens are exchanged.
    pub(crate) fn exchanges_tokens(&self) -> bool {
        match &self.grant {
            Some(Grant::Exchange { .. }) => true,
            Some(Grant::EnterpriseManaged { provider, .. }) => provider.subject.is_none(),
            _ => false,
        }
    }

    /// Whether each user gets a token of its own at a page.
    pub(crate) fn is_per_user(&self) -> bool {
        matches!(&self.grant, Some(Grant::Interactive(interactive)) if interactive.owner == Owner::User)
    }
}

impl Grant {
    /// What the gateway is to an authorization server, if it is anything.
    pub(crate) fn client(&self) -> Option<&TokenClient> {
        match self {
            Self::ClientCredentials(client)
            | Self::JwtBearer { client, .. }
            | Self::EnterpriseManaged { client, .. }
            | Self::Exchange { client, .. } => Some(client),
            Self::Interactive(interactive) => Some(&interactive.client),
            Self::File { .. } | Self::Command { .. } => None,
        }
    }
}

/// Where a token comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    /// A file that is read again when it changes.
    File { header: HeaderName, path: PathBuf },
    /// What a program prints.
    Command { header: HeaderName, argv: Vec<String>, ttl: Duration },
    /// OAuth client credentials.
    ClientCredentials(TokenClient),
    /// RFC 7523 §2.1: a token for what somebody else says of the gateway.
    JwtBearer { client: TokenClient, assertion: TokenSource },
    /// RFC 8693: the client's token for another.
    Exchange { client: TokenClient, exchange: Exchange },
    /// A token for what an enterprise's identity provider says of a user.
    EnterpriseManaged { client: TokenClient, provider: Box<Provider> },
    /// The authorization code flow.
    Interactive(Box<Interactive>),
}

/// The gateway as a client of an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenClient {
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    /// PEM, for `private_key_jwt`.
    pub(crate) private_key: Option<Secret>,
    pub(crate) issuer: Option<String>,
    pub(crate) token_url: Option<Uri>,
    pub(crate) scopes: Vec<String>,
    pub(crate) audience: Option<String>,
    /// The `resource` of token requests; by default the server.
    pub(crate) resource: Option<String>,
    /// Whether a server without metadata may be its own authorization server (2025-03-26).
    pub(crate) legacy_discovery: bool,
    /// Whether documents may name addresses of this machine: for development.
    pub(crate) loopback_issuers: bool,
}

/// The gateway as a client of an enterprise's identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provider {
    pub(crate) token_url: Uri,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<Secret>,
    /// PEM, for `private_key_jwt`.
    pub(crate) private_key: Option<Secret>,
    /// A token of the gateway's own; else each caller's is exchanged.
    pub(crate) subject: Option<TokenSource>,
    /// A URI; by default of ID tokens.
    pub(crate) subject_type: Option<String>,
}

/// What is asked for in exchange for a caller's token. Types are URIs; by default of access tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) subject_type: Option<String>,
    pub(crate) requested_type: Option<String>,
    pub(crate) actor: Option<Actor>,
}

/// The token that says who acts for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) source: TokenSource,
    pub(crate) kind: String,
}

/// Where a token of the gateway's own comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenSource {
    Value(Secret),
    /// A file that is read again when it changes.
    File(PathBuf),
    /// What a program prints.
    Command {
        argv: Vec<String>,
        ttl: Duration,
    },
}

/// Tokens that a person has to allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interactive {
    pub(crate) client: TokenClient,
    pub(crate) owner: Owner,
    /// An `https` URL where our client metadata is.
    pub(crate) client_metadata_url: Option<Uri>,
    /// Where the browser of `gatewayd login` comes back; by default a free port of 127.0.0.1.
    pub(crate) redirect: Option<Uri>,
    pub(crate) store: Option<PathBuf>,
    pub(crate) store_key: Option<Secret>,
}

/// Whose a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Gateway,
    User,
}
