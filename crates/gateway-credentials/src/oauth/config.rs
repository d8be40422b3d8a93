use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use gateway_domain::Secret;
use http::HeaderMap;

use super::{
    Exchange, OauthError, Provider, address::Address, assertion::SigningKey, exchange::is_uri,
    scopes::Scopes, trust::Trust,
};
use crate::fixed::Source;

/// How one downstream is authorized at (protocol.md §18.3, security.md §5.2), as the operator wrote it.
#[derive(Debug, Clone)]
pub struct OauthConfig {
    /// The downstream's name, for texts and pages.
    pub name: Arc<str>,
    /// Its URL: tokens are for it alone.
    pub url: String,
    /// Whose tokens are sent.
    pub mode: Mode,
    /// What the gateway is to the authorization server.
    pub client: ClientIdentity,
    /// The scopes to ask for instead of all that the server supports; empty: the server's.
    pub scopes: Vec<String>,
    /// The only authorization server to use; `None`: what the server's metadata names. Needed with a client secret or an
    /// assertion, so that no server can have it sent elsewhere.
    pub issuer: Option<String>,
    /// The token endpoint, for grants without a browser: then nothing is discovered. Needed for [`Mode::Exchange`], so that
    /// no server can have callers' tokens sent elsewhere.
    pub token_url: Option<String>,
    /// The `audience` parameter of token requests; `None`: none is sent, but to a provider the issuer.
    pub audience: Option<String>,
    /// The `resource` parameter of token requests without a browser, an absolute URI; `None`: the server, as its metadata
    /// names it.
    pub resource: Option<String>,
    /// The JWT that [`Mode::JwtBearer`] has a token granted for: somebody whom the authorization server trusts says in it
    /// who the gateway is.
    pub assertion: Option<Arc<Source>>,
    /// What [`Mode::Exchange`] asks for.
    pub exchange: Exchange,
    /// Whom [`Mode::EnterpriseManaged`] asks first.
    pub provider: Option<Provider>,
    /// The redirect URI of [`login`](super::login) on the loopback; `None`: a free port, at `/callback`.
    pub redirect: Option<String>,
    /// Whether a server without metadata may be its own authorization server, as in revision 2025-03-26. Off by
    /// default.
    pub legacy_discovery: bool,
    /// Whether documents may name addresses of the loopback, at any port and over `http`: for development. Off by
    /// default.
    pub loopback_issuers: bool,
    /// How [`login`](super::login) learns what the server wants; `None`: from the well-known places alone.
    pub probe: Option<Probe>,
    /// Who is told of the secrets that come and go; `None`: nobody.
    pub confidant: Option<Arc<dyn Confidant>>,
    /// The bounds.
    pub limits: OauthLimits,
}

/// Whose tokens are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// One for everybody, got by [`login`](super::login).
    Gateway,
    /// The caller's own, which the caller authorizes in a browser.
    PerUser {
        /// Where browsers reach the pages of [`ConnectPages`](super::ConnectPages), such as `https://gateway.example/connect`;
        /// `https`, or `http` on the loopback.
        base: String,
    },
    /// One for everybody, by the grant `client_credentials`.
    ClientCredentials,
    /// One for everybody, by the grant `jwt-bearer` (RFC 7523 §2.1).
    JwtBearer,
    /// One for each caller, by exchange of the caller's own (RFC 8693).
    Exchange,
    /// One for each caller, or one for everybody, by what an enterprise's [`Provider`] says of whose it is (MCP extension
    /// `enterprise-managed-authorization`).
    EnterpriseManaged,
}

impl Mode {
    /// Whether a person authorizes the gateway in a browser.
    pub(super) fn is_interactive(&self) -> bool {
        matches!(self, Self::Gateway | Self::PerUser { .. })
    }
}

/// What the gateway is to the authorization server.
#[derive(Debug, Clone, Default)]
pub struct ClientIdentity {
    /// The registered id; `None`: by metadata document or dynamic registration.
    pub id: Option<String>,
    /// The registered secret.
    pub secret: Option<Secret>,
    /// The key for `private_key_jwt`; it goes before the secret.
    pub key: Option<SigningKey>,
    /// Where our client metadata document is: an `https` URL with a path.
    pub metadata_url: Option<String>,
}

