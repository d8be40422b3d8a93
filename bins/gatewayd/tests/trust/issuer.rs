//! An authorization server in this process: metadata, keys, introspection, authorization, tokens.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::web::{Asked, Reply, Web};

/// The secret of the clients that prove themselves here.
pub(crate) const CLIENT_SECRET: &str = "canary-client-secret-0123456789";

/// What renews a token that a person has allowed.
pub(crate) const REFRESH: &str = "canary-refresh";

pub(crate) struct Issuer {
    pub(crate) web: Web,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    url: String,
    /// By the names under which they are published.
    keys: Vec<(String, EcdsaKeyPair)>,
    /// Claims of the tokens that are good, by token.
    opaque: HashMap<String, String>,
    /// Parts of answers are replaced.
    replaced: Vec<(String, String)>,
    tokens: usize,
    granted: Vec<String>,
    is_down: bool,
    /// With this code tokens are refused.
    refusal: Option<String>,
}

impl Issuer {
    pub(crate) fn open() -> Self {
        let state = Arc::<Mutex<State>>::default();
        let own = state.clone();
        let web = Web::open(move |asked| own.lock().unwrap().answer(asked));
        state.lock().unwrap().url = web.url();
        let issuer = Self { web, state };
        issuer.rotate("first");
        issuer
    }

    pub(crate) fn url(&self) -> String {
        self.web.url()
    }

    /// Another key, the only one from now on.
    pub(crate) fn rotate(&self, name: &str) {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        self.state.lock().unwrap().keys = vec![(name.to_owned(), key)];
    }

