use std::{sync::Arc, time::Duration};

use gateway_domain::Secret;
use tokio::time::Instant;

use super::{
    OauthError,
    address::Address,
    client::{Client, registered_by_hand},
    config::Mode,
    credentials::{Need, Shared},
    discovery::{Found, Issuer, discover},
    form::Form,
    grant::{Endpoint, Granted, now},
    held::{Entry, Held},
    scopes::{Choice, Scopes},
    store::{Binding, Tokens},
};

/// How long what was discovered is used without looking again.
const FOUND_FOR: Duration = Duration::from_secs(3600);

impl Shared {
    /// Has a token for its entry, unless somebody else has had one meanwhile. One at a time for each entry.
    pub(super) async fn renew(&self, need: &Need, entry: &Entry) -> Result<Held, OauthError> {
        if let Some(held) = entry.fresh(now()) {
            return Ok(held);
        }
        entry.must_wait(Instant::now())?;
        let got = match self.checked.config.mode {
            Mode::Gateway | Mode::PerUser { .. } => self.stored(need, entry).await,
            Mode::ClientCredentials | Mode::JwtBearer | Mode::Exchange | Mode::EnterpriseManaged => {
                self.granted(need).await
            }
        };
        match &got {
            Ok(held) => entry.hold(held),
            // It is over as soon as somebody has authorized, in whichever process.
            Err(OauthError::LoginNeeded) => {}
            Err(error) => {
                tracing::warn!(downstream = &*self.checked.config.name, %error, "no token was to be had");
                entry.failed(error, Instant::now());
            }
        }
        got
    }

    /// The token that somebody's authorization brought, refreshed if it has to be.
    async fn stored(&self, need: &Need, entry: &Entry) -> Result<Held, OauthError> {
        let Some((_, tokens)) = self.kept(need).await? else { return Err(OauthError::LoginNeeded) };
        let held = held(&tokens.granted);
        let rejected = entry.is_rejected(held.access.expose());
        if held.is_fresh(now()) && !rejected {
            return Ok(held);
        }
        // Refreshing brings nothing where the server has another authorization server now.
        if rejected && self.found().await.is_ok_and(|found| found.issuer.name != tokens.issuer) {
            return Err(OauthError::LoginNeeded);
        }
        self.refreshed(need, tokens).await
    }

    /// A token that somebody's authorization has brought meanwhile, in whichever process, in place of the one that was
    /// sent.
    pub(super) async fn newer(&self, need: &Need, sent: &str) -> Result<Option<Held>, OauthError> {
        let kept = self.kept(need).await?;
        let held = kept.map(|(_, tokens)| held(&tokens.granted));
        Ok(held.filter(|held| held.is_fresh(now()) && held.access.expose() != sent))
    }

    /// What is kept for an owner.
    async fn kept(&self, need: &Need) -> Result<Option<(Binding, Tokens)>, OauthError> {
        let resource = &self.checked.resource;
        let Some(binding) = self.records.binding(resource, &need.owner).await? else { return Ok(None) };
        let tokens = self.records.tokens(&binding.issuer, resource, &need.owner).await?;
        if let Some(Tokens { granted, client, .. }) = &tokens {
            self.checked.confide(granted.secrets().chain(&client.secret));
        }
        Ok(tokens.map(|tokens| (binding, tokens)))
    }

    /// New tokens for a refresh token, from the endpoint and as the client that it was issued to.
    async fn refreshed(&self, need: &Need, tokens: Tokens) -> Result<Held, OauthError> {
        let Some(refresh) = tokens.granted.refresh.clone() else { return Err(OauthError::LoginNeeded) };
        let form = Form::default()
            .with("grant_type", "refresh_token")
            .with("refresh_token", refresh.expose())
            .with("resource", &tokens.resource);
        let address = Address::parse(&tokens.token_url)?;
        let endpoint = self.endpoint(&address, &tokens.issuer, &tokens.client);
        let mut granted = match endpoint.ask(&self.wire, &self.checked, form).await {
            Err(OauthError::TokenRefused { code }) if is_final(&code) => {
                self.records.forget_tokens(&tokens.issuer, &self.checked.resource, &need.owner).await?;
                return Err(OauthError::LoginNeeded);
            }
            other => other?,
        };
        granted.refresh = granted.refresh.or(Some(refresh));
        granted.scopes = granted.scopes.or_else(|| tokens.granted.scopes.clone());
        let held = held(&granted);
        let tokens = Tokens { granted, ..tokens };
        self.records.keep_tokens(&self.checked.resource, &need.owner, &tokens).await?;
        Ok(held)
    }

    /// A token that takes no person: by client credentials, for an assertion, or for the caller's own token.
    async fn granted(&self, need: &Need) -> Result<Held, OauthError> {
        let found = self.found().await?;
        let client = registered_by_hand(&self.checked, &found.issuer)?.ok_or(OauthError::NoClient)?;
        let form = self.aimed(self.form(need, &found).await?, &found);
        let endpoint = self.endpoint(&found.issuer.token, &found.issuer.name, &client);
        match endpoint.ask(&self.wire, &self.checked, form).await {
            Ok(granted) => Ok(held(&granted).until(need.subject.as_ref().and_then(|subject| subject.ends))),
            Err(OauthError::TokenRefused { code }) => Err(self.refused(code).await),
            Err(error) => Err(error),
        }
    }

