use std::{sync::Arc, time::Duration};

use gateway_credentials::{
    fixed::{CommandSource, FileSource, Source},
    oauth::{ClientIdentity, MemoryStore, Mode, OauthConfig, OauthCredentials, OauthError, Provider},
};
use gateway_domain::{Caller, Grants, Incoming};
use gateway_egress::{CredentialError, Credentials as _, Named};

use crate::{
    fake::{Fake, ISSUER, SERVER, TOKEN, credentials, parameters, refuse, token},
    jwt_bearer::Ear,
};

const IDP: &str = "https://idp.example/token";
const ID_JAG: &str = r#"{"access_token":"jag-1","token_type":"N_A",
    "issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}"#;

fn config(subject: Option<Source>) -> OauthConfig {
    let mut config = OauthConfig::new("one", SERVER, Mode::EnterpriseManaged);
    config.client.id = Some("at-server".into());
    config.client.secret = Some("canary-secret".into());
    config.issuer = Some(ISSUER.into());
    let client = ClientIdentity { id: Some("at-idp".into()), ..ClientIdentity::default() };
    config.provider = Some(Provider { subject: subject.map(Arc::new), ..Provider::new(IDP, client) });
    config
}

fn own() -> Option<Source> {
    Some(Source::Value(" id-1\n".into()))
}

fn user(subject: &str, token: &str) -> Incoming {
    let caller = Caller::user("https://idp.example", subject, Grants::default());
    Incoming { token: Some(token.into()), ..Incoming::from(caller) }
}

fn fake() -> Arc<Fake> {
    let fake = Fake::usual();
    fake.posts(IDP, &[(200, ID_JAG)]);
    fake
}

fn unavailable(reason: &str) -> CredentialError {
    CredentialError::Unavailable { reason: format!("one: {reason}") }
}