/// Is told of every secret that an authorization server gives or the store has, before it is used: access tokens, refresh
/// tokens, and secrets of clients that registered themselves. The same one may be told more than once.
pub trait Confidant: fmt::Debug + Send + Sync {
    /// Takes secrets that came together.
    fn told(&self, secrets: &[&Secret]);
}

/// A request without token, whose refusal says what the server wants. It is posted to the server's URL.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// The bounds of an OAuth client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OauthLimits {
    /// Tokens kept in memory, of users and of exchanges; 1024.
    pub tokens: usize,
    /// Authorizations under way; 256.
    pub flows: usize,
    /// How long one may take; 10 minutes.
    pub flow_time: Duration,
    /// How long [`login`](super::login) waits for the browser; 5 minutes.
    pub login_time: Duration,
    /// Step-ups within ten minutes; 3.
    pub step_ups: u32,
}

impl Default for OauthLimits {
    fn default() -> Self {
        Self {
            tokens: 1024,
            flows: 256,
            flow_time: Duration::from_secs(600),
            login_time: Duration::from_secs(300),
            step_ups: 3,
        }
    }
}

impl OauthConfig {
    /// A configuration with nothing but what every one has.
    pub fn new(name: &str, url: &str, mode: Mode) -> Self {
        Self {
            name: name.into(),
            url: url.to_owned(),
            mode,
            client: ClientIdentity::default(),
            scopes: Vec::new(),
            issuer: None,
            token_url: None,
            audience: None,
            resource: None,
            assertion: None,
            exchange: Exchange::default(),
            provider: None,
            redirect: None,
            legacy_discovery: false,
            loopback_issuers: false,
            probe: None,
            confidant: None,
            limits: OauthLimits::default(),
        }
    }

    /// Whether callers' own tokens are exchanged.
    pub(super) fn exchanges_callers(&self) -> bool {
        let managed = || self.provider.as_ref().is_some_and(|provider| provider.subject.is_none());
        self.mode == Mode::Exchange || (self.mode == Mode::EnterpriseManaged && managed())
    }

    /// Whether two callers may have different tokens.
    pub(super) fn is_per_caller(&self) -> bool {
        matches!(self.mode, Mode::PerUser { .. }) || self.exchanges_callers()
    }

    /// Whether it can work, without asking anybody.
    ///
    /// # Errors
    /// [`OauthError::Misconfigured`].
    pub fn check(&self) -> Result<(), OauthError> {
        self.clone().checked().map(drop)
    }

