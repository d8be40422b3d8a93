use std::{sync::Arc, time::Duration};

use gateway_credentials::{
    fixed::{CommandSource, FileSource, Source},
    oauth::{Confidant, Mode, OauthConfig},
};
use gateway_domain::{Caller, Grants, Incoming, Secret};
use gateway_egress::{CredentialError, Credentials as _, Reaction};

use crate::fake::{
    Fake, ISSUER, METADATA, PRM, SERVER, TOKEN, credentials, metadata, parameters, refuse, token,
};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const GOOD: &str = r#"{"access_token":"t-2","token_type":"Bearer"}"#;

fn config(assertion: Source) -> OauthConfig {
    let mut config = OauthConfig::new("one", SERVER, Mode::JwtBearer);
    config.client.id = Some("workload".into());
    config.issuer = Some(ISSUER.into());
    config.assertion = Some(Arc::new(assertion));
    config
}

fn value(text: &str) -> Source {
    Source::Value(text.into())
}

fn unavailable(reason: &str) -> CredentialError {
    CredentialError::Unavailable { reason: format!("one: {reason}") }
}

#[tokio::test]
async fn an_assertion_is_sent_to_the_servers_own_authorization_server_and_its_token_to_the_server() {
    let fake = Fake::usual();
    let mut config = config(value(" assertion-1\n"));
    config.scopes = vec!["b".into(), "a".into()];
    let one = credentials(config, &fake);
    let ann = Incoming::from(Caller::user("https://idp.example", "ann", Grants::default()));
    for incoming in [None, Some(&ann)] {
        assert_eq!(token(&one, incoming).await.unwrap(), "access-1", "one for everybody");
    }
    assert!(!one.is_per_caller());
    let sent: Vec<_> = fake.seen().into_iter().filter(|seen| seen.url == TOKEN).collect();
    let [sent] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(sent.authorization, None);
    let mut form: Vec<_> = parameters(&sent.body).into_iter().collect();
    form.sort();
    let expected = [
        ("assertion", "assertion-1"),
        ("client_id", "workload"),
        ("grant_type", GRANT),
        ("resource", SERVER),
        ("scope", "a b"),
    ];
    assert_eq!(form, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn a_client_with_a_secret_proves_itself_too() {
    let fake = Fake::usual();
    let mut config = config(value("assertion-1"));
    config.client.secret = Some("canary-secret".into());
    token(&credentials(config, &fake), None).await.unwrap();
    let sent = fake.seen().into_iter().find(|seen| seen.url == TOKEN).unwrap();
    assert!(sent.authorization.is_some_and(|value| value.starts_with("Basic ")));
    let form = parameters(&sent.body);
    assert!(!form.contains_key("client_id") && form["assertion"] == "assertion-1", "{form:?}");
}

#[tokio::test]
async fn without_its_assertion_nothing_is_asked_for() {
    let no_file =
        "there is no assertion: the file /no/such cannot be read: No such file or directory (os error 2)";
    let rows = [
        (Source::File(FileSource::new("/no/such")), no_file),
        (
            Source::Command(CommandSource::new(vec!["/bin/false".into()])),
            "there is no assertion: the command /bin/false failed: exit status: 1",
        ),
        (value(" \n"), "there is no assertion: the configured value is empty"),
    ];
    for (source, reason) in rows {
        let fake = Fake::usual();
        let error = token(&credentials(config(source), &fake), None).await.unwrap_err();
        assert_eq!(error, unavailable(reason));
        assert!(fake.bodies(TOKEN).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_and_neither_repeated_nor_gone_round() {
    let rows = [
        (400, r#"{"error":"invalid_grant"}"#, "the token endpoint refused (invalid_grant)"),
        (400, r#"{"error":"invalid_scope"}"#, "the token endpoint refused (invalid_scope)"),
        (400, r#"{"error":"unauthorized_client"}"#, "the token endpoint refused (unauthorized_client)"),
        (400, r#"{"error":"unsupported_grant_type"}"#, "the token endpoint refused (unsupported_grant_type)"),
        (503, "", "the token endpoint refused (503)"),
        (200, "<html>", "the answer of the token endpoint is not understood"),
        (
            200,
            r#"{"access_token":"a","token_type":"N_A"}"#,
            "the answer of the token endpoint is not understood",
        ),
    ];
    for (status, answer, reason) in rows {
        let fake = Fake::usual();
        fake.posts(TOKEN, &[(status, answer), (200, GOOD)]);
        let one = credentials(config(value("assertion-1")), &fake);
        assert_eq!(token(&one, None).await.unwrap_err(), unavailable(reason), "{answer}");
        let again = format!("{reason} (not tried again for a moment)");
        assert_eq!(token(&one, None).await.unwrap_err(), unavailable(&again), "{answer}");
        let grants: Vec<_> =
            fake.bodies(TOKEN).iter().map(|body| parameters(body).remove("grant_type").unwrap()).collect();
        assert_eq!(grants, [GRANT], "{answer}");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(token(&one, None).await.unwrap(), "t-2", "a later call");
    }
}

#[tokio::test]
async fn a_refused_assertion_is_printed_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("assertion");
    std::fs::write(&path, "old").unwrap();
    let fake = Fake::usual();
    let first = (200, r#"{"access_token":"t-1","token_type":"Bearer"}"#);
    fake.posts(TOKEN, &[first, (400, r#"{"error":"invalid_grant"}"#), (200, GOOD)]);
    let printed = CommandSource::new(vec!["/bin/cat".into(), path.clone().into()]);
    let one = credentials(config(Source::Command(printed)), &fake);
    assert_eq!(token(&one, None).await.unwrap(), "t-1");
    std::fs::write(&path, "new").unwrap();
    // Long enough that a command is run again for a refusal, and too short for another reason to run it.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(10)).await;
    assert!(refuse(&one, None, "t-1", 401, "Bearer").await.is_err());
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
    assert_eq!(token(&one, None).await.unwrap(), "t-2");
    let sent: Vec<_> =
        fake.bodies(TOKEN).iter().map(|body| parameters(body).remove("assertion").unwrap()).collect();
    assert_eq!(sent, ["old", "old", "new"]);
}

#[tokio::test]
async fn a_token_that_the_server_takes_no_longer_is_asked_for_once_more() {
    let fake = Fake::usual();
    fake.posts(TOKEN, &[(200, r#"{"access_token":"t-1","token_type":"Bearer"}"#), (200, GOOD)]);
    let one = credentials(config(value("assertion-1")), &fake);
    assert_eq!(token(&one, None).await.unwrap(), "t-1");
    let reaction = refuse(&one, None, "t-1", 401, "Bearer error=\"invalid_token\"").await.unwrap();
    assert_eq!((reaction, fake.bodies(TOKEN).len()), (Reaction::Retry, 2));
    let more = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    fake.posts(TOKEN, &[(200, r#"{"access_token":"t-3","token_type":"Bearer"}"#)]);
    assert_eq!(refuse(&one, None, "t-2", 403, more).await.unwrap(), Reaction::Retry);
    let sent = parameters(&fake.bodies(TOKEN)[2]);
    assert_eq!((&*sent["grant_type"], &*sent["scope"]), (GRANT, "write"));
    assert_eq!(token(&one, None).await.unwrap(), "t-3");
}

#[tokio::test]
async fn no_server_has_the_assertion_sent_elsewhere() {
    let fake = Fake::usual();
    let evil = "https://evil.example";
    fake.document(PRM, &format!(r#"{{"resource":"{SERVER}","authorization_servers":["{evil}"]}}"#));
    fake.document("https://evil.example/.well-known/oauth-authorization-server", &metadata(evil, ""));
    let error = token(&credentials(config(value("assertion-1")), &fake), None).await.unwrap_err();
    assert_eq!(
        error,
        unavailable("the server does not name the configured issuer as its authorization server")
    );
    fake.document(METADATA, &metadata(evil, ""));
    fake.document(PRM, &format!(r#"{{"resource":"{SERVER}","authorization_servers":["{ISSUER}"]}}"#));
    let error = token(&credentials(config(value("assertion-1")), &fake), None).await.unwrap_err();
    assert_eq!(error, unavailable("no metadata of the authorization server has exactly its issuer"));
    assert!(fake.seen().iter().all(|seen| seen.body.is_empty()), "{:?}", fake.seen());
}

#[derive(Debug, Default)]
pub(crate) struct Ear(pub(crate) std::sync::Mutex<Vec<String>>);

impl Confidant for Ear {
    fn told(&self, secrets: &[&Secret]) {
        self.0.lock().unwrap().extend(secrets.iter().map(|secret| secret.expose().to_owned()));
    }
}

#[tokio::test]
async fn whoever_keeps_secrets_is_told_of_the_assertion_before_it_is_sent() {
    let (fake, ear) = (Fake::usual(), Arc::new(Ear::default()));
    fake.posts(TOKEN, &[(400, r#"{"error":"invalid_grant"}"#)]);
    let mut config = config(value("assertion-1"));
    config.confidant = Some(ear.clone());
    assert!(token(&credentials(config, &fake), None).await.is_err());
    assert_eq!(*ear.0.lock().unwrap(), ["assertion-1"]);
}
