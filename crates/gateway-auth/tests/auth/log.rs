//! What is logged, and what never is.

use std::{
    fmt::{self, Write as _},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use aws_lc_rs::digest::{SHA256, digest};
use gateway_auth::{Audiences, Check, EndpointAuth, IntrospectionConfig, IssuerConfig, VerifierConfig};
use tokio::time::sleep;
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::DefaultGuard,
};

use crate::{
    forge::{P256, key_set, token},
    server::{RESOURCE, Reply, Servers, at_url, code, config, page, ready},
};

const AS: &str = "https://as";
const KEYS: &str = "https://as/keys";
const ASK: &str = "https://asked/ask";

/// Lines of this thread, at all levels.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Level, String)>>>);

/// Somebody hears everything at all times: else a line that another test reaches first, in a thread where nobody
/// listens, is taken for one that nobody ever wants.
static EVERYTHING: LazyLock<()> =
    LazyLock::new(|| drop(tracing::subscriber::set_global_default(Log::default())));

impl Log {
    fn start() -> (Self, DefaultGuard) {
        LazyLock::force(&EVERYTHING);
        let log = Self::default();
        let recording = tracing::subscriber::set_default(log.clone());
        (log, recording)
    }

    fn lines(&self) -> Vec<(Level, String)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// How many lines say so, by level.
    fn told(&self, level: Level, part: &str) -> usize {
        let lines = self.0.lock().unwrap();
        lines.iter().filter(|(at, line)| *at == level && line.contains(part)).count()
    }
}

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = String::new();
        event.record(&mut Line(&mut line));
        self.0.lock().unwrap().push((*event.metadata().level(), line));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

fn good() -> Reply {
    Reply::ok(key_set(&[P256.jwk(r#""kid":"ec""#)]))
}

fn asked() -> IssuerConfig {
    let auth = EndpointAuth::Basic { id: "gw".into(), secret: "canary-secret".into() };
    let asked = IntrospectionConfig::new(ASK, auth);
    IssuerConfig::new("https://asked", Audiences::general([RESOURCE]), Check::Introspection(asked))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_token_is_logged_but_a_digest_of_its_name() {
    let (log, _recording) = Log::start();
    let servers = Servers::new([(KEYS, good()), (ASK, Reply::status(500, "canary-answer"))]);
    let verifier = servers.start(config([at_url(AS, KEYS), asked()]));
    ready(&verifier).await;
    let canary =
        token(AS).claim("jti", r#""canary-id""#).claim("sub", r#""canary-ann""#).claim("x", r#""canary-x""#);
    assert_eq!(code(&verifier, &canary.sign(&P256)).await, "ok");
    assert_eq!(
        code(&verifier, &canary.clone().header("kid", r#""canary-kid""#).sign(&P256)).await,
        "key_unknown"
    );
    assert_eq!(code(&verifier, &canary.claim("iss", r#""https://canary""#).sign(&P256)).await, "issuer");
    assert_eq!(code(&verifier, "canary-opaque").await, "unavailable");
    let digest = digest(&SHA256, b"canary-id").as_ref()[..8]
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    assert_eq!(log.told(Level::DEBUG, &digest), 1);
    assert_eq!(log.told(Level::DEBUG, "key_unknown"), 1);
    assert_eq!(log.told(Level::DEBUG, "cannot be checked"), 1);
    let shown = format!("{:?}{verifier:?}{}", log.lines(), page(&verifier));
    assert!(!shown.contains("canary"), "{shown}");
    for part in [
        "Verifier { issuers: [Issuer",
        "KeyStore { issuer: \"https://as\"",
        "Endpoint { issuer: \"https://asked\"",
        "clock: Clock",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_keys_is_told_once_and_its_end_too() {
    let (log, _recording) = Log::start();
    let servers = Servers::new([(KEYS, good())]);
    let _verifier = servers.start(config([at_url(AS, KEYS)]));
    for outage in 1..=2 {
        servers.set(KEYS, good());
        sleep(seconds(700)).await;
        servers.set(KEYS, Reply::status(503, ""));
        sleep(seconds(3600)).await;
        assert_eq!(log.told(Level::WARN, "status 503"), outage);
        assert_eq!(log.told(Level::INFO, "can be read again"), outage - 1);
        assert_eq!(log.told(Level::INFO, "keys have changed"), 1, "they are the same all the time");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_introspection_is_told_once_and_its_end_too() {
    let (log, _recording) = Log::start();
    let servers = Servers::new([]);
    let verifier = servers.start(config([asked()]));
    for outage in 1..=2 {
        servers.set(ASK, Reply::status(503, ""));
        for number in 0..5 {
            assert_eq!(code(&verifier, &format!("a{number}")).await, "unavailable");
        }
        assert_eq!(log.told(Level::WARN, "status 503"), outage);
        servers.set(ASK, Reply::ok(r#"{"active":false}"#));
        for number in 0..5 {
            assert_eq!(code(&verifier, &format!("b{number}{outage}")).await, "inactive");
        }
        assert_eq!(log.told(Level::INFO, "works again"), outage);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deny_list_that_cannot_be_used_is_told_once_and_its_end_too() {
    let (log, _recording) = Log::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("denied");
    let servers = Servers::new([]);
    let _verifier = servers.start(VerifierConfig { deny_list: Some(path.clone()), ..config([]) });
    for outage in 1..=2 {
        std::fs::write(&path, "what is this").unwrap();
        sleep(seconds(60)).await;
        assert_eq!(log.told(Level::ERROR, "line 1 is no entry"), outage);
        std::fs::write(&path, "sub ann").unwrap();
        sleep(seconds(60)).await;
        assert_eq!(log.told(Level::INFO, "can be used again"), outage);
    }
    std::fs::write(&path, "#".repeat(1024 * 1024)).unwrap();
    sleep(seconds(6)).await;
    assert_eq!(log.told(Level::ERROR, "bytes"), 0, "so much may be");
    std::fs::write(&path, "#".repeat(1024 * 1024 + 1)).unwrap();
    sleep(seconds(6)).await;
    assert_eq!(log.told(Level::ERROR, "more than 1048576 bytes"), 1);
}
