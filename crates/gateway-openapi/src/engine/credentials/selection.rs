use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use http::{Uri, header::AUTHORIZATION};

use super::{Credential, CredentialError, supply::Supply};
use crate::{
    engine::{CallError, Extras, HttpClient, Reserved},
    ir::{Location, Operation, Requirement, SchemeUse, SecurityScheme},
};

/// The credentials of one API, ready to be sent.
///
/// An operation gets those that it names and no others: one without `security` gets none. Of several alternatives the
/// first counts whose schemes all have a credential; the empty one, which asks for nothing, only where there is no
/// other. If none can be met the request goes without: perhaps the operator's static headers are enough.
#[derive(Debug, Default)]
pub struct Credentials {
    supplies: BTreeMap<String, Supply>,
    reserved: Reserved,
}

impl Credentials {
    /// Puts what is configured, by scheme, with what the API says of its schemes. `base` is the API's base URL,
    /// `tokens` carries requests for tokens.
    ///
    /// # Errors
    /// There is no such scheme, it is of another kind, or what would be sent is not legal.
    pub fn new(
        configured: BTreeMap<String, Credential>,
        schemes: &BTreeMap<String, SecurityScheme>,
        base: &Uri,
        tokens: &Arc<dyn HttpClient>,
    ) -> Result<Self, CredentialError> {
        let supplies = configured
            .into_iter()
            .map(|(name, credential)| {
                let Some(scheme) = schemes.get(&name) else {
                    return Err(CredentialError::UnknownScheme {
                        name,
                        known: schemes.keys().cloned().collect(),
                    });
                };
                let supply = Supply::new(&name, credential, scheme, base, tokens)?;
                Ok((name, supply))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { reserved: reserved(schemes, &supplies), supplies })
    }

    /// Names that no argument may set: those that any scheme of the API uses, whether there is a credential for it
    /// or not. Credentials never come from a model.
    pub fn reserved(&self) -> &Reserved {
        &self.reserved
    }

    /// What to send with one request of an operation with this [`Operation::security`]. Cancel-safe.
    ///
    /// # Errors
    /// [`CallError::Credentials`]: a token could not be had. Takes 10 s at most, and the caller may bound it further.
    pub async fn obtain(&self, security: &[Requirement]) -> Result<Extras, CallError> {
        let mut extras = Extras::default();
        for SchemeUse { name, scopes } in self.chosen(security).into_iter().flat_map(|chosen| &chosen.0) {
            if let Some(supply) = self.supplies.get(name) {
                supply.add(scopes, &mut extras).await?;
            }
        }
        Ok(extras)
    }

    /// Tells that the API did not accept what was sent (401): a fetched token among it is not used again.
    pub fn reject(&self, sent: &Extras) {
        self.supplies.values().for_each(|supply| supply.reject(sent));
    }

    /// The schemes without a credential for which an operation's requests go without credentials, and those with one
    /// that cannot be sent together with another; empty if it has what it needs.
    pub fn missing(&self, operation: &Operation) -> Vec<String> {
        let security = &operation.security;
        if self.chosen(security).is_some() || security.iter().any(|requirement| requirement.0.is_empty()) {
            return Vec::new();
        }
        let names = security.iter().flat_map(|requirement| &requirement.0).map(|needed| needed.name.clone());
        let mut missing: Vec<_> = names.filter(|name| !self.supplies.contains_key(name)).collect();
        missing.extend(security.iter().filter_map(|Requirement(uses)| self.collision(uses)));
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    fn chosen<'a>(&self, security: &'a [Requirement]) -> Option<&'a Requirement> {
        security.iter().find(|Requirement(uses)| !uses.is_empty() && self.can_meet(uses))
    }

    /// All are there, and no two want the same place.
    fn can_meet(&self, uses: &[SchemeUse]) -> bool {
        uses.iter().all(|needed| self.supplies.contains_key(&needed.name)) && self.collision(uses).is_none()
    }

    /// The first two that want the same place, in words.
    fn collision(&self, uses: &[SchemeUse]) -> Option<String> {
        let found = uses.iter().filter_map(|needed| Some((&needed.name, self.supplies.get(&needed.name)?)));
        let found: Vec<_> = found.collect();
        let place = |supply: &Supply| match supply.place() {
            (Location::Header, name) => format!("the header {name}"),
            (location, name) => format!("{name:?} in the {}", location.as_str()),
        };
        found.iter().enumerate().find_map(|(at, (name, supply))| {
            let (other, _) = found[..at].iter().find(|(_, other)| other.place() == supply.place())?;
            Some(format!("{other} together with {name}: both are sent as {}", place(supply)))
        })
    }
}

fn reserved(schemes: &BTreeMap<String, SecurityScheme>, supplies: &BTreeMap<String, Supply>) -> Reserved {
    let mut reserved = Reserved::default();
    let mut unset = BTreeSet::from([(Location::Header, AUTHORIZATION.as_str().to_owned())]);
    for scheme in schemes.values() {
        let SecurityScheme::ApiKey { location, name } = scheme else { continue };
        if name.is_empty() {
            continue;
        }
        match location {
            Location::Header => reserved.headers.extend(name.parse()),
            Location::Query => reserved.query.extend([name.clone()]),
            Location::Cookie => reserved.cookies.extend([name.clone()]),
            Location::Path | Location::QueryString => {}
        }
        let is_header = *location == Location::Header;
        unset.insert((*location, if is_header { name.to_ascii_lowercase() } else { name.clone() }));
    }
    for supply in supplies.values() {
        unset.remove(&supply.place());
    }
    reserved.headers.insert(AUTHORIZATION);
    Reserved { unset, ..reserved }
}
