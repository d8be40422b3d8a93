use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use aws_lc_rs::{constant_time, digest};
use gateway_protocol::{Implementation, meta};

use crate::guard::{Host, Origin};

/// hyper takes no smaller buffer for a head.
const LEAST_HEADER_BYTES: usize = 8192;

/// What the edge is told by its operator.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where MCP clients connect; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Where `/healthz`, `/readyz` and `/metrics` are moved to, if they are (design §11). Nobody is
    /// authenticated there.
    pub admin_listen: Option<SocketAddr>,
    /// Allows other machines to connect although no client is configured.
    pub allow_unauthenticated: bool,
    /// Who may connect. With none, everybody is the anonymous caller.
    pub clients: Vec<ClientKey>,
    /// Names or `name:port` under which the server is reached, besides those of the address it listens on.
    pub allowed_hosts: Vec<String>,
    /// Browser origins (`scheme://host[:port]`) that may call, besides loopback ones on a loopback address.
    pub allowed_origins: Vec<String>,
    /// Speaks HTTP/2 too, with clients that begin with it (prior knowledge, RFC 9113 §3.3). Off by default: it
    /// gains an MCP client little and gives an attacker more to hold on to (security.md §2.7).
    pub http2: bool,
    /// Cancels what a legacy client has asked for when its connection goes, as if it had said so. By default
    /// only a notification cancels there (R-77, protocol.md §4.4): connections of such clients come and go.
    pub cancel_on_disconnect: bool,
    /// Who we say we are.
    pub identity: Implementation,
    /// What a model should know about using this server.
    pub instructions: Option<String>,
    /// How long a modern client may keep a list without asking again (protocol.md §12). The default, 5 s,
    /// spares a busy client the repetition while one that does not listen for changes sees them soon.
    pub list_ttl: Duration,
    /// The key that values are sealed with which clients keep for us. Those who share it open one another's; by
    /// default it is random, and what was sealed before a restart is not opened after it.
    pub state_key: Option<StateKey>,
    /// The extensions that clients' declarations of are passed on to downstreams. By default those that need
    /// nothing of the gateway that it does not do: MCP Apps and Tasks.
    pub extensions: Vec<String>,
    /// Names the downstream in front of what it asks a user, where clients see many as one server.
    pub label_questions: bool,
    /// All bounds.
    pub limits: Limits,
}

impl ServerConfig {
    /// Everything at its default: loopback, any free port, nobody configured.
    pub fn new(identity: Implementation) -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            admin_listen: None,
            allow_unauthenticated: false,
            clients: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            http2: false,
            cancel_on_disconnect: false,
            identity,
            instructions: None,
            list_ttl: Duration::from_secs(5),
            state_key: None,
            extensions: ["io.modelcontextprotocol/ui", meta::TASKS].map(str::to_owned).into(),
            label_questions: false,
            limits: Limits::default(),
        }
    }

    /// Whether a server can be set up so, but for what only the operating system knows. Takes no address.
    ///
    /// # Errors
    /// The first of [`BindError`] but [`BindError::Listen`].
    pub fn check(&self) -> Result<(), BindError> {
        let (addr, given) = (self.listen, self.limits.header_bytes);
        if !addr.ip().is_loopback() && self.clients.is_empty() && !self.allow_unauthenticated {
            return Err(BindError::Unauthenticated { addr });
        }
        if given < LEAST_HEADER_BYTES {
            return Err(BindError::HeaderBytes { given });
        }
        self.allowed_hosts.iter().try_for_each(|entry| Self::check_host(entry))?;
        self.allowed_origins.iter().try_for_each(|entry| Self::check_origin(entry))
    }

    /// Whether this can stand among the allowed hosts.
    ///
    /// # Errors
    /// [`BindError::Host`].
    pub fn check_host(entry: &str) -> Result<(), BindError> {
        Host::entry(entry).map(drop)
    }

    /// Whether this can stand among the allowed origins.
    ///
    /// # Errors
    /// [`BindError::Origin`].
    pub fn check_origin(entry: &str) -> Result<(), BindError> {
        Origin::entry(entry).map(drop)
    }
}

