use gateway_domain::Grants;
use gateway_protocol::Implementation;
use http::{HeaderMap, HeaderValue, header};

use super::{evidence::Misplaced, *};
use crate::config::work;

const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

fn config(clients: &[ClientKey]) -> ServerConfig {
    let mut config = ServerConfig::new(Implementation::new("g", "G", "1"));
    config.clients = clients.to_vec();
    config.key_header = Some(KEY_HEADER);
    config
}

fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers
}

/// The caller's name, `token`, `nobody` or `misplaced`.
fn found(authority: &Authority, headers: &HeaderMap, certificate: Option<&Fingerprint>) -> String {
    let Ok(evidence) = Evidence::read(headers, authority.key_header()) else { return "misplaced".to_owned() };
    match authority.identify(evidence, certificate).unwrap() {
        Finding::Known(principal) => principal.caller.to_string(),
        Finding::Token(_) => "token".to_owned(),
        Finding::Unknown => "nobody".to_owned(),
    }
}

#[test]
fn one_known_key_in_one_header_names_a_caller() {
    let clients = [ClientKey::new("desk", "k-1").with_key("k-1b"), ClientKey::new("lab", "k-2")];
    let authority = Authority::new(&config(&clients));
    const AUTH: &str = "authorization";
    const KEY: &str = "x-api-key";
    for (lines, expected) in [
        (&[(AUTH, "Bearer k-1")][..], "desk"),
        (&[(AUTH, "Bearer k-1b")], "desk"),
        (&[(AUTH, "bearer   k-2  ")], "lab"),
        (&[(AUTH, "BEARER\tk-1")], "desk"),
        (&[(KEY, "k-1")], "desk"),
        (&[(KEY, "  k-2 ")], "lab"),
        (&[(KEY, "k-3")], "nobody"),
        (&[(KEY, "Bearer k-1")], "nobody"),
        (&[(KEY, "")], "nobody"),
        (&[(AUTH, "Bearer k-3")], "token"),
        (&[(AUTH, "Bearer k-")], "token"),
        (&[(AUTH, "Bearer k-11")], "token"),
        (&[(AUTH, "Bearer a.b~c+/d_e==")], "token"),
        (&[(AUTH, "Bearer a b")], "nobody"),
        (&[(AUTH, "Bearer a,b")], "nobody"),
        (&[(AUTH, "Bearer =")], "nobody"),
        (&[(AUTH, "Bearer a=b")], "nobody"),
        (&[(AUTH, "Bearer")], "nobody"),
        (&[(AUTH, "Bearer ")], "nobody"),
        (&[(AUTH, "Bearerk-1")], "nobody"),
        (&[(AUTH, "Basic k-1")], "nobody"),
        (&[(AUTH, "k-1")], "nobody"),
        (&[(AUTH, "")], "nobody"),
        (&[], "nobody"),
        (&[("x-other", "k-1")], "nobody"),
        (&[(AUTH, "Bearer k-1"), (AUTH, "Bearer k-1")], "misplaced"),
        (&[(KEY, "k-1"), (KEY, "k-1")], "misplaced"),
        (&[(AUTH, "Bearer k-1"), (KEY, "k-1")], "misplaced"),
        (&[(AUTH, "Basic x"), (KEY, "k-1")], "misplaced"),
    ] {
        assert_eq!(found(&authority, &headers(lines), None), expected, "for {lines:?}");
    }
}

#[test]
fn whichever_key_is_meant_and_whether_it_is_known_takes_the_same_work() {
    let clients = [
        ClientKey::new("first", "k-1").with_key("k-1b"),
        ClientKey::new("second", "k-2"),
        ClientKey::new("last", "k-3").with_key("k-3b").with_key("k-3c"),
    ];
    let authority = Authority::new(&config(&clients));
    work::take();
    for key in ["k-1", "k-1b", "k-2", "k-3", "k-3c", "k-4", "k", "k-1 k-1"] {
        for name in ["authorization", "x-api-key"] {
            let value = if name == "x-api-key" { key.to_owned() } else { format!("Bearer {key}") };
            let headers = HeaderMap::from_iter([(
                HeaderName::from_static(name),
                HeaderValue::from_str(&value).unwrap(),
            )]);
            let who = found(&authority, &headers, None);
            assert_eq!(work::take(), (1, 6), "{name}: {value}, {who}");
        }
    }
}

#[test]
fn a_header_for_keys_is_none_unless_it_is_configured() {
    let authority =
        Authority::new(&ServerConfig { key_header: None, ..config(&[ClientKey::new("desk", "k")]) });
    assert_eq!(found(&authority, &headers(&[("x-api-key", "k")]), None), "nobody");
}

