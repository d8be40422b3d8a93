//! What is said of the files that a server is started with.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use gateway_server::{Bound, ServerConfig, TlsConfig};
use tempfile::TempDir;

use crate::{log::Log, support::config};

#[tokio::test]
async fn a_private_key_that_others_may_read_is_told_of() {
    let certs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edge/certs");
    let dir = TempDir::new().unwrap();
    let key = dir.path().join("a.key");
    fs::copy(certs.join("server.key"), &key).unwrap();
    let log = Log::default();
    let _guard = log.begin();
    for (mode, is_told) in
        [(0o600, false), (0o400, false), (0o700, false), (0o640, true), (0o604, true), (0o601, true)]
    {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let tls = TlsConfig::new(certs.join("server.pem"), &key);
        Bound::bind(ServerConfig { tls: Some(tls), ..config() }).await.unwrap();
        let said = log.take();
        assert_eq!(said.contains("others may read the private key"), is_told, "{mode:o}: {said}");
        assert!(!is_told || said.contains(&format!("mode=\"{mode:o}\"")), "{mode:o}: {said}");
    }
}
