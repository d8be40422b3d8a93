//! TLS on the listener. The files in `certs` were made with openssl and end in a hundred years; the keys of the
//! authorities were thrown away. `ca` has signed `server` and `renewed`, `clients` has signed `desk` and `lab`, and
//! an authority that is not there has signed `stranger`:
//!
//! ```text
//! openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 36500 \
//!   -subj "/CN=gatewayd test ca" -addext "basicConstraints=critical,CA:TRUE" \
//!   -addext "keyUsage=critical,keyCertSign"
//! openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.csr \
//!   -subj "/CN=localhost"
//! openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 36500 -out server.pem \
//!   -extfile <(printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth')
//! ```

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use gateway_server::{BindError, Bound, ClientCertificates, ClientKey, ServerConfig, TlsConfig};
use rustls::{
    ClientConfig, RootCertStore, SupportedProtocolVersion,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    version::{TLS12, TLS13},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::support::{Served, config, start, until};

fn file(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/edge/certs")).join(name)
}

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(file(&format!("{name}.pem"))).unwrap()
}

fn digest(name: &str) -> [u8; 32] {
    let digest = aws_lc_rs_digest(&certificate(name));
    digest.try_into().unwrap()
}

fn aws_lc_rs_digest(bytes: &[u8]) -> Vec<u8> {
    use rustls::crypto::hash::Hash;
    let suite = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let hash: &dyn Hash = suite.tls13().unwrap().common.hash_provider;
    hash.hash(bytes).as_ref().to_vec()
}

fn tls() -> TlsConfig {
    TlsConfig::new(file("server.pem"), file("server.key"))
}

fn asking(how: ClientCertificates) -> TlsConfig {
    TlsConfig { client_certificates: how, client_ca: Some(file("clients.pem")), ..tls() }
}

/// A client that trusts the authority of the tests, and may have a certificate.
fn connector(
    own: Option<&str>,
    versions: &[&'static SupportedProtocolVersion],
    alpn: &[&str],
) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate("ca")).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match own {
        Some(name) => {
            let key = PrivateKeyDer::from_pem_file(file(&format!("{name}.key"))).unwrap();
            builder.with_client_auth_cert(vec![certificate(name)], key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

async fn connect(addr: SocketAddr, own: Option<&str>) -> io::Result<TlsStream<TcpStream>> {
    connect_with(addr, connector(own, &[&TLS12, &TLS13], &[])).await
}

async fn connect_with(addr: SocketAddr, connector: TlsConnector) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(addr).await?;
    connector.connect(ServerName::try_from("localhost").unwrap(), stream).await
}

/// The status of a GET, 0 if there is no answer.
async fn get(stream: &mut TlsStream<TcpStream>, addr: SocketAddr, path: &str, headers: &str) -> u16 {
    let text = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n{headers}\r\n");
    let mut answer = Vec::new();
    let asked = async {
        stream.write_all(text.as_bytes()).await?;
        stream.read_to_end(&mut answer).await
    };
    drop(timeout(Duration::from_secs(5), asked).await.expect("nothing came for 5 s"));
    String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

async fn serve(change: impl FnOnce(&mut ServerConfig)) -> Served {
    start(|config| {
        config.tls = Some(tls());
        change(config);
    })
    .await
}

#[tokio::test]
async fn what_is_said_is_said_over_tls_and_not_in_clear() {
    let server = serve(|_| {}).await;
    for versions in [&[&TLS12][..], &[&TLS13]] {
        let mut stream = connect_with(server.addr, connector(None, versions, &[])).await.unwrap();
        assert_eq!(get(&mut stream, server.addr, "/healthz", "").await, 200, "{versions:?}");
    }
    let clear = server.get("/healthz").await;
    assert!(!clear.head.starts_with("http/1.1 200"), "{clear:?}");
    until(|| server.world.refusals.lock().unwrap().iter().any(|told| told.4 == "tls_handshake")).await;
}

#[tokio::test]
async fn a_call_goes_through_and_another_on_the_same_connection() {
    let server = serve(|config| config.clients = vec![ClientKey::new("desk", "k")]).await;
    let mut stream = connect(server.addr, None).await.unwrap();
    let big = "x".repeat(300 << 10);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"files__echo","arguments":{{"text":"{big}"}},{}}}}}"#,
        crate::support::envelope(crate::support::MODERN)
    );
    let text = crate::support::post(
        server.addr,
        "Authorization: Bearer k\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: files__echo\r\n",
        &body,
    );
    stream.write_all(text.replace("Connection: close\r\n", "").as_bytes()).await.unwrap();
    let mut first = vec![0; 16];
    stream.read_exact(&mut first).await.unwrap();
    assert!(first.starts_with(b"HTTP/1.1 200"), "{first:?}");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut rest = Vec::new();
    timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert_eq!(rest.windows(12).filter(|part| *part == b"HTTP/1.1 200").count(), 1);
    assert!(rest.len() > 2 * big.len(), "both came whole: {}", rest.len());
}

#[tokio::test]
async fn http2_is_agreed_on_only_where_it_is_spoken() {
    for (http2, offered, agreed) in [
        (false, &["h2", "http/1.1"][..], Some(&b"http/1.1"[..])),
        (true, &["h2", "http/1.1"], Some(b"h2")),
        (true, &["http/1.1"], Some(b"http/1.1")),
        (true, &[], None),
    ] {
        let server = serve(|config| config.http2 = http2).await;
        let stream = connect_with(server.addr, connector(None, &[&TLS13], offered)).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), agreed, "{http2} {offered:?}");
    }
}