/// The bounds of security.md §3.3 that belong to this edge.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open connections in all; more are closed at accept. Default 1,024.
    pub connections: usize,
    /// Open connections from one address. Default 256.
    pub connections_per_peer: usize,
    /// Bytes of a request's head, which is counted to the byte; more, or in HTTP/2 more than 16 KiB, is
    /// answered 431. Less than 8,192 cannot be had and is refused at start. Default 32 KiB.
    pub header_bytes: usize,
    /// Header fields of a request; more is answered 431. Default 100.
    pub header_fields: usize,
    /// Requests at one time on a connection of HTTP/2; a client keeps more to itself. Default 100.
    pub http2_streams: u32,
    /// From the first byte of a request's head to its last. Default 10 s.
    pub header_time: Duration,
    /// How long a connection may carry nothing between two requests. Default 75 s.
    pub idle_time: Duration,
    /// How long a peer may leave written bytes unread. Default 30 s.
    pub write_stall: Duration,
    /// Bytes of a request's body; more is answered 413. Also the longest line over stdio. Default 4 MiB.
    pub body_bytes: usize,
    /// How long a body may take to arrive, then 408. Default 30 s.
    pub body_time: Duration,
    /// Bytes of all bodies that are held at one time; more is answered 503. Default 256 MiB.
    pub buffered_bytes: usize,
    /// Requests in flight of one caller; more is answered 429. Default 64. One whose answer is larger than
    /// 64 KiB is in flight until the answer has been written. This and the other limits for one
    /// caller hold for configured clients and for the client at the other end of stdio. Over HTTP without
    /// clients nobody can be told from anybody else, and only the limits for all hold.
    pub in_flight_per_caller: usize,
    /// Requests in flight in all; more is answered 503. Default 1,024.
    pub in_flight: usize,
    /// Legacy sessions in all; beyond it the longest idle one makes room, else 503. Default 10,000.
    pub sessions: usize,
    /// Legacy sessions of one configured client, likewise. Default 100.
    pub sessions_per_caller: usize,
    /// How long a legacy session lives unused. Default 30 min.
    pub session_idle: Duration,
    /// How long a legacy session lives at all. Default 24 h.
    pub session_lifetime: Duration,
    /// Streams of change events in all; more is answered 503. Default 1,024.
    pub listens: usize,
    /// Streams of change events of one caller, of which a legacy session has one at most; more is answered
    /// 429. Default 16.
    pub listens_per_caller: usize,
    /// Resources that one modern stream of change events watches; the others are not granted. Default 100.
    pub subscriptions_per_listen: usize,
    /// Resources that one legacy session watches; more are refused. Default 100.
    pub subscriptions_per_session: usize,
    /// Messages on one stream of a legacy session that are kept for a client whose connection breaks. Default 256.
    pub replay_events: usize,
    /// Bytes of those; the last message is kept in any case. Default 256 KiB.
    pub replay_bytes: usize,
    /// Bytes of those of all streams together, likewise. Default 64 MiB.
    pub replay_total_bytes: usize,
    /// Streams of requests of one legacy session that its client can go on with; beyond it the oldest cannot be
    /// gone on with. Default 16.
    pub replay_streams: usize,
    /// How long the stream of a request is kept after its end. Default 60 s.
    pub replay_time: Duration,
    /// What clients are told to wait before they go on with a stream. Default 1 s.
    pub retry: Duration,
    /// How often one call of a legacy client may ask it something before the call is given up. Default 10.
    pub question_rounds: usize,
    /// How long a client may take to answer what it was asked: a legacy one the question, a modern one with its next
    /// request. Default 10 min.
    pub question_time: Duration,
    /// Progress and log messages of one call that wait for a slow client; more are dropped. Default 64.
    pub event_queue: usize,
    /// Bytes of those together; what does not fit is dropped. Default 1 MiB.
    pub event_queue_bytes: usize,
    /// Progress and log messages of one call in all; more are dropped. Default 10,000.
    pub events_per_call: usize,
    /// Progress and log messages of one call in any one second; more are dropped. Default 200.
    pub events_per_second: usize,
    /// How often a quiet stream gets a comment, so that nobody on the way closes it. Default 15 s.
    pub keep_alive: Duration,
    /// How long requests in flight may go on after a shutdown was asked for. Then they are told that it
    /// shuts down, and one second later connections are closed. Default 30 s.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_peer: 256,
            header_bytes: 32 << 10,
            header_fields: 100,
            http2_streams: 100,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(75),
            write_stall: Duration::from_secs(30),
            body_bytes: 4 << 20,
            body_time: Duration::from_secs(30),
            buffered_bytes: 256 << 20,
            in_flight_per_caller: 64,
            in_flight: 1024,
            sessions: 10_000,
            sessions_per_caller: 100,
            session_idle: Duration::from_secs(30 * 60),
            session_lifetime: Duration::from_secs(24 * 60 * 60),
            listens: 1024,
            listens_per_caller: 16,
            subscriptions_per_listen: 100,
            subscriptions_per_session: 100,
            replay_events: 256,
            replay_bytes: 256 << 10,
            replay_total_bytes: 64 << 20,
            replay_streams: 16,
            replay_time: Duration::from_secs(60),
            retry: Duration::from_secs(1),
            question_rounds: 10,
            question_time: Duration::from_secs(600),
            event_queue: 64,
            event_queue_bytes: 1 << 20,
            events_per_call: 10_000,
            events_per_second: 200,
            keep_alive: Duration::from_secs(15),
            drain: Duration::from_secs(30),
        }
    }
}

