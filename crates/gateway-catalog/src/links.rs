use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::{Caller, DownstreamName};

/// Whose the URIs are that a caller was shown in results and lists of its own. It tells where a read goes, never
/// whether it may: a caller only has what it was shown itself. Those not used for long make room.
pub(crate) struct Links {
    limit: usize,
    known: Mutex<Known>,
}

/// Two halves: when the young one is full it becomes the old one, and what is used moves to the young one.
#[derive(Default)]
struct Known {
    young: Half,
    old: Half,
}

type Half = HashMap<(Caller, Arc<str>), DownstreamName>;

impl Links {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, known: Mutex::default() }
    }

    pub(crate) fn remember(&self, caller: &Caller, uri: &str, downstream: &DownstreamName) {
        if uri.len() <= LONGEST {
            self.known().put((caller.clone(), uri.into()), downstream.clone(), self.limit);
        }
    }

    pub(crate) fn owner(&self, caller: &Caller, uri: &str) -> Option<DownstreamName> {
        let mut known = self.known();
        let key = (caller.clone(), Arc::from(uri));
        if let Some(owner) = known.young.get(&key) {
            return Some(owner.clone());
        }
        let (key, owner) = known.old.remove_entry(&key)?;
        known.put(key, owner.clone(), self.limit);
        Some(owner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn put(&mut self, key: (Caller, Arc<str>), owner: DownstreamName, limit: usize) {
        if self.young.len() >= limit.div_ceil(2) && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        if limit > 0 {
            self.young.insert(key, owner);
        }
    }
}

/// Longer URIs are not remembered, in bytes: a map of bounded entries is to be one of bounded size.
const LONGEST: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_the_callers_own_and_bounded_and_the_used_ones_stay() {
        let (a, b) = (Caller::client("a"), Caller::client("b"));
        let [x, y] = ["x", "y"].map(|name| DownstreamName::parse(name).unwrap());
        let links = Links::new(10);
        links.remember(&a, "u:1", &x);
        assert_eq!((links.owner(&a, "u:1"), links.owner(&b, "u:1")), (Some(x.clone()), None));
        links.remember(&a, "u:1", &y);
        assert_eq!(links.owner(&a, "u:1"), Some(y.clone()), "the last to show it");
        for n in 0..1_000 {
            links.remember(&b, &format!("u:{n}"), &x);
            assert_eq!(links.owner(&a, "u:1"), Some(y.clone()));
        }
        let known = links.known();
        assert!(known.young.len() + known.old.len() <= 10);
        drop(known);
        links.remember(&a, &"u".repeat(LONGEST + 1), &x);
        assert_eq!(links.owner(&a, &"u".repeat(LONGEST + 1)), None);
        let none = Links::new(0);
        none.remember(&a, "u:1", &x);
        assert_eq!(none.owner(&a, "u:1"), None);
    }
}
