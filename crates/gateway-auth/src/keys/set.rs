use std::sync::Arc;

use bytes::Bytes;
use gateway_domain::RawObject;

use super::jwk::Key;
use crate::{jws::Header, reason::Reason};

/// How many keys a set may have, usable or not.
const KEY_LIMIT: usize = 100;

/// The keys of an issuer at one time.
#[derive(Debug)]
pub(crate) struct KeySet {
    keys: Box<[Arc<Key>]>,
}

/// A document is no key set; says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SetError {
    #[error("the key set is not a JSON object with an array `keys`")]
    Form,
    #[error("the key set has more than 100 keys")]
    TooMany,
    #[error("the key set has no key that signatures can be checked with")]
    NoKey,
}

impl KeySet {
    /// Reads a key set (RFC 7517 §5). Keys that are of no use here are left out; without any other it is none.
    pub(crate) fn parse(document: Bytes) -> Result<Self, SetError> {
        let document = RawObject::parse(document).map_err(|_| SetError::Form)?;
        let keys = document.get("keys").ok_or(SetError::Form)?;
        let all = keys.elements(usize::MAX).ok_or(SetError::Form)?;
        if all.len() > KEY_LIMIT {
            return Err(SetError::TooMany);
        }
        let keys: Box<[_]> = all
            .into_iter()
            .filter_map(|jwk| RawObject::parse(jwk.into_bytes()).ok())
            .filter_map(|jwk| Key::parse(&jwk))
            .map(Arc::new)
            .collect();
        if keys.is_empty() { Err(SetError::NoKey) } else { Ok(Self { keys }) }
    }

    /// The key that a token says it is signed with. Without a name there must be no second that fits (security.md
    /// §5.1).
    pub(crate) fn select(&self, header: &Header) -> Result<&Arc<Key>, Reason> {
        let named = |key: &&Arc<Key>| header.kid.is_none() || header.kid == key.kid;
        let mut fitting = self.keys.iter().filter(named).filter(|key| key.fits(header.algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            (Some(_), Some(_)) => Err(Reason::KeyAmbiguous),
            (None, _) if self.keys.iter().any(|key| named(&key)) => Err(Reason::KeyUnfit),
            (None, _) => Err(Reason::KeyUnknown),
        }
    }
}