/// A key that sealed values are made with. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct StateKey([u8; 32]);

impl StateKey {
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for StateKey {
    fn from(key: [u8; 32]) -> Self {
        Self(key)
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateKey").finish_non_exhaustive()
    }
}

/// A client and the SHA-256 of its key; the key itself is not kept (P-25).
#[derive(Clone, PartialEq, Eq)]
pub struct ClientKey {
    name: String,
    digest: [u8; digest::SHA256_OUTPUT_LEN],
}

impl ClientKey {
    /// The client of this name, which proves itself with `key`.
    pub fn new(name: &str, key: &str) -> Self {
        Self { name: name.to_owned(), digest: sha256(key.as_bytes()) }
    }

    /// The client's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, digest: &[u8]) -> bool {
        constant_time::verify_slices_are_equal(&self.digest, digest).is_ok()
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientKey").field("name", &self.name).finish_non_exhaustive()
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; digest::SHA256_OUTPUT_LEN] {
    let mut out = [0; digest::SHA256_OUTPUT_LEN];
    out.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    out
}

/// Why a server cannot be set up; all are for the operator to mend.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Anybody on the network could call every tool.
    #[error(
        "{addr} can be reached from other machines and no client is configured; \
         add a [clients.NAME] with a key, listen on 127.0.0.1, or allow unauthenticated clients"
    )]
    Unauthenticated {
        /// The address.
        addr: SocketAddr,
    },
    /// An entry of `allowed_hosts` is not `host` or `host:port`.
    #[error("allowed host {entry:?} is not a host name with an optional port")]
    Host {
        /// The entry.
        entry: String,
    },
    /// An entry of `allowed_origins` is not an origin.
    #[error("allowed origin {entry:?} is not `scheme://host` with an optional port")]
    Origin {
        /// The entry.
        entry: String,
    },
    /// The limit of a request's head is too small to be kept.
    #[error("header_bytes is {given} and must be {LEAST_HEADER_BYTES} or more")]
    HeaderBytes {
        /// The limit.
        given: usize,
    },
    /// The operating system refuses the address.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}
