use std::{fmt, sync::Arc};

use async_trait::async_trait;
use gateway_domain::{Caller, MetricsSource, TokenError, TokenVerifier, View};
use gateway_egress::Fetch;
use tokio::task::JoinSet;

use crate::{
    Clock, ConfigError, VerifierConfig,
    claims::{Verified, unverified_issuer},
    deny_list::DenyList,
    issuer::{Issuer, Method, Signed, check_jwt},
    jws::{Compact, Form, form},
    metrics::Metrics,
    reason::{Failure, Reason},
    remembered::{Memory, TokenHash, sha256},
};

/// How much a token may be (security.md §5.1).
const TOKEN_LIMIT: usize = 8 * 1024;

/// Tells whose tokens are (security.md §5.1): by the one configured issuer that a token names, or by the one that is
/// asked about tokens which name none. There is no second try with another.
///
/// Its background tasks, which keep keys and the deny list current, end when it is dropped.
pub struct Verifier {
    issuers: Vec<Issuer>,
    deny_list: Option<Arc<DenyList>>,
    /// JWTs whose signatures and claims were good.
    signed: Memory<Known>,
    clock: Clock,
    metrics: Metrics,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Clone)]
struct Known {
    /// Which of the issuers.
    issuer: usize,
    token: Signed,
}

impl Verifier {
    /// Begins to read keys and the deny list. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`ConfigError`]: nothing was begun.
    pub fn start(config: VerifierConfig, fetch: &Arc<dyn Fetch>) -> Result<Self, ConfigError> {
        crate::validate::check(&config)?;
        let (clock, remembered) = (config.clock, config.remembered.0);
        let issuers = config.issuers.into_iter().map(|issuer| Issuer::new(issuer, fetch, remembered, &clock));
        let issuers = issuers.collect::<Result<Vec<_>, _>>()?;
        let deny_list = config.deny_list.map(|path| Arc::new(DenyList::new(path)));
        let mut tasks = JoinSet::new();
        for store in issuers.iter().filter_map(Issuer::store) {
            tasks.spawn(Arc::clone(store).run());
        }
        if let Some(list) = &deny_list {
            tasks.spawn(Arc::clone(list).run());
        }
        let signed = Memory::new(remembered);
        Ok(Self { issuers, deny_list, signed, clock, metrics: Metrics::default(), _tasks: tasks })
    }

    /// Waits until every issuer's keys and the deny list have been read once. Cancel-safe; not bounded in time.
    pub async fn ready(&self) {
        for store in self.issuers.iter().filter_map(Issuer::store) {
            store.ready().await;
        }
        if let Some(list) = &self.deny_list {
            list.ready().await;
        }
    }

    /// Whether every issuer's keys and the deny list have been read once.
    pub fn is_ready(&self) -> bool {
        self.issuers.iter().filter_map(Issuer::store).all(|store| store.is_ready())
            && self.deny_list.as_ref().is_none_or(|list| list.is_ready())
    }

    async fn check(&self, token: &str, view: &View) -> Result<Arc<Verified>, Failure> {
        let (issuer, verified) = self.find(token, view).await?;
        verified.check_time(self.clock.since_epoch())?;
        verified.check_audience(issuer.config.audiences.of(view))?;
        if let Some(list) = &self.deny_list {
            list.check(&verified)?;
        }
        Ok(verified)
    }

    /// Whose a token is, for whomever it may be.
    async fn find(&self, token: &str, view: &View) -> Result<(&Issuer, Arc<Verified>), Failure> {
        if token.len() > TOKEN_LIMIT {
            return Err(Reason::TooLarge.into());
        }
        let hash = TokenHash::of("", token);
        if let Some(known) = self.known(&hash, view)? {
            return Ok(known);
        }
        match form(token)? {
            Form::Jwt => self.jwt(token, hash, view).await,
            Form::Opaque => self.opaque(token, view).await,
        }
    }

    fn known(&self, hash: &TokenHash, view: &View) -> Result<Option<(&Issuer, Arc<Verified>)>, Failure> {
        let Some(known) = self.signed.get(hash) else { return Ok(None) };
        let Some(issuer) = self.issuers.get(known.issuer).filter(|issuer| issuer.serves(view)) else {
            return Ok(None);
        };
        let Some(store) = issuer.store() else { return Ok(None) };
        let is_current = store.current()?.generation == known.token.generation;
        Ok(is_current.then_some((issuer, known.token.verified)))
    }

    async fn jwt(
        &self,
        token: &str,
        hash: TokenHash,
        view: &View,
    ) -> Result<(&Issuer, Arc<Verified>), Failure> {
        let parts = Compact::parse(token)?;
        let named = unverified_issuer(&parts.claims)?;
        let mut issuers = self.issuers.iter().enumerate();
        let (place, issuer) = issuers
            .find(|(_, issuer)| issuer.config.issuer == named && issuer.serves(view))
            .ok_or(Reason::Issuer)?;
        let verified = match &issuer.method {
            Method::Keys { config, store } => {
                let signed = check_jwt(&issuer.config, config, store, parts, &self.clock).await?;
                self.signed.put(hash, Known { issuer: place, token: signed.clone() });
                signed.verified
            }
            Method::Introspection(introspection) => introspection.check(token, &issuer.config).await?,
        };
        Ok((issuer, verified))
    }

    async fn opaque(&self, token: &str, view: &View) -> Result<(&Issuer, Arc<Verified>), Failure> {
        let mut asked = self.issuers.iter().filter_map(|issuer| Some((issuer, issuer.introspection()?)));
        let (issuer, introspection) = asked.find(|(issuer, _)| issuer.serves(view)).ok_or(Reason::Opaque)?;
        Ok((issuer, introspection.check(token, &issuer.config).await?))
    }
}

#[async_trait]
impl TokenVerifier for Verifier {
    async fn verify(&self, token: &str, view: &View) -> Result<Caller, TokenError> {
        let outcome = self.check(token, view).await;
        log(&outcome);
        let outcome = outcome.map(|verified| verified.caller.clone()).map_err(TokenError::from);
        self.metrics.verified(&outcome);
        outcome
    }
}

impl MetricsSource for Verifier {
    fn write(&self, page: &mut String) {
        self.metrics.write(&self.issuers, page);
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("issuers", &self.issuers).finish_non_exhaustive()
    }
}

/// Nothing of a token but a digest of its name.
fn log(outcome: &Result<Arc<Verified>, Failure>) {
    match outcome {
        Ok(verified) => tracing::debug!(token = verified.id.as_deref().map(hashed), "a token is good"),
        Err(Failure::Bad(reason)) => tracing::debug!(reason = reason.code(), "a token is refused"),
        Err(Failure::Unknown(reason)) => tracing::debug!(%reason, "a token cannot be checked"),
    }
}

/// The first eight bytes of a digest, in hexadecimal digits.
fn hashed(id: &str) -> String {
    sha256(id.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
