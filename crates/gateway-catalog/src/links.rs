use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::{Caller, DownstreamName};

/// Whose the URIs are that a caller was shown in results and lists of its own. It tells where a read goes, never
/// whether it may: a caller only has what it was shown itself. Where there are too many, the caller with the most loses
/// some, those not used for long first.
pub(crate) struct Links {
    limit: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    callers: HashMap<Caller, Own>,
    count: usize,
}

/// One caller's, in two halves: when the young one is full it becomes the old one, and what is used moves to the young
/// one.
#[derive(Default)]
struct Own {
    young: Half,
    old: Half,
}

type Half = HashMap<Arc<str>, DownstreamName>;

impl Links {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, known: Mutex::default() }
    }

    pub(crate) fn remember(&self, caller: &Caller, uri: &str, downstream: &DownstreamName) {
        if uri.len() <= LONGEST && self.limit > 0 {
            self.known().put(caller, uri.into(), downstream.clone(), self.limit);
        }
    }

    pub(crate) fn owner(&self, caller: &Caller, uri: &str) -> Option<DownstreamName> {
        let mut known = self.known();
        let own = known.callers.get_mut(caller)?;
        if let Some(owner) = own.young.get(uri) {
            return Some(owner.clone());
        }
        let (uri, owner) = own.old.remove_entry(uri)?;
        known.count -= 1;
        known.put(caller, uri, owner.clone(), self.limit);
        Some(owner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn put(&mut self, caller: &Caller, uri: Arc<str>, owner: DownstreamName, limit: usize) {
        let own = self.callers.entry(caller.clone()).or_default();
        if let Some(known) = own.young.get_mut(&uri) {
            *known = owner;
            return;
        }
        // One that was shown anew is as good as used.
        self.count -= usize::from(own.old.remove(&uri).is_some());
        if own.young.len() >= limit.div_ceil(2) {
            self.count -= own.old.len();
            own.old = std::mem::take(&mut own.young);
        }
        while self.count >= limit {
            self.make_room();
        }
        self.callers.entry(caller.clone()).or_default().young.insert(uri, owner);
        self.count += 1;
    }

    fn make_room(&mut self) {
        let most = self.callers.iter_mut().max_by_key(|(_, own)| own.young.len() + own.old.len());
        let Some((caller, own)) = most else { return };
        let before = own.young.len() + own.old.len();
        if own.old.is_empty() {
            // Nothing tells which of them are used.
            let mut stays = true;
            own.young.retain(|_, _| {
                stays = !stays;
                stays
            });
        }
        own.old.clear();
        self.count -= before - own.young.len();
        if own.young.is_empty() {
            let caller = caller.clone();
            self.callers.remove(&caller);
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
        check_count(&links, 10);
        links.remember(&a, &"u".repeat(LONGEST + 1), &x);
        assert_eq!(links.owner(&a, &"u".repeat(LONGEST + 1)), None);
        let none = Links::new(0);
        none.remember(&a, "u:1", &x);
        assert_eq!(none.owner(&a, "u:1"), None);
    }

    #[track_caller]
    fn check_count(links: &Links, limit: usize) {
        let known = links.known();
        let count: usize = known.callers.values().map(|own| own.young.len() + own.old.len()).sum();
        assert_eq!(count, known.count);
        assert!(count <= limit, "{count}");
    }

    #[test]
    fn one_callers_many_links_are_in_nobody_elses_way() {
        let x = DownstreamName::parse("x").unwrap();
        for limit in [1, 2, 7, 100] {
            let links = Links::new(limit);
            let callers = ["a", "b", "c"].map(Caller::client);
            for caller in &callers {
                (0..limit / 10).for_each(|n| links.remember(caller, &format!("u:{n}"), &x));
            }
            let many = Caller::client("many");
            for n in 0..10 * limit {
                links.remember(&many, &format!("u:{n}"), &x);
                check_count(&links, limit);
            }
            assert_eq!(links.owner(&many, &format!("u:{}", 10 * limit - 1)), Some(x.clone()));
            for caller in &callers {
                assert!((0..limit / 10).all(|n| links.owner(caller, &format!("u:{n}")).is_some()), "{limit}");
            }
            check_count(&links, limit);
        }
    }
}
