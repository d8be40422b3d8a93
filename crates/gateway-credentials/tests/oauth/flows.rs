use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use gateway_credentials::{
    fixed::Source,
    oauth::{Actor, Confidant, MemoryStore, Mode, OauthConfig, OauthError, Probe},
};
use gateway_domain::{Caller, Grants, Incoming, Secret};
use gateway_egress::{CredentialError, Credentials as _, Named, Reaction};
use http::HeaderMap;

use crate::fake::{
    Fake, ISSUER, METADATA, PRM, REGISTER, SERVER, TOKEN, credentials, log_in, metadata, parameters, refuse,
    token, with_store,
};

const GOOD: &str = "code=c&state=STATE";

fn config() -> OauthConfig {
    let mut config = OauthConfig::new("one", SERVER, Mode::Gateway);
    config.limits.login_time = Duration::from_secs(5);
    config
}

fn machine(mode: Mode) -> OauthConfig {
    let mut config = OauthConfig::new("one", SERVER, mode);
    config.client.id = Some("machine".into());
    config.client.secret = Some("canary-secret".into());
    config.issuer = Some(ISSUER.into());
    config
}

fn user(subject: &str, token: &str) -> Incoming {
    let caller = Caller::user("https://idp.example", subject, Grants::default());
    Incoming { token: Some(token.into()), ..Incoming::from(caller) }
}

fn reason(error: CredentialError) -> String {
    match error {
        CredentialError::Unavailable { reason } => reason,
        CredentialError::OfCaller { what } => what.to_owned(),
        CredentialError::Visit { .. } => "visit".to_owned(),
    }
}

#[tokio::test]
async fn a_login_brings_a_token_that_is_bound_to_server_verifier_and_state() {
    let fake = Fake::usual();
    let one = credentials(config(), &fake);
    assert_eq!(
        reason(token(&one, None).await.unwrap_err()),
        "one: the gateway is not authorized, or not any more: run `gatewayd login one`"
    );
    let (report, url) = log_in(&one, GOOD).await;
    assert_eq!(report.unwrap().issuer, ISSUER);
    let (asked, sent) = (parameters(&url.unwrap()), parameters(&fake.bodies(TOKEN)[0]));
    assert_eq!((&*asked["response_type"], &*asked["code_challenge_method"]), ("code", "S256"));
    assert_eq!((&*asked["resource"], &*sent["resource"]), (SERVER, SERVER));
    assert_eq!(
        (&*sent["grant_type"], &*sent["code"], &*sent["client_id"]),
        ("authorization_code", "c", "dynamic")
    );
    assert_eq!(sent["redirect_uri"], asked["redirect_uri"]);
    assert!(asked["state"].len() >= 43 && sent["code_verifier"].len() >= 43);
    assert!(!asked.contains_key("scope"));
    let registered = &fake.bodies(REGISTER)[0];
    for part in [r#""application_type":"native""#, r#""refresh_token""#, &asked["redirect_uri"]] {
        assert!(registered.contains(part), "{registered}");
    }
    assert_eq!(token(&one, None).await.unwrap(), "access-1");
    let named: Vec<_> =
        fake.seen().iter().map(|seen| (seen.url.contains("server.example"), seen.named)).collect();
    assert!(named.iter().all(|(own, named)| (*named == Named::ByOperator) == *own), "{named:?}");
}