    /// The form of a grant, without what it is for.
    async fn form(&self, need: &Need, found: &Found) -> Result<Form, OauthError> {
        let config = &self.checked.config;
        if let Some(provider) = &config.provider {
            return Ok(asserting(&self.provided(provider, need, found).await?));
        }
        let form = match (&need.subject, &config.assertion) {
            (Some(subject), _) => {
                config.exchange.form(&subject.token, |actor| self.checked.confide([actor])).await?
            }
            (None, Some(assertion)) => {
                let word = assertion.word().await.map_err(|reason| OauthError::NoAssertion { reason })?;
                self.checked.confide([&word]);
                asserting(&word)
            }
            (None, None) => Form::default().with("grant_type", "client_credentials"),
        };
        Ok(form.with_some("audience", config.audience.as_deref()))
    }

    /// The same for this server, and for what it wants.
    pub(super) fn aimed(&self, form: Form, found: &Found) -> Form {
        let resource = self.checked.config.resource.as_deref().unwrap_or(&found.resource);
        let scopes = self.choice(found, &Scopes::default()).parameter();
        form.with("resource", resource).with_some("scope", Some(&scopes))
    }

    /// What a refusal means; what it may be about is asked for anew the next time.
    async fn refused(&self, code: String) -> OauthError {
        let config = &self.checked.config;
        if config.mode == Mode::Exchange {
            config.exchange.refused().await;
            return OauthError::ExchangeRefused { code };
        }
        if let Some(assertion) = &config.assertion {
            assertion.forget().await;
        }
        OauthError::TokenRefused { code }
    }

    /// What to ask for: see [`Choice`].
    pub(super) fn choice(&self, found: &Found, before: &Scopes) -> Scopes {
        let heard = self.heard();
        let challenged = heard.challenge.scopes();
        let choice = Choice {
            challenged: challenged.as_ref(),
            configured: Some(&self.checked.scopes).filter(|scopes| !scopes.is_empty()),
            supported: found.scopes.as_ref(),
            before: &before.joined(&heard.wanted),
            of_issuer: found.issuer.scopes.as_ref(),
        };
        choice.scopes()
    }

    pub(super) fn endpoint<'a>(
        &'a self,
        address: &'a Address,
        issuer: &'a str,
        client: &'a Client,
    ) -> Endpoint<'a> {
        Endpoint { address, issuer, client, key: self.checked.config.client.key.as_ref() }
    }

    /// Where to authorize, as it was found lately or is found now.
    pub(super) async fn found(&self) -> Result<Arc<Found>, OauthError> {
        if let Some(token) = &self.checked.token_url {
            let issuer = Issuer::of_token_url(token, self.checked.config.issuer.as_deref());
            return Ok(Arc::new(Found { resource: self.checked.resource.clone(), scopes: None, issuer }));
        }
        let challenge = {
            let heard = self.heard();
            match &heard.found {
                Some((at, found)) if at.elapsed() < FOUND_FOR => return Ok(Arc::clone(found)),
                _ => heard.challenge.clone(),
            }
        };
        let found = Arc::new(discover(&self.wire, &self.checked, &challenge).await?);
        self.heard().found = Some((Instant::now(), Arc::clone(&found)));
        Ok(found)
    }

    /// Whether scopes would be new: those that were asked for already are asked for in vain.
    pub(super) async fn wants_more(&self, need: &Need, asked: &Scopes) -> Result<bool, OauthError> {
        match self.checked.config.mode {
            Mode::ClientCredentials | Mode::JwtBearer | Mode::Exchange | Mode::EnterpriseManaged => {
                let found = self.found().await?;
                Ok(!self.choice(&found, &Scopes::default()).covers(asked))
            }
            Mode::Gateway | Mode::PerUser { .. } => {
                let kept = self.kept(need).await?;
                Ok(kept.is_none_or(|(_, tokens)| !tokens.requested.covers(asked)))
            }
        }
    }

    /// Keeps for the next authorization what the server wants.
    pub(super) async fn note_wanted(&self, need: &Need, asked: &Scopes) -> Result<(), OauthError> {
        let resource = &self.checked.resource;
        let mut binding = self.records.binding(resource, &need.owner).await?.unwrap_or_default();
        if !binding.wanted.covers(asked) {
            binding.wanted = binding.wanted.joined(asked);
            self.records.keep_binding(resource, &need.owner, &binding).await?;
        }
        Ok(())
    }
}

/// The form of the grant jwt-bearer (RFC 7523 §2.1).
fn asserting(assertion: &Secret) -> Form {
    let form = Form::default().with("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
    form.with("assertion", assertion.expose())
}

fn held(granted: &Granted) -> Held {
    Held { access: granted.access.clone(), fresh_until: granted.fresh_until }
}

/// Whether a refusal means that these tokens will never be renewed.
fn is_final(code: &str) -> bool {
    matches!(code, "invalid_grant" | "invalid_client" | "unauthorized_client")
}
