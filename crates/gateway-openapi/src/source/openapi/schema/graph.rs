//! Who refers to whom.

use std::collections::{HashMap, HashSet};

use super::{DefinitionId, converter::Converted, definition::Definition};
use crate::source::openapi::fault::Fault;

/// For each definition the fault that it leads to.
pub(super) fn faults(definitions: &[Definition]) -> Vec<Option<Fault>> {
    let converted = |id: DefinitionId| definitions.get(id.index()).and_then(|d| d.converted.as_ref());
    let mut faults: Vec<_> = definitions
        .iter()
        .map(|d| d.converted.as_ref().and_then(|converted| converted.fault.clone()))
        .collect();
    let ids = || (0..definitions.len()).map(DefinitionId::new);
    let mut referrers = referrers(ids(), converted);
    let mut pending: Vec<_> = ids().filter(|id| faults[id.index()].is_some()).collect();
    while let Some(id) = pending.pop() {
        let fault = faults[id.index()].clone();
        for referrer in referrers.remove(&id).unwrap_or_default() {
            if faults[referrer.index()].is_none() {
                faults[referrer.index()] = fault.clone();
                pending.push(referrer);
            }
        }
    }
    faults
}

/// Those to begin with and all that lead to them.
pub(super) fn reached_by<'c>(
    ids: impl Iterator<Item = DefinitionId>,
    begin: impl Iterator<Item = DefinitionId>,
    of: impl Fn(DefinitionId) -> Option<&'c Converted>,
) -> Vec<DefinitionId> {
    let mut pending: Vec<_> = begin.collect();
    if pending.is_empty() {
        return pending;
    }
    let referrers = referrers(ids, of);
    let mut reached: HashSet<_> = pending.iter().copied().collect();
    while let Some(id) = pending.pop() {
        let new = referrers.get(&id).into_iter().flatten().filter(|referrer| reached.insert(**referrer));
        pending.extend(new);
    }
    reached.into_iter().collect()
}

fn referrers<'c>(
    ids: impl Iterator<Item = DefinitionId>,
    of: impl Fn(DefinitionId) -> Option<&'c Converted>,
) -> HashMap<DefinitionId, Vec<DefinitionId>> {
    let mut referrers = HashMap::<_, Vec<_>>::new();
    for id in ids {
        for reference in of(id).map_or(&[][..], |converted| &converted.references) {
            referrers.entry(reference.target).or_default().push(id);
        }
    }
    referrers
}
