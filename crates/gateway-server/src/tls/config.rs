use std::{path::PathBuf, time::Duration};

use super::load::load;
use crate::BindError;

/// TLS on the address where MCP clients connect: 1.2 or newer, keys and certificates in PEM files. The other address,
/// for operators, has none.
///
/// Files are read again when they change. What cannot be used is logged, and what was read before goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsConfig {
    /// The server's certificate and those between it and a root, in this order.
    pub certificate: PathBuf,
    /// Its private key. A warning is logged if others than its owner may read the file.
    pub key: PathBuf,
    /// Whether clients are asked for a certificate. Default [`ClientCertificates::Off`].
    pub client_certificates: ClientCertificates,
    /// The authorities whose certificates clients may have; needed if they are asked for one.
    pub client_ca: Option<PathBuf>,
    /// How long a handshake may take; a connection counts from its first byte. Default 10 s.
    pub handshake_time: Duration,
    /// How often files are looked at. Default 10 s; less than 100 ms is not had.
    pub look_every: Duration,
}

impl TlsConfig {
    /// TLS with this certificate and key, for clients without certificates.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            certificate: certificate.into(),
            key: key.into(),
            client_certificates: ClientCertificates::Off,
            client_ca: None,
            handshake_time: Duration::from_secs(10),
            look_every: Duration::from_secs(10),
        }
    }
}

impl TlsConfig {
    /// Whether the files can be used as they are now. Reads them, blocking.
    ///
    /// # Errors
    /// [`BindError::Tls`].
    pub fn check(&self) -> Result<(), BindError> {
        load(self).map(drop).map_err(|reason| BindError::Tls { reason })
    }
}

/// Whether clients prove themselves with certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientCertificates {
    /// They are not asked for any.
    #[default]
    Off,
    /// They may have one. It names a client that is configured with it
    /// ([`ClientKey::with_certificate`](crate::ClientKey::with_certificate)); who has none proves itself in another
    /// way.
    Request,
    /// They must have one. Without clients and without [`OauthConfig`](crate::OauthConfig), any certificate of the
    /// authorities is enough, and each is a client of its own, which is called `certificate:` and the certificate's
    /// SHA-256 digest.
    Require,
}