    /// The first rule that single values do not break, but together.
    fn broken_rule(&self) -> Option<&'static str> {
        let interactive = self.mode.is_interactive();
        let asserted = self.mode == Mode::JwtBearer;
        let rules = [
            (
                self.mode == Mode::Exchange && self.token_url.is_none(),
                "exchange needs token_url, so that callers' tokens are sent nowhere else",
            ),
            (interactive && self.token_url.is_some(), "token_url is for what works without a login"),
            (!interactive && self.client.id.is_none(), "client_id is needed without a login"),
            (
                !interactive && !asserted && self.client.secret.is_none() && self.client.key.is_none(),
                "client_secret or private_key is needed without a login or an assertion",
            ),
            (
                self.client.secret.is_some() && self.issuer.is_none() && self.token_url.is_none(),
                "client_secret needs issuer or token_url, so that it is sent nowhere else",
            ),
            (
                self.client.id.is_none() && (self.client.secret.is_some() || self.client.key.is_some()),
                "client_secret and private_key need client_id",
            ),
            (
                !is_metadata_url(self.client.metadata_url.as_deref()),
                "client_metadata_url is no https URL with a path",
            ),
            (!is_redirect(self.redirect.as_deref()), "redirect is no http URL on the loopback with a port"),
            (
                self.resource.as_deref().is_some_and(|text| !is_uri(text)),
                "resource is no absolute URI without fragment",
            ),
            (interactive && self.resource.is_some(), "resource is for what works without a login"),
            (!self.exchange.has_types(), "a type of the exchange is no URI"),
            (!is_base(&self.mode), "base is neither https nor http on the loopback"),
        ];
        let mut rules = self.assertion_rules().into_iter().chain(rules);
        rules.find(|(broken, _)| *broken).map(|(_, rule)| rule)
    }

    /// What of assertions and of who gives them is broken, with its rule.
    fn assertion_rules(&self) -> [(bool, &'static str); 7] {
        let asserted = self.mode == Mode::JwtBearer;
        let managed = self.mode == Mode::EnterpriseManaged;
        let provider = self.provider.as_ref();
        [
            (asserted && self.client.id.is_none(), "jwt_bearer needs client_id"),
            (asserted != self.assertion.is_some(), "assertion is what jwt_bearer needs, and nothing else"),
            (
                asserted && self.issuer.is_none() && self.token_url.is_none(),
                "jwt_bearer needs issuer or token_url, so that the assertion is sent nowhere else",
            ),
            (
                managed != provider.is_some(),
                "an identity provider is what enterprise_managed needs, and nothing else",
            ),
            (
                managed && self.issuer.is_none(),
                "enterprise_managed needs issuer, which the identity provider is asked for",
            ),
            (
                provider.is_some_and(|provider| provider.client.id.is_none()),
                "enterprise_managed needs a client_id at the identity provider too",
            ),
            (
                provider.is_some_and(|provider| !is_uri(&provider.subject_type)),
                "a type of the exchange is no URI",
            ),
        ]
    }

    pub(super) fn checked(self) -> Result<Checked, OauthError> {
        let server =
            Address::parse(&self.url).map_err(|_| OauthError::Misconfigured("url is no http(s) URL"))?;
        let address = |text: &Option<String>, wrong| {
            let read = text.as_deref().map(Address::parse).transpose();
            read.map_err(|_| OauthError::Misconfigured(wrong))
        };
        let issuer = address(&self.issuer, "issuer is no http(s) URL")?;
        let token_url = address(&self.token_url, "token_url is no http(s) URL")?;
        let provider_url = address(
            &self.provider.as_ref().map(|provider| provider.token_url.clone()),
            "token_url of the identity provider is no http(s) URL",
        )?;
        if let Some(rule) = self.broken_rule() {
            return Err(OauthError::Misconfigured(rule));
        }
        let named = [
            Some(server.origin()),
            issuer.as_ref().map(Address::origin),
            token_url.as_ref().map(Address::origin),
            provider_url.as_ref().map(Address::origin),
        ];
        let trust = Trust::new(named.into_iter().flatten().collect(), self.loopback_issuers);
        let scopes: Scopes = self.scopes.iter().map(String::as_str).collect();
        Ok(Checked { resource: server.canonical(), server, token_url, trust, scopes, config: self })
    }
}

/// A configuration that can work.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) config: OauthConfig,
    pub(crate) server: Address,
    /// The server's canonical URI.
    pub(crate) resource: String,
    pub(crate) token_url: Option<Address>,
    pub(crate) trust: Trust,
    pub(crate) scopes: Scopes,
}

impl Checked {
    /// Tells whoever is to know of them.
    pub(crate) fn confide<'a>(&self, secrets: impl IntoIterator<Item = &'a Secret>) {
        let Some(confidant) = &self.config.confidant else { return };
        let secrets: Vec<_> = secrets.into_iter().collect();
        if !secrets.is_empty() {
            confidant.told(&secrets);
        }
    }
}

fn is_metadata_url(text: Option<&str>) -> bool {
    let Some(text) = text else { return true };
    Address::parse(text).is_ok_and(|address| address.is_https() && address.path() != "/")
}

fn is_redirect(text: Option<&str>) -> bool {
    let Some(text) = text else { return true };
    Address::parse(text)
        .is_ok_and(|address| !address.is_https() && address.is_loopback() && !address.has_query())
}

fn is_base(mode: &Mode) -> bool {
    let Mode::PerUser { base } = mode else { return true };
    Address::parse(base)
        .is_ok_and(|address| (address.is_https() || address.is_loopback()) && !address.has_query())
}

#[cfg(test)]
mod tests;
