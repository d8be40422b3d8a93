//! What a good token makes of a caller, and where.

use std::{sync::atomic::Ordering, time::Duration};

use gateway_auth::{Audiences, IssuerConfig, RoleMapping, VerifierConfig};
use gateway_domain::{DownstreamName, TokenVerifier as _, View};
use tokio::time::{sleep, timeout};

use crate::{
    forge::{NOW, P256, clock, key_set, token},
    server::{Reply, Servers, at_url, code, config, ready, verify},
};

const AS: &str = "https://as";
const KEYS: &str = "https://as/keys";

fn servers() -> std::sync::Arc<Servers> {
    Servers::new([(KEYS, Reply::ok(key_set(&[P256.jwk(r#""kid":"ec""#)])))])
}

fn view(name: &str) -> View {
    View::Downstream(DownstreamName::parse(name).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_issuer_and_subject_with_scopes_and_claims() {
    let verifier = servers().start(config([at_url(AS, KEYS)]));
    ready(&verifier).await;
    let caller = verify(&verifier, &token(AS).claim("email", r#""x@y""#).sign(&P256)).await.unwrap();
    assert_eq!(caller.issuer_and_subject(), Some((AS, "ann")));
    let grants = caller.grants().unwrap();
    assert_eq!(grants.scopes.concat(), "readwrite");
    assert_eq!(grants.claims.get_text("email").as_deref(), Some("x@y"));
    let client = token(AS).without("sub").claim("client_id", r#""app""#).sign(&P256);
    assert_eq!(verify(&verifier, &client).await.unwrap().issuer_and_subject(), Some((AS, "app")));
}

#[tokio::test(start_paused = true)]
async fn scopes_come_from_scope_scp_and_mapped_roles() {
    let role = |claim: &str, prefix: &str| RoleMapping { claim: claim.into(), prefix: prefix.into() };
    let roles = vec![
        role("roles", "role:"),
        role("/realm_access/roles", "realm:"),
        role("/a~1b/c~0d", ""),
        role("https://x/y.z", "x:"),
    ];
    let verifier = servers().start(config([IssuerConfig { roles, ..at_url(AS, KEYS) }]));
    ready(&verifier).await;
    let base = token(AS).without("scope");
    let rows = [
        (base.clone(), Ok(vec![])),
        (base.clone().claim("scope", r#""a  b a ""#), Ok(vec!["a", "b"])),
        (base.clone().claim("scope", r#"["a","b c"]"#), Ok(vec!["a", "b c"])),
        (base.clone().claim("scope", r#""a""#).claim("scp", r#""a c""#), Ok(vec!["a", "c"])),
        (base.clone().claim("scp", r#"["d","",  "a"]"#), Ok(vec!["d", "a"])),
        (base.clone().claim("roles", r#""ops team""#), Ok(vec!["role:ops team"])),
        (base.clone().claim("roles", r#"["x","y"]"#), Ok(vec!["role:x", "role:y"])),
        (base.clone().claim("realm_access", r#"{"roles":["r"],"more":1}"#), Ok(vec!["realm:r"])),
        (base.clone().claim("realm_access", r#"["roles"]"#), Ok(vec![])),
        (base.clone().claim("a/b", r#"{"c~d":"deep"}"#), Ok(vec!["deep"])),
        (base.clone().claim("https://x/y.z", r#""q""#), Ok(vec!["x:q"])),
        (base.clone().claim("roles", "7"), Err("claim")),
        (base.clone().claim("realm_access", r#"{"roles":[7]}"#), Err("claim")),
    ];
    for (token, expected) in rows {
        let signed = token.sign(&P256);
        let found = match verify(&verifier, &signed).await {
            Ok(caller) => Ok(caller.grants().unwrap().scopes.iter().map(|scope| scope.to_string()).collect()),
            Err(_) => Err(code(&verifier, &signed).await),
        };
        assert_eq!(
            found,
            expected.map(|scopes| scopes.into_iter().map(String::from).collect::<Vec<_>>()),
            "{}",
            token.claims
        );
    }
}

#[tokio::test(start_paused = true)]
async fn each_view_takes_only_tokens_for_its_own_resource() {
    let audiences = Audiences {
        general: vec!["https://gw/mcp".into(), "gw-alias".into()],
        views: vec![(view("files"), vec!["https://gw/mcp/files".into()]), (view("closed"), vec![])],
    };
    let verifier = servers().start(config([IssuerConfig { audiences, ..at_url(AS, KEYS) }]));
    ready(&verifier).await;
    let rows = [
        ("https://gw/mcp", View::All, "ok"),
        ("gw-alias", View::All, "ok"),
        ("https://gw/mcp", view("other"), "ok"),
        ("https://gw/mcp", view("files"), "audience"),
        ("https://gw/mcp/files", view("files"), "ok"),
        ("https://gw/mcp/files", View::All, "audience"),
        ("https://gw/mcp/files", view("other"), "audience"),
        ("https://gw/mcp", view("closed"), "issuer"),
        ("https://gw/mcp/files", view("closed"), "issuer"),
    ];
    for pass in 0..2 {
        for (audience, view, expected) in &rows {
            let token = token(AS).claim("aud", format!("{audience:?}")).sign(&P256);
            let found = match verifier.verify(&token, view).await {
                Ok(_) => "ok",
                Err(gateway_domain::TokenError::Invalid { reason }) => reason,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(found, *expected, "{audience} at {view:?}, pass {pass}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_remembered_token_ends_when_it_says_and_by_a_clock_that_is_wrong() {
    let (clock, shift) = clock();
    let aged = IssuerConfig { max_age: Some(Duration::from_secs(200)), ..at_url("https://aged", KEYS) };
    let issuers = vec![at_url(AS, KEYS), aged];
    let verifier = servers().start(VerifierConfig { issuers, clock, ..VerifierConfig::default() });
    ready(&verifier).await;
    // `exp` is NOW + 300, `iat` NOW - 60.
    let (token, aged) = (token(AS).sign(&P256), token("https://aged").sign(&P256));
    assert_eq!((code(&verifier, &token).await, code(&verifier, &aged).await), ("ok", "ok"));
    sleep(Duration::from_secs(169)).await;
    assert_eq!((code(&verifier, &token).await, code(&verifier, &aged).await), ("ok", "ok"));
    sleep(Duration::from_secs(2)).await;
    assert_eq!((code(&verifier, &token).await, code(&verifier, &aged).await), ("ok", "expired"));
    sleep(Duration::from_secs(158)).await;
    assert_eq!(code(&verifier, &token).await, "ok");
    shift.store(90, Ordering::Relaxed);
    assert_eq!(code(&verifier, &token).await, "expired");
    shift.store(-90, Ordering::Relaxed);
    assert_eq!(code(&verifier, &token).await, "ok");
    sleep(Duration::from_secs(91)).await;
    assert_eq!(code(&verifier, &token).await, "expired");
}

#[tokio::test(start_paused = true)]
async fn a_skew_of_its_own_is_kept_to() {
    let skew =
        |issuer: &str, seconds| IssuerConfig { skew: Duration::from_secs(seconds), ..at_url(issuer, KEYS) };
    let verifier = servers().start(config([skew("https://exact", 0), skew("https://wide", 60)]));
    ready(&verifier).await;
    for (issuer, exp, expected) in [
        ("https://exact", NOW, "expired"),
        ("https://exact", NOW + 1, "ok"),
        ("https://wide", NOW - 59, "ok"),
        ("https://wide", NOW - 60, "expired"),
    ] {
        let token = token(issuer).claim("exp", exp.to_string()).sign(&P256);
        assert_eq!(code(&verifier, &token).await, expected, "{issuer} {exp}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_denied_token_or_subject_is_refused_while_it_is_on_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("denied");
    let settings = VerifierConfig { deny_list: Some(path.clone()), ..config([at_url(AS, KEYS)]) };
    let verifier = servers().start(settings);
    let token = |jti: &str, sub: &str| token(AS).claim("jti", jti).claim("sub", sub).sign(&P256);
    let (ann, bob) = (token(r#""t-1""#, r#""ann""#), token(r#""t-2""#, r#""bob""#));
    sleep(Duration::from_secs(1)).await;
    assert!(!verifier.is_ready());
    assert!(timeout(Duration::from_millis(1), verifier.ready()).await.is_err());
    assert_eq!(code(&verifier, &ann).await, "unavailable");
    let steps = [
        ("", "ok", "ok"),
        ("jti t-1\n", "denied", "ok"),
        ("sub bob\n", "ok", "denied"),
        ("what is this\n", "ok", "denied"),
        ("jti bob\nsub t-1\n", "ok", "ok"),
    ];
    for (text, first, second) in steps {
        std::fs::write(&path, text).unwrap();
        sleep(Duration::from_secs(6)).await;
        assert_eq!((code(&verifier, &ann).await, code(&verifier, &bob).await), (first, second), "{text:?}");
    }
    assert!(verifier.is_ready());
    ready(&verifier).await;
    std::fs::write(&path, "sub ann").unwrap();
    sleep(Duration::from_secs(6)).await;
    std::fs::remove_file(&path).unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(code(&verifier, &ann).await, "denied", "the last good list stays");
}
