//! Callers for whom all decisions are the same.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use gateway_domain::{Access, Act, Caller, Decision, DownstreamName};

use super::{
    compile::{Compiled, Rules},
    config::{Effect, PolicyConfig},
    fault::PolicyFaults,
    pattern::{Fit, Spelling, has_uri},
    uri::spellings,
};

/// The rules at one time, and which of them are about whom. All are replaced together (P-20, P-54).
#[derive(Debug)]
pub(super) struct Snapshot {
    rules: Rules,
    pinned: Option<HashSet<Box<str>>>,
    remembered: usize,
    known: RwLock<Known>,
    /// Counts classes over all snapshots.
    numbers: Arc<AtomicU64>,
}

/// What has been worked out. Both maps have at most `remembered` entries, and begin anew when one is full: numbers
/// are then other ones.
#[derive(Debug, Default)]
struct Known {
    classes: HashMap<Key, Arc<Class>>,
    callers: HashMap<Caller, Vec<Seen>>,
}

/// Which rules are about somebody.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    /// The lists of the client, if it has any.
    lists: Option<usize>,
    /// The rules, by their places, ascending.
    rules: Vec<usize>,
}

/// A caller with the grants that were looked at.
#[derive(Debug)]
struct Seen {
    caller: Caller,
    class: Arc<Class>,
}

/// How many tokens of one caller are remembered.
const TOKENS: usize = 4;

/// The rules that are about a caller.
#[derive(Debug)]
pub(super) struct Class {
    number: u64,
    key: Key,
}

impl Class {
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

impl Snapshot {
    pub(super) fn new(config: &PolicyConfig, numbers: Arc<AtomicU64>) -> Result<Self, PolicyFaults> {
        let (pinned, remembered) = (config.pinned.clone(), config.remembered);
        Ok(Self { rules: Rules::compile(config)?, pinned, remembered, known: RwLock::default(), numbers })
    }

    /// The caller's class. Never waits for anything but another look-up.
    pub(super) fn class(&self, caller: &Caller) -> Arc<Class> {
        // Every critical section leaves it consistent.
        if let Some(class) = self.known.read().unwrap_or_else(PoisonError::into_inner).find(caller) {
            return class;
        }
        let key = self.key(caller);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.remember(caller, key, self.remembered, &self.numbers)
    }

    fn key(&self, caller: &Caller) -> Key {
        let lists = caller.client_name().and_then(|name| self.rules.clients.get(name).copied());
        let rules = self.rules.rules.iter().enumerate();
        Key { lists, rules: rules.filter(|(_, rule)| rule.who.include(caller)).map(|(at, _)| at).collect() }
    }

    /// Whether everything is allowed to callers of the class, whatever else there is (P-53).
    pub(super) fn is_unrestricted(&self, class: &Class) -> bool {
        self.rules.default == Effect::Allow
            && class.key.lists.is_none_or(|at| self.rules.lists[at].deny.is_empty())
            && self.rules(class).all(|rule| rule.effect == Effect::Allow)
    }

    /// What has a URI is decided by every spelling of it: allowed if all are, denied if one is.
    pub(super) fn decide(&self, class: &Class, access: &Access<'_>) -> Decision {
        let decision = self.decide_as(class, access, Spelling::Told);
        if !has_uri(access.act) {
            return decision;
        }
        let Some([_, strict, loose]) = spellings(access.name) else { return Decision::Denied };
        let of = |name, spelling| self.decide_as(class, &Access { name, ..*access }, spelling);
        match (decision, of(&strict, Spelling::Told), of(&loose, Spelling::Loose)) {
            (Decision::Allowed, Decision::Allowed, Decision::Allowed) => Decision::Allowed,
            (Decision::Denied, _, _) | (_, Decision::Denied, _) | (_, _, Decision::Denied) => {
                Decision::Denied
            }
            _ => Decision::DeniedByDefault,
        }
    }

