//! This gateway as an OAuth resource server: what it says about itself, and which scopes requests need (RFC 9728,
//! RFC 6750, security.md §5.1). Whose a token is, others tell.

mod challenge;
mod check;
mod config;
mod metadata;
mod scopes;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use gateway_domain::{TokenVerifier, View};
use http::HeaderValue;

pub(crate) use self::challenge::Challenge;
pub use self::config::{OauthConfig, ScopeRule};
pub(crate) use self::metadata::WELL_KNOWN;
use self::{metadata::Place, scopes::Scopes};
use crate::config::BindError;

/// What was configured, ready for use.
pub(crate) struct Protected {
    pub(crate) verifier: Arc<dyn TokenVerifier>,
    pub(crate) keeps_tokens: bool,
    issuers: Vec<String>,
    common: Place,
    own: Vec<(View, Place)>,
    supported: Vec<String>,
    scopes: Scopes,
}

impl Protected {
    /// # Errors
    /// [`BindError::Oauth`].
    pub(crate) fn new(config: &OauthConfig) -> Result<Self, BindError> {
        check::check(config)?;
        let place = |resource: &str| Place::new(resource, config);
        let own = config.resources.iter().map(|(view, resource)| Ok((view.clone(), place(resource)?)));
        Ok(Self {
            verifier: config.verifier.clone(),
            keeps_tokens: config.token_for_exchange,
            issuers: config.authorization_servers.clone(),
            common: place(&config.resource)?,
            own: own.collect::<Result<_, _>>()?,
            supported: config.scopes_supported.clone(),
            scopes: Scopes::new(&config.scopes),
        })
    }

    /// Whether tokens of this issuer are taken.
    pub(crate) fn takes(&self, issuer: &str) -> bool {
        self.issuers.iter().any(|known| known == issuer)
    }

    /// The metadata of what is at a path.
    pub(crate) fn document(&self, view: &View) -> Bytes {
        self.place(view).document.clone()
    }

    /// The path whose metadata has its place at `path` because of the URL that it is reached under.
    pub(crate) fn described_at(&self, path: &str) -> Option<&View> {
        let own = self.own.iter().find(|(_, place)| place.path == path).map(|(view, _)| view);
        own.or_else(|| (self.common.path == path).then_some(&View::All))
    }

    /// The scopes that a request needs, each once.
    pub(crate) fn needed(&self, view: &View, method: Option<&str>, names: &[&str]) -> Vec<String> {
        self.scopes.needed(view, method, names)
    }

    /// Whether any rule looks at the names of things.
    pub(crate) fn looks_at_names(&self) -> bool {
        self.scopes.looks_at_names()
    }

    /// The `WWW-Authenticate` of a refusal.
    pub(crate) fn challenge(&self, view: &View, challenge: &Challenge) -> HeaderValue {
        let advised = match self.scopes.needed(view, None, &[]) {
            needed if needed.is_empty() => self.supported.clone(),
            needed => needed,
        };
        challenge.write(&self.place(view).url, &advised)
    }

    fn place(&self, view: &View) -> &Place {
        self.own.iter().find(|(of, _)| of == view).map_or(&self.common, |(_, place)| place)
    }
}

impl fmt::Debug for Protected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protected").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
