//! The configuration as the rest of the program may rely on it: typed, complete, secrets and paths resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use gateway_domain::{DownstreamName, RawObject};
use gateway_server::StateKey;
use http::{HeaderName, Uri};

use super::api::Api;
use super::secret::Secret;
use super::security::{Client, Outgoing, Security};

/// A configuration without faults.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// Where `serve` accepts connections; port 0 takes a free one.
    pub(crate) listen: SocketAddr,
    /// Hosts that a request may name besides the loopback ones, in lower case, with or without port.
    pub(crate) allowed_hosts: Vec<String>,
    /// Browser origins besides the loopback ones, in lower case.
    pub(crate) allowed_origins: Vec<String>,
    /// Whether an address that others can reach may be served without clients.
    pub(crate) allow_unauthenticated: bool,
    /// Whether HTTP/2 is spoken to clients that begin with it.
    pub(crate) http2: bool,
    /// Whether a legacy client's calls are cancelled when its connection goes.
    pub(crate) cancel_on_disconnect: bool,
    /// How long calls in flight may go on after SIGTERM.
    pub(crate) shutdown_grace: Duration,
    /// A second address for health and metrics; without it they are on the first.
    pub(crate) admin_listen: Option<SocketAddr>,
    pub(crate) names: Names,
    pub(crate) log: Log,
    pub(crate) reload: Reload,
    pub(crate) limits: Limits,
    pub(crate) lists: Lists,
    pub(crate) questions: Questions,
    pub(crate) runs: Runs,
    /// In the order of their names, which are unique; not looked into.
    pub(crate) workflows: Vec<Workflow>,
    /// Extensions that are carried, by identifier.
    pub(crate) extensions: Vec<String>,
    /// In the order of their names; at least one.
    pub(crate) downstreams: Vec<Downstream>,
    /// In the order of their names; empty means that nobody needs a key.
    pub(crate) clients: Vec<Client>,
    pub(crate) security: Security,
    /// Values that are secret, by the key that each stands under.
    pub(crate) secrets: Vec<(String, Secret)>,
    /// Variables that secrets came from: no child inherits them, whatever else it inherits (R-W8).
    pub(crate) secret_variables: BTreeSet<String>,
}

impl Config {
    /// Where people reach the gateway, without a slash at the end: what is configured, or what tokens are for, or the
    /// address that is listened on.
    pub(crate) fn public_url(&self) -> String {
        let of_tokens = || self.security.oauth.as_ref().and_then(|oauth| oauth.resource.parse::<Uri>().ok());
        match self.security.public_url.clone().or_else(of_tokens) {
            Some(url) => {
                let authority = url.authority().map_or("", http::uri::Authority::as_str);
                format!("{}://{authority}", url.scheme_str().unwrap_or("https"))
            }
            None => {
                let scheme = if self.security.tls.is_some() { "https" } else { "http" };
                format!("{scheme}://{}", self.listen)
            }
        }
    }
}

/// What an exposed name may look like on `/mcp` (design §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Characters, prefix included; 16 to 128.
    pub(crate) max_length: usize,
    pub(crate) characters: Characters,
}

/// The alphabet of exposed names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Characters {
    /// `A-Za-z0-9_-`: what model APIs accept.
    Portable,
    /// The protocol's: `.` as well.
    Protocol,
}

/// How the gateway logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    /// A filter as in `RUST_LOG`, which comes first if it is set.
    pub(crate) level: String,
}

/// The notation of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One object per line.
    Json,
}

/// When a running gateway reads its configuration again besides when it gets SIGHUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reload {
    /// Whether when one of its files has changed.
    pub(crate) watch: bool,
    /// Between two looks; also how long a change must have been left alone.
    pub(crate) interval: Duration,
}

