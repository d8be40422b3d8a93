use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use gateway_credentials::{
    fixed::{CommandSource, FileSource, Source},
    oauth::{Actor, MemoryStore, Mode, OauthConfig, OauthCredentials, OauthError},
};
use gateway_domain::{Caller, Grants, Incoming, RawObject};
use gateway_egress::CredentialError;

use crate::fake::{Fake, SERVER, TOKEN, credentials, parameters, token};

const ACCESS: &str = "urn:ietf:params:oauth:token-type:access_token";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

fn config() -> OauthConfig {
    let mut config = OauthConfig::new("one", SERVER, Mode::Exchange);
    config.client.id = Some("machine".into());
    config.client.secret = Some("canary-secret".into());
    config.token_url = Some(TOKEN.into());
    config
}

/// Ann, with a token that has these claims.
fn ann(claims: &str) -> Incoming {
    let grants = Grants { claims: RawObject::parse(claims.to_owned()).unwrap(), ..Grants::default() };
    let caller = Caller::user("https://idp.example", "ann", grants);
    Incoming { token: Some("subject-1".into()), ..Incoming::from(caller) }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A fake whose token endpoint gives a token with another number each time, and these members.
fn numbered(members: &str) -> Arc<Fake> {
    let fake = Fake::usual();
    let answers: Vec<_> = (1..9)
        .map(|number| format!(r#"{{"access_token":"t-{number}","token_type":"Bearer"{members}}}"#))
        .collect();
    let answers: Vec<_> = answers.iter().map(|answer| (200, answer.as_str())).collect();
    fake.posts(TOKEN, &answers);
    fake
}

#[tokio::test]
async fn what_was_got_is_kept_no_longer_than_the_callers_token_lives() {
    /// What the answer says, seconds until the caller's token ends, and whether what was got is used again.
    type Row<'a> = (&'a str, Option<i64>, bool);
    let rows: &[Row<'_>] = &[
        ("", None, true),
        ("", Some(300), true),
        (r#","expires_in":3600"#, None, true),
        (r#","expires_in":3600"#, Some(300), true),
        ("", Some(-1), false),
        (r#","expires_in":3600"#, Some(-1), false),
        (r#","expires_in":0"#, Some(300), false),
    ];
    for (members, left, again) in rows {
        let fake = numbered(members);
        let one = credentials(config(), &fake);
        let claims = left.map_or("{}".to_owned(), |left| format!(r#"{{"exp":{}}}"#, now() as i64 + left));
        let ann = ann(&claims);
        assert_eq!(token(&one, Some(&ann)).await.unwrap(), "t-1", "{members} {left:?}");
        let second = if *again { "t-1" } else { "t-2" };
        assert_eq!(token(&one, Some(&ann)).await.unwrap(), second, "{members} {left:?}");
    }
}

#[tokio::test]
async fn what_is_asked_for_is_as_configured() {
    let check = async |change: fn(&mut OauthConfig), expected: &[(&str, Option<&str>)]| {
        let fake = numbered("");
        let mut config = config();
        change(&mut config);
        token(&credentials(config, &fake), Some(&ann("{}"))).await.unwrap();
        let sent = parameters(&fake.bodies(TOKEN)[0]);
        for (name, value) in expected {
            assert_eq!(sent.get(*name).map(String::as_str), *value, "{name}");
        }
    };
    check(
        |_| {},
        &[
            ("grant_type", Some("urn:ietf:params:oauth:grant-type:token-exchange")),
            ("subject_token", Some("subject-1")),
            ("subject_token_type", Some(ACCESS)),
            ("requested_token_type", Some(ACCESS)),
            ("resource", Some(SERVER)),
            ("audience", None),
            ("scope", None),
            ("actor_token", None),
            ("actor_token_type", None),
        ],
    )
    .await;
    check(
        |config| {
            config.resource = Some("urn:backend".into());
            config.audience = Some("backend".into());
            config.scopes = vec!["b".into(), "a".into()];
            config.exchange.subject_type = JWT.into();
            config.exchange.requested_type = JWT.into();
            let token = Arc::new(Source::Value(" actor-1\n".into()));
            config.exchange.actor = Some(Actor { token, kind: JWT.into() });
        },
        &[
            ("subject_token_type", Some(JWT)),
            ("requested_token_type", Some(JWT)),
            ("resource", Some("urn:backend")),
            ("audience", Some("backend")),
            ("scope", Some("a b")),
            ("actor_token", Some("actor-1")),
            ("actor_token_type", Some(JWT)),
        ],
    )
    .await;
}

#[tokio::test]
async fn only_a_type_that_was_asked_for_or_is_an_access_token_is_taken() {
    let own = "urn:example:token";
    let rows = [
        (ACCESS, ACCESS, true),
        (ACCESS, JWT, true),
        (ACCESS, own, false),
        (own, own, true),
        (own, "urn:ietf:params:oauth:token-type:id_token", false),
    ];
    for (asked, issued, good) in rows {
        let fake = numbered(&format!(r#","issued_token_type":"{issued}""#));
        let mut config = config();
        config.exchange.requested_type = asked.into();
        let got = token(&credentials(config, &fake), Some(&ann("{}"))).await;
        assert_eq!(got.is_ok(), good, "{asked} {issued}");
    }
}

fn with_actor(fake: &Arc<Fake>, token: Source) -> OauthCredentials {
    let mut config = config();
    config.exchange.actor = Some(Actor { token: Arc::new(token), kind: ACCESS.into() });
    credentials(config, fake)
}

#[tokio::test]
async fn without_its_actor_token_nothing_is_exchanged() {
    let no_file = "one: there is no actor token: the file /no/such cannot be read: \
                   No such file or directory (os error 2)";
    let rows = [
        (Source::File(FileSource::new("/no/such")), no_file),
        (
            Source::Command(CommandSource::new(vec!["/bin/false".into()])),
            "one: there is no actor token: the command /bin/false failed: exit status: 1",
        ),
        (Source::Value(" \n".into()), "one: there is no actor token: the configured value is empty"),
    ];
    for (source, reason) in rows {
        let fake = numbered("");
        let error = token(&with_actor(&fake, source), Some(&ann("{}"))).await.unwrap_err();
        assert_eq!(error, CredentialError::Unavailable { reason: reason.to_owned() });
        assert!(fake.seen().is_empty());
    }
}

#[tokio::test]
async fn a_refused_exchange_has_the_actor_token_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("actor");
    std::fs::write(&path, "old").unwrap();
    let fake = Fake::usual();
    let good = r#"{"access_token":"t","token_type":"Bearer"}"#;
    fake.posts(TOKEN, &[(400, r#"{"error":"invalid_request"}"#), (200, good)]);
    let one = with_actor(&fake, Source::File(FileSource::new(&path)));
    tokio::time::pause();
    let error = token(&one, Some(&ann("{}"))).await.unwrap_err();
    let reason = "one: the token endpoint did not exchange the caller's token (invalid_request)";
    assert_eq!(error, CredentialError::Unavailable { reason: reason.into() });
    std::fs::write(&path, "new").unwrap();
    // A file is looked at once in a second, and a failure is not tried again within one.
    let later = Incoming { token: Some("subject-2".into()), ..ann("{}") };
    assert_eq!(token(&one, Some(&later)).await.unwrap(), "t");
    let sent: Vec<_> =
        fake.bodies(TOKEN).iter().map(|body| parameters(body).remove("actor_token").unwrap()).collect();
    assert_eq!(sent, ["old", "new"]);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_taken_is_its_callers_to_replace() {
    let fake = Fake::usual();
    let what = "another access token of yours: its authorization server did not exchange this one";
    let unavailable = |reason: &str| CredentialError::Unavailable { reason: format!("one: {reason}") };
    let rows = [
        (400, r#"{"error":"invalid_grant"}"#, CredentialError::OfCaller { what }),
        (
            400,
            r#"{"error":"invalid_target"}"#,
            unavailable("the token endpoint did not exchange the caller's token (invalid_target)"),
        ),
        (503, "", unavailable("the token endpoint did not exchange the caller's token (503)")),
    ];
    for (status, answer, expected) in rows {
        fake.posts(TOKEN, &[(status, answer)]);
        let one = credentials(config(), &fake);
        assert_eq!(token(&one, Some(&ann("{}"))).await.unwrap_err(), expected, "{answer}");
        let again = token(&one, Some(&ann("{}"))).await.unwrap_err();
        match expected {
            CredentialError::OfCaller { .. } => assert_eq!(again, expected, "within the pause too"),
            _ => assert!(again.to_string().ends_with("(not tried again for a moment)"), "{again}"),
        }
        tokio::time::advance(Duration::from_secs(1)).await;
    }
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    type Change = fn(&mut OauthConfig);
    let rows: &[(Change, &str)] = &[
        (|config| config.resource = Some("backend".into()), "resource is no absolute URI without fragment"),
        (|config| config.exchange.subject_type = "jwt".into(), "a type of the exchange is no URI"),
        (|config| config.exchange.requested_type = "jwt".into(), "a type of the exchange is no URI"),
        (
            |config| {
                let token = Arc::new(Source::Value("a".into()));
                config.exchange.actor = Some(Actor { token, kind: "jwt".into() });
            },
            "a type of the exchange is no URI",
        ),
        (
            |config| {
                config.mode = Mode::Gateway;
                (config.token_url, config.issuer) = (None, Some("https://issuer.example".into()));
                config.resource = Some("urn:x".into());
            },
            "resource is for what works without a login",
        ),
    ];
    for (change, rule) in rows {
        let mut config = config();
        change(&mut config);
        let made = OauthCredentials::new(config, Fake::usual(), Arc::new(MemoryStore::default()));
        assert_eq!(made.err(), Some(OauthError::Misconfigured(rule)), "{rule}");
    }
}
