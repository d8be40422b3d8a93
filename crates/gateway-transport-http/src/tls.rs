//! Whom to trust.

use std::sync::{Arc, OnceLock};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::HttpConfig;

/// TLS for `https`: the system's roots and the configured ones, with a provider of its own, so that nothing
/// is installed for the whole process.
///
/// # Errors
/// A sentence for the operator.
pub(crate) fn client_config(config: &HttpConfig, secure: bool) -> Result<ClientConfig, String> {
    let roots = if secure { roots(config)? } else { RootCertStore::empty() };
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn roots(config: &HttpConfig) -> Result<RootCertStore, String> {
    let roots = configured_roots(config, system_roots().clone())?;
    if roots.is_empty() {
        return Err("the system has no trusted certificates; configure a CA file".into());
    }
    Ok(roots)
}

/// Adds the configured certificates.
///
/// # Errors
/// A sentence for the operator.
pub(crate) fn configured_roots(
    config: &HttpConfig,
    mut roots: RootCertStore,
) -> Result<RootCertStore, String> {
    if let Some(path) = &config.ca_file {
        let pem = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        add(&mut roots, &pem).map_err(|reason| format!("{}: {reason}", path.display()))?;
    }
    if let Some(pem) = &config.ca_pem {
        add(&mut roots, pem).map_err(|reason| format!("the configured CA: {reason}"))?;
    }
    Ok(roots)
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
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| format!("no valid PEM: {error}"))?;
        roots.add(certificate).map_err(|error| format!("not a usable certificate: {error}"))?;
        count += 1;
    }
    if count == 0 { Err("holds no certificate".into()) } else { Ok(()) }
}
