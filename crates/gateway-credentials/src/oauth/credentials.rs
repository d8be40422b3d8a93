use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use gateway_domain::Incoming;
use gateway_egress::{Challenge, CredentialError, Credentials, Fetch, Reaction};
use http::{HeaderName, HeaderValue, header};
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::{
    OauthError,
    challenge::BearerChallenge,
    config::{Checked, Mode, OauthConfig},
    desk::Desk,
    discovery::Found,
    exchange::{Subject, end_of},
    grant::now,
    held::{Entries, Entry, Held},
    random::digest_of,
    scopes::Scopes,
    store::{Owner, Records, TokenStore},
    tickets::Tickets,
    wire::Wire,
};

/// Tokens of an authorization server, for one downstream (protocol.md §18.3). Clones are the same.
#[derive(Clone)]
pub struct OauthCredentials {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) checked: Checked,
    pub(super) wire: Wire,
    pub(super) records: Records,
    pub(super) entries: Entries,
    pub(super) desk: Desk,
    pub(super) tickets: Tickets,
    /// What the server said last about what it wants.
    pub(super) heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) challenge: BearerChallenge,
    /// What all users of grants without a browser ask for since then.
    pub(super) wanted: Scopes,
    pub(super) found: Option<(Instant, Arc<Found>)>,
}

/// Whose token a request needs, and what it can be had with.
#[derive(Debug, Clone)]
pub(super) struct Need {
    pub(super) owner: Owner,
    /// The caller's own token, for an exchange.
    pub(super) subject: Option<Subject>,
    pub(super) key: String,
}

impl Need {
    /// What needs the token of an owner; `digest` is that of the token to be exchanged.
    pub(super) fn of(owner: Owner, digest: &str) -> Self {
        Self { key: format!("{owner:?} {digest}"), owner, subject: None }
    }
}

