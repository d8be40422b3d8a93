//! Whom to trust.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use gateway_domain::Secret;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// Whom to trust besides the system's authorities, and what to show oneself with.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// A PEM file with certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// The same, as bytes.
    pub ca_pem: Option<Vec<u8>>,
    /// The certificate to show to servers that ask for one.
    pub identity: Option<Identity>,
}

/// A client's certificate.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate and those between it and its authority, in PEM.
    pub chain_pem: Vec<u8>,
    /// Its private key, in PEM.
    pub key_pem: Secret,
}

impl Trust {
    /// Checks what is configured, whose file is read, without the system's certificates.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn check(&self) -> Result<(), String> {
        self.with(RootCertStore::empty()).map(drop)
    }

    /// TLS with a provider of its own, so that nothing is installed for the whole process.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub(crate) fn client_config(&self, roots: Roots) -> Result<ClientConfig, String> {
        let roots = match roots {
            Roots::None => RootCertStore::empty(),
            Roots::Needed => self.needed()?,
            Roots::Found => self.with(system_roots().clone())?,
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?
            .with_root_certificates(roots);
        let Some(identity) = &self.identity else { return Ok(builder.with_no_client_auth()) };
        let (chain, key) = identity.read()?;
        builder.with_client_auth_cert(chain, key).map_err(|error| format!("the client certificate: {error}"))
    }

    fn needed(&self) -> Result<RootCertStore, String> {
        let roots = self.with(system_roots().clone())?;
        if roots.is_empty() {
            return Err("the system has no trusted certificates; configure a CA file".into());
        }
        Ok(roots)
    }

    /// Adds the configured certificates.
    fn with(&self, mut roots: RootCertStore) -> Result<RootCertStore, String> {
        if let Some(path) = &self.ca_file {
            let pem =
                std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            add(&mut roots, &pem).map_err(|reason| format!("{}: {reason}", path.display()))?;
        }
        if let Some(pem) = &self.ca_pem {
            add(&mut roots, pem).map_err(|reason| format!("the configured CA: {reason}"))?;
        }
        Ok(roots)
    }
}

impl Identity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let chain = CertificateDer::pem_slice_iter(&self.chain_pem).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| format!("the client certificate is no valid PEM: {error}"))?;
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.expose().as_bytes());
        // What is wrong with a key is not said with the key.
        let key = key.map_err(|_| "the key of the client certificate is no valid PEM")?;
        Ok((chain, key))
    }
}

/// Which certificates a connector has to have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Roots {
    None,
    /// Some at least.
    Needed,
    /// Those that there are.
    Found,
}

/// Read at the first `https` endpoint; a hundred of them share the work.
fn system_roots() -> &'static RootCertStore {
    static ROOTS: OnceLock<RootCertStore> = OnceLock::new();
    ROOTS.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "some of the system's certificates cannot be read");
        }
        let mut roots = RootCertStore::empty();
        // Stores hold certificates that webpki refuses; the others still count.
        roots.add_parsable_certificates(found.certs);
        roots
    })
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), String> {
    let mut is_empty = true;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| format!("no valid PEM: {error}"))?;
        roots.add(certificate).map_err(|error| format!("not a usable certificate: {error}"))?;
        is_empty = false;
    }
    if is_empty { Err("holds no certificate".into()) } else { Ok(()) }
}
