//! Who calls: bearer keys (P-24, P-25). There is no identity by default once clients are configured.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use gateway_domain::Caller;
use http::{HeaderMap, header};
use tokio::sync::watch;

use crate::config::{ClientKey, sha256};

/// A caller and what it has running, so that limits for one caller cost no look-up.
///
/// Everybody without a key is one caller in name only: what one of them has running must not count against
/// the others, so limits for one caller do not hold for that one.
#[derive(Debug)]
pub(crate) struct Principal {
    /// Who.
    pub(crate) caller: Caller,
    /// Whether this may be many clients at once.
    shared: bool,
    /// Its requests in flight.
    pub(crate) in_flight: AtomicUsize,
    /// Its streams of change events.
    pub(crate) listens: AtomicUsize,
    /// Its legacy sessions.
    pub(crate) sessions: AtomicUsize,
    /// Whether its key is no longer good. Never becomes false again.
    revoked: watch::Sender<bool>,
}

impl Principal {
    pub(crate) fn new(caller: Caller) -> Arc<Self> {
        Self::of(caller, false)
    }

    /// Everybody who needs no key.
    fn everybody() -> Arc<Self> {
        Self::of(Caller::anonymous(), true)
    }

    fn of(caller: Caller, shared: bool) -> Arc<Self> {
        let [in_flight, listens, sessions] = [0, 0, 0].map(AtomicUsize::new);
        let revoked = watch::Sender::new(false);
        Arc::new(Self { caller, shared, in_flight, listens, sessions, revoked })
    }

    /// A limit for one caller, as it holds for this one.
    pub(crate) fn limit(&self, per_caller: usize) -> usize {
        if self.shared { usize::MAX } else { per_caller }
    }

    /// Nothing of this caller goes on that outlives a request.
    pub(crate) fn revoke(&self) {
        self.revoked.send_replace(true);
    }

    pub(crate) fn is_revoked(&self) -> bool {
        *self.revoked.borrow()
    }

    /// Waits until the key is no longer good.
    pub(crate) async fn revoked(&self) {
        // The sender lives here, so waiting cannot fail.
        let _ = self.revoked.subscribe().wait_for(|revoked| *revoked).await;
    }
}

/// Every caller there can be.
pub(crate) struct Authority {
    anonymous: Option<Arc<Principal>>,
    clients: Vec<(ClientKey, Arc<Principal>)>,
}

/// The key is missing, malformed, repeated or unknown. Which, is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unauthorized;

impl Authority {
    pub(crate) fn new(clients: &[ClientKey]) -> Self {
        let principal = |key: &ClientKey| (key.clone(), Principal::new(Caller::client(key.name())));
        Self {
            anonymous: clients.is_empty().then(Principal::everybody),
            clients: clients.iter().map(principal).collect(),
        }
    }

    /// The same for other clients: who keeps name and key stays who it is, with all that it has running.
    pub(crate) fn followed_by(&self, clients: &[ClientKey]) -> Self {
        let known = |key: &ClientKey| self.clients.iter().find(|(known, _)| known == key);
        let principal = |key: &ClientKey| match known(key) {
            Some((_, principal)) => (key.clone(), principal.clone()),
            None => (key.clone(), Principal::new(Caller::client(key.name()))),
        };
        let everybody = || self.anonymous.clone().unwrap_or_else(Principal::everybody);
        Self {
            anonymous: clients.is_empty().then(everybody),
            clients: clients.iter().map(principal).collect(),
        }
    }

    /// Those who are in `next` no more.
    pub(crate) fn gone_in(&self, next: &Self) -> Vec<Arc<Principal>> {
        let stays = |principal: &Arc<Principal>| next.all().any(|other| Arc::ptr_eq(principal, other));
        self.all().filter(|principal| !stays(principal)).cloned().collect()
    }

    /// Whether somebody is called so, with whatever key.
    pub(crate) fn has(&self, caller: &Caller) -> bool {
        self.all().any(|principal| principal.caller == *caller)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Principal>> {
        self.anonymous.iter().chain(self.clients.iter().map(|(_, principal)| principal))
    }

    /// Whether keys are asked for.
    pub(crate) fn is_closed(&self) -> bool {
        self.anonymous.is_none()
    }

    /// The caller behind a request. All clients are compared, so that time does not tell which matched.
    pub(crate) fn identify(&self, headers: &HeaderMap) -> Result<&Arc<Principal>, Unauthorized> {
        if let Some(anonymous) = &self.anonymous {
            return Ok(anonymous);
        }
        let digest = sha256(bearer(headers).ok_or(Unauthorized)?);
        let mut found = None;
        for (key, principal) in &self.clients {
            if key.is(&digest) {
                found = Some(principal);
            }
        }
        found.ok_or(Unauthorized)
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("clients", &self.clients.len()).finish_non_exhaustive()
    }
}

/// Counts one more, unless there are `limit` already.
pub(crate) fn take(count: &AtomicUsize, limit: usize) -> bool {
    let more = |now: usize| (now < limit).then_some(now + 1);
    count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let value = value.as_bytes().trim_ascii();
    let (scheme, key) = value.split_at_checked(b"bearer".len())?;
    let separated = key.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    let key = key.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer") && separated && !key.is_empty()).then_some(key)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_one_known_bearer_key_names_a_caller() {
        let authority = Authority::new(&[ClientKey::new("desk", "k-1"), ClientKey::new("lab", "k-2")]);
        for (values, expected) in [
            (&["Bearer k-1"][..], Some("desk")),
            (&["bearer   k-2  "], Some("lab")),
            (&["BEARER\tk-1"], Some("desk")),
            (&["Bearer k-3"], None),
            (&["Bearer k-"], None),
            (&["Bearer k-11"], None),
            (&["Bearer"], None),
            (&["Bearer "], None),
            (&["Bearerk-1"], None),
            (&["Basic k-1"], None),
            (&["k-1"], None),
            (&[""], None),
            (&[], None),
            (&["Bearer k-1", "Bearer k-1"], None),
            (&["Bearer k-1", "Bearer k-2"], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
            }
            let caller = authority.identify(&headers).map(|principal| principal.caller.clone()).ok();
            assert_eq!(caller, expected.map(Caller::client), "for {values:?}");
        }
    }

    #[test]
    fn without_clients_everybody_is_anonymous_whatever_they_send() {
        let authority = Authority::new(&[]);
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        assert!(authority.identify(&headers).unwrap().caller.is_anonymous());
    }

    #[test]
    fn counts_stop_at_their_limit() {
        let count = AtomicUsize::new(0);
        assert_eq!([take(&count, 2), take(&count, 2), take(&count, 2)], [true, true, false]);
    }
}
