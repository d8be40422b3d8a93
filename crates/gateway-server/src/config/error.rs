use std::net::SocketAddr;

use http::HeaderName;

use super::LEAST_HEADER_BYTES;

/// Why a server cannot be set up; all are for the operator to mend.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Anybody on the network could call every tool.
    #[error(
        "{addr} can be reached from other machines and no client is configured; \
         add a [clients.NAME] with a key or take tokens, listen on 127.0.0.1, or allow unauthenticated clients"
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
    /// A header that means something else cannot hold keys, or is never passed on.
    #[error("header {name} cannot be {what}")]
    Header {
        /// The header.
        name: HeaderName,
        /// What it cannot be.
        what: &'static str,
    },
    /// What is said about tokens does not hold together.
    #[error("tokens cannot be taken: {reason}")]
    Oauth {
        /// Why.
        reason: String,
    },
    /// Certificates or keys cannot be used.
    #[error("TLS cannot be had: {reason}")]
    Tls {
        /// Why, with the file.
        reason: String,
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
