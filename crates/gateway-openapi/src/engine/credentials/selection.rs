use std::{collections::BTreeMap, sync::Arc};

use http::Uri;

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
        Ok(Self { supplies, reserved: reserved(schemes) })
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

    /// The schemes without a credential for which an operation's requests go without credentials; empty if it has
    /// what it needs.
    pub fn missing(&self, operation: &Operation) -> Vec<String> {
        let security = &operation.security;
        if self.chosen(security).is_some() || security.iter().any(|requirement| requirement.0.is_empty()) {
            return Vec::new();
        }
        let names = security.iter().flat_map(|requirement| &requirement.0).map(|needed| needed.name.clone());
        let mut missing: Vec<_> = names.filter(|name| !self.supplies.contains_key(name)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    fn chosen<'a>(&self, security: &'a [Requirement]) -> Option<&'a Requirement> {
        security.iter().find(|Requirement(uses)| !uses.is_empty() && self.can_meet(uses))
    }

    /// All are there, and no two want the same place.
    fn can_meet(&self, uses: &[SchemeUse]) -> bool {
        let supplies = uses.iter().map(|needed| self.supplies.get(&needed.name)).collect::<Option<Vec<_>>>();
        supplies.is_some_and(|supplies| {
            let mut earlier = supplies.iter().enumerate();
            earlier.all(|(at, supply)| !supplies[..at].iter().any(|other| other.collides(supply)))
        })
    }
}

fn reserved(schemes: &BTreeMap<String, SecurityScheme>) -> Reserved {
    let mut reserved = Reserved::default();
    for scheme in schemes.values() {
        let SecurityScheme::ApiKey { location, name } = scheme else { continue };
        match location {
            Location::Header => reserved.headers.extend(name.parse()),
            Location::Query => reserved.query.extend([name.clone()]),
            Location::Cookie => reserved.cookies.extend([name.clone()]),
            Location::Path | Location::QueryString => {}
        }
    }
    reserved.headers.insert(http::header::AUTHORIZATION);
    reserved
}
