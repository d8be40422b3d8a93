//! Whom to trust.

use std::sync::{Arc, OnceLock};

use rustls::{
    RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::{ClientConfig, ClientConfigError};

/// The system's roots and the configured ones, with a provider of its own, so that nothing is installed for the whole
/// process.
pub(super) fn client_config(config: &ClientConfig) -> Result<rustls::ClientConfig, ClientConfigError> {
    let wrong = |reason| ClientConfigError { reason };
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("TLS cannot be set up: {error}")))?;
    Ok(builder.with_root_certificates(roots(config).map_err(wrong)?).with_no_client_auth())
}

fn roots(config: &ClientConfig) -> Result<Arc<RootCertStore>, String> {
    let mut roots = Arc::clone(system_roots());
    if let Some(path) = &config.ca_file {
        let pem = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        add(Arc::make_mut(&mut roots), &pem).map_err(|reason| format!("{}: {reason}", path.display()))?;
    }
    if let Some(pem) = &config.ca_pem {
        add(Arc::make_mut(&mut roots), pem).map_err(|reason| format!("the configured CA: {reason}"))?;
    }
    Ok(roots)
}

/// Read once; all clients share them.
fn system_roots() -> &'static Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    ROOTS.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "some of the system's certificates cannot be read");
        }
        let mut roots = RootCertStore::empty();
        // Stores hold certificates that webpki refuses; the others still count.
        roots.add_parsable_certificates(found.certs);
        Arc::new(roots)
    })
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), String> {
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| format!("no valid PEM: {error}"))?;
        roots.add(certificate).map_err(|error| format!("not a usable certificate: {error}"))?;
        count += 1;
    }
    if count == 0 { Err("holds no certificate".into()) } else { Ok(()) }
}
