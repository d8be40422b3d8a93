use std::{collections::HashMap, hash::Hash, time::Duration};

use gateway_domain::{Caller, SessionKey};
use tokio::time::Instant;

use crate::downstream::Identity;

/// Whose something is that is kept for later: who else names it is told that it is not there.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    pub(crate) caller: Caller,
    pub(crate) key: SessionKey,
    pub(crate) downstream: Identity,
}

impl Owner {
    /// Whether it is what `other` owns. A modern caller may declare other capabilities than before.
    fn is(&self, other: &Self) -> bool {
        self.caller == other.caller && self.downstream == other.downstream && self.group() == other.group()
    }

    /// Whether both count towards the same bound. A legacy session without a known caller is a caller of its own;
    /// modern ones cannot be told apart, and none is to be in the way of all others.
    fn shares_bound(&self, other: &Self) -> bool {
        match (self.caller.is_anonymous(), self.group()) {
            (true, None) => false,
            (true, session) => other.caller.is_anonymous() && session == other.group(),
            (false, _) => self.caller == other.caller,
        }
    }

    fn group(&self) -> Option<&str> {
        match &self.key {
            SessionKey::Legacy { id } => Some(id),
            SessionKey::Modern { .. } => None,
        }
    }
}

/// Bounds of a [`Shelf`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// How much may be kept.
    pub(crate) max: usize,
    /// How much of it for one caller.
    pub(crate) per_caller: usize,
    /// For how long.
    pub(crate) time: Duration,
    /// How long everything is kept, also when there is no room.
    pub(crate) least: Duration,
}

/// Things that are kept for their owners, bounded in number and time. Pure: time is an argument.
#[derive(Debug)]
pub(crate) struct Shelf<K, T> {
    bounds: Bounds,
    things: HashMap<K, Thing<T>>,
    /// Tells apart what came at the same time.
    count: u64,
    /// Nothing is kept any more.
    closed: bool,
}

#[derive(Debug)]
struct Thing<T> {
    owner: Owner,
    since: (Instant, u64),
    until: Instant,
    thing: T,
}

/// What became of something that was to be kept; whatever is in it is to be let go of.
#[derive(Debug)]
pub(crate) enum Put<T> {
    Kept {
        /// What had to go for it.
        instead: Option<T>,
    },
    /// There is no room: the limit.
    Full(T, usize),
    Closed(T),
}

impl<K: Hash + Eq + Clone, T> Shelf<K, T> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, things: HashMap::new(), count: 0, closed: false }
    }

    /// Other bounds, for what comes from now on.
    pub(crate) fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Keeps `thing` under a new name. Where a caller, or all together, have too many, the oldest goes, which will hardly
    /// be asked for any more; but only if it has been there for the least time.
    pub(crate) fn put(&mut self, name: K, owner: Owner, thing: T, now: Instant) -> Put<T> {
        if self.closed {
            return Put::Closed(thing);
        }
        let Bounds { max, per_caller, least, .. } = self.bounds;
        let own = |kept: &Thing<T>| kept.owner.shares_bound(&owner);
        let is_old = |kept: &Thing<T>| now.saturating_duration_since(kept.since.0) >= least;
        let mut in_the_way = None;
        if self.things.values().filter(|kept| own(kept)).count() >= per_caller {
            in_the_way = self.oldest(|kept| own(kept) && is_old(kept));
            if in_the_way.is_none() {
                return Put::Full(thing, per_caller);
            }
        } else if self.things.len() >= max {
            in_the_way = self.oldest(is_old);
            if in_the_way.is_none() {
                return Put::Full(thing, max);
            }
        }
        let instead = in_the_way.and_then(|name| self.things.remove(&name)).map(|kept| kept.thing);
        self.count += 1;
        let (since, until) = ((now, self.count), now + self.bounds.time);
        self.things.insert(name, Thing { owner, since, until, thing });
        Put::Kept { instead }
    }

    /// What `owner` has under this name, if its time is not over.
    pub(crate) fn get(&self, name: &K, owner: &Owner, now: Instant) -> Option<&T> {
        let own = self.things.get(name).filter(|kept| kept.owner.is(owner))?;
        (now < own.until).then_some(&own.thing)
    }

    /// What has this name, whoever owns it, if its time is not over.
    pub(crate) fn get_any(&self, name: &K, now: Instant) -> Option<&T> {
        self.things.get(name).filter(|kept| now < kept.until).map(|kept| &kept.thing)
    }

    /// Gives it away for good.
    pub(crate) fn take(&mut self, name: &K, owner: &Owner, now: Instant) -> Option<T> {
        self.get(name, owner, now)?;
        self.remove(name)
    }

    /// Gives up what has this name, whoever owns it.
    pub(crate) fn remove(&mut self, name: &K) -> Option<T> {
        self.things.remove(name).map(|kept| kept.thing)
    }

    /// Gives up what is chosen.
    pub(crate) fn remove_where(&mut self, chosen: impl Fn(&Owner, &T) -> bool) -> Vec<T> {
        let chosen = self.things.extract_if(|_, kept| chosen(&kept.owner, &kept.thing));
        chosen.map(|(_, kept)| kept.thing).collect()
    }

    /// Gives up what has been kept long enough.
    pub(crate) fn remove_expired(&mut self, now: Instant) -> Vec<T> {
        let expired = self.things.extract_if(|_, kept| kept.until <= now);
        expired.map(|(_, kept)| kept.thing).collect()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// When something has next been kept long enough.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.things.values().map(|kept| kept.until).min()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Owner, &T)> {
        self.things.values().map(|kept| (&kept.owner, &kept.thing))
    }

    /// For how long things are kept.
    pub(crate) fn time(&self) -> Duration {
        self.bounds.time
    }

    /// Keeps nothing any more; gives up all there is.
    pub(crate) fn close(&mut self) -> Vec<T> {
        self.closed = true;
        self.things.drain().map(|(_, kept)| kept.thing).collect()
    }

    fn oldest(&self, among: impl Fn(&Thing<T>) -> bool) -> Option<K> {
        let among = self.things.iter().filter(|(_, kept)| among(kept));
        among.min_by_key(|(_, kept)| kept.since).map(|(name, _)| name.clone())
    }
}
