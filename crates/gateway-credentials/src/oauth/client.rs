use bytes::Bytes;
use gateway_domain::Secret;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    ClientIdentity, OauthError,
    address::Address,
    config::Checked,
    discovery::Issuer,
    documents::{Refusal, Registration, RegistrationRequest},
    error::shown_code,
    scopes::Scopes,
    store::{Records, Slot},
    wire::{Place, Wire},
};

/// What the gateway is to one authorization server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) method: Method,
}

/// How a client authenticates at the token endpoint (RFC 6749 §2.3, RFC 7523 §2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Method {
    #[serde(rename = "none")]
    Nothing,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
    #[serde(rename = "private_key_jwt")]
    PrivateKey,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::PrivateKey => "private_key_jwt",
        }
    }

    /// Whether the authorization server takes it; one that does not say takes Basic (RFC 8414 §2), and may take more.
    fn is_taken(self, methods: Option<&[String]>) -> bool {
        methods.is_none_or(|methods| methods.iter().any(|method| method == self.name()))
    }

    fn first_taken(order: &[Self], methods: Option<&[String]>) -> Option<Self> {
        order.iter().copied().find(|method| method.is_taken(methods))
    }
}

/// The client as which to authorize: registered by hand, by its metadata document, or dynamically, in this order
/// (protocol.md §18.3 no. 5). A dynamic registration is kept, for this issuer and redirect URI alone.
pub(crate) async fn identify(
    wire: &Wire,
    config: &Checked,
    records: &Records,
    issuer: &Issuer,
    redirect: &str,
    scopes: &Scopes,
) -> Result<Client, OauthError> {
    if let Some(client) = registered_by_hand(config, issuer)? {
        return Ok(client);
    }
    if let (true, Some(url)) = (issuer.reads_client_metadata, &config.config.client.metadata_url) {
        return Ok(Client { id: url.clone(), secret: None, method: Method::Nothing });
    }
    let endpoint = issuer.register.as_ref().ok_or(OauthError::NoClient)?;
    let slot = Slot::client(&issuer.name, redirect);
    if let Some(kept) = records.client(&slot).await? {
        config.confide(&kept.secret);
        return Ok(kept);
    }
    let (client, lasts) = register(wire, config, issuer, endpoint, redirect, scopes).await?;
    config.confide(&client.secret);
    if lasts {
        records.keep_client(&slot, &client).await?;
    }
    Ok(client)
}

/// The client that the operator has configured.
pub(crate) fn registered_by_hand(config: &Checked, issuer: &Issuer) -> Result<Option<Client>, OauthError> {
    by_hand(&config.config.client, issuer.methods.as_deref())
}

/// The client that the operator has configured, at an endpoint that takes these methods.
pub(crate) fn by_hand(
    own: &ClientIdentity,
    methods: Option<&[String]>,
) -> Result<Option<Client>, OauthError> {
    let Some(id) = &own.id else { return Ok(None) };
    let order: &[Method] = match (&own.key, &own.secret) {
        (Some(_), Some(_)) => &[Method::PrivateKey, Method::Basic, Method::Post],
        (Some(_), None) => &[Method::PrivateKey],
        (None, Some(_)) => &[Method::Basic, Method::Post],
        // Many servers do not list it and take it from public clients all the same.
        (None, None) => return Ok(Some(Client { id: id.clone(), secret: None, method: Method::Nothing })),
    };
    let method = Method::first_taken(order, methods).ok_or(OauthError::NoClientAuthentication)?;
    let secret = own.secret.clone().filter(|_| method != Method::PrivateKey);
    Ok(Some(Client { id: id.clone(), secret, method }))
}

/// Registers (RFC 7591); also whether the registration may be used again.
async fn register(
    wire: &Wire,
    config: &Checked,
    issuer: &Issuer,
    endpoint: &Address,
    redirect: &str,
    scopes: &Scopes,
) -> Result<(Client, bool), OauthError> {
    let methods = issuer.methods.as_deref();
    // One that does not say may take Basic only.
    let order: &[Method] =
        if methods.is_none() { &[Method::Basic] } else { &[Method::Nothing, Method::Basic, Method::Post] };
    let asked = Method::first_taken(order, methods).ok_or(OauthError::NoClientAuthentication)?;
    let native = Address::parse(redirect)?.is_loopback();
    let request = RegistrationRequest {
        client_name: "gatewayd",
        redirect_uris: [redirect],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: asked.name(),
        application_type: if native { "native" } else { "web" },
        scope: &scopes.parameter(),
    };
    let body =
        serde_json::to_vec(&request).map_err(|_| OauthError::Internal("a registration cannot be written"))?;
    let place =
        Place { address: endpoint, named: config.trust.named(endpoint), part: "registration endpoint" };
    let answer = wire.json(place, Bytes::from(body)).await?;
    if !matches!(answer.status, StatusCode::OK | StatusCode::CREATED) {
        let refusal = serde_json::from_slice::<Refusal>(&answer.body);
        let code =
            refusal.map_or_else(|_| answer.status.as_str().to_owned(), |refusal| shown_code(&refusal.error));
        return Err(OauthError::RegistrationRefused { code });
    }
    let answer: Registration = serde_json::from_slice(&answer.body)
        .map_err(|_| OauthError::Malformed("answer of the registration endpoint"))?;
    let lasts = answer.client_secret_expires_at.unwrap_or(0) == 0;
    Ok((client_of(answer, asked, methods)?, lasts))
}

/// What was registered: the method that the answer names, else the one that was asked for, else one that fits what
/// there is.
fn client_of(answer: Registration, asked: Method, methods: Option<&[String]>) -> Result<Client, OauthError> {
    let secret = answer.client_secret.filter(|secret| !secret.is_empty()).map(Secret::new);
    let known = [Method::Nothing, Method::Basic, Method::Post];
    let said = answer.token_endpoint_auth_method.as_deref();
    let said = said.and_then(|name| known.into_iter().find(|method| method.name() == name));
    let fitting = || match (&secret, asked) {
        (None, _) => Some(Method::Nothing),
        (Some(_), Method::Nothing) => Method::first_taken(&known, methods),
        (Some(_), asked) => Some(asked),
    };
    let method = said.or_else(fitting).ok_or(OauthError::NoClientAuthentication)?;
    if secret.is_none() && method != Method::Nothing {
        return Err(OauthError::Malformed("answer of the registration endpoint"));
    }
    Ok(Client { id: answer.client_id, secret: secret.filter(|_| method != Method::Nothing), method })
}

#[cfg(test)]
mod tests;