#[tokio::test]
async fn the_issuer_of_an_answer_is_compared_letter_for_letter() {
    let rows = [
        (true, "code=c&state=STATE&iss=https%3A%2F%2Fissuer.example", None),
        (false, GOOD, None),
        (false, "code=c&state=STATE&iss=https://issuer.example", None),
        (true, GOOD, Some(OauthError::MixedUp)),
        (true, "code=c&state=STATE&iss=https://evil.example", Some(OauthError::MixedUp)),
        (false, "code=c&state=STATE&iss=https://evil.example", Some(OauthError::MixedUp)),
        (true, "code=c&state=STATE&iss=https://issuer.example/", Some(OauthError::MixedUp)),
        (true, "code=c&state=STATE&iss=https://ISSUER.example", Some(OauthError::MixedUp)),
        (true, "code=c&state=STATE&iss=https://issuer.example:443", Some(OauthError::MixedUp)),
        (
            false,
            "code=c&state=STATE&iss=https://issuer.example&iss=https://issuer.example",
            Some(OauthError::MixedUp),
        ),
        (false, "code=c&state=STATE&iss=", Some(OauthError::MixedUp)),
        (true, "error=evil_text&state=STATE", Some(OauthError::MixedUp)),
        (false, "error=evil_text&state=STATE&iss=https://evil.example", Some(OauthError::MixedUp)),
        (false, "error=access_denied&state=STATE", Some(OauthError::Denied { code: "access_denied".into() })),
        (false, "error=<b>&state=STATE", Some(OauthError::Denied { code: "unknown".into() })),
        (false, "state=STATE", Some(OauthError::Malformed("answer of the authorization server"))),
        (false, "code=&state=STATE", Some(OauthError::Malformed("answer of the authorization server"))),
        (
            false,
            "code=a&code=b&state=STATE",
            Some(OauthError::Malformed("answer of the authorization server")),
        ),
    ];
    for (announced, answer, error) in rows {
        let fake = Fake::usual();
        fake.document(
            METADATA,
            &metadata(ISSUER, &format!(r#","authorization_response_iss_parameter_supported":{announced}"#)),
        );
        let one = credentials(config(), &fake);
        let (report, _) = log_in(&one, answer).await;
        assert_eq!(report.err(), error, "{announced} {answer}");
        assert_eq!(fake.bodies(TOKEN).len(), usize::from(error.is_none()), "{announced} {answer}");
        assert_eq!(token(&one, None).await.is_ok(), error.is_none());
    }
}

#[tokio::test]
async fn an_answer_to_another_state_ends_nothing() {
    let fake = Fake::usual();
    let mut config = config();
    config.limits.login_time = Duration::from_millis(300);
    let one = credentials(config, &fake);
    for answer in ["code=c&state=other", "code=c", "code=c&state=STATE&state=STATE"] {
        let (report, _) = log_in(&one, answer).await;
        assert_eq!(
            report.unwrap_err(),
            OauthError::TimedOut { after: Duration::from_millis(300) },
            "{answer}"
        );
    }
    assert!(fake.bodies(TOKEN).is_empty());
}

/// Nobody is sent anywhere unless it is all right.
async fn check(fake: &Arc<Fake>, error: Option<OauthError>, what: &str) {
    let (report, url) = log_in(&credentials(config(), fake), GOOD).await;
    assert_eq!(report.err(), error, "{what}");
    assert_eq!(url.is_some(), error.is_none(), "{what}");
}

#[tokio::test]
async fn metadata_of_a_server_is_believed_only_about_itself() {
    let rows = [
        (SERVER, ISSUER, None),
        ("https://server.example", ISSUER, None),
        ("https://evil.example/mcp", ISSUER, Some(OauthError::OtherResource)),
        ("https://server.example/mcp2", ISSUER, Some(OauthError::OtherResource)),
        ("https://server.example/mcp/below", ISSUER, Some(OauthError::OtherResource)),
        ("server", ISSUER, Some(OauthError::OtherResource)),
        (
            SERVER,
            "http://127.0.0.1:1",
            Some(OauthError::Undiscovered("the authorization server is not https")),
        ),
        (
            SERVER,
            "https://nobody.example",
            Some(OauthError::Undiscovered("the authorization server has no metadata")),
        ),
        (SERVER, "https://a@issuer.example", Some(OauthError::Malformed("URL"))),
    ];
    for (resource, issuer, error) in rows {
        let fake = Fake::usual();
        fake.document(PRM, &format!(r#"{{"resource":"{resource}","authorization_servers":["{issuer}"]}}"#));
        check(&fake, error, &format!("{resource} {issuer}")).await;
    }
    let fake = Fake::usual();
    fake.remove(PRM);
    let nothing = "the server has no protected resource metadata: configure issuer";
    check(&fake, Some(OauthError::Undiscovered(nothing)), "no metadata").await;
}

#[tokio::test]
async fn metadata_of_an_issuer_is_believed_only_about_itself() {
    let rows = [
        (r#""https://issuer.example","#, r#""https://evil.example","#, Some(OauthError::OtherIssuer)),
        (r#""https://issuer.example","#, r#""https://issuer.example/","#, Some(OauthError::OtherIssuer)),
        ("S256", "plain", Some(OauthError::NoPkce)),
        ("code_challenge_methods_supported", "x", Some(OauthError::NoPkce)),
        ("registration_endpoint", "x", Some(OauthError::NoClient)),
        (r#""none","client_secret_basic""#, r#""tls_client_auth""#, Some(OauthError::NoClientAuthentication)),
        (TOKEN, "http://issuer.example/token", Some(OauthError::Undiscovered("an endpoint is not https"))),
        ("https://issuer.example/authorize", "javascript:alert(1)//", Some(OauthError::Malformed("URL"))),
        ("https://issuer.example/authorize", "https://login.example/a?b=c", None),
    ];
    for (found, instead, error) in rows {
        let fake = Fake::usual();
        fake.document(METADATA, &metadata(ISSUER, "").replace(found, instead));
        check(&fake, error, instead).await;
    }
    let fake = Fake::usual();
    fake.document(METADATA, &metadata("https://evil.example", ""));
    fake.document("https://issuer.example/.well-known/openid-configuration", &metadata(ISSUER, ""));
    check(&fake, None, "the second document is its own").await;
}

#[tokio::test]
async fn a_refused_registration_is_said_to_be_one() {
    let fake = Fake::usual();
    fake.posts(REGISTER, &[(400, r#"{"error":"invalid_redirect_uri","error_description":"x"}"#)]);
    check(&fake, Some(OauthError::RegistrationRefused { code: "invalid_redirect_uri".into() }), "").await;
    fake.posts(REGISTER, &[(503, "busy")]);
    check(&fake, Some(OauthError::RegistrationRefused { code: "503".into() }), "").await;
}

#[tokio::test]
async fn discovery_looks_in_order() {
    let fake = Fake::usual();
    fake.remove(PRM);
    let root = "https://server.example/.well-known/oauth-protected-resource";
    fake.document(
        root,
        r#"{"resource":"https://server.example","authorization_servers":["https://issuer.example/t"]}"#,
    );
    fake.document(
        "https://issuer.example/t/.well-known/openid-configuration",
        &metadata("https://issuer.example/t", ""),
    );
    fake.posts("https://issuer.example/t/register", &[(201, r#"{"client_id":"dynamic"}"#)]);
    fake.posts("https://issuer.example/t/token", &[(200, r#"{"access_token":"t","token_type":"Bearer"}"#)]);
    let (report, url) = log_in(&credentials(config(), &fake), GOOD).await;
    report.unwrap();
    assert_eq!(parameters(&url.unwrap())["resource"], "https://server.example", "exactly as published");
    let looked: Vec<_> =
        fake.seen().into_iter().filter(|seen| seen.method == "GET").map(|seen| seen.url).collect();
    let expected = [
        PRM,
        root,
        "https://issuer.example/.well-known/oauth-authorization-server/t",
        "https://issuer.example/.well-known/openid-configuration/t",
        "https://issuer.example/t/.well-known/openid-configuration",
    ];
    assert_eq!(looked, expected);
}

#[tokio::test]
async fn a_login_asks_the_server_first_what_it_wants() {
    let place = "https://server.example/elsewhere.json";
    let rows = [
        (401, format!(r#"Bearer resource_metadata="{place}", scope="asked""#), Some(place), Some("asked")),
        (401, "Bearer".to_owned(), None, Some("listed")),
        (200, "{}".to_owned(), None, Some("listed")),
    ];
    for (status, said, looked, scope) in rows {
        let fake = Fake::usual();
        let metadata = |scope: &str| {
            format!(
                r#"{{"resource":"{SERVER}","authorization_servers":["{ISSUER}"],"scopes_supported":["{scope}"]}}"#
            )
        };
        fake.document(PRM, &metadata("listed"));
        fake.document(place, &metadata("elsewhere"));
        fake.posts(SERVER, &[(status, &said)]);
        let mut config = config();
        config.probe = Some(Probe { headers: HeaderMap::new(), body: Bytes::from_static(b"{}") });
        let (report, url) = log_in(&credentials(config, &fake), GOOD).await;
        report.unwrap();
        assert_eq!(parameters(&url.unwrap()).get("scope").map(String::as_str), scope);
        assert_eq!(fake.seen()[0].url, SERVER);
        assert_eq!(fake.seen()[1].url, looked.unwrap_or(PRM));
    }
}

#[tokio::test]
async fn a_place_for_metadata_must_be_https() {
    let fake = Fake::usual();
    fake.posts(SERVER, &[(401, r#"Bearer resource_metadata="http://169.254.169.254/x""#)]);
    let mut config = config();
    config.probe = Some(Probe { headers: HeaderMap::new(), body: Bytes::new() });
    let error = log_in(&credentials(config, &fake), GOOD).await.0.unwrap_err();
    assert_eq!(
        error,
        OauthError::Undiscovered("the server names a place for its metadata that is not https")
    );
    assert_eq!(fake.seen().len(), 1);
}

#[tokio::test]
async fn a_server_without_metadata_is_its_own_issuer_only_where_allowed() {
    for with_metadata in [true, false] {
        let fake = Fake::usual();
        fake.remove(PRM);
        let origin = "https://server.example";
        if with_metadata {
            fake.document(&format!("{origin}/.well-known/oauth-authorization-server"), &metadata(origin, ""));
        }
        fake.posts(&format!("{origin}/register"), &[(201, r#"{"client_id":"old","client_secret":"s"}"#)]);
        fake.posts(&format!("{origin}/token"), &[(200, r#"{"access_token":"t","token_type":"Bearer"}"#)]);
        assert!(log_in(&credentials(config(), &fake), GOOD).await.0.is_err());
        let mut config = config();
        config.legacy_discovery = true;
        let (report, url) = log_in(&credentials(config, &fake), GOOD).await;
        assert_eq!(report.unwrap().issuer, origin);
        assert!(url.unwrap().starts_with("https://server.example/authorize?"));
    }
}

#[tokio::test]
async fn the_client_is_the_registered_one_else_its_document_else_a_dynamic_one() {
    let document = "https://gateway.example/client.json";
    let rows = [(true, true, "registered", 0), (false, true, document, 0), (false, false, "dynamic", 1)];
    for (registered, reads, id, registrations) in rows {
        let fake = Fake::usual();
        fake.document(
            METADATA,
            &metadata(ISSUER, &format!(r#","client_id_metadata_document_supported":{reads}"#)),
        );
        let mut config = config();
        config.client.id = registered.then(|| "registered".into());
        config.client.metadata_url = Some(document.into());
        let (report, url) = log_in(&credentials(config, &fake), GOOD).await;
        report.unwrap();
        assert_eq!(parameters(&url.unwrap())["client_id"], id);
        assert_eq!(fake.bodies(REGISTER).len(), registrations);
    }
}

#[tokio::test]
async fn a_configured_issuer_is_the_only_one() {
    let fake = Fake::usual();
    let mut other = config();
    other.issuer = Some("https://other.example".into());
    assert_eq!(log_in(&credentials(other, &fake), GOOD).await.0.unwrap_err(), OauthError::IssuerNotNamed);
    let mut own = config();
    own.issuer = Some(ISSUER.into());
    fake.remove(PRM);
    log_in(&credentials(own, &fake), GOOD).await.0.unwrap();
}

#[tokio::test]
async fn a_step_up_asks_for_all_scopes_at_the_next_login_and_not_in_vain() {
    let fake = Fake::usual();
    let store = Arc::new(MemoryStore::default());
    let one = with_store(config(), &fake, store.clone());
    let prm = r#","scopes_supported":["read"]}"#;
    fake.document(PRM, &format!(r#"{{"resource":"{SERVER}","authorization_servers":["{ISSUER}"]{prm}"#));
    fake.posts(
        TOKEN,
        &[
            (200, r#"{"access_token":"first","token_type":"Bearer"}"#),
            (200, r#"{"access_token":"second","token_type":"Bearer"}"#),
        ],
    );
    let (_, url) = log_in(&one, GOOD).await;
    assert_eq!(parameters(&url.unwrap())["scope"], "read");
    let more = r#"Bearer error="insufficient_scope", scope="write""#;
    assert_eq!(
        reason(refuse(&one, None, "first", 403, more).await.unwrap_err()),
        "one: the server wants more scopes than the gateway is authorized for: run `gatewayd login one`"
    );
    assert_eq!(token(&one, None).await.unwrap(), "first", "what it is good for goes on");
    // Another process logs in.
    let (_, url) = log_in(&with_store(config(), &fake, store), GOOD).await;
    assert_eq!(parameters(&url.unwrap())["scope"], "read write");
    assert_eq!(refuse(&one, None, "first", 403, more).await, Ok(Reaction::Retry));
    assert_eq!(token(&one, None).await.unwrap(), "second");
    assert_eq!(refuse(&one, None, "second", 403, more).await, Ok(Reaction::GiveUp), "asked for already");
    assert_eq!(refuse(&one, None, "second", 403, "Bearer").await, Ok(Reaction::GiveUp));
    assert_eq!(refuse(&one, None, "second", 400, more).await, Ok(Reaction::GiveUp));
}

#[tokio::test]
async fn step_ups_without_end_are_not_gone_along_with() {
    let fake = Fake::usual();
    let one = credentials(machine(Mode::ClientCredentials), &fake);
    fake.posts(
        TOKEN,
        &[
            (200, r#"{"access_token":"a0","token_type":"Bearer"}"#),
            (200, r#"{"access_token":"a1","token_type":"Bearer"}"#),
            (200, r#"{"access_token":"a2","token_type":"Bearer"}"#),
            (200, r#"{"access_token":"a3","token_type":"Bearer"}"#),
        ],
    );
    for number in 0..4 {
        let sent = token(&one, None).await.unwrap();
        assert_eq!(sent, format!("a{number}"));
        let reaction = refuse(
            &one,
            None,
            &sent,
            403,
            &format!(r#"Bearer error="insufficient_scope", scope="s{number}""#),
        )
        .await;
        assert_eq!(reaction.is_ok(), number < 3, "{reaction:?}");
    }
    assert_eq!(parameters(&fake.bodies(TOKEN)[3])["scope"], "s0 s1 s2");
}

#[tokio::test]
async fn a_refresh_is_one_flight_and_keeps_the_newest_refresh_token() {
    let fake = Fake::usual();
    fake.posts(
        TOKEN,
        &[
            (200, r#"{"access_token":"old","token_type":"Bearer","expires_in":0,"refresh_token":"r1"}"#),
            (200, r#"{"access_token":"new","token_type":"Bearer","expires_in":3600,"refresh_token":"r2"}"#),
            (200, r#"{"access_token":"newer","token_type":"Bearer","expires_in":3600}"#),
            (400, r#"{"error":"invalid_grant"}"#),
        ],
    );
    let one = credentials(config(), &fake);
    assert!(log_in(&one, GOOD).await.0.unwrap().is_renewable);
    let (a, b, c) = tokio::join!(token(&one, None), token(&one, None), token(&one, None));
    assert_eq!([a.unwrap(), b.unwrap(), c.unwrap()], ["new", "new", "new"]);
    let sent = parameters(&fake.bodies(TOKEN)[1]);
    assert_eq!(
        (&*sent["grant_type"], &*sent["refresh_token"], &*sent["resource"]),
        ("refresh_token", "r1", SERVER)
    );
    assert_eq!(fake.bodies(TOKEN).len(), 2);
    let (a, b) =
        tokio::join!(refuse(&one, None, "new", 401, "Bearer"), refuse(&one, None, "new", 401, "Bearer"));
    assert_eq!((a, b), (Ok(Reaction::Retry), Ok(Reaction::Retry)));
    assert_eq!(parameters(&fake.bodies(TOKEN)[2])["refresh_token"], "r2");
    assert_eq!(token(&one, None).await.unwrap(), "newer");
    assert!(reason(refuse(&one, None, "newer", 401, "Bearer").await.unwrap_err()).contains("gatewayd login"));
    assert_eq!(parameters(&fake.bodies(TOKEN)[3])["refresh_token"], "r2", "kept where no new one came");
    assert!(token(&one, None).await.is_err());
    assert_eq!(fake.bodies(TOKEN).len(), 4, "what is refused for good is not tried again");
}

#[tokio::test]
async fn another_authorization_server_gets_nothing_of_the_first() {
    let fake = Fake::usual();
    fake.posts(REGISTER, &[(201, r#"{"client_id":"first-client","client_secret":"first-secret"}"#)]);
    fake.posts(TOKEN, &[(200, r#"{"access_token":"first","token_type":"Bearer","refresh_token":"r"}"#)]);
    let one = credentials(config(), &fake);
    log_in(&one, GOOD).await.0.unwrap();
    let second = "https://second.example";
    fake.document(PRM, &format!(r#"{{"resource":"{SERVER}","authorization_servers":["{second}"]}}"#));
    fake.document(&format!("{second}/.well-known/oauth-authorization-server"), &metadata(second, ""));
    fake.posts(&format!("{second}/register"), &[(201, r#"{"client_id":"second-client"}"#)]);
    fake.posts(&format!("{second}/token"), &[(200, r#"{"access_token":"second","token_type":"Bearer"}"#)]);
    assert!(refuse(&one, None, "first", 401, "Bearer").await.is_err(), "refreshing would be in vain");
    let (report, url) = log_in(&one, GOOD).await;
    assert_eq!(report.unwrap().issuer, second);
    assert_eq!(parameters(&url.unwrap())["client_id"], "second-client");
    assert_eq!(token(&one, None).await.unwrap(), "second");
    let leaked = |text: &str| text.contains("first-");
    for seen in fake.seen().iter().filter(|seen| seen.url.starts_with(second)) {
        assert!(!leaked(&seen.body) && !seen.authorization.as_deref().is_some_and(leaked), "{seen:?}");
    }
}

#[tokio::test]
async fn client_credentials_are_one_token_for_everybody() {
    let fake = Fake::usual();
    let mut config = machine(Mode::ClientCredentials);
    config.scopes = vec!["a".into(), "b".into()];
    config.audience = Some("aud".into());
    let one = credentials(config, &fake);
    assert!(!one.is_per_caller());
    let (ann, bob) = (user("ann", "t"), user("bob", "u"));
    let (a, b, c) = tokio::join!(token(&one, None), token(&one, Some(&ann)), token(&one, Some(&bob)));
    assert_eq!([a.unwrap(), b.unwrap(), c.unwrap()], ["access-1", "access-1", "access-1"]);
    let seen: Vec<_> = fake.seen().into_iter().filter(|seen| seen.url == TOKEN).collect();
    assert_eq!(seen.len(), 1);
    let sent = parameters(&seen[0].body);
    assert_eq!(
        (&*sent["grant_type"], &*sent["scope"], &*sent["resource"], &*sent["audience"]),
        ("client_credentials", "a b", SERVER, "aud")
    );
    assert_eq!(seen[0].authorization.as_deref(), Some("Basic bWFjaGluZTpjYW5hcnktc2VjcmV0"));
    assert!(!format!("{one:?}").contains("canary"));
}

#[tokio::test]
async fn an_exchange_is_for_one_user_and_fails_without() {
    let fake = Fake::usual();
    let mut config = machine(Mode::Exchange);
    config.token_url = Some(TOKEN.into());
    let one = credentials(config, &fake);
    assert!(one.is_per_caller());
    fake.posts(
        TOKEN,
        &[
            (200, r#"{"access_token":"for-ann","token_type":"Bearer","expires_in":3600}"#),
            (200, r#"{"access_token":"for-bob","token_type":"Bearer","expires_in":3600}"#),
            (200, r#"{"access_token":"for-ann-2","token_type":"Bearer","expires_in":3600}"#),
        ],
    );
    for nobody in [None, Some(Incoming::from(Caller::anonymous())), Some(Incoming::from(Caller::client("c")))]
    {
        let what = "an access token of yours; a key is not enough";
        assert_eq!(token(&one, nobody.as_ref()).await, Err(CredentialError::OfCaller { what }));
    }
    let mut unknown = user("ann", "subject-1");
    unknown.token = None;
    assert!(token(&one, Some(&unknown)).await.is_err());
    assert!(fake.seen().is_empty());
    for _ in 0..2 {
        assert_eq!(token(&one, Some(&user("ann", "subject-1"))).await.unwrap(), "for-ann");
        assert_eq!(token(&one, Some(&user("bob", "subject-1"))).await.unwrap(), "for-bob");
        assert_eq!(token(&one, Some(&user("ann", "subject-2"))).await.unwrap(), "for-ann-2");
    }
    let sent = parameters(&fake.bodies(TOKEN)[0]);
    assert_eq!(sent["grant_type"], "urn:ietf:params:oauth:grant-type:token-exchange");
    assert_eq!((&*sent["subject_token"], &*sent["resource"]), ("subject-1", SERVER));
    let access = "urn:ietf:params:oauth:token-type:access_token";
    assert_eq!((&*sent["subject_token_type"], &*sent["requested_token_type"]), (access, access));
    assert!(fake.seen().iter().all(|seen| seen.url == TOKEN), "the caller's token goes nowhere else");
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_not_tried_again_at_once() {
    let fake = Fake::usual();
    fake.posts(TOKEN, &[(503, ""), (200, r#"{"access_token":"late","token_type":"Bearer"}"#)]);
    let one = credentials(machine(Mode::ClientCredentials), &fake);
    for _ in 0..5 {
        assert!(reason(token(&one, None).await.unwrap_err()).contains("503"));
    }
    assert_eq!(fake.bodies(TOKEN).len(), 1);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(token(&one, None).await.unwrap(), "late");
}

const MORE: &str = r#"Bearer error="insufficient_scope", scope="more""#;

/// Answers of a token endpoint with these tokens, none of which ends.
fn tokens(fake: &Fake, tokens: &[&str]) {
    let answers: Vec<_> =
        tokens.iter().map(|token| format!(r#"{{"access_token":"{token}","token_type":"Bearer"}}"#)).collect();
    let answers: Vec<_> = answers.iter().map(|answer| (200, answer.as_str())).collect();
    fake.posts(TOKEN, &answers);
}

#[tokio::test]
async fn a_token_that_is_not_in_use_any_more_asks_for_nothing() {
    let fake = Fake::usual();
    tokens(&fake, &["old", "new", "another"]);
    let one = credentials(machine(Mode::ClientCredentials), &fake);
    assert_eq!(token(&one, None).await.unwrap(), "old");
    assert_eq!(refuse(&one, None, "old", 401, "Bearer").await, Ok(Reaction::Retry));
    // What was sent before comes back late.
    assert_eq!(refuse(&one, None, "old", 403, MORE).await, Ok(Reaction::Retry));
    assert_eq!(token(&one, None).await.unwrap(), "new");
    assert_eq!(fake.bodies(TOKEN).len(), 2);
    assert_eq!(
        refuse(&one, None, "old", 403, "Bearer").await,
        Ok(Reaction::GiveUp),
        "not for want of scopes"
    );
}

#[tokio::test]
async fn one_users_step_up_is_everybodys() {
    let fake = Fake::usual();
    tokens(&fake, &["for-ann", "for-bob", "for-ann-more", "for-bob-more"]);
    let mut config = machine(Mode::Exchange);
    config.token_url = Some(TOKEN.into());
    let one = credentials(config, &fake);
    let (ann, bob) = (user("ann", "a"), user("bob", "b"));
    assert_eq!(token(&one, Some(&ann)).await.unwrap(), "for-ann");
    assert_eq!(token(&one, Some(&bob)).await.unwrap(), "for-bob");
    assert_eq!(refuse(&one, Some(&ann), "for-ann", 403, MORE).await, Ok(Reaction::Retry));
    assert_eq!(refuse(&one, Some(&bob), "for-bob", 403, MORE).await, Ok(Reaction::Retry));
    assert_eq!(token(&one, Some(&bob)).await.unwrap(), "for-bob-more");
    let asked: Vec<_> = fake.bodies(TOKEN).iter().map(|body| parameters(body).remove("scope")).collect();
    assert_eq!(asked, [None, None, Some("more".to_owned()), Some("more".to_owned())]);
}

#[tokio::test]
async fn without_a_token_a_step_up_is_no_reason_to_try_again() {
    let fake = Fake::usual();
    assert!(
        reason(refuse(&credentials(config(), &fake), None, "x", 403, MORE).await.unwrap_err())
            .contains("more scopes")
    );
    fake.posts(TOKEN, &[(400, r#"{"error":"invalid_scope"}"#)]);
    let one = credentials(machine(Mode::ClientCredentials), &fake);
    assert!(reason(refuse(&one, None, "x", 403, MORE).await.unwrap_err()).contains("invalid_scope"));
}

#[tokio::test]
async fn a_refusal_that_passes_takes_no_tokens_away() {
    let fake = Fake::usual();
    let refusal = (400, r#"{"error":"temporarily_unavailable"}"#);
    let first = r#"{"access_token":"old","token_type":"Bearer","refresh_token":"r"}"#;
    fake.posts(TOKEN, &[(200, first), refusal]);
    let store = Arc::new(MemoryStore::default());
    let one = with_store(config(), &fake, store.clone());
    log_in(&one, GOOD).await.0.unwrap();
    let refused = reason(refuse(&one, None, "old", 401, "Bearer").await.unwrap_err());
    assert!(refused.contains("temporarily_unavailable"), "{refused}");
    tokens(&fake, &["new"]);
    let another = with_store(config(), &fake, store);
    assert_eq!(refuse(&another, None, "old", 401, "Bearer").await, Ok(Reaction::Retry));
    assert_eq!(token(&another, None).await.unwrap(), "new");
}

#[tokio::test(start_paused = true)]
async fn what_was_discovered_is_good_for_an_hour() {
    let fake = Fake::usual();
    tokens(&fake, &["a", "b", "c"]);
    let one = credentials(machine(Mode::ClientCredentials), &fake);
    let looked = || fake.seen().iter().filter(|seen| seen.url == METADATA).count();
    let mut sent = token(&one, None).await.unwrap();
    for (after, looks, scope) in [(3599, 1, "x"), (1, 2, "y")] {
        tokio::time::advance(Duration::from_secs(after)).await;
        let more = format!(r#"Bearer error="insufficient_scope", scope="{scope}""#);
        assert_eq!(refuse(&one, None, &sent, 403, &more).await, Ok(Reaction::Retry));
        assert_eq!(looked(), looks, "{scope}");
        sent = token(&one, None).await.unwrap();
    }
}

#[tokio::test]
async fn a_registration_is_kept_until_it_is_not_known_any_more() {
    let fake = Fake::usual();
    let store = Arc::new(MemoryStore::default());
    let mut config = config();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    config.redirect = Some(format!("http://127.0.0.1:{port}/callback"));
    let login = async || {
        let one = with_store(config.clone(), &fake, store.clone());
        let done = log_in(&one, GOOD).await.0.map(drop);
        // The one before has to let go of the port.
        tokio::task::yield_now().await;
        (done, fake.bodies(REGISTER).len())
    };
    assert_eq!(login().await, (Ok(()), 1));
    assert_eq!(login().await, (Ok(()), 1));
    fake.posts(TOKEN, &[(401, r#"{"error":"invalid_client"}"#)]);
    let refused = OauthError::TokenRefused { code: "invalid_client".into() };
    assert_eq!(login().await, (Err(refused), 1));
    tokens(&fake, &["a"]);
    assert_eq!(login().await, (Ok(()), 2));
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Confidant for Heard {
    fn told(&self, secrets: &[&Secret]) {
        self.0.lock().unwrap().extend(secrets.iter().map(|secret| secret.expose().to_owned()));
    }
}

impl Heard {
    fn take(&self) -> Vec<String> {
        let mut heard = std::mem::take(&mut *self.0.lock().unwrap());
        heard.sort_unstable();
        heard.dedup();
        heard
    }
}

#[tokio::test]
async fn who_is_confided_in_hears_of_every_secret_that_was_not_configured() {
    let fake = Fake::usual();
    fake.posts(
        REGISTER,
        &[(
            201,
            r#"{"client_id":"dynamic","client_secret":"registered-secret","client_secret_expires_at":0,"token_endpoint_auth_method":"client_secret_basic"}"#,
        )],
    );
    fake.posts(
        TOKEN,
        &[
            (200, r#"{"access_token":"a1","token_type":"Bearer","refresh_token":"r1","expires_in":0}"#),
            (200, r#"{"access_token":"a2","token_type":"Bearer","refresh_token":"r2","expires_in":3600}"#),
            (200, r#"{"access_token":"m1","token_type":"Bearer"}"#),
            (200, r#"{"access_token":"x1","token_type":"Bearer"}"#),
        ],
    );
    let store = Arc::new(MemoryStore::default());
    let (first, second, third) = (Arc::<Heard>::default(), Arc::<Heard>::default(), Arc::<Heard>::default());
    let confiding = |config, heard: &Arc<Heard>| OauthConfig { confidant: Some(heard.clone()), ..config };
    let one = with_store(confiding(config(), &first), &fake, store.clone());
    log_in(&one, GOOD).await.0.unwrap();
    assert_eq!(first.take(), ["a1", "r1", "registered-secret"]);
    assert_eq!(token(&one, None).await.unwrap(), "a2");
    assert_eq!(first.take(), ["a1", "a2", "r1", "r2", "registered-secret"]);
    // Another process has them from the store.
    let another = with_store(confiding(config(), &second), &fake, store);
    assert_eq!(token(&another, None).await.unwrap(), "a2");
    assert_eq!(second.take(), ["a2", "r2", "registered-secret"]);
    let own = credentials(confiding(machine(Mode::ClientCredentials), &third), &fake);
    assert_eq!(token(&own, None).await.unwrap(), "m1");
    assert_eq!(third.take(), ["m1"]);
    let mut exchange = confiding(machine(Mode::Exchange), &third);
    exchange.token_url = Some(TOKEN.into());
    let actor = Arc::new(Source::Value("actor-1".into()));
    exchange.exchange.actor = Some(Actor { token: actor, kind: exchange.exchange.subject_type.clone() });
    let exchange = credentials(exchange, &fake);
    assert_eq!(token(&exchange, Some(&user("ann", "t"))).await.unwrap(), "x1");
    assert_eq!(third.take(), ["actor-1", "x1"]);
}