    /// Whether any rule could allow callers of the class anything of a downstream.
    pub(super) fn may_use(&self, class: &Class, downstream: &DownstreamName) -> bool {
        let list = class.key.lists.map(|at| &self.rules.lists[at]);
        let rules = |effect| self.rules(class).filter(move |rule| rule.effect == effect);
        let is_denied = list.is_some_and(|list| list.deny.cover(downstream))
            || rules(Effect::Deny).any(|rule| rule.what.covers(downstream));
        let may_be_allowed = || {
            self.rules.default == Effect::Allow
                || list.is_some_and(|list| list.allow.could_be_of(downstream))
                || rules(Effect::Allow).any(|rule| rule.what.could_be_of(downstream))
        };
        !is_denied && may_be_allowed()
    }

    fn decide_as(&self, class: &Class, access: &Access<'_>, spelling: Spelling) -> Decision {
        if self.fits(class, Effect::Deny, access, spelling).any(|fit| fit != Fit::No) {
            return Decision::Denied;
        }
        let is_pinned = || self.is_pinned(access);
        let allows = |fit| fit == Fit::Exact || fit == Fit::Wild && is_pinned();
        if self.fits(class, Effect::Allow, access, spelling).any(allows)
            || self.rules.default == Effect::Allow
        {
            return Decision::Allowed;
        }
        Decision::DeniedByDefault
    }

    /// How the client's list and every rule of this effect are about an access.
    fn fits<'a>(
        &'a self,
        class: &'a Class,
        effect: Effect,
        access: &'a Access<'_>,
        spelling: Spelling,
    ) -> impl Iterator<Item = Fit> + 'a {
        let lists = class.key.lists.map(|at| &self.rules.lists[at]);
        let list = lists.map(|lists| match effect {
            Effect::Allow => &lists.allow,
            Effect::Deny => &lists.deny,
        });
        let rules = self.rules(class).filter(move |rule| rule.effect == effect);
        list.map(|list| list.fit(effect, access, spelling))
            .into_iter()
            .chain(rules.map(move |rule| rule.what.fit(effect, access, spelling)))
    }

    fn rules<'a>(&'a self, class: &'a Class) -> impl Iterator<Item = &'a Compiled> + 'a {
        class.key.rules.iter().map(|at| &self.rules.rules[*at])
    }

    /// Whether a wildcard may be about it (P-50).
    fn is_pinned(&self, access: &Access<'_>) -> bool {
        let is_tool = access.act == Act::Call && access.downstream.is_some();
        !is_tool || self.pinned.as_ref().is_none_or(|pinned| pinned.contains(access.name))
    }
}

impl Known {
    fn find(&self, caller: &Caller) -> Option<Arc<Class>> {
        let seen = self.callers.get(caller)?.iter().find(|seen| seen.caller.grants() == caller.grants())?;
        Some(seen.class.clone())
    }

    fn remember(&mut self, caller: &Caller, key: Key, most: usize, numbers: &AtomicU64) -> Arc<Class> {
        let is_full = self.classes.len() >= most && !self.classes.contains_key(&key)
            || self.callers.len() >= most && !self.callers.contains_key(caller);
        if is_full {
            *self = Self::default();
        }
        let class = { self.classes.entry(key) }
            .or_insert_with_key(|key| {
                Arc::new(Class { number: numbers.fetch_add(1, Ordering::Relaxed), key: key.clone() })
            })
            .clone();
        let tokens = self.callers.entry(caller.clone()).or_default();
        if tokens.len() == TOKENS {
            tokens.remove(0);
        }
        tokens.push(Seen { caller: caller.clone(), class: class.clone() });
        class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_that_was_looked_at_is_not_looked_at_again() {
        let snapshot = Snapshot::new(&PolicyConfig::default(), Arc::default()).unwrap();
        let desk = Caller::client("desk");
        for _ in 0..3 {
            snapshot.class(&desk);
        }
        assert_eq!(snapshot.known.read().unwrap().callers[&desk].len(), 1);
    }
}