impl OauthCredentials {
    /// Tokens as configured, got by `fetch` and kept in `store`. Asks nobody anything yet.
    ///
    /// # Errors
    /// [`OauthError::Misconfigured`].
    pub fn new(
        config: OauthConfig,
        fetch: Arc<dyn Fetch>,
        store: Arc<dyn TokenStore>,
    ) -> Result<Self, OauthError> {
        let limits = config.limits;
        let shared = Shared {
            checked: config.checked()?,
            wire: Wire::new(fetch),
            records: Records::new(store),
            entries: Entries::new(limits.tokens),
            desk: Desk::new(limits.flows, limits.flow_time),
            tickets: Tickets::new(limits.flows, limits.flow_time),
            heard: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(super) fn mode(&self) -> &Mode {
        &self.shared.checked.config.mode
    }

    /// Whose token it is; nobody else's stands in for it.
    fn need(&self, incoming: Option<&Incoming>) -> Result<Need, OauthError> {
        let config = &self.shared.checked.config;
        let of_caller = || incoming.and_then(|incoming| Owner::of(&incoming.caller));
        let owner = if config.is_per_caller() { of_caller() } else { Some(Owner::Gateway) };
        let owner = owner.ok_or(OauthError::NoUser)?;
        let subject = match config.exchanges_callers() {
            true => Some(incoming.and_then(subject).ok_or(OauthError::NoUser)?),
            false => None,
        };
        let digest = subject.as_ref().map(|subject| digest_of(subject.token.expose())).unwrap_or_default();
        Ok(Need { subject, ..Need::of(owner, &digest) })
    }

    /// The token in use, or a new one. Whoever goes away does not end the renewal.
    async fn token(&self, need: &Need) -> Result<Held, OauthError> {
        let entry = self.shared.entries.entry(&need.key, now());
        match entry.fresh(now()) {
            Some(held) => Ok(held),
            None => self.renewed(need.clone(), entry).await,
        }
    }

    async fn renewed(&self, need: Need, entry: Arc<Entry>) -> Result<Held, OauthError> {
        let shared = Arc::clone(&self.shared);
        let flight = tokio::spawn(async move {
            let _turn = entry.flight.lock().await;
            shared.renew(&need, &entry).await
        });
        flight.await.map_err(|_| OauthError::Internal("a renewal ended before its time"))?
    }

    /// Takes a token back that the server does not accept, and has another.
    async fn after_unauthorized(
        &self,
        need: &Need,
        sent: &str,
        bearer: BearerChallenge,
    ) -> Result<Reaction, OauthError> {
        let entry = self.shared.entries.entry(&need.key, now());
        if entry.reject(sent) {
            self.shared.heard().hear(bearer);
        }
        let held = self.token(need).await?;
        Ok(if held.access.expose() == sent { Reaction::GiveUp } else { Reaction::Retry })
    }

    async fn after_forbidden(
        &self,
        need: &Need,
        sent: &str,
        bearer: &BearerChallenge,
    ) -> Result<Reaction, OauthError> {
        let entry = self.shared.entries.entry(&need.key, now());
        let is_interactive = self.mode().is_interactive();
        let other = |held: Held| held.access.expose() != sent;
        match entry.fresh(now()) {
            Some(held) if other(held.clone()) => return Ok(Reaction::Retry),
            // Somebody else's step-up has taken it back.
            None if !is_interactive && self.token(need).await.is_ok_and(other) => return Ok(Reaction::Retry),
            _ => {}
        }
        if let Some(newer) = self.shared.newer(need, sent).await? {
            entry.hold(&newer);
            return Ok(Reaction::Retry);
        }
        let asked = bearer.scopes().unwrap_or_default();
        let limit = self.shared.checked.config.limits.step_ups;
        if asked.is_empty() || !self.shared.wants_more(need, &asked).await? {
            return Ok(Reaction::GiveUp);
        }
        if !entry.may_step_up(limit, Instant::now()) {
            return Err(OauthError::ScopesInVain);
        }
        if is_interactive {
            self.shared.note_wanted(need, &asked).await?;
            return Err(OauthError::ScopesNeeded);
        }
        self.shared.heard().want(&asked);
        self.shared.entries.take_back();
        self.token(need).await.map(|_| Reaction::Retry)
    }

    /// What the caller is told: a page of ours to visit, or nothing that the operator should know first.
    fn shown(&self, error: OauthError, incoming: Option<&Incoming>) -> CredentialError {
        let name = &self.shared.checked.config.name;
        let owner = incoming.and_then(|incoming| Owner::of(&incoming.caller));
        match (error, self.mode(), owner) {
            (OauthError::LoginNeeded | OauthError::ScopesNeeded, Mode::PerUser { base }, Some(owner)) => {
                match self.shared.tickets.issue(owner, Instant::now()) {
                    Ok(ticket) => CredentialError::Visit {
                        url: format!("{}/{name}?ticket={ticket}", base.trim_end_matches('/')),
                        id: ticket,
                        message: format!("Let the gateway use {name} for you."),
                    },
                    Err(error) => unavailable(name, &error),
                }
            }
            (error @ (OauthError::LoginNeeded | OauthError::ScopesNeeded), Mode::Gateway, _) => {
                CredentialError::Unavailable {
                    reason: format!("{name}: {error}: run `gatewayd login {name}`"),
                }
            }
            (OauthError::NoUser, ..) if self.shared.checked.config.exchanges_callers() => {
                CredentialError::OfCaller { what: "an access token of yours; a key is not enough" }
            }
            (error, ..) if is_of_caller(&error) => CredentialError::OfCaller {
                what: "another access token of yours: its authorization server did not exchange this one",
            },
            (OauthError::NoUser, ..) => {
                CredentialError::OfCaller { what: "a key or an access token of yours" }
            }
            (error, ..) => unavailable(name, &error),
        }
    }
}

fn subject(incoming: &Incoming) -> Option<Subject> {
    Some(Subject { token: incoming.token.clone()?, ends: end_of(&incoming.caller) })
}

/// Whether a caller's token was not taken for what it is.
fn is_of_caller(error: &OauthError) -> bool {
    match error {
        OauthError::Again { cause } => is_of_caller(cause),
        OauthError::ExchangeRefused { code } => code == "invalid_grant",
        _ => false,
    }
}

fn unavailable(name: &str, error: &OauthError) -> CredentialError {
    CredentialError::Unavailable { reason: format!("{name}: {error}") }
}

#[async_trait]
impl Credentials for OauthCredentials {
    async fn headers(
        &self,
        incoming: Option<&Incoming>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
        let got = async { bearer(&self.token(&self.need(incoming)?).await?) };
        got.await.map_err(|error| self.shown(error, incoming))
    }

    async fn refused(
        &self,
        incoming: Option<&Incoming>,
        challenge: &Challenge<'_>,
    ) -> Result<Reaction, CredentialError> {
        let said = BearerChallenge::read(challenge.authenticate);
        let more = said.asks_for_more(challenge);
        let reaction = async {
            let Some(sent) = sent_token(challenge) else { return Ok(Reaction::GiveUp) };
            let need = self.need(incoming)?;
            match challenge.status.as_u16() {
                401 => self.after_unauthorized(&need, &sent, said).await,
                403 if more => self.after_forbidden(&need, &sent, &said).await,
                _ => Ok(Reaction::GiveUp),
            }
        };
        reaction.await.map_err(|error| self.shown(error, incoming))
    }

    fn is_per_caller(&self) -> bool {
        self.shared.checked.config.is_per_caller()
    }
}

impl fmt::Debug for OauthCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthCredentials")
            .field("config", &self.shared.checked.config)
            .finish_non_exhaustive()
    }
}

fn bearer(held: &Held) -> Result<Vec<(HeaderName, HeaderValue)>, OauthError> {
    let text = Zeroizing::new(format!("Bearer {}", held.access.expose()));
    let mut value = HeaderValue::from_str(&text).map_err(|_| OauthError::Malformed("access token"))?;
    value.set_sensitive(true);
    Ok(vec![(header::AUTHORIZATION, value)])
}

fn sent_token(challenge: &Challenge<'_>) -> Option<Zeroizing<String>> {
    let (_, value) = challenge.sent.iter().find(|(name, _)| name == header::AUTHORIZATION)?;
    let token = value.to_str().ok()?.strip_prefix("Bearer ")?;
    Some(Zeroizing::new(token.to_owned()))
}

impl Shared {
    pub(super) fn heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    /// What was found before is looked for anew: the server may have another authorization server now.
    pub(super) fn hear(&mut self, challenge: BearerChallenge) {
        self.found = None;
        self.challenge = challenge;
    }

    fn want(&mut self, asked: &Scopes) {
        self.wanted = self.wanted.joined(asked);
    }
}
