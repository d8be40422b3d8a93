//! What the operator says about the edge.

mod client;
mod error;
mod headers;
mod limits;
mod state_key;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use gateway_protocol::{Implementation, meta};
use http::HeaderName;

#[cfg(test)]
pub(crate) use self::client::work;
pub(crate) use self::client::{DIGEST, sha256};
pub use self::{
    client::{ClientKey, DigestError},
    error::BindError,
    limits::Limits,
    state_key::StateKey,
};
use crate::{
    guard::{Host, Origin},
    oauth::{OauthConfig, Protected},
    tls::{ClientCertificates, TlsConfig},
};

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
    /// Who may connect. With none, and nothing else to prove oneself with, everybody is the anonymous caller. Several
    /// entries of one name are one client.
    pub clients: Vec<ClientKey>,
    /// A header for keys besides `Authorization: Bearer`, as `x-api-key`. In one request only one of the two may
    /// stand. None by default.
    pub key_header: Option<HeaderName>,
    /// Takes access tokens. `Authorization: Bearer` holds a key if some client has it, else a token.
    pub oauth: Option<OauthConfig>,
    /// TLS where MCP clients connect. Taken at start, like the address; files are read again when they change.
    pub tls: Option<TlsConfig>,
    /// Says with each call who made it and what came along ([`Incoming`](gateway_domain::Incoming)), because some
    /// downstream is reached with credentials of the caller. Off by default.
    pub passes_incoming: bool,
    /// Headers of requests that come along, for downstreams that are configured to get them. Never what proves who
    /// the client is to us.
    pub forward_headers: Vec<HeaderName>,
    /// Names or `name:port` under which the server is reached, besides those of the address it listens on.
    pub allowed_hosts: Vec<String>,
    /// Browser origins (`scheme://host[:port]`) that may call, besides loopback ones on a loopback address.
    pub allowed_origins: Vec<String>,
    /// The origin (`scheme://host[:port]`) that people reach [`Pages`](crate::Pages) under: what their forms are sent
    /// from. It may send to those pages only; loopback origins may too, as everywhere. None by default.
    pub public_origin: Option<String>,
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
            key_header: None,
            oauth: None,
            tls: None,
            passes_incoming: false,
            forward_headers: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            public_origin: None,
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
        if !addr.ip().is_loopback() && !self.authenticates() && !self.allow_unauthenticated {
            return Err(BindError::Unauthenticated { addr });
        }
        if given < LEAST_HEADER_BYTES {
            return Err(BindError::HeaderBytes { given });
        }
        headers::check(self)?;
        if let Some(tls) = &self.tls
            && tls.client_certificates != ClientCertificates::Off
            && tls.client_ca.is_none()
        {
            let reason = "client certificates are asked for and no client_ca is named".to_owned();
            return Err(BindError::Tls { reason });
        }
        self.oauth.as_ref().map(Protected::new).transpose()?;
        self.allowed_hosts.iter().try_for_each(|entry| Self::check_host(entry))?;
        self.public_origin.iter().try_for_each(|entry| Self::check_origin(entry))?;
        self.allowed_origins.iter().try_for_each(|entry| Self::check_origin(entry))
    }

    /// Whether callers prove who they are.
    pub(crate) fn authenticates(&self) -> bool {
        !self.clients.is_empty() || self.oauth.is_some() || self.requires_certificates()
    }

    /// Whether a certificate of the right authority is all that is asked for.
    pub(crate) fn knows_by_certificate(&self) -> bool {
        self.requires_certificates() && self.clients.is_empty() && self.oauth.is_none()
    }

    fn requires_certificates(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.client_certificates == ClientCertificates::Require)
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

#[cfg(test)]
mod tests;
