//! TLS towards clients. The certificates are those of the edge's own tests, which say how they were made.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    process::{Folder, PATIENCE, Serving, fake},
    web,
};

pub(crate) fn file(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/gateway-server/tests/edge/certs");
    Path::new(folder).join(name)
}

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(file(&format!("{name}.pem"))).unwrap()
}

/// As the configuration has it.
fn digest(name: &str) -> String {
    let digest = ::aws_lc_rs::digest::digest(&::aws_lc_rs::digest::SHA256, &certificate(name));
    digest.as_ref().iter().fold("sha256:".to_owned(), |all, byte| format!("{all}{byte:02x}"))
}

/// A client that trusts the authority of the tests, and may have a certificate.
async fn connect(address: SocketAddr, own: Option<&str>) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate("ca")).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        Some(name) => {
            let key = PrivateKeyDer::from_pem_file(file(&format!("{name}.key"))).unwrap();
            builder.with_client_auth_cert(vec![certificate(name)], key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
}

/// The list of tools as it is answered, head and body; empty if the connection is refused.
pub(crate) async fn tools(address: SocketAddr, own: Option<&str>, fields: &str) -> String {
    let body = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#
    );
    let text = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n\
         Content-Length: {}\r\n{fields}\r\n{body}",
        body.len()
    );
    let mut answer = Vec::new();
    let asked = async {
        let mut stream = connect(address, own).await?;
        stream.write_all(text.as_bytes()).await?;
        stream.read_to_end(&mut answer).await
    };
    // An end without farewell is one.
    drop(timeout(PATIENCE, asked).await.unwrap());
    String::from_utf8(answer).unwrap()
}

/// What the server shows of itself.
async fn shown(address: SocketAddr) -> Option<CertificateDer<'static>> {
    let stream = timeout(Duration::from_secs(10), connect(address, None)).await.ok()?.ok()?;
    Some(stream.get_ref().1.peer_certificates()?.first()?.clone().into_owned())
}

pub(crate) fn copy(folder: &Folder, name: &str) {
    for (kind, own) in [("key", "own.key"), ("pem", "own.pem")] {
        folder.write(own, &std::fs::read_to_string(file(&format!("{name}.{kind}"))).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_renewed_is_shown_from_then_on() {
    let folder = Folder::with("");
    copy(&folder, "server");
    folder.write(
        "gateway.toml",
        &format!(
            "listen = \"127.0.0.1:0\"\n[tls]\ncertificate = \"own.pem\"\nkey = \"own.key\"\nreload = \"100ms\"\n{}",
            fake("d", &[])
        ),
    );
    let serving = Serving::start(&folder);
    assert!(
        serving.url.starts_with("https://127.0.0.1:") && serving.url.ends_with("/mcp"),
        "{}",
        serving.url
    );
    let address = serving.address();
    let listed = tools(address, None, "").await;
    assert!(web::status(&listed) == 200 && listed.contains("d__echo"), "{listed}");
    assert_eq!(shown(address).await, Some(certificate("server")));
    // Without a key that fits, nothing changes.
    folder.write("own.pem", "nonsense");
    serving.until("the log says so", async || serving.log().contains("own.pem")).await;
    assert_eq!(shown(address).await, Some(certificate("server")));
    copy(&folder, "renewed");
    serving
        .until("the new one is shown", async || shown(address).await == Some(certificate("renewed")))
        .await;
    assert_eq!(web::status(&tools(address, None, "").await), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_certificate_is_taken_for_its_key() {
    let config = |kind: &str| {
        format!(
            "listen = \"127.0.0.1:0\"\n\
             [clients.desk]\ncertificates = [\"{}\"]\nallow = [\"d__echo\"]\n\
             [clients.phone]\nkey = \"key-of-phone-0123456789\"\nallow = [\"d__odd\"]\n\
             [tls]\ncertificate = {:?}\nkey = {:?}\nclient_ca = {:?}\nclient_certificates = \"{kind}\"\n{}",
            digest("desk"),
            file("server.pem"),
            file("server.key"),
            file("clients.pem"),
            fake("d", &[])
        )
    };
    let key = "Authorization: Bearer key-of-phone-0123456789\r\n";
    for (kind, rows) in [
        (
            "request",
            [
                (Some("desk"), "", 200, true, false),
                (Some("lab"), "", 401, false, false),
                (Some("lab"), key, 200, false, true),
                (None, "", 401, false, false),
                (None, key, 200, false, true),
                (Some("stranger"), key, 0, false, false),
            ],
        ),
        (
            "require",
            [
                (Some("desk"), "", 200, true, false),
                (Some("lab"), "", 401, false, false),
                (Some("lab"), key, 200, false, true),
                (None, "", 0, false, false),
                (None, key, 0, false, false),
                (Some("stranger"), key, 0, false, false),
            ],
        ),
    ] {
        let serving = Serving::start(&Folder::with(&config(kind)));
        for (own, fields, status, echo, odd) in rows {
            let listed = tools(serving.address(), own, fields).await;
            assert_eq!(web::status(&listed), status, "{kind} {own:?} {fields}: {listed} {}", serving.log());
            assert_eq!(listed.contains("d__echo"), echo, "{kind} {own:?} {fields}: {listed}");
            assert_eq!(listed.contains("d__odd"), odd, "{kind} {own:?} {fields}: {listed}");
        }
    }
}
