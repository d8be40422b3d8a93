//! TLS with a certificate of our own. The files in `certs` were made with openssl and end in a hundred years;
//! the CA's key was thrown away:
//!
//! ```text
//! openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem \
//!   -days 36500 -subj "/CN=gatewayd test CA" -addext "basicConstraints=critical,CA:TRUE" \
//!   -addext "keyUsage=critical,keyCertSign"
//! openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.csr \
//!   -subj "/CN=localhost"
//! openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 36500 -out server.pem \
//!   -extfile <(printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth')
//! ```

use std::{net::SocketAddr, sync::Arc, time::Duration};

use gateway_domain::{DownstreamName, DownstreamSession, Era, Execution};
use gateway_testkit::{Profile, http::HttpFake};
use gateway_transport_http::{HttpConfig, HttpFactory};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::{Observer, factory, fault, params, profile, quiet, us};

const CA: &[u8] = include_bytes!("certs/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("certs/server.pem");
const KEY: &[u8] = include_bytes!("certs/server.key");

/// TLS in front of a fake.
async fn in_front_of(fake: SocketAddr) -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut outside) = acceptor.accept(stream).await else { return };
                let mut inside = TcpStream::connect(fake).await.unwrap();
                drop(tokio::io::copy_bidirectional(&mut outside, &mut inside).await);
            });
        }
    });
    addr
}

#[tokio::test]
async fn a_configured_ca_is_trusted_for_the_names_it_vouches_for() {
    let fake = HttpFake::start(Profile::default());
    let port = in_front_of(fake.addr()).await.port();
    let trusting = |url: String, ca: Option<&[u8]>| {
        let ca = ca.map(<[u8]>::to_vec);
        factory(&url, |config| config.ca_pem = ca).0
    };
    let session = trusting(format!("https://localhost:{port}/mcp"), Some(CA));
    let session = session.open(&profile(Era::Modern)).await.unwrap();
    session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();

    let other_name = trusting(format!("https://127.0.0.1:{port}/mcp"), Some(CA));
    let (text, execution) = fault(other_name.open(&profile(Era::Modern)).await.unwrap_err());
    assert!(text.contains("cannot be reached") && text.contains("certificate"), "{text}");
    assert_eq!(execution, Execution::NotStarted);
}

#[tokio::test]
async fn a_certificate_of_unknown_origin_is_refused() {
    let fake = HttpFake::start(Profile::default());
    let port = in_front_of(fake.addr()).await.port();
    let mut config = HttpConfig::new(format!("https://localhost:{port}/mcp"), us());
    config.change_stream = false;
    let name = DownstreamName::parse("fake").unwrap();
    match HttpFactory::new(name, config, Arc::new(Observer::default())) {
        Ok(factory) => {
            let (text, _) = fault(factory.open(&profile(Era::Modern)).await.unwrap_err());
            assert!(text.contains("certificate"), "{text}");
        }
        // A machine without any certificates trusts nobody, and says so at once.
        Err(error) => assert!(error.to_string().contains("configure a CA file"), "{error}"),
    }
    assert_eq!(fake.request_count(), 0);
}

#[tokio::test]
async fn a_handshake_that_hangs_ends_with_the_time_to_connect() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let (factory, _) = factory(&url, |config| {
        config.ca_pem = Some(CA.to_vec());
        config.connect_timeout = Duration::from_millis(200);
    });
    let (text, execution) = fault(factory.open(&profile(Era::Modern)).await.unwrap_err());
    assert!(text.contains("cannot be reached") && text.contains("no connection within 200ms"), "{text}");
    assert_eq!(execution, Execution::NotStarted);
}

#[test]
fn unusable_certificates_are_the_operators_to_mend() {
    for (pem, expected) in [
        (&b"not a certificate"[..], "holds no certificate"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "not a usable certificate"),
    ] {
        let mut config = HttpConfig::new("https://localhost/mcp", us());
        config.ca_pem = Some(pem.to_vec());
        let name = DownstreamName::parse("shop").unwrap();
        let error = HttpFactory::new(name, config, Arc::new(Observer::default())).unwrap_err().to_string();
        assert!(error.contains("downstream `shop`") && error.contains(expected), "{error}");
    }
    let mut config = HttpConfig::new("https://localhost/mcp", us());
    config.ca_file = Some("no/such/file.pem".into());
    let error = config.check().unwrap_err().to_string();
    assert!(error.contains("cannot read no/such/file.pem"), "{error}");
    let name = DownstreamName::parse("shop").unwrap();
    let error = HttpFactory::new(name, config, Arc::new(Observer::default())).unwrap_err().to_string();
    assert!(error.contains("cannot read no/such/file.pem"), "{error}");
}
