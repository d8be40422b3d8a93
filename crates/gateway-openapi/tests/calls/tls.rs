//! TLS, with the certificates that the tests of the other transport made (`gateway-transport-http/tests/http/tls.rs`
//! says how).

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use gateway_openapi::engine::{ClientConfig, ClientError, HttpClient, NetworkClient};
use http::Request;
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::api::{Api, answer};

const CA: &[u8] = include_bytes!("../../../gateway-transport-http/tests/http/certs/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../../gateway-transport-http/tests/http/certs/server.pem");
const KEY: &[u8] = include_bytes!("../../../gateway-transport-http/tests/http/certs/server.key");

/// TLS in front of an API, for the name `localhost`. The port.
async fn in_front_of(api: SocketAddr) -> u16 {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::from_pem_slice(KEY).unwrap())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut outside) = acceptor.accept(stream).await else { continue };
            let mut inside = TcpStream::connect(api).await.unwrap();
            tokio::spawn(async move { drop(tokio::io::copy_bidirectional(&mut outside, &mut inside).await) });
        }
    });
    port
}

async fn try_it(url: &str, change: impl FnOnce(&mut ClientConfig)) -> Result<(), ClientError> {
    let mut config = ClientConfig { address: Some(url.parse().unwrap()), ..ClientConfig::default() };
    change(&mut config);
    let client = NetworkClient::new(config).unwrap();
    client.reach().await?;
    client.send(Request::get(url).body(Bytes::new()).unwrap()).await.map(drop)
}

#[tokio::test]
async fn a_certificate_is_trusted_if_its_ca_is_and_for_its_name_only() {
    let api = Api::that(answer(200, "", "")).await;
    let port = in_front_of(api.addr()).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), CA).unwrap();
    let name = format!("https://localhost:{port}/");
    let by_pem = |config: &mut ClientConfig| config.ca_pem = Some(CA.to_vec());
    try_it(&name, by_pem).await.unwrap();
    try_it(&name, |config| config.ca_file = Some(file.path().into())).await.unwrap();
    assert_eq!(api.asked().len(), 2);

    let refused = |reason: &str| Err(ClientError { reason: reason.into(), is_unsent: true });
    assert_eq!(try_it(&name, |_| {}).await, refused("TLS: the certificate is not trusted"));
    let address = format!("https://127.0.0.1:{port}/");
    assert_eq!(try_it(&address, by_pem).await, refused("TLS: the certificate is for another name"));
    assert_eq!(api.asked().len(), 2);
}

#[tokio::test]
async fn no_tls_where_tls_should_be_is_said() {
    let api = Api::that(answer(200, "", "")).await;
    let plain = format!("https://{}/", api.addr());
    let error =
        try_it(&plain, |config| config.connect_timeout = Duration::from_millis(300)).await.unwrap_err();
    assert!(error.is_unsent && error.reason == "no connection within 300ms", "{error:?}");
}

#[test]
fn unusable_certificates_are_the_operators_to_mend() {
    for (pem, expected) in [
        (&b"not a certificate"[..], "the configured CA: holds no certificate"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "the configured CA: not a usable certificate",
        ),
    ] {
        let config = ClientConfig { ca_pem: Some(pem.to_vec()), ..ClientConfig::default() };
        let error = NetworkClient::new(config).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let config = ClientConfig { ca_file: Some("/no/such/file".into()), ..ClientConfig::default() };
    assert!(NetworkClient::new(config).unwrap_err().to_string().contains("cannot read /no/such/file"));
}
