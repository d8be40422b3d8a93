use bytes::Bytes;
use gateway_domain::Secret;
use gateway_egress::EgressError;
use http::{HeaderValue, Method, header};
use tokio::time::Instant;

use super::{
    OauthError,
    challenge::BearerChallenge,
    client::identify,
    credentials::{Need, Shared},
    desk::Flow,
    error::shown_code,
    form::{Form, only, parameters},
    grant::{Granted, now},
    held::Held,
    random::{digest_of, unguessable},
    store::{Binding, Owner, Slot, Tokens},
    wire::Place,
};

/// What an authorization has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginReport {
    /// The authorization server.
    pub issuer: String,
    /// What was granted, as far as is known.
    pub scopes: String,
    /// Whether it lasts beyond the first token.
    pub is_renewable: bool,
    /// The visit that it was of, if it was one.
    pub visit: Option<String>,
}

/// Whom an authorization is for, and how its answer comes back.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) owner: Owner,
    pub(super) redirect: String,
    pub(super) browser: Option<String>,
    pub(super) visit: Option<String>,
}

impl Shared {
    /// Asks the server without token what it wants; without a refusal nothing is learnt.
    pub(super) async fn probe(&self) -> Result<(), OauthError> {
        let Some(probe) = &self.checked.config.probe else { return Ok(()) };
        let server = &self.checked.server;
        let place = Place { address: server, named: self.checked.trust.named(server), part: "server" };
        let mut headers = probe.headers.clone();
        headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let answer = match self.wire.send(place, Method::POST, headers, Bytes::clone(&probe.body)).await {
            Ok(answer) => answer,
            // Whatever it is, it is no refusal.
            Err(OauthError::Unreachable {
                cause: EgressError::TooLarge { .. } | EgressError::TimedOut { .. },
                ..
            }) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if matches!(answer.status.as_u16(), 401 | 403) {
            let values: Vec<_> = answer.headers.get_all(header::WWW_AUTHENTICATE).iter().cloned().collect();
            self.heard().hear(BearerChallenge::read(&values));
        }
        Ok(())
    }

    /// Begins an authorization: everything that its answer is checked against is recorded before the URL is given
    /// away, for a browser to visit.
    pub(super) async fn begin(&self, wish: Wish) -> Result<String, OauthError> {
        let found = self.found().await?;
        let issuer = &found.issuer;
        if !issuer.has_pkce {
            return Err(OauthError::NoPkce);
        }
        let authorize = issuer
            .authorize
            .as_ref()
            .ok_or(OauthError::Undiscovered("the authorization server has no authorization endpoint"))?;
        let before = self.records.binding(&self.checked.resource, &wish.owner).await?.unwrap_or_default();
        let scopes = self.choice(&found, &before.wanted);
        let client =
            identify(&self.wire, &self.checked, &self.records, issuer, &wish.redirect, &scopes).await?;
        let (state, verifier) = (unguessable()?, unguessable()?);
        let query = Form::default()
            .with("response_type", "code")
            .with("client_id", &client.id)
            .with("redirect_uri", &wish.redirect)
            .with("state", &state)
            .with("code_challenge", &digest_of(&verifier))
            .with("code_challenge_method", "S256")
            .with("resource", &found.resource)
            .with_some("scope", Some(&scopes.parameter()))
            .with_some("audience", self.checked.config.audience.as_deref());
        let flow = Flow {
            owner: wish.owner,
            verifier: Secret::new(verifier),
            issuer: issuer.name.clone(),
            sends_iss: issuer.sends_iss,
            token: issuer.token.clone(),
            client,
            redirect: wish.redirect,
            resource: found.resource.clone(),
            scopes,
            browser: wish.browser,
            visit: wish.visit,
        };
        self.desk.begin(state, flow, Instant::now())?;
        Ok(authorize.with_query(&query.encoded()))
    }

    /// Ends an authorization with what came back to the redirect URI, and keeps the tokens.
    pub(super) async fn finish(&self, query: &str, browser: Option<&str>) -> Result<LoginReport, OauthError> {
        let answer = parameters(query);
        let state = only(&answer, "state").ok_or(OauthError::UnknownState)?;
        let flow = self.desk.take(state, Instant::now())?;
        if flow.browser.as_deref() != browser {
            return Err(OauthError::UnknownState);
        }
        check_issuer(&flow, &answer)?;
        if let Some(code) = only(&answer, "error") {
            return Err(OauthError::Denied { code: shown_code(code) });
        }
        let code = only(&answer, "code").filter(|code| !code.is_empty());
        let granted = self
            .redeem(&flow, code.ok_or(OauthError::Malformed("answer of the authorization server"))?)
            .await?;
        self.keep(flow, granted).await
    }

    async fn redeem(&self, flow: &Flow, code: &str) -> Result<Granted, OauthError> {
        let form = Form::default()
            .with("grant_type", "authorization_code")
            .with("code", code)
            .with("redirect_uri", &flow.redirect)
            .with("code_verifier", flow.verifier.expose())
            .with("resource", &flow.resource);
        let endpoint = self.endpoint(&flow.token, &flow.issuer, &flow.client);
        let got = endpoint.ask(&self.wire, &self.checked, form).await;
        if matches!(&got, Err(OauthError::TokenRefused { code }) if code == "invalid_client") {
            // A registration that is not known any more is made anew the next time.
            self.records.forget_client(&Slot::client(&flow.issuer, &flow.redirect)).await?;
        }
        got
    }

    async fn keep(&self, flow: Flow, granted: Granted) -> Result<LoginReport, OauthError> {
        let resource = &self.checked.resource;
        let report = LoginReport {
            issuer: flow.issuer.clone(),
            scopes: granted.scopes.as_ref().unwrap_or(&flow.scopes).parameter(),
            is_renewable: granted.refresh.is_some(),
            visit: flow.visit,
        };
        let before =
            self.records.binding(resource, &flow.owner).await?.filter(|before| before.issuer != flow.issuer);
        let held = Held { access: granted.access.clone(), fresh_until: granted.fresh_until };
        let tokens = Tokens {
            granted,
            requested: flow.scopes.clone(),
            issuer: flow.issuer.clone(),
            token_url: flow.token.as_str().to_owned(),
            resource: flow.resource,
            client: flow.client,
        };
        self.records.keep_tokens(resource, &flow.owner, &tokens).await?;
        let binding = Binding { issuer: flow.issuer, wanted: flow.scopes };
        self.records.keep_binding(resource, &flow.owner, &binding).await?;
        if let Some(before) = before {
            self.records.forget_tokens(&before.issuer, resource, &flow.owner).await?;
        }
        if held.is_fresh(now()) {
            self.entries.entry(&Need::of(flow.owner, "").key, now()).hold(&held);
        }
        Ok(report)
    }
}

/// The `iss` of an answer, by plain comparison (protocol.md §18.3 no. 7, RFC 9207 §2.4): announced and absent, there
/// twice, or another one: not from whom we asked.
fn check_issuer(flow: &Flow, answer: &[(String, String)]) -> Result<(), OauthError> {
    let is_there = answer.iter().any(|(name, _)| name == "iss");
    let good = if is_there { only(answer, "iss") == Some(&*flow.issuer) } else { !flow.sends_iss };
    if good { Ok(()) } else { Err(OauthError::MixedUp) }
}