    /// It answers nothing of use until it is up again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.state.lock().unwrap().is_down = is_down;
    }

    /// From now on nothing is granted, for this reason.
    pub(crate) fn refuse(&self, code: &str) {
        self.state.lock().unwrap().refusal = Some(code.to_owned());
    }

    /// In documents from now on.
    pub(crate) fn replace(&self, part: &str, by: &str) {
        self.state.lock().unwrap().replaced.push((part.to_owned(), by.to_owned()));
    }

    /// A signed token that is good for five minutes; `more` are members of the claims, each after a comma.
    pub(crate) fn token(&self, audience: &str, subject: &str, more: &str) -> String {
        self.token_ending(300, audience, subject, more)
    }

    /// The same, with so many seconds left.
    pub(crate) fn token_ending(&self, left: i64, audience: &str, subject: &str, more: &str) -> String {
        let state = self.state.lock().unwrap();
        let (name, key) = &state.keys[0];
        let header = format!(r#"{{"alg":"ES256","typ":"at+jwt","kid":"{name}"}}"#);
        let claims = claims(&state.url, audience, subject, left, more);
        let message = format!("{}.{}", encoded(header.as_bytes()), encoded(claims.as_bytes()));
        let signature = key.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", encoded(signature.as_ref()))
    }

    /// A token that means nothing without asking.
    pub(crate) fn opaque(&self, token: &str, audience: &str, subject: &str, more: &str) {
        let mut state = self.state.lock().unwrap();
        let claims = claims(&state.url, audience, subject, 300, &format!(r#"{more},"active":true"#));
        state.opaque.insert(token.to_owned(), claims);
    }

    pub(crate) fn revoke(&self, token: &str) {
        self.state.lock().unwrap().opaque.remove(token);
    }

    /// The access tokens that the token endpoint gave.
    pub(crate) fn granted(&self) -> Vec<String> {
        self.state.lock().unwrap().granted.clone()
    }

    /// Forms that the token endpoint got.
    pub(crate) fn grants(&self) -> Vec<HashMap<String, String>> {
        self.web.asked_at("/token").iter().map(Asked::form).collect()
    }
}

impl State {
    fn answer(&mut self, asked: &Asked) -> Reply {
        let mut reply = match asked.path() {
            _ if self.is_down => Reply::status(500),
            "/.well-known/oauth-authorization-server" | "/.well-known/openid-configuration" => {
                self.metadata()
            }
            "/jwks" => self.jwks(),
            "/introspect" => self.introspect(asked),
            "/token" => self.grant(asked),
            "/register" => Reply { status: 201, ..Reply::json(r#"{"client_id":"registered"}"#) },
            "/authorize" => self.authorize(asked),
            _ => Reply::status(404),
        };
        for (part, by) in &self.replaced {
            reply.body = reply.body.replace(part, by);
        }
        reply
    }

    fn metadata(&self) -> Reply {
        let url = &self.url;
        Reply::json(format!(
            r#"{{"issuer":"{url}","jwks_uri":"{url}/jwks","introspection_endpoint":"{url}/introspect",
            "authorization_endpoint":"{url}/authorize","token_endpoint":"{url}/token",
            "registration_endpoint":"{url}/register","response_types_supported":["code"],
            "code_challenge_methods_supported":["S256"],"authorization_response_iss_parameter_supported":true,
            "token_endpoint_auth_methods_supported":["none","client_secret_basic"],
            "grant_types_supported":["authorization_code","refresh_token","client_credentials"]}}"#
        ))
    }

    fn jwks(&self) -> Reply {
        let keys: Vec<_> = self.keys.iter().map(|(name, key)| jwk(name, key)).collect();
        Reply::json(format!(r#"{{"keys":[{}]}}"#, keys.join(",")))
    }

    fn introspect(&self, asked: &Asked) -> Reply {
        let token = asked.form().remove("token").unwrap_or_default();
        Reply::json(self.opaque.get(&token).map_or(r#"{"active":false}"#, String::as_str))
    }

    fn authorize(&self, asked: &Asked) -> Reply {
        let query = asked.query();
        Reply::to(format!("{}?code=granted&state={}&iss={}", query["redirect_uri"], query["state"], self.url))
    }

    fn grant(&mut self, asked: &Asked) -> Reply {
        if let Some(code) = &self.refusal {
            return Reply { status: 400, ..Reply::json(format!(r#"{{"error":"{code}"}}"#)) };
        }
        let form = asked.form();
        self.tokens += 1;
        let (kind, number) = (form["grant_type"].as_str(), self.tokens);
        let token = match kind {
            "client_credentials" => "machine".to_owned(),
            "urn:ietf:params:oauth:grant-type:jwt-bearer" => "workload".to_owned(),
            "authorization_code" => "person".to_owned(),
            "refresh_token" => "renewed".to_owned(),
            _ => format!("for-{}", subject(form.get("subject_token").map_or("", String::as_str))),
        };
        self.granted.push(format!("{token}-{number}"));
        let refresh = if kind == "authorization_code" {
            format!(r#","refresh_token":"{REFRESH}""#)
        } else {
            String::new()
        };
        let exchanged = if form.contains_key("subject_token") {
            r#","issued_token_type":"urn:ietf:params:oauth:token-type:access_token""#
        } else {
            ""
        };
        Reply::json(format!(
            r#"{{"access_token":"{token}-{number}","token_type":"Bearer","expires_in":3600{refresh}{exchanged}}}"#
        ))
    }
}

/// Whom a signed token is about.
fn subject(token: &str) -> String {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap_or_default()).unwrap_or_default();
    let claims = String::from_utf8(claims).unwrap();
    claims.split(r#""sub":""#).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("nobody").to_owned()
}

fn claims(issuer: &str, audience: &str, subject: &str, left: i64, more: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let (issued, expiry) = (now - 60, now.saturating_add_signed(left));
    format!(
        r#"{{"iss":"{issuer}","sub":"{subject}","aud":"{audience}","iat":{issued},"exp":{expiry},"jti":"{subject}-1","client_id":"app"{more}}}"#
    )
}

fn jwk(name: &str, key: &EcdsaKeyPair) -> String {
    let point = key.public_key().as_ref();
    let (x, y) = point[1..].split_at(point.len() / 2);
    format!(
        r#"{{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"{name}","x":"{}","y":"{}"}}"#,
        encoded(x),
        encoded(y)
    )
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