#[tokio::test]
async fn the_provider_is_asked_for_the_servers_issuer_and_what_it_gives_is_traded_there() {
    let fake = fake();
    let mut config = config(own());
    config.scopes = vec!["read".into()];
    let one = credentials(config, &fake);
    assert_eq!(token(&one, None).await.unwrap(), "access-1");
    assert_eq!(token(&one, Some(&user("ann", "t"))).await.unwrap(), "access-1", "for everybody");
    assert!(!one.is_per_caller());
    let check = |url: &str, basic: bool, expected: &[(&str, &str)]| {
        let sent: Vec<_> = fake.seen().into_iter().filter(|seen| seen.url == url).collect();
        let [sent] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((sent.named, sent.authorization.is_some()), (Named::ByOperator, basic), "{url}");
        let mut form: Vec<_> = parameters(&sent.body).into_iter().collect();
        form.sort();
        let expected: Vec<_> =
            expected.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(form, expected);
    };
    check(
        IDP,
        false,
        &[
            ("audience", ISSUER),
            ("client_id", "at-idp"),
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
            ("resource", SERVER),
            ("scope", "read"),
            ("subject_token", "id-1"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ],
    );
    check(
        TOKEN,
        true,
        &[
            ("assertion", "jag-1"),
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("resource", SERVER),
            ("scope", "read"),
        ],
    );
}

#[tokio::test]
async fn callers_are_told_apart_by_their_own_tokens() {
    let fake = fake();
    let grants = [1, 2].map(|n| format!(r#"{{"access_token":"access-{n}","token_type":"Bearer"}}"#));
    fake.posts(TOKEN, &grants.each_ref().map(|grant| (200, grant.as_str())));
    let one = credentials(config(None), &fake);
    assert!(one.is_per_caller());
    for (subject, got) in [("ann", "access-1"), ("bob", "access-2"), ("ann", "access-1")] {
        let user = user(subject, &format!("of-{subject}"));
        assert_eq!(token(&one, Some(&user)).await.unwrap(), got, "{subject}");
    }
    let shown: Vec<_> =
        fake.bodies(IDP).iter().map(|body| parameters(body).remove("subject_token").unwrap()).collect();
    assert_eq!(shown, ["of-ann", "of-bob"]);
    let what = "an access token of yours; a key is not enough";
    assert_eq!(token(&one, None).await.unwrap_err(), CredentialError::OfCaller { what });
}

#[tokio::test]
async fn what_is_no_assertion_is_not_traded() {
    let not = |members: &str| format!(r#"{{"access_token":"jag-1"{members}}}"#);
    let jag = r#","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag""#;
    let rows = [
        not(&format!(r#","token_type":"Bearer"{jag}"#)),
        not(r#","token_type":"N_A""#),
        not(r#","token_type":"N_A","issued_token_type":"urn:ietf:params:oauth:token-type:access_token""#),
        format!(r#"{{"access_token":"","token_type":"N_A"{jag}}}"#),
        "<html>".to_owned(),
    ];
    for answer in rows {
        let fake = Fake::usual();
        fake.posts(IDP, &[(200, &answer)]);
        let error = token(&credentials(config(own()), &fake), None).await.unwrap_err();
        assert_eq!(error, unavailable("the answer of the identity provider is not understood"), "{answer}");
        assert!(fake.bodies(TOKEN).is_empty(), "{answer}");
    }
}

#[tokio::test]
async fn whose_refusal_it_is_is_told() {
    let other = "another access token of yours: its authorization server did not exchange this one";
    let refused = [(400, r#"{"error":"invalid_grant"}"#)];
    let check = async |subject: Option<Source>, at: &str, expected: CredentialError| {
        let fake = fake();
        fake.posts(at, &refused);
        let one = credentials(config(subject), &fake);
        assert_eq!(token(&one, Some(&user("ann", "t"))).await.unwrap_err(), expected);
        assert_eq!(fake.bodies(TOKEN).len(), usize::from(at == TOKEN));
    };
    let provider = "the identity provider did not exchange the gateway's subject token (invalid_grant)";
    check(own(), IDP, unavailable(provider)).await;
    check(None, IDP, CredentialError::OfCaller { what: other }).await;
    check(own(), TOKEN, unavailable("the token endpoint refused (invalid_grant)")).await;
    check(None, TOKEN, unavailable("the token endpoint refused (invalid_grant)")).await;
    let missing = "there is no subject token: the file /no/such cannot be read: \
                   No such file or directory (os error 2)";
    let fake = fake();
    let one = credentials(config(Some(Source::File(FileSource::new("/no/such")))), &fake);
    assert_eq!(token(&one, None).await.unwrap_err(), unavailable(missing));
    assert!(fake.bodies(IDP).is_empty() && fake.bodies(TOKEN).is_empty());
}

#[tokio::test]
async fn whoever_keeps_secrets_is_told_of_what_is_traded() {
    let (fake, ear) = (fake(), Arc::new(Ear::default()));
    let mut config = config(own());
    config.confidant = Some(ear.clone());
    token(&credentials(config, &fake), None).await.unwrap();
    assert_eq!(*ear.0.lock().unwrap(), ["id-1", "jag-1", "access-1"]);
}

#[tokio::test]
async fn a_refused_subject_token_is_printed_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("id-token");
    std::fs::write(&path, "old").unwrap();
    let fake = fake();
    fake.posts(IDP, &[(200, ID_JAG), (400, r#"{"error":"invalid_grant"}"#), (200, ID_JAG)]);
    let printed = CommandSource::new(vec!["/bin/cat".into(), path.clone().into()]);
    let one = credentials(config(Some(Source::Command(printed))), &fake);
    token(&one, None).await.unwrap();
    std::fs::write(&path, "new").unwrap();
    // Long enough that a command is run again for a refusal, and too short for another reason to run it.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(10)).await;
    assert!(refuse(&one, None, "access-1", 401, "Bearer").await.is_err());
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
    token(&one, None).await.unwrap();
    let shown: Vec<_> =
        fake.bodies(IDP).iter().map(|body| parameters(body).remove("subject_token").unwrap()).collect();
    assert_eq!(shown, ["old", "old", "new"]);
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    type Change = fn(&mut OauthConfig);
    let rows: &[(Change, &str)] = &[
        (
            |config| config.provider = None,
            "an identity provider is what enterprise_managed needs, and nothing else",
        ),
        (
            |config| config.mode = Mode::Gateway,
            "an identity provider is what enterprise_managed needs, and nothing else",
        ),
        (
            |config| config.issuer = None,
            "enterprise_managed needs issuer, which the identity provider is asked for",
        ),
        (
            |config| config.provider.as_mut().unwrap().client.id = None,
            "enterprise_managed needs a client_id at the identity provider too",
        ),
        (
            |config| config.provider.as_mut().unwrap().subject_type = "id_token".into(),
            "a type of the exchange is no URI",
        ),
        (
            |config| config.provider.as_mut().unwrap().token_url = "x".into(),
            "token_url of the identity provider is no http(s) URL",
        ),
        (
            |config| config.client.secret = None,
            "client_secret or private_key is needed without a login or an assertion",
        ),
    ];
    for (change, rule) in rows {
        let mut config = config(own());
        change(&mut config);
        let made = OauthCredentials::new(config, Fake::usual(), Arc::new(MemoryStore::default()));
        assert_eq!(made.err(), Some(OauthError::Misconfigured(rule)), "{rule}");
    }
}
