use std::{fs, path::Path, sync::Arc, time::SystemTime};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};

use super::{ClientCertificates, TlsConfig};

/// What is read from files, for connections with and without HTTP/2.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    pub(super) http1: Arc<ServerConfig>,
    pub(super) both: Arc<ServerConfig>,
}

/// When files were written and how long they are; `None` for one that cannot be looked at.
pub(super) type Stamps = Vec<Option<(SystemTime, u64)>>;

pub(super) fn stamps(config: &TlsConfig) -> Stamps {
    let files = [Some(&config.certificate), Some(&config.key), config.client_ca.as_ref()];
    let stamp = |path: &std::path::PathBuf| {
        let meta = fs::metadata(path).ok()?;
        Some((meta.modified().ok()?, meta.len()))
    };
    files.into_iter().flatten().map(stamp).collect()
}

/// Reads all files.
///
/// # Errors
/// What is wrong with which file, in words.
pub(super) fn load(config: &TlsConfig) -> Result<Loaded, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let chain = certificates(&config.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&config.key)
        .map_err(|error| format!("the key in {}: {error}", config.key.display()))?;
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match verifier(config)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut http1 = builder.with_single_cert(chain, key).map_err(|error| {
        format!("{} with the key in {}: {error}", config.certificate.display(), config.key.display())
    })?;
    let mut both = http1.clone();
    http1.alpn_protocols = vec![b"http/1.1".to_vec()];
    both.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    warn_of_readers(&config.key);
    Ok(Loaded { http1: Arc::new(http1), both: Arc::new(both) })
}

fn verifier(config: &TlsConfig) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
    let is_optional = match config.client_certificates {
        ClientCertificates::Off => return Ok(None),
        ClientCertificates::Request => true,
        ClientCertificates::Require => false,
    };
    let path =
        config.client_ca.as_deref().ok_or("client certificates are asked for and no client_ca is named")?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if is_optional { builder.allow_unauthenticated() } else { builder };
    builder.build().map(Some).map_err(|error| format!("{}: {error}", path.display()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |error| format!("the certificate in {}: {error}", path.display());
    let chain = CertificateDer::pem_file_iter(path).map_err(wrong)?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    if chain.is_empty() { Err(format!("there is no certificate in {}", path.display())) } else { Ok(chain) }
}

#[cfg(unix)]
fn warn_of_readers(key: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(key).map(|meta| meta.permissions().mode()).unwrap_or_default();
    if mode & 0o077 != 0 {
        tracing::warn!(key = %key.display(), mode = format!("{:o}", mode & 0o777), "others may read the private key; chmod 600");
    }
}

#[cfg(not(unix))]
fn warn_of_readers(_: &Path) {}
