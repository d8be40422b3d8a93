use std::{path::PathBuf, time::Duration};

use gateway_egress::Identity;
use http::Uri;

/// How connections to an API are made and kept.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Where [`reach`](crate::engine::HttpClient::reach) connects to; only scheme, host and port matter.
    pub address: Option<Uri>,
    /// Certificates in PEM that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// The same, as text.
    pub ca_pem: Option<Vec<u8>>,
    /// The certificate to show if the API asks for one.
    pub identity: Option<Identity>,
    /// The most that resolving a name, TCP and TLS may take together. Default 10 s.
    pub connect_timeout: Duration,
    /// How long a connection is kept that nothing is sent on. Default 4 s: common servers close theirs after 5 s, and
    /// a request must not run into that.
    pub idle_timeout: Duration,
    /// The most connections that are kept idle for one host. Default 32.
    pub max_idle: usize,
    /// The most bytes of names and values in the head of an answer. Default 64 KiB.
    pub max_header_bytes: usize,
    /// The most fields in the head of an answer. Default 100.
    pub max_header_fields: usize,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            address: None,
            ca_file: None,
            ca_pem: None,
            identity: None,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(4),
            max_idle: 32,
            max_header_bytes: 64 << 10,
            max_header_fields: 100,
        }
    }
}

/// Why no client can be made. For the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ClientConfigError {
    /// What is wrong with which file.
    pub reason: String,
}