#[test]
fn a_token_is_no_longer_than_8_kib() {
    for (length, is_token) in [(8192, true), (8193, false)] {
        let value = HeaderValue::from_str(&format!("Bearer {}", "x".repeat(length))).unwrap();
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
        let evidence = Evidence::read(&headers, None).unwrap();
        assert_eq!(evidence.token().is_some(), is_token, "{length}");
    }
}

#[test]
fn a_certificate_counts_where_nothing_else_is_said() {
    let (known, other) = ([7; DIGEST], [8; DIGEST]);
    let clients = [ClientKey::new("desk", "k").with_certificate(known)];
    let authority = Authority::new(&config(&clients));
    for (lines, certificate, expected) in [
        (&[][..], Some(&known), "desk"),
        (&[], Some(&other), "nobody"),
        (&[], None, "nobody"),
        (&[("authorization", "Basic x")], Some(&known), "nobody"),
        (&[("x-api-key", "wrong")], Some(&known), "nobody"),
    ] {
        assert_eq!(found(&authority, &headers(lines), certificate), expected, "{lines:?} {certificate:?}");
    }
}

#[test]
fn where_a_certificate_is_all_that_is_needed_each_is_somebody_of_its_own() {
    let mut required = config(&[]);
    let mut tls = crate::TlsConfig::new("c", "k");
    tls.client_certificates = crate::ClientCertificates::Require;
    required.tls = Some(tls);
    let authority = Authority::new(&required);
    let found = |digest: u8| found(&authority, &HeaderMap::new(), Some(&[digest; DIGEST]));
    assert_eq!(found(0xab), format!("certificate:{}", "ab".repeat(32)));
    assert_ne!(found(0xab), found(0xac));
    let somebody = authority.user(&Caller::client(&found(0xab))).unwrap();
    assert!(authority.gone_in(&authority.followed_by(&required)).is_empty());
    let with_clients = ServerConfig { clients: vec![ClientKey::new("desk", "k")], ..required };
    let gone = authority.gone_in(&authority.followed_by(&with_clients));
    assert!(gone.iter().any(|principal| Arc::ptr_eq(principal, &somebody)));
    let late = authority.user(&Caller::client("late")).unwrap();
    assert!(late.is_revoked() && !authority.has(&late.caller), "these rules are of the past");
    assert!(authority.has(&somebody.caller));
}

#[test]
fn without_anything_to_prove_everybody_is_anonymous_whatever_they_send() {
    let authority = Authority::new(&config(&[]));
    assert_eq!(found(&authority, &headers(&[("authorization", "Bearer x")]), None), "anonymous");
    assert!(!authority.is_closed());
}

#[test]
fn who_keeps_one_proof_stays_the_same_and_who_keeps_none_does_not() {
    let before = Authority::new(&config(&[ClientKey::new("desk", "a"), ClientKey::new("lab", "l")]));
    for (name, clients, stays) in [
        ("both keys", vec![ClientKey::new("desk", "a").with_key("b")], true),
        ("in two entries", vec![ClientKey::new("desk", "b"), ClientKey::new("desk", "a")], true),
        ("another key", vec![ClientKey::new("desk", "b")], false),
        ("another name", vec![ClientKey::new("disk", "a")], false),
        ("no key", vec![ClientKey::named("desk")], false),
    ] {
        let after = before.followed_by(&config(&clients));
        let gone: Vec<_> = before.gone_in(&after).iter().map(|gone| gone.caller.to_string()).collect();
        assert_eq!(!gone.contains(&"desk".to_owned()), stays, "{name}: {gone:?}");
        assert!(gone.contains(&"lab".to_owned()), "{name}");
    }
}

#[test]
fn only_names_of_keys_and_tokens_may_not_stand_in_a_url() {
    for (query, is_refused) in [
        (Some("access_token=x"), true),
        (Some("a=b&API_KEY=x"), true),
        (Some("key"), true),
        (Some("a;key=x"), true),
        (Some("%6Bey=x"), true),
        (Some("access%5ftoken=x"), true),
        (Some("k%65y"), true),
        (Some("a=key"), false),
        (Some("keys=x"), false),
        (Some("%6key=x"), false),
        (Some("ke%7"), false),
        (Some("ke%"), false),
        (Some("%+6bey"), false),
        (Some(""), false),
        (None, false),
    ] {
        assert_eq!(is_in_query(query), is_refused, "for {query:?}");
    }
}

