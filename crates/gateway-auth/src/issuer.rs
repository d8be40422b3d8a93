use std::sync::Arc;

use gateway_domain::View;
use gateway_egress::Fetch;

use crate::{
    Check, Clock, ConfigError, IssuerConfig, JwtConfig,
    claims::{Demands, Verified},
    introspection::{Endpoint, Introspection},
    jws::{Compact, Header},
    keys::{Key, KeyStore, Loaded, Source},
    reason::{Failure, Reason},
};

/// What a JWT must say.
const JWT: Demands = Demands { expiry: true, audience: true };

/// One authorization server, and how its tokens are checked.
#[derive(Debug)]
pub(crate) struct Issuer {
    pub(crate) config: IssuerConfig,
    pub(crate) method: Method,
}

#[derive(Debug)]
pub(crate) enum Method {
    Keys { config: JwtConfig, store: Arc<KeyStore> },
    Introspection(Box<Introspection>),
}

/// A token whose signature is good as long as its issuer's keys stay those of `generation`.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    pub(crate) verified: Arc<Verified>,
    pub(crate) generation: u64,
}

impl Issuer {
    pub(crate) fn new(
        config: IssuerConfig,
        fetch: &Arc<dyn Fetch>,
        remembered: usize,
        clock: &Clock,
    ) -> Result<Self, ConfigError> {
        let issuer = config.issuer.clone();
        let fetch = Arc::clone(fetch);
        let method = match &config.check {
            Check::Keys(jwt) => {
                let source = Source { issuer, keys: jwt.keys.clone(), fetch };
                Method::Keys { config: jwt.clone(), store: Arc::new(KeyStore::new(source, jwt.keep)) }
            }
            Check::Introspection(asked) => {
                let endpoint =
                    Endpoint::new(&issuer, asked, fetch).ok_or(ConfigError::Credentials { issuer })?;
                Method::Introspection(Box::new(Introspection::new(
                    asked,
                    endpoint,
                    remembered,
                    clock.clone(),
                )))
            }
        };
        Ok(Self { config, method })
    }

    /// The keys, if that is how tokens are checked.
    pub(crate) fn store(&self) -> Option<&Arc<KeyStore>> {
        match &self.method {
            Method::Keys { store, .. } => Some(store),
            Method::Introspection(_) => None,
        }
    }

    /// The endpoint, if that is how.
    pub(crate) fn introspection(&self) -> Option<&Introspection> {
        match &self.method {
            Method::Keys { .. } => None,
            Method::Introspection(introspection) => Some(introspection),
        }
    }

    /// Whether a view takes its tokens at all.
    pub(crate) fn serves(&self, view: &View) -> bool {
        !self.config.audiences.of(view).is_empty()
    }
}

/// Checks a JWT of an issuer, but for whom it is.
pub(crate) async fn check_jwt(
    issuer: &IssuerConfig,
    config: &JwtConfig,
    store: &KeyStore,
    token: Compact<'_>,
    clock: &Clock,
) -> Result<Signed, Failure> {
    if !config.algorithms.contains(&token.header.algorithm) {
        return Err(Reason::Algorithm.into());
    }
    if !token.header.is_access_token(config.accept_jwt_typ) {
        return Err(Reason::Type.into());
    }
    let (key, generation) = key(store, &token.header).await?;
    store.count_check();
    if !key.verify(token.header.algorithm, token.message.as_bytes(), &token.signature) {
        return Err(Reason::Signature.into());
    }
    let verified = Verified::read(token.claims, issuer, JWT, clock.since_epoch())?;
    Ok(Signed { verified: Arc::new(verified), generation })
}

/// The key of a token, from new keys if need be.
async fn key(store: &KeyStore, header: &Header) -> Result<(Arc<Key>, u64), Failure> {
    let select = |loaded: Arc<Loaded>| Ok((Arc::clone(loaded.set.select(header)?), loaded.generation));
    match select(store.current()?) {
        Err(Reason::KeyUnknown) if store.renewed().await => Ok(select(store.current()?)?),
        outcome => Ok(outcome?),
    }
}
