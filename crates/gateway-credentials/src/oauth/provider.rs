use std::sync::Arc;

use gateway_domain::Secret;

use super::{
    ClientIdentity, OauthError,
    address::Address,
    client::by_hand,
    credentials::{Need, Shared},
    discovery::Found,
    form::Form,
    grant::{Endpoint, ID_JAG, TOKEN_EXCHANGE},
};
use crate::fixed::Source;

/// The identity provider of an enterprise: for a token that says who somebody is it gives an assertion (an ID-JAG), if
/// that user may use the server by way of the gateway, and the server's authorization server grants a token for that.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Its token endpoint.
    pub token_url: String,
    /// What the gateway is to it: an id, and a secret or a key if it wants one.
    pub client: ClientIdentity,
    /// The gateway's own token, for which everybody has the same; `None`: each caller's.
    pub subject: Option<Arc<Source>>,
    /// What that token is, a URI of RFC 8693 §3; an ID token.
    pub subject_type: String,
}

impl Provider {
    /// One that is told of each caller by an ID token.
    pub fn new(token_url: &str, client: ClientIdentity) -> Self {
        let subject_type = "urn:ietf:params:oauth:token-type:id_token".to_owned();
        Self { token_url: token_url.to_owned(), client, subject: None, subject_type }
    }

    async fn subject(&self, need: &Need) -> Result<Secret, OauthError> {
        match (&self.subject, &need.subject) {
            (Some(source), _) => source.word().await.map_err(|reason| OauthError::NoSubject { reason }),
            (None, Some(subject)) => Ok(subject.token.clone()),
            (None, None) => Err(OauthError::NoUser),
        }
    }

    /// What its refusal means; a token of the gateway's own is asked for anew the next time.
    async fn refused(&self, code: String) -> OauthError {
        let Some(subject) = &self.subject else { return OauthError::ExchangeRefused { code } };
        subject.forget().await;
        OauthError::ProviderRefused { code }
    }
}

impl Shared {
    /// The assertion of an identity provider, for the authorization server that was found.
    pub(super) async fn provided(
        &self,
        provider: &Provider,
        need: &Need,
        found: &Found,
    ) -> Result<Secret, OauthError> {
        let subject = provider.subject(need).await?;
        if provider.subject.is_some() {
            self.checked.confide([&subject]);
        }
        let form = Form::default()
            .with("grant_type", TOKEN_EXCHANGE)
            .with("subject_token", subject.expose())
            .with("subject_token_type", &provider.subject_type)
            .with("requested_token_type", ID_JAG)
            .with("audience", self.checked.config.audience.as_deref().unwrap_or(&found.issuer.name));
        let address = Address::parse(&provider.token_url)?;
        let client = by_hand(&provider.client, None)?.ok_or(OauthError::NoClient)?;
        let endpoint = Endpoint {
            address: &address,
            issuer: &provider.token_url,
            client: &client,
            key: provider.client.key.as_ref(),
        };
        match endpoint.ask_assertion(&self.wire, &self.checked, self.aimed(form, found)).await {
            Err(OauthError::TokenRefused { code }) => Err(provider.refused(code).await),
            other => other,
        }
    }
}