#[test]
fn what_is_said_twice_is_misplaced() {
    let twice = headers(&[("authorization", "Bearer a"), ("authorization", "Bearer a")]);
    assert_eq!(Evidence::read(&twice, None), Err(Misplaced));
}

fn user(subject: &str) -> Caller {
    Caller::user("https://a", subject, Grants { scopes: vec!["s".into()], ..Grants::default() })
}

#[tokio::test(start_paused = true)]
async fn users_who_do_nothing_make_room_and_those_who_do_something_never() {
    let users = Users::new(2);
    let first = users.principal(&user("1")).unwrap();
    first.in_flight.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    let first_id = Arc::as_ptr(&first);
    drop(first);
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    drop(users.principal(&user("2")).unwrap());
    let third = users.principal(&user("3")).unwrap();
    assert!(!users.has(&user("2")), "it did nothing");
    assert!(users.has(&user("1")) && users.has(&user("3")));
    assert_eq!(users.principal(&user("4")).unwrap_err(), Full, "one is busy, one is about to be");
    drop(third);
    let fourth = users.principal(&user("4")).unwrap();
    assert_eq!(Arc::as_ptr(&users.principal(&user("1")).unwrap()), first_id, "it is the same");
    assert!(fourth.caller.grants().is_some_and(|grants| grants.scopes.is_empty()), "those are the request's");
}

#[tokio::test(start_paused = true)]
async fn who_was_seen_least_recently_makes_room() {
    let users = Users::new(2);
    for subject in ["1", "2", "1", "3"] {
        drop(users.principal(&user(subject)).unwrap());
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
    }
    assert!(users.has(&user("1")) && !users.has(&user("2")) && users.has(&user("3")));
}

#[test]
fn each_thing_that_goes_on_keeps_a_user() {
    for of in 0..3 {
        let principal = Principal::new(user("1"));
        assert!(!principal.is_busy());
        let counts = [&principal.in_flight, &principal.listens, &principal.sessions];
        counts[of].store(1, std::sync::atomic::Ordering::Release);
        assert!(principal.is_busy());
    }
}

#[test]
fn who_comes_by_rules_of_the_past_keeps_nothing() {
    let users = Users::new(2);
    let before = users.principal(&user("1")).unwrap();
    let next = users.retained(2, |caller| *caller == user("1"));
    users.close();
    assert!(users.principal(&user("2")).unwrap().is_revoked() && !users.has(&user("2")));
    assert!(!users.principal(&user("1")).unwrap().is_revoked());
    assert!(Arc::ptr_eq(&next.principal(&user("1")).unwrap(), &before));
    assert!(!users.retained(2, |_| false).has(&user("1")));
}

#[test]
fn counts_stop_at_their_limit() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    assert_eq!([take(&count, 2), take(&count, 2), take(&count, 2)], [true, true, false]);
}

struct Nobody;

#[async_trait::async_trait]
impl gateway_domain::TokenVerifier for Nobody {
    async fn verify(&self, _: &str, _: &gateway_domain::View) -> Result<Caller, gateway_domain::TokenError> {
        Err(gateway_domain::TokenError::Invalid { reason: "x" })
    }
}

#[test]
fn a_user_stays_as_long_as_tokens_of_its_issuer_are_taken() {
    let with = |issuer: &str| {
        let oauth = crate::OauthConfig::new(Arc::new(Nobody), "https://gw.example/mcp", issuer);
        ServerConfig { oauth: Some(oauth), ..config(&[]) }
    };
    for (name, next, stays) in [
        ("the same", with("https://a"), true),
        ("another issuer", with("https://b"), false),
        ("no tokens", config(&[ClientKey::new("desk", "k")]), false),
    ] {
        let before = Authority::new(&with("https://a"));
        let ann = before.user(&user("ann")).unwrap();
        let after = before.followed_by(&next);
        assert_eq!(after.has(&user("ann")), stays, "{name}");
        let gone = before.gone_in(&after);
        assert_eq!(gone.iter().any(|gone| Arc::ptr_eq(gone, &ann)), !stays, "{name}");
    }
}

#[test]
fn no_key_is_shown() {
    let authority = Authority::new(&config(&[ClientKey::new("desk", "k")]));
    assert_eq!(format!("{authority:?}"), "Authority { clients: 1, .. }");
}

#[test]
fn a_proof_is_asked_for_once_anybody_could_give_one() {
    assert!(!Authority::new(&config(&[])).is_closed());
    assert!(Authority::new(&config(&[ClientKey::new("desk", "k")])).is_closed());
}