/// What one client, one peer and everybody together may use (security.md §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of a request's body.
    pub(crate) body_bytes: usize,
    /// For the whole body to arrive.
    pub(crate) body_time: Duration,
    /// Bytes of a request's head.
    pub(crate) header_bytes: usize,
    /// Fields of a request's head.
    pub(crate) header_fields: usize,
    /// For the whole head to arrive.
    pub(crate) header_time: Duration,
    /// Connections in all.
    pub(crate) connections: usize,
    /// Connections of one address.
    pub(crate) connections_per_peer: usize,
    /// Requests at work in all.
    pub(crate) in_flight: usize,
    /// Requests at work for one caller.
    pub(crate) in_flight_per_caller: usize,
    /// Legacy sessions in all.
    pub(crate) sessions: usize,
    /// Legacy sessions of one caller.
    pub(crate) sessions_per_caller: usize,
    /// After which an unused session ends.
    pub(crate) session_idle: Duration,
    /// After which any session ends.
    pub(crate) session_lifetime: Duration,
    /// Open event streams of one caller.
    pub(crate) streams_per_caller: usize,
}

/// What becomes of questions that downstreams ask in mid-call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Questions {
    /// How long an answer is waited for.
    pub(crate) time: Duration,
    /// How often one call may ask.
    pub(crate) rounds: usize,
    /// Calls that wait for answers of modern clients, in all.
    pub(crate) parked: usize,
    /// The same of one caller.
    pub(crate) parked_per_caller: usize,
    /// What handles given to clients are sealed with; a random one if there is none.
    pub(crate) state_key: Option<StateKey>,
    /// Whether users are shown which downstream asks.
    pub(crate) label: bool,
}

/// How the catalogue is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lists {
    /// Whether a list that lacks a downstream is an error instead.
    pub(crate) strict: bool,
    /// Items on a page towards clients.
    pub(crate) page_size: usize,
    /// How long a client's list waits at most.
    pub(crate) budget: Duration,
    /// A client's list is answered once no downstream has become ready for this long.
    pub(crate) settle: Duration,
    /// After which a listing is fetched again without being asked to.
    pub(crate) ttl: Duration,
    /// Pages of one downstream.
    pub(crate) max_pages: usize,
    /// Tools of one downstream.
    pub(crate) max_tools: usize,
    /// Bytes of one tool's definition.
    pub(crate) max_definition_bytes: usize,
}

/// One server behind the gateway.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Downstream {
    pub(crate) name: DownstreamName,
    /// A disabled one is listed by `check` and never started; its secrets and paths may be empty.
    pub(crate) enabled: bool,
    /// Whether `/readyz` waits for it.
    pub(crate) required: bool,
    pub(crate) reach: Reach,
    pub(crate) sharing: Sharing,
    pub(crate) pool: Pool,
    /// For a call without progress.
    pub(crate) call_timeout: Duration,
    /// For a call however much progress it reports; at least `call_timeout`.
    pub(crate) max_call_time: Duration,
    /// For the answer that tells the era.
    pub(crate) probe_timeout: Duration,
    /// For a whole listing, once there is a session.
    pub(crate) list_timeout: Duration,
    pub(crate) protocol: Protocol,
    pub(crate) tools: ToolFilter,
    /// Whether its list is the same for every client; otherwise each is read in that client's session.
    pub(crate) public_tool_list: bool,
    /// Bytes of one line, event or buffered answer.
    pub(crate) max_message_bytes: usize,
    pub(crate) supervision: Supervision,
    pub(crate) health: Health,
}

/// How a downstream is reached.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one for each downstream")]
pub(crate) enum Reach {
    /// A child process over stdio.
    Command(Command),
    /// A remote server over Streamable HTTP.
    Url(Remote),
    /// An HTTP API.
    Api(Box<Api>),
}

impl Reach {
    /// Whether each user gets a token of its own there, at a page.
    pub(crate) fn is_per_user(&self) -> bool {
        matches!(self, Self::Url(remote) if remote.outgoing.is_per_user())
    }
}