#[tokio::test]
async fn a_certificate_names_the_client_that_is_configured_with_it() {
    use ClientCertificates::{Off, Request, Require};
    let desk = || vec![ClientKey::new("desk", "k").with_certificate(digest("desk")).with_metrics()];
    let key = "Authorization: Bearer k\r\n";
    for (how, clients, own, headers, status) in [
        (Request, desk(), Some("desk"), "", 200),
        (Request, desk(), Some("lab"), "", 401),
        (Request, desk(), Some("lab"), key, 200),
        (Request, desk(), None, "", 401),
        (Request, desk(), None, key, 200),
        (Request, desk(), Some("stranger"), key, 0),
        (Request, desk(), Some("desk"), "Authorization: Bearer wrong\r\n", 401),
        (Require, desk(), Some("desk"), "", 200),
        (Require, desk(), Some("lab"), key, 200),
        (Require, desk(), None, key, 0),
        (Require, desk(), Some("stranger"), key, 0),
        (Require, vec![ClientKey::named("desk").with_certificate(digest("desk"))], Some("desk"), "", 404),
        (Require, Vec::new(), Some("lab"), "", 404),
        (Require, Vec::new(), Some("stranger"), "", 0),
        (Require, Vec::new(), None, "", 0),
        (Off, desk(), Some("desk"), "", 401),
    ] {
        let server = serve(|config| {
            config.tls = Some(asking(how));
            config.clients = clients;
        })
        .await;
        let found = match connect(server.addr, own).await {
            // In TLS 1.3 a client hears only later that its certificate is not taken.
            Ok(mut stream) => get(&mut stream, server.addr, "/metrics", headers).await,
            Err(_) => 0,
        };
        assert_eq!(found, status, "{how:?} {own:?} {headers:?}");
    }
}

#[tokio::test]
async fn a_new_certificate_is_taken_and_a_bad_one_is_not() {
    let dir = TempDir::new().unwrap();
    let (pem, key) = (dir.path().join("a.pem"), dir.path().join("a.key"));
    let put = |name: &str| {
        std::fs::copy(file(&format!("{name}.key")), &key).unwrap();
        std::fs::copy(file(&format!("{name}.pem")), &pem).unwrap();
    };
    put("server");
    let paths = TlsConfig { look_every: Duration::from_millis(100), ..TlsConfig::new(&pem, &key) };
    let server = serve(|config| config.tls = Some(paths)).await;
    let addr = server.addr;
    let shown = || async move {
        let stream = connect(addr, None).await.unwrap();
        stream.get_ref().1.peer_certificates().unwrap()[0].clone()
    };
    assert_eq!(shown().await, certificate("server"));
    let mut open = connect(addr, None).await.unwrap();

    std::fs::write(&pem, "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n").unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(shown().await, certificate("server"), "what cannot be read changes nothing");
    std::fs::remove_file(&pem).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(shown().await, certificate("server"), "nor does what is not there");

    put("renewed");
    let mut tries = 0;
    while shown().await != certificate("renewed") {
        tries += 1;
        assert!(tries < 100, "the new certificate is not shown");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(get(&mut open, addr, "/healthz", "").await, 200, "open connections go on");
}

#[tokio::test]
async fn a_handshake_that_does_not_come_counts_and_ends() {
    let server = serve(|config| {
        config.tls = Some(TlsConfig { handshake_time: Duration::from_millis(300), ..tls() });
        config.limits.connections_per_peer = 1;
    })
    .await;
    let mut silent = TcpStream::connect(server.addr).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(connect(server.addr, None).await.is_err(), "its place is taken");
    let mut rest = Vec::new();
    let ended = timeout(Duration::from_secs(5), silent.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "it is closed in time");
    let mut stream = connect(server.addr, None).await.unwrap();
    assert_eq!(get(&mut stream, server.addr, "/healthz", "").await, 200);
}

#[tokio::test]
async fn a_drain_does_not_wait_for_a_handshake() {
    let mut server = serve(|_| {}).await;
    let _silent = TcpStream::connect(server.addr).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.stop.take().unwrap().send(()).unwrap();
    let finished =
        timeout(Duration::from_secs(3), &mut server.served).await.expect("it ends at once").unwrap();
    assert!(finished);
}

#[tokio::test]
async fn what_cannot_be_used_is_said_before_anything_is_served() {
    let dir = TempDir::new().unwrap();
    let empty = dir.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for (name, tls, text) in [
        ("no file", TlsConfig { certificate: "nosuch.pem".into(), ..tls() }, "nosuch.pem"),
        ("no certificate", TlsConfig { certificate: empty.clone(), ..tls() }, "no certificate in"),
        ("no key", TlsConfig { key: file("server.pem"), ..tls() }, "the key in"),
        ("another key", TlsConfig { key: file("renewed.key"), ..tls() }, "with the key in"),
        (
            "no authority",
            TlsConfig { client_ca: Some(empty), ..asking(ClientCertificates::Require) },
            "no certificate in",
        ),
    ] {
        assert!(tls.check().is_err_and(|error| error.to_string().contains(text)), "{name}");
        let error = Bound::bind(ServerConfig { tls: Some(tls), ..config() }).await.unwrap_err();
        let said = error.to_string();
        assert!(matches!(error, BindError::Tls { .. }) && said.contains(text), "{name}: {said}");
    }
}

#[tokio::test]
async fn operators_have_their_own_address_in_clear() {
    let server = serve(|config| config.admin_listen = Some("127.0.0.1:0".parse().unwrap())).await;
    let admin = server.admin.unwrap();
    let text = format!("GET /healthz HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n");
    assert_eq!(crate::support::raw(admin, &text).await.status, 200);
}
