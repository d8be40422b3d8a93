//! Who calls: keys, certificates and tokens (P-24, P-25, security.md §5.1). Once any of them is configured there is
//! no identity without one, and none to fall back to.

mod evidence;
mod principal;
mod users;

use std::{fmt, sync::Arc};

use gateway_domain::Caller;
use http::HeaderName;

use self::users::Users;
pub(crate) use self::{
    evidence::{Evidence, is_in_query},
    principal::{Principal, take},
    users::Full,
};
use crate::config::{ClientKey, DIGEST, ServerConfig, sha256};

/// The digest of a certificate that a client has proved to have, in DER.
pub(crate) type Fingerprint = [u8; DIGEST];

/// Every caller there can be.
pub(crate) struct Authority {
    anonymous: Option<Arc<Principal>>,
    clients: Vec<(ClientKey, Arc<Principal>)>,
    /// Who is known by a token, or by a certificate alone.
    users: Users,
    by_certificate: bool,
    key_header: Option<HeaderName>,
}

/// What the evidence of a request comes to without asking anybody.
#[derive(Debug)]
pub(crate) enum Finding<'a> {
    Known(Arc<Principal>),
    /// A token, which others have to look at.
    Token(&'a str),
    Unknown,
}

impl Authority {
    pub(crate) fn new(config: &ServerConfig) -> Self {
        Self::of(
            config,
            |client| Principal::new(Caller::client(client.name())),
            Principal::everybody,
            Users::new,
        )
    }

    /// The same for another configuration: who keeps name and one proof stays who it is, with all that it has
    /// running.
    pub(crate) fn followed_by(&self, config: &ServerConfig) -> Self {
        let principal = |client: &ClientKey| {
            let is_same = |known: &ClientKey| known.name() == client.name() && known.shares_with(client);
            match self.clients.iter().find(|(known, _)| is_same(known)) {
                Some((_, principal)) => principal.clone(),
                None => Principal::new(Caller::client(client.name())),
            }
        };
        let everybody = || self.anonymous.clone().unwrap_or_else(Principal::everybody);
        let users = |most| self.users.retained(most, |caller| keeps(config, caller));
        Self::of(config, principal, everybody, users)
    }

    fn of(
        config: &ServerConfig,
        principal: impl Fn(&ClientKey) -> Arc<Principal>,
        everybody: impl FnOnce() -> Arc<Principal>,
        users: impl FnOnce(usize) -> Users,
    ) -> Self {
        let clients = merged(&config.clients).into_iter().map(|client| {
            let principal = principal(&client);
            (client, principal)
        });
        Self {
            anonymous: (!config.authenticates()).then(everybody),
            clients: clients.collect(),
            users: users(config.limits.users),
            by_certificate: config.knows_by_certificate(),
            key_header: config.key_header.clone(),
        }
    }

    /// Those who are in `next` no more.
    pub(crate) fn gone_in(&self, next: &Self) -> Vec<Arc<Principal>> {
        self.users.close();
        let staying = next.all();
        let stays = |principal: &Arc<Principal>| staying.iter().any(|other| Arc::ptr_eq(principal, other));
        let clients = self.anonymous.iter().chain(self.clients.iter().map(|(_, principal)| principal));
        let mut gone: Vec<_> = clients.filter(|principal| !stays(principal)).cloned().collect();
        let user_stays = |user: &Arc<Principal>| next.users.has(&user.caller);
        gone.extend(self.users.all().into_iter().filter(|user| !user_stays(user)));
        gone
    }

    /// Whether somebody is called so, with whatever proof.
    pub(crate) fn has(&self, caller: &Caller) -> bool {
        self.all().iter().any(|principal| principal.caller == *caller) || self.users.has(caller)
    }

    fn all(&self) -> Vec<Arc<Principal>> {
        let clients = self.clients.iter().map(|(_, principal)| principal);
        self.anonymous.iter().chain(clients).cloned().collect()
    }

    /// Whether a proof is asked for.
    pub(crate) fn is_closed(&self) -> bool {
        self.anonymous.is_none()
    }

    /// Whether somebody may read what tells of everybody; where nobody has to prove anything, everybody may.
    pub(crate) fn may_read_metrics(&self, principal: &Arc<Principal>) -> bool {
        let is_known = |(client, known): &(ClientKey, Arc<Principal>)| {
            client.reads_metrics() && Arc::ptr_eq(known, principal)
        };
        !self.is_closed() || self.clients.iter().any(is_known)
    }

    /// The header for keys alone.
    pub(crate) fn key_header(&self) -> Option<&HeaderName> {
        self.key_header.as_ref()
    }

    /// Who sends a request. All keys of all clients are compared, so that time does not tell which matched. A
    /// certificate counts where nothing else is said.
    ///
    /// # Errors
    /// [`Full`].
    pub(crate) fn identify<'a>(
        &self,
        evidence: Evidence<'a>,
        certificate: Option<&Fingerprint>,
    ) -> Result<Finding<'a>, Full> {
        if let Some(anonymous) = &self.anonymous {
            return Ok(Finding::Known(anonymous.clone()));
        }
        let found = match evidence {
            Evidence::None => return self.certified(certificate),
            Evidence::Unusable => None,
            Evidence::Key(key) | Evidence::Bearer(key) => self.owner(key),
        };
        Ok(match (found, evidence.token()) {
            (Some(client), _) => Finding::Known(client),
            (None, Some(token)) => Finding::Token(token),
            (None, None) => Finding::Unknown,
        })
    }

    /// The principal of somebody who has just proved to be this caller.
    ///
    /// # Errors
    /// [`Full`].
    pub(crate) fn user(&self, caller: &Caller) -> Result<Arc<Principal>, Full> {
        self.users.principal(caller)
    }

    fn owner(&self, key: &[u8]) -> Option<Arc<Principal>> {
        let digest = sha256(key);
        let mut found = None;
        for (client, principal) in &self.clients {
            if client.has_key(&digest) {
                found = Some(principal);
            }
        }
        found.cloned()
    }

    fn certified<'a>(&self, certificate: Option<&Fingerprint>) -> Result<Finding<'a>, Full> {
        let Some(certificate) = certificate else { return Ok(Finding::Unknown) };
        let client = self.clients.iter().find(|(client, _)| client.has_certificate(certificate));
        Ok(match client {
            Some((_, principal)) => Finding::Known(principal.clone()),
            None if self.by_certificate => Finding::Known(self.user(&named_by(certificate))?),
            None => Finding::Unknown,
        })
    }
}

/// Whether somebody who is not in the configuration is let in by this one too.
fn keeps(config: &ServerConfig, caller: &Caller) -> bool {
    match (caller.issuer_and_subject(), &config.oauth) {
        (Some((issuer, _)), Some(oauth)) => oauth.authorization_servers.iter().any(|known| known == issuer),
        (Some(_), None) => false,
        (None, _) => config.knows_by_certificate(),
    }
}

/// Where any certificate of the authority will do, each is somebody of its own.
fn named_by(certificate: &Fingerprint) -> Caller {
    let hex: String = certificate.iter().map(|byte| format!("{byte:02x}")).collect();
    Caller::client(&format!("certificate:{hex}"))
}

/// One entry for each name.
fn merged(clients: &[ClientKey]) -> Vec<ClientKey> {
    let mut merged: Vec<ClientKey> = Vec::new();
    for client in clients {
        match merged.iter_mut().find(|known| known.name() == client.name()) {
            Some(known) => known.join(client),
            None => merged.push(client.clone()),
        }
    }
    merged
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("clients", &self.clients.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