/// A child process.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Command {
    /// A name that is looked up in PATH, or a path.
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, Secret>,
    pub(crate) inherit_env: InheritEnv,
    pub(crate) cwd: Option<PathBuf>,
    /// From spawn to the first answer.
    pub(crate) startup_timeout: Duration,
    /// For each stage of ending: stdin closed, TERM, KILL.
    pub(crate) terminate: Duration,
    pub(crate) restarts: Restarts,
}

impl fmt::Debug for Command {
    /// Arguments are counted, not shown: people put keys there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("env", &self.env)
            .field("inherit_env", &self.inherit_env)
            .field("cwd", &self.cwd)
            .field("startup_timeout", &self.startup_timeout)
            .field("terminate", &self.terminate)
            .field("restarts", &self.restarts)
            .finish()
    }
}

/// What a child gets of the gateway's own environment, besides PATH, HOME, locale and TMPDIR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InheritEnv {
    /// Nothing more.
    Minimal,
    /// These variables.
    Named(Vec<String>),
    /// All but [`Config::secret_variables`].
    All,
}

/// A remote server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    /// `http` or `https`, with a host, without user information.
    pub(crate) url: Uri,
    /// Sent with every request; none that the gateway sets itself.
    pub(crate) headers: Vec<(HeaderName, Secret)>,
    /// Trusted besides the system's.
    pub(crate) certificates: Option<Certificates>,
    pub(crate) connect_timeout: Duration,
    pub(crate) outgoing: Outgoing,
}

/// A file with certificates (PEM).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificates {
    pub(crate) file: PathBuf,
    /// A digest: the same file with other certificates is another.
    pub(crate) content: u64,
}

/// Who shares a legacy downstream's sessions (design §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each client has its own.
    PerClient,
    /// They rotate per call.
    Shared,
}

/// Sessions kept for one downstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    /// By default 16 processes, or as many HTTP sessions as there are clients (R-W7).
    pub(crate) max: Option<usize>,
    /// For a free session.
    pub(crate) acquire_timeout: Duration,
    /// After which an unused session ends.
    pub(crate) idle_ttl: Duration,
}

/// Which protocol revision a downstream is spoken to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Whatever it speaks.
    Auto,
    /// This one, without a probe.
    Revision(&'static str),
}

/// Which of a downstream's tools are offered, by its own names, with `*` and `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolFilter {
    pub(crate) allow: Vec<String>,
    /// Comes before everything else.
    pub(crate) deny: Vec<String>,
    /// What no client is shown and workflows can call; comes before `allow`.
    pub(crate) workflows: Vec<String>,
}

/// What runs of workflows may use (C-43, C-44, C-W18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    /// Runs at once, those that wait for their user included.
    pub(crate) max: usize,
    /// The same of one caller.
    pub(crate) max_per_caller: usize,
    /// Steps of one run that work at once.
    pub(crate) parallel_steps: usize,
    /// Calls that one run may make, attempts included.
    pub(crate) max_calls: usize,
    /// Bytes of results that one run may hold.
    pub(crate) max_bytes: usize,
    /// The longest that any run may take.
    pub(crate) max_time: Duration,
}

/// A workflow as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Workflow {
    pub(crate) name: String,
    /// The file that it stands in; `None` if it stands in none.
    pub(crate) file: Option<String>,
    /// File and line, as in [`Problem::place`](super::Problem).
    pub(crate) place: String,
    /// Its definition, not looked into; or why there is none.
    pub(crate) definition: Result<RawObject, String>,
}

/// When a downstream that cannot be reached is left alone for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Supervision {
    /// Failures in a row.
    pub(crate) failures: usize,
    /// Before the next attempt, always as long; by default 1 s, growing to 15 s.
    pub(crate) cooldown: Option<Duration>,
}

/// How a downstream that nobody uses is asked whether it still answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Health {
    /// Between two questions; `None` asks none.
    pub(crate) interval: Option<Duration>,
    /// For an answer.
    pub(crate) timeout: Duration,
}

/// How often a child process that ends by itself is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restarts {
    /// Starts within `period`.
    pub(crate) limit: usize,
    pub(crate) period: Duration,
}
