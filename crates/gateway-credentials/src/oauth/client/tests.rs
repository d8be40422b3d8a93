use super::*;
use crate::oauth::{Mode, OauthConfig, SigningKey};

const NOTHING: Option<Method> = Some(Method::Nothing);
const BASIC: Option<Method> = Some(Method::Basic);
const POST: Option<Method> = Some(Method::Post);

fn list(methods: Option<&str>) -> Option<Vec<String>> {
    methods.map(|methods| methods.split(' ').map(str::to_owned).collect())
}

#[test]
fn a_registered_client_proves_itself_as_the_issuer_takes_it() {
    let key =
        aws_lc_rs::signature::Ed25519KeyPair::generate_pkcs8(&aws_lc_rs::rand::SystemRandom::new()).unwrap();
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, key.as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----");
    let key = SigningKey::from_pem(&Secret::new(pem)).unwrap();
    let rows = [
        (false, false, None, NOTHING),
        (false, false, Some("client_secret_basic"), NOTHING),
        (true, false, None, BASIC),
        (true, false, Some("client_secret_post"), POST),
        (true, false, Some("client_secret_post client_secret_basic"), BASIC),
        (true, false, Some("none"), None),
        (false, true, None, Some(Method::PrivateKey)),
        (false, true, Some("client_secret_basic"), None),
        (true, true, Some("client_secret_basic private_key_jwt"), Some(Method::PrivateKey)),
        (true, true, Some("client_secret_basic"), BASIC),
    ];
    for (secret, has_key, methods, expected) in rows {
        let mut config = OauthConfig::new("one", "https://server", Mode::Gateway);
        config.issuer = Some("https://issuer".into());
        config.client.id = Some("c".into());
        config.client.secret = secret.then(|| "s".into());
        config.client.key = has_key.then(|| key.clone());
        let mut issuer = Issuer::of_token_url(&Address::parse("https://issuer/token").unwrap(), None);
        issuer.methods = list(methods);
        let client = registered_by_hand(&config.checked().unwrap(), &issuer);
        let client = client.map(|client| client.unwrap());
        assert_eq!(
            client.as_ref().ok().map(|client| client.method),
            expected,
            "{secret} {has_key} {methods:?}"
        );
        let secret_sent = matches!(expected, Some(Method::Basic | Method::Post));
        assert!(client.is_err() || client.is_ok_and(|client| client.secret.is_some() == secret_sent));
    }
}

#[test]
fn what_registration_answers_is_used_as_it_says() {
    /// The answer's secret and method, what was asked for, what the issuer takes; the method.
    type Row<'a> = (Option<&'a str>, Option<&'a str>, Method, Option<&'a str>, Option<Method>);
    let rows: &[Row<'_>] = &[
        (None, None, Method::Nothing, Some("none"), NOTHING),
        (Some("s"), None, Method::Nothing, Some("none"), NOTHING),
        (Some("s"), None, Method::Basic, None, BASIC),
        (Some("s"), Some("client_secret_post"), Method::Basic, None, POST),
        (Some("s"), Some("none"), Method::Basic, None, NOTHING),
        (Some(""), None, Method::Basic, None, NOTHING),
        (None, Some("client_secret_basic"), Method::Basic, None, None),
        (Some("s"), Some("tls_client_auth"), Method::Post, None, POST),
    ];
    for (secret, said, asked, methods, expected) in rows {
        let answer = Registration {
            client_id: "c".into(),
            client_secret: secret.map(str::to_owned),
            client_secret_expires_at: None,
            token_endpoint_auth_method: said.map(str::to_owned),
        };
        let client = client_of(answer, *asked, list(*methods).as_deref()).ok();
        assert_eq!(client.as_ref().map(|client| client.method), *expected, "{secret:?} {said:?} {asked:?}");
        assert!(client.is_none_or(|client| client.secret.is_some() == (client.method != Method::Nothing)));
    }
}
