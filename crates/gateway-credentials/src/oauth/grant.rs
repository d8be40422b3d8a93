use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gateway_domain::Secret;
use gateway_egress::Answer;
use http::{HeaderValue, StatusCode};
use zeroize::Zeroizing;

use super::{
    OauthError,
    address::Address,
    assertion::SigningKey,
    client::{Client, Method},
    config::Checked,
    documents::{Refusal, Seconds, TokenAnswer},
    error::shown_code,
    form::{Form, escaped},
    scopes::Scopes,
    wire::{Place, Wire},
};

/// What a token endpoint granted.
#[derive(Debug, Clone)]
pub(crate) struct Granted {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// When to renew it, in seconds since 1970; `None`: when it is refused.
    pub(crate) fresh_until: Option<u64>,
    /// What was granted, if the answer says.
    pub(crate) scopes: Option<Scopes>,
}

impl Granted {
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        std::iter::once(&self.access).chain(&self.refresh)
    }
}

/// A token endpoint, and the client that we are to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint<'a> {
    pub(crate) address: &'a Address,
    /// Whom assertions are for.
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a Client,
    pub(crate) key: Option<&'a SigningKey>,
}

impl Endpoint<'_> {
    /// Makes one token request. Not cancel-safe: what a server has granted may be lost.
    pub(crate) async fn ask(&self, wire: &Wire, config: &Checked, form: Form) -> Result<Granted, OauthError> {
        let asked_at = now();
        let answer = self.answer(wire, config, form, asked_at, "token endpoint").await?;
        let granted = granted(&answer, asked_at, &config.config.exchange.requested_type)?;
        config.confide(granted.secrets());
        Ok(granted)
    }

    /// Makes one token request of an identity provider, for an ID-JAG.
    pub(crate) async fn ask_assertion(
        &self,
        wire: &Wire,
        config: &Checked,
        form: Form,
    ) -> Result<Secret, OauthError> {
        let part = "token endpoint of the identity provider";
        let assertion = assertion(&self.answer(wire, config, form, now(), part).await?)?;
        config.confide([&assertion]);
        Ok(assertion)
    }

    async fn answer(
        &self,
        wire: &Wire,
        config: &Checked,
        form: Form,
        now: u64,
        part: &'static str,
    ) -> Result<Answer, OauthError> {
        let (form, authorization) = self.authenticated(form, now)?;
        let place = Place { address: self.address, named: config.trust.named(self.address), part };
        wire.form(place, authorization, &form).await
    }

    /// The form with what proves who the client is, or the header that does.
    fn authenticated(&self, form: Form, now: u64) -> Result<(Form, Option<HeaderValue>), OauthError> {
        let Client { id, secret, method } = self.client;
        let secret = secret.as_ref().map_or("", |secret| secret.expose());
        match method {
            Method::Nothing => Ok((form.with("client_id", id), None)),
            Method::Post => Ok((form.with("client_id", id).with("client_secret", secret), None)),
            Method::Basic => {
                let pair = Zeroizing::new(format!("{}:{}", escaped(id), escaped(secret)));
                let text = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
                let mut value = HeaderValue::from_str(&text)
                    .map_err(|_| OauthError::Internal("a header cannot be written"))?;
                value.set_sensitive(true);
                Ok((form, Some(value)))
            }
            Method::PrivateKey => {
                let key = self.key.ok_or(OauthError::NoClientAuthentication)?;
                let assertion = key.assertion(id, self.issuer, now)?;
                let form = form
                    .with("client_id", id)
                    .with("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
                    .with("client_assertion", &assertion);
                Ok((form, None))
            }
        }
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// When a token is to be renewed: a tenth of its life before its end, 30 seconds at least, but never before half of it
/// is over (security.md §5.2).
pub(crate) fn fresh_until(asked_at: u64, lifetime: u64) -> u64 {
    let leeway = (lifetime / 10).max(LEAST_LEEWAY).min(lifetime.div_ceil(2));
    asked_at.saturating_add(lifetime - leeway)
}

const LEAST_LEEWAY: u64 = 30;
/// Bytes of a token; longer headers are refused by many servers.
const LONGEST_TOKEN: usize = 16 * 1024;

/// What an endpoint gave, if it is 200 and a token that can be sent.
fn given(answer: &Answer, bad: &OauthError) -> Result<(TokenAnswer, Secret), OauthError> {
    if answer.status != StatusCode::OK {
        let refusal = serde_json::from_slice::<Refusal>(&answer.body);
        let code =
            refusal.map_or_else(|_| answer.status.as_str().to_owned(), |refusal| shown_code(&refusal.error));
        return Err(OauthError::TokenRefused { code });
    }
    let mut found: TokenAnswer = serde_json::from_slice(&answer.body).map_err(|_| bad.clone())?;
    let token = Secret::new(std::mem::take(&mut found.access_token));
    let text = token.expose();
    let is_token =
        !text.is_empty() && text.len() <= LONGEST_TOKEN && text.bytes().all(|one| one.is_ascii_graphic());
    if is_token { Ok((found, token)) } else { Err(bad.clone()) }
}

/// What is no token for a server, but an assertion for its authorization server.
fn assertion(answer: &Answer) -> Result<Secret, OauthError> {
    const BAD: OauthError = OauthError::Malformed("answer of the identity provider");
    let (found, assertion) = given(answer, &BAD)?;
    let is_id_jag = found.issued_token_type.as_deref() == Some(ID_JAG);
    if is_id_jag && found.token_type.eq_ignore_ascii_case("N_A") { Ok(assertion) } else { Err(BAD) }
}

fn granted(answer: &Answer, asked_at: u64, requested: &str) -> Result<Granted, OauthError> {
    const BAD: OauthError = OauthError::Malformed("answer of the token endpoint");
    let (found, access) = given(answer, &BAD)?;
    let is_access =
        found.issued_token_type.is_none_or(|kind| [ACCESS_TOKEN, JWT, requested].contains(&kind.as_str()));
    if !found.token_type.eq_ignore_ascii_case("bearer") || !is_access {
        return Err(BAD);
    }
    Ok(Granted {
        access,
        refresh: found.refresh_token.filter(|token| !token.is_empty()).map(Secret::new),
        fresh_until: found
            .expires_in
            .as_ref()
            .and_then(Seconds::whole)
            .map(|life| fresh_until(asked_at, life)),
        scopes: found.scope.as_deref().map(Scopes::read),
    })
}

/// RFC 8693 §2.1.
pub(crate) const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// An identity assertion JWT authorization grant.
pub(crate) const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// RFC 8693 §3.
pub(crate) const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

#[cfg(test)]
mod tests;
