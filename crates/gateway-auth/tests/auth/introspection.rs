//! Tokens that the authorization server is asked about (RFC 7662; security.md T20).

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gateway_auth::{
    Audiences, Check, EndpointAuth, IntrospectionConfig, IssuerConfig, Remembered, Verifier, VerifierConfig,
};
use gateway_domain::{DownstreamName, TokenError, TokenVerifier as _, View};
use gateway_egress::{Bounds, EgressError, Named};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    forge::{NOW, P256, clock, key_set, token},
    server::{RESOURCE, Reply, Servers, at_url, code, config, page, ready, verify},
};

const AS: &str = "https://as";
const ASK: &str = "https://as/introspect";

fn asking(change: impl FnOnce(&mut IntrospectionConfig)) -> IssuerConfig {
    let auth = EndpointAuth::Basic { id: "gw:1".into(), secret: "s p&c/é".into() };
    let mut asked = IntrospectionConfig::new(ASK, auth);
    change(&mut asked);
    IssuerConfig::new(AS, Audiences::general([RESOURCE]), Check::Introspection(asked))
}

fn active(members: &str) -> Reply {
    Reply::ok(format!(r#"{{"active":true,"aud":"{RESOURCE}","sub":"ann"{members}}}"#))
}

fn start(reply: Reply) -> (Arc<Servers>, Verifier) {
    let servers = Servers::new([(ASK, reply)]);
    let verifier = servers.start(config([asking(|_| {})]));
    (servers, verifier)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn the_question_is_a_form_with_credentials_and_bounds() {
    let (servers, verifier) = start(active(r#","scope":"a b","username":"Ann""#));
    assert!(verifier.is_ready());
    let caller = verify(&verifier, "opaque+/token~1==").await.unwrap();
    assert_eq!(caller.issuer_and_subject(), Some((AS, "ann")));
    assert!(caller.has_scope("b"));
    assert_eq!(caller.grants().unwrap().claims.get_text("username").as_deref(), Some("Ann"));
    let asked = servers.asked().pop().unwrap();
    assert_eq!(asked.request.body(), "token=opaque%2B%2Ftoken%7E1%3D%3D&token_type_hint=access_token");
    assert_eq!(asked.request.method(), "POST");
    let header = |name: &str| asked.request.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/x-www-form-urlencoded");
    assert_eq!(header("authorization"), format!("Basic {}", STANDARD.encode("gw%3A1:s%20p%26c%2F%C3%A9")));
    assert!(asked.request.headers()["authorization"].is_sensitive());
    assert_eq!((asked.named, asked.bounds), (Named::ByOperator, Bounds { bytes: 65536, time: seconds(2) }));
}

#[tokio::test(start_paused = true)]
async fn a_token_of_its_own_may_be_the_credentials() {
    let servers = Servers::new([(ASK, active(""))]);
    let verifier = servers.start(config([asking(|asked| asked.auth = EndpointAuth::Bearer("own".into()))]));
    assert_eq!(code(&verifier, "x").await, "ok");
    assert_eq!(servers.asked()[0].request.headers()["authorization"], "Bearer own");
}

#[tokio::test(start_paused = true)]
async fn each_answer_has_its_verdict() {
    let later = NOW + 100;
    let raw = |text: &str| Reply::ok(text);
    let rows = [
        (active(""), "ok"),
        (active(r#","iss":"https://as""#), "ok"),
        (active(&format!(r#","exp":{later},"iat":{NOW},"nbf":{NOW}"#)), "ok"),
        (raw(&format!(r#"{{"active":true,"aud":["x","{RESOURCE}"],"client_id":"app"}}"#)), "ok"),
        (raw(r#"{"active":false}"#), "inactive"),
        (raw(&format!(r#"{{"active":"true","aud":"{RESOURCE}","sub":"ann"}}"#)), "claim"),
        (raw(&format!(r#"{{"active":1,"aud":"{RESOURCE}","sub":"ann"}}"#)), "claim"),
        (raw(&format!(r#"{{"aud":"{RESOURCE}","sub":"ann"}}"#)), "claim"),
        (raw(r#"{"active":true,"sub":"ann"}"#), "audience_missing"),
        (raw(r#"{"active":true,"sub":"ann","aud":"https://other"}"#), "audience"),
        (raw(r#"{"active":true,"sub":"ann","aud":7}"#), "claim"),
        (raw(&format!(r#"{{"active":true,"aud":"{RESOURCE}"}}"#)), "subject_missing"),
        (active(r#","iss":"https://as/""#), "issuer"),
        (active(r#","iss":7"#), "claim"),
        (active(&format!(r#","exp":{}"#, NOW - 31)), "expired"),
        (active(r#","exp":"2000000000""#), "claim"),
        (active(&format!(r#","nbf":{}"#, NOW + 31)), "not_yet_valid"),
        (active(&format!(r#","iat":{}"#, NOW + 31)), "issued_later"),
        (active(r#","nonce":"n""#), "id_token"),
        (active(r#","cnf":{}"#), "sender_constrained"),
        (raw(&format!(r#"{{"active":false,"active":true,"aud":"{RESOURCE}","sub":"ann"}}"#)), "unavailable"),
        (raw("[]"), "unavailable"),
        (raw(""), "unavailable"),
        (raw("<html>"), "unavailable"),
        (raw(&" ".repeat(65537)), "unavailable"),
        (Reply::status(401, r#"{"active":true}"#), "unavailable"),
        (Reply::status(500, ""), "unavailable"),
        (Reply::status(302, "").with("location", "https://evil"), "unavailable"),
        (Reply::Fail(EgressError::Unreachable), "unavailable"),
        (active("").after(3), "unavailable"),
    ];
    for (number, (reply, expected)) in rows.into_iter().enumerate() {
        let (_servers, verifier) = start(reply);
        assert_eq!(code(&verifier, "token").await, expected, "row {number}");
        assert_eq!(code(&verifier, "token").await, expected, "row {number}, again");
    }
}

#[tokio::test(start_paused = true)]
async fn an_audience_is_required_unless_configured_otherwise_and_checked_all_the_same() {
    let servers = Servers::new([(ASK, Reply::ok(r#"{"active":true,"sub":"ann"}"#))]);
    let verifier = servers.start(config([asking(|asked| asked.require_audience = false)]));
    assert_eq!(code(&verifier, "none").await, "ok");
    servers.set(ASK, Reply::ok(r#"{"active":true,"sub":"ann","aud":"https://other"}"#));
    assert_eq!(code(&verifier, "another").await, "audience");
}

#[tokio::test(start_paused = true)]
async fn answers_are_used_for_their_time_and_not_a_moment_longer() {
    let exp = |after: u64| format!(r#","exp":{}"#, NOW + after);
    for (reply, verdict, time) in [
        (active(""), "ok", 60),
        (active(&exp(3600)), "ok", 60),
        (active(&exp(7)), "ok", 7),
        (Reply::ok(r#"{"active":false}"#), "inactive", 5),
        (Reply::ok(r#"{"active":true,"sub":"ann"}"#), "audience_missing", 5),
    ] {
        let (servers, verifier) = start(reply);
        assert_eq!(code(&verifier, "token").await, verdict);
        sleep(seconds(time) - Duration::from_millis(2)).await;
        assert_eq!((code(&verifier, "token").await, servers.count(ASK)), (verdict, 1));
        sleep(Duration::from_millis(3)).await;
        assert_eq!((code(&verifier, "token").await, servers.count(ASK)), (verdict, 2), "{verdict} {time}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_revoked_token_is_refused_within_the_time_of_an_answer_and_an_outage_is_no_reason_to_trust() {
    let (servers, verifier) = start(active(""));
    assert_eq!((code(&verifier, "a").await, code(&verifier, "b").await), ("ok", "ok"));
    servers.set(ASK, Reply::ok(r#"{"active":false}"#));
    sleep(seconds(30)).await;
    assert_eq!(code(&verifier, "a").await, "ok");
    sleep(seconds(30)).await;
    assert_eq!(code(&verifier, "a").await, "inactive");
    servers.set(ASK, Reply::status(503, ""));
    assert_eq!(code(&verifier, "b").await, "unavailable", "what was good is over");
    servers.set(ASK, active(""));
    assert_eq!(code(&verifier, "b").await, "ok", "an outage is not remembered");
    let page = page(&verifier);
    assert!(page.contains("gateway_introspections_total{issuer=\"https://as\"} 5\n"), "{page}");
    assert!(page.contains("gateway_introspection_failures_total{issuer=\"https://as\"} 1\n"), "{page}");
    assert!(page.contains("gateway_token_verifications_total{result=\"unavailable\"} 1\n"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_put_forward_ends_remembered_answers() {
    let (clock, shift) = clock();
    let servers = Servers::new([(ASK, active(&format!(r#","exp":{}"#, NOW + 50)))]);
    let issuers = vec![asking(|_| {})];
    let verifier = servers.start(VerifierConfig { issuers, clock, ..VerifierConfig::default() });
    assert_eq!(code(&verifier, "a").await, "ok");
    shift.store(79, Ordering::Relaxed);
    assert_eq!(code(&verifier, "a").await, "ok", "within skew");
    shift.store(80, Ordering::Relaxed);
    assert_eq!((code(&verifier, "a").await, servers.count(ASK)), ("expired", 1));
}

#[tokio::test(start_paused = true)]
async fn as_many_answers_are_remembered_as_is_set() {
    for (remembered, asked) in [(None, 300), (Some(600), 300), (Some(2), 600)] {
        let servers = Servers::new([(ASK, active(""))]);
        let remembered = remembered.map_or_else(Remembered::default, Remembered);
        let verifier = servers.start(VerifierConfig { remembered, ..config([asking(|_| {})]) });
        for number in [0..300, 0..300].into_iter().flatten() {
            assert_eq!(code(&verifier, &format!("t{number}")).await, "ok");
        }
        assert_eq!(servers.count(ASK), asked, "{remembered:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_with_the_same_token_make_one_question() {
    let (servers, verifier) = start(active("").after(1));
    let verifier = Arc::new(verifier);
    let mut all = JoinSet::new();
    for _ in 0..500 {
        let verifier = Arc::clone(&verifier);
        all.spawn(async move { code(&verifier, "token").await });
    }
    assert!(all.join_all().await.iter().all(|verdict| *verdict == "ok"));
    assert_eq!(servers.count(ASK), 1);
}

#[tokio::test(start_paused = true)]
async fn if_the_one_who_asks_gives_up_the_next_one_asks() {
    let (servers, verifier) = start(active("").after(1));
    let verifier = Arc::new(verifier);
    let waiting = async {
        tokio::task::yield_now().await;
        code(&verifier, "token").await
    };
    let (first, second) =
        tokio::join!(timeout(Duration::from_millis(500), code(&verifier, "token")), waiting);
    assert!(first.is_err());
    assert_eq!((second, servers.count(ASK)), ("ok", 2));
}

#[tokio::test(start_paused = true)]
async fn at_most_32_questions_are_on_their_way_and_a_bounded_number_waits_no_longer_than_one_may_take() {
    let (servers, verifier) = start(active("").after(1));
    let verifier = Arc::new(verifier);
    let begun = Instant::now();
    let mut all = JoinSet::new();
    for number in 0..2000 {
        let verifier = Arc::clone(&verifier);
        all.spawn(async move { code(&verifier, &format!("t{number}")).await });
    }
    let verdicts = all.join_all().await;
    let good = verdicts.iter().filter(|verdict| **verdict == "ok").count();
    assert_eq!(servers.most_at_once(), 32);
    assert!((32..=64).contains(&good), "{good}");
    assert!(verdicts.iter().all(|verdict| ["ok", "unavailable"].contains(verdict)));
    assert_eq!(begun.elapsed(), seconds(2));
    let asked = page(&verifier)
        .lines()
        .find(|line| line.starts_with("gateway_introspections_total{"))
        .unwrap()
        .to_owned();
    assert!(asked.ends_with(" 1056"), "33 times 32, the others were turned away: {asked}");
    assert_eq!(code(&verifier, "later").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn whoever_a_token_names_is_asked_and_nobody_else() {
    let servers = Servers::new([
        (ASK, active("")),
        ("https://jwt/keys", Reply::ok(key_set(&[P256.jwk(r#""kid":"ec""#)]))),
    ]);
    let verifier = servers.start(config([at_url("https://jwt", "https://jwt/keys"), asking(|_| {})]));
    ready(&verifier).await;
    let bad = token("https://jwt").claim("sub", r#""root""#).message() + ".AAAA";
    assert_eq!(code(&verifier, &bad).await, "signature");
    assert_eq!(code(&verifier, &token("https://nobody").sign(&P256)).await, "issuer");
    assert_eq!(code(&verifier, &token("https://jwt").sign(&P256)).await, "ok");
    assert_eq!(servers.count(ASK), 0, "no second try with another");
    assert_eq!(code(&verifier, &token(AS).sign(&P256)).await, "ok", "a JWT of an issuer that is asked");
    assert_eq!(code(&verifier, "opaque.token.too").await, "ok");
    assert_eq!(servers.count(ASK), 2);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_where_the_view_does_not_take_the_issuers_tokens() {
    let servers = Servers::new([(ASK, active(""))]);
    let closed = View::Downstream(DownstreamName::parse("closed").unwrap());
    let audiences = Audiences { views: vec![(closed.clone(), vec![])], ..Audiences::general([RESOURCE]) };
    let verifier = servers.start(config([IssuerConfig { audiences, ..asking(|_| {}) }]));
    let refused = |reason| Err(TokenError::Invalid { reason });
    assert_eq!(verifier.verify("opaque", &closed).await, refused("opaque"));
    assert_eq!(verifier.verify(&token(AS).sign(&P256), &closed).await, refused("issuer"));
    assert_eq!(servers.count(ASK), 0);
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_reads_about_an_outage_names_the_issuer_and_nothing_secret() {
    let (_servers, verifier) = start(Reply::status(401, "denied"));
    let Err(TokenError::Unavailable { reason }) = verify(&verifier, "canary-token").await else { panic!() };
    assert_eq!(reason, "introspection at https://as fails: status 401");
    let shown = format!("{verifier:?}{}", page(&verifier));
    assert!(!shown.contains("canary") && !shown.contains("s p&c"), "{shown}");
}
