//! Key sets that change, fail, and are flooded with names that nobody has (security.md T20).

use std::{sync::Arc, time::Duration};

use gateway_auth::{JwtConfig, KeySource, Verifier};
use gateway_egress::{Bounds, EgressError, Named};
use tokio::{task::JoinSet, time::Instant, time::sleep};

use crate::{
    forge::{P256, Signer, Token, b64, key_set, p256, token},
    server::{Reply, Servers, at_url, by_keys, code, config, page, ready},
};

const AS: &str = "https://as";
const KEYS: &str = "https://as/keys";

fn set(keys: &[(&str, &Signer)]) -> String {
    let keys: Vec<_> = keys.iter().map(|(kid, key)| key.jwk(&format!(r#""kid":"{kid}""#))).collect();
    key_set(&keys)
}

fn with_kid(kid: &str) -> Token {
    token(AS).header("kid", format!("{kid:?}")).claim("exp", "4000000000")
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn good() -> Reply {
    Reply::ok(set(&[("ec", &P256)]))
}

/// Ready, with the key `ec`.
async fn started(reply: Reply) -> (Arc<Servers>, Verifier, String) {
    let servers = Servers::new([(KEYS, reply)]);
    let verifier = servers.start(config([at_url(AS, KEYS)]));
    ready(&verifier).await;
    (servers, verifier, with_kid("ec").sign(&P256))
}

/// What is counted on the page of metrics.
fn counted(verifier: &Verifier, name: &str) -> String {
    let page = page(verifier);
    let line = page.lines().find(|line| line.starts_with(&format!("gateway_{name}{{")));
    line.and_then(|line| line.rsplit_once(' ')).map(|(_, value)| value.to_owned()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_used_at_its_first_token_and_a_removed_one_no_more() {
    let (servers, verifier, old) = started(good()).await;
    assert_eq!(code(&verifier, &old).await, "ok");
    let next = p256();
    servers.set(KEYS, Reply::ok(set(&[("next", &next)])));
    let begun = Instant::now();
    assert_eq!(code(&verifier, &old).await, "ok", "nobody knows of the change yet");
    assert_eq!(code(&verifier, &with_kid("next").sign(&next)).await, "ok");
    assert!(begun.elapsed() < seconds(5), "{:?}", begun.elapsed());
    assert_eq!(servers.count(KEYS), 2);
    assert_eq!(code(&verifier, &old).await, "key_unknown", "though it was remembered");
    assert_eq!(servers.count(KEYS), 2);
}

#[tokio::test(start_paused = true)]
async fn a_key_of_the_same_name_and_other_bytes_makes_old_tokens_bad() {
    let (servers, verifier, old) = started(good()).await;
    assert_eq!(code(&verifier, &old).await, "ok");
    servers.set(KEYS, Reply::ok(set(&[("ec", &p256())])));
    sleep(seconds(601)).await;
    assert_eq!(code(&verifier, &old).await, "signature");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_unknown_names_makes_one_fetch_in_thirty_seconds() {
    let (servers, verifier, known) = started(good().after(1)).await;
    let verifier = Arc::new(verifier);
    let begun = Instant::now();
    let mut flood = JoinSet::new();
    for number in 0..1000 {
        let (verifier, token) = (Arc::clone(&verifier), with_kid(&format!("k{number}")).sign(&P256));
        flood.spawn(async move { code(&verifier, &token).await });
    }
    tokio::task::yield_now().await;
    assert_eq!(code(&verifier, &known).await, "ok");
    assert_eq!(begun.elapsed(), Duration::ZERO, "a known name waits for nobody");
    while let Some(verdict) = flood.join_next().await {
        assert_eq!(verdict.unwrap(), "key_unknown");
    }
    assert_eq!(servers.count(KEYS), 2, "one flight for a thousand");
    assert_eq!(begun.elapsed(), seconds(1));
    for _ in 0..28 {
        assert_eq!(code(&verifier, &with_kid("x").sign(&P256)).await, "key_unknown");
        sleep(seconds(1)).await;
    }
    assert_eq!(servers.count(KEYS), 2);
    sleep(seconds(1)).await;
    assert_eq!(code(&verifier, &with_kid("x").sign(&P256)).await, "key_unknown");
    assert_eq!(servers.count(KEYS), 3, "thirty seconds after the last one began");
    assert_eq!(servers.most_at_once(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_waiting_for_keys_harms_nobody() {
    let (servers, verifier, _) = started(good().after(1)).await;
    let token = with_kid("x").sign(&P256);
    let impatient = tokio::time::timeout(Duration::from_millis(1), code(&verifier, &token)).await;
    assert!(impatient.is_err());
    let begun = Instant::now();
    assert_eq!(code(&verifier, &token).await, "key_unknown");
    assert_eq!(begun.elapsed(), Duration::from_millis(999), "the flight goes on");
    assert_eq!(servers.count(KEYS), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_key_set_leaves_the_last_good_one_in_place() {
    let over = |count: usize| {
        key_set(&(0..count).map(|number| P256.jwk(&format!(r#""kid":"{number}""#))).collect::<Vec<_>>())
    };
    let rows: Vec<(&str, Reply)> = vec![
        ("500", Reply::status(500, set(&[("other", &p256())]))),
        ("404", Reply::status(404, "")),
        ("a redirect", Reply::status(302, "").with("location", "http://127.0.0.1:1/keys")),
        ("a redirect with keys", Reply::status(307, set(&[("other", &p256())]))),
        ("201", Reply::status(201, set(&[("other", &p256())]))),
        ("HTML", Reply::ok("<html><body>down for maintenance</body></html>")),
        ("nothing", Reply::ok("")),
        ("no keys", Reply::ok(r#"{"keys":[]}"#)),
        ("no member", Reply::ok("{}")),
        ("keys an object", Reply::ok(r#"{"keys":{}}"#)),
        ("an array", Reply::ok("[]")),
        ("none of use", Reply::ok(r#"{"keys":[1,{"kty":"oct","k":"AAAA"}]}"#)),
        ("101 keys", Reply::ok(over(101))),
        ("10 MB", Reply::ok("x".repeat(10_000_000))),
        ("no connection", Reply::Fail(EgressError::Unreachable)),
        ("too slow", Reply::ok(set(&[("other", &p256())])).after(6)),
    ];
    let rows_count = rows.len();
    let (servers, verifier, known) = started(good()).await;
    for (name, reply) in rows {
        servers.set(KEYS, reply);
        let fetched = servers.count(KEYS);
        sleep(seconds(1210)).await;
        assert!(servers.count(KEYS) > fetched, "{name} was not fetched");
        assert_eq!(code(&verifier, &known).await, "ok", "after {name}");
    }
    let failures: usize = counted(&verifier, "key_set_fetch_failures_total").parse().unwrap();
    assert!(failures >= rows_count, "{failures}");
    servers.set(KEYS, Reply::ok(over(100)));
    sleep(seconds(601)).await;
    assert_eq!(code(&verifier, &known).await, "key_unknown", "a hundred keys are a set");
}

#[tokio::test(start_paused = true)]
async fn the_last_good_keys_are_used_for_a_day_and_then_nobody_passes() {
    let (servers, verifier, known) = started(good()).await;
    assert_eq!(code(&verifier, &known).await, "ok");
    servers.set(KEYS, Reply::status(503, ""));
    sleep(seconds(24 * 3600)).await;
    assert_eq!(code(&verifier, &known).await, "ok");
    assert_eq!(counted(&verifier, "key_set_age_seconds"), "86400");
    sleep(seconds(1)).await;
    assert_eq!(code(&verifier, &known).await, "unavailable", "remembered or not");
    assert_eq!(code(&verifier, &with_kid("x").sign(&P256)).await, "unavailable");
    assert!(verifier.is_ready(), "it was");
    servers.set(KEYS, good());
    sleep(seconds(601)).await;
    assert_eq!(code(&verifier, &known).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn keys_are_kept_as_long_as_is_set() {
    let servers = Servers::new([(KEYS, good())]);
    let keys = JwtConfig { keep: seconds(100), ..JwtConfig::new(KeySource::Url(KEYS.into())) };
    let verifier = servers.start(config([by_keys(AS, keys)]));
    ready(&verifier).await;
    let known = with_kid("ec").sign(&P256);
    sleep(seconds(100)).await;
    assert_eq!(code(&verifier, &known).await, "ok");
    sleep(seconds(1)).await;
    assert_eq!(code(&verifier, &known).await, "unavailable");
}

#[tokio::test(start_paused = true)]
async fn it_is_not_ready_until_the_server_has_answered_once() {
    let servers = Servers::new([(KEYS, Reply::Fail(EgressError::Unreachable))]);
    let verifier = servers.start(config([at_url(AS, KEYS)]));
    let known = with_kid("ec").sign(&P256);
    sleep(seconds(100)).await;
    assert!(!verifier.is_ready());
    assert_eq!(code(&verifier, &known).await, "unavailable");
    assert!(tokio::time::timeout(seconds(1), verifier.ready()).await.is_err());
    let tried = servers.count(KEYS);
    assert!((7..=9).contains(&tried), "{tried} tries in a hundred seconds");
    assert_eq!(counted(&verifier, "key_set_fetch_failures_total"), tried.to_string());
    assert_eq!(counted(&verifier, "key_set_age_seconds"), "");
    servers.set(KEYS, good());
    tokio::time::timeout(seconds(31), verifier.ready()).await.unwrap();
    assert!(verifier.is_ready());
    assert_eq!(code(&verifier, &known).await, "ok");
}

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_every_ten_minutes_or_as_the_answer_says() {
    for (age, least, most) in [
        (None, 6, 7),
        (Some("max-age=300"), 12, 14),
        (Some("max-age=1"), 60, 68),
        (Some("max-age=999999"), 1, 2),
    ] {
        let reply = age.map_or_else(good, |age| good().with("cache-control", age));
        let (servers, verifier, _) = started(reply).await;
        sleep(seconds(3605)).await;
        let fetched = servers.count(KEYS) - 1;
        assert!((least..=most).contains(&fetched), "{age:?}: {fetched}");
        assert_eq!(counted(&verifier, "key_set_fetches_total"), (fetched + 1).to_string());
        assert_eq!(counted(&verifier, "key_set_fetch_failures_total"), "0");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_fetched_any_more_once_it_is_dropped() {
    let (servers, verifier, _) = started(good()).await;
    drop(verifier);
    sleep(seconds(86400)).await;
    assert_eq!(servers.count(KEYS), 1);
    assert_eq!(Arc::strong_count(&servers), 1, "the task is gone");
}

#[tokio::test(start_paused = true)]
async fn requests_are_bounded_and_say_who_named_them() {
    let (servers, _verifier, _) = started(good()).await;
    let asked = servers.asked().pop().unwrap();
    assert_eq!(asked.bounds, Bounds { bytes: 512 * 1024, time: seconds(5) });
    assert_eq!((asked.named, asked.request.method().as_str()), (Named::ByOperator, "GET"));
    assert!(!asked.request.headers().contains_key("authorization"));
}

fn discovered(metadata: Option<&str>) -> (Arc<Servers>, Verifier) {
    let servers = Servers::new([("https://keys/set", Reply::ok(set(&[("ec", &P256)])))]);
    servers.set(KEYS, good());
    let keys = JwtConfig::new(KeySource::Discovery { metadata: metadata.map(Into::into) });
    let verifier = servers.start(config([by_keys(AS, keys)]));
    (servers, verifier)
}

#[tokio::test(start_paused = true)]
async fn keys_are_found_by_the_metadata_of_the_issuer() {
    let document = r#"{"issuer":"https://as","jwks_uri":"https://keys/set"}"#;
    for (metadata, place) in [
        (None, "https://as/.well-known/oauth-authorization-server"),
        (None, "https://as/.well-known/openid-configuration"),
        (Some("https://else/where"), "https://else/where"),
    ] {
        let (servers, verifier) = discovered(metadata);
        servers.set(place, Reply::ok(document));
        ready(&verifier).await;
        assert_eq!(code(&verifier, &with_kid("ec").sign(&P256)).await, "ok");
        let asked = servers.asked();
        let [.., at, keys] = &asked[..] else { panic!("{place}") };
        assert_eq!((at.request.uri().to_string(), at.named), (place.into(), Named::ByOperator));
        assert_eq!(
            (keys.request.uri().to_string(), keys.named),
            ("https://keys/set".into(), Named::ByDocument)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_that_is_wrong_leads_nowhere() {
    let rows = [
        r#"{"issuer":"https://as/","jwks_uri":"https://keys/set"}"#,
        r#"{"issuer":"https://evil","jwks_uri":"https://keys/set"}"#,
        r#"{"issuer":"https://evil","issuer":"https://as","jwks_uri":"https://keys/set"}"#,
        r#"{"jwks_uri":"https://keys/set"}"#,
        r#"{"issuer":"https://as"}"#,
        r#"{"issuer":"https://as","jwks_uri":"not a url"}"#,
        r#"{"issuer":"https://as","jwks_uri":["https://keys/set"]}"#,
        "<html>",
    ];
    for document in rows {
        let (servers, verifier) = discovered(None);
        servers.set("https://as/.well-known/oauth-authorization-server", Reply::ok(document));
        sleep(seconds(60)).await;
        assert!(!verifier.is_ready(), "{document}");
        assert_eq!(servers.count("https://keys/set"), 0, "{document}");
        assert_eq!(
            servers.count("https://as/.well-known/openid-configuration"),
            0,
            "no second opinion: {document}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_discovery_takes_no_longer_than_one_reading_may() {
    let (servers, verifier) = discovered(None);
    servers.set("https://as/.well-known/oauth-authorization-server", Reply::status(404, "").after(3));
    servers.set("https://as/.well-known/openid-configuration", Reply::status(404, "").after(3));
    sleep(Duration::from_millis(4999)).await;
    assert_eq!(counted(&verifier, "key_set_fetch_failures_total"), "0");
    sleep(Duration::from_millis(2)).await;
    assert_eq!(counted(&verifier, "key_set_fetch_failures_total"), "1");
}

#[tokio::test(start_paused = true)]
async fn a_file_is_read_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let servers = Servers::new([]);
    let keys = JwtConfig::new(KeySource::File(path.clone()));
    let verifier = servers.start(config([by_keys(AS, keys)]));
    sleep(seconds(1)).await;
    assert!(!verifier.is_ready());
    std::fs::write(&path, set(&[("ec", &P256)])).unwrap();
    sleep(seconds(6)).await;
    assert!(verifier.is_ready());
    let known = with_kid("ec").sign(&P256);
    assert_eq!(code(&verifier, &known).await, "ok");
    for bad in ["half a doc".to_owned(), format!("{}{}", set(&[("new", &P256)]), " ".repeat(512 * 1024))] {
        std::fs::write(&path, bad).unwrap();
        sleep(seconds(6)).await;
        assert_eq!(code(&verifier, &known).await, "ok");
    }
    let new = p256();
    std::fs::write(&path, set(&[("new", &new)])).unwrap();
    sleep(seconds(6)).await;
    assert_eq!(code(&verifier, &known).await, "key_unknown");
    assert_eq!(code(&verifier, &with_kid("new").sign(&new)).await, "ok");
    let read = counted(&verifier, "key_set_fetches_total").parse::<usize>().unwrap();
    sleep(seconds(52)).await;
    assert_eq!(counted(&verifier, "key_set_fetches_total"), (read + 10).to_string());
    assert!(servers.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_not_what_they_should_be_are_left_out() {
    let jwk = |members: &str| P256.jwk(&format!(r#""kid":"ec",{members}"#));
    let rsa = |bits: usize, first: u8| {
        let mut modulus = vec![0xff; bits.div_ceil(8)];
        modulus[0] = first;
        format!(r#"{{"kty":"RSA","kid":"ec","n":"{}","e":"AQAB"}}"#, b64(&modulus))
    };
    let rows = [
        (jwk(r#""use":"sig""#), true),
        (jwk(r#""use":"enc""#), false),
        (jwk(r#""use":1"#), false),
        (jwk(r#""key_ops":["sign","verify"]"#), true),
        (jwk(r#""key_ops":[]"#), false),
        (jwk(r#""key_ops":["encrypt"]"#), false),
        (jwk(r#""key_ops":"verify""#), false),
        (jwk(r#""alg":7"#), false),
        (jwk(r#""d":"AAAA""#), false),
        (jwk(r#""x5c":["AAAA"],"x5u":"https://evil"}"#).replace("}}", "}"), true),
        (P256.jwk(r#""kid":7"#), false),
        (P256.jwk(&format!("\"kid\":\"{}\"", "k".repeat(129))), false),
        (P256.jwk(&format!("\"kid\":\"{}\"", "k".repeat(128))), true),
        (P256.jwk("").replace("P-256", "P-384"), false),
        (P256.jwk("").replace("P-256", "secp256k1"), false),
        (P256.jwk("").replace("EC", "RSA"), false),
        (P256.jwk("").replace("\"x\":\"", "\"x\":\"AA"), false),
        (format!(r#"{{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}}"#, b64(&[7; 32])), false),
        (format!(r#"{{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}}"#, b64(&[])), false),
        (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, b64(&[1; 31])), false),
        (format!(r#"{{"kty":"OKP","crv":"X25519","x":"{}"}}"#, b64(&[9; 32])), false),
        (format!(r#"{{"kty":"RSA","n":"{}"}}"#, b64(&[0xff; 256])), false),
        (rsa(1024, 0xff), false),
        (rsa(2048, 0x7f), false),
        (rsa(2048, 0x80), true),
        (rsa(2056, 0x00), true),
        (rsa(8192, 0xff), true),
        (rsa(8200, 0x01), false),
        (format!(r#"{{"kty":"RSA","n":"{}","e":"AA"}}"#, b64(&[0xff; 256])), false),
    ];
    for (jwk, expected) in rows {
        let servers = Servers::new([(KEYS, Reply::ok(key_set(std::slice::from_ref(&jwk))))]);
        let verifier = servers.start(config([at_url(AS, KEYS)]));
        sleep(Duration::from_millis(500)).await;
        assert_eq!(verifier.is_ready(), expected, "{jwk}");
    }
}
