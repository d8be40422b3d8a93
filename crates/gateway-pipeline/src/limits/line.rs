use std::collections::{HashMap, VecDeque};

use gateway_domain::Caller;
use tokio::sync::oneshot;

/// The places of one key, and the line of those who wait for one. Callers take turns; of one caller, who came first goes
/// first. Pure: waits are others' business.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Places that are taken, or have been given to somebody who has not heard of it yet.
    in_use: usize,
    /// The sum of `waiting`.
    length: usize,
    /// Each caller of `waiting` once, the next one first.
    turns: VecDeque<Caller>,
    /// None of them is empty.
    waiting: HashMap<Caller, VecDeque<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    place: oneshot::Sender<()>,
}

impl Line {
    /// Takes a place if one is free. Then nobody waits: who leaves gives the place to the next.
    pub(super) fn take(&mut self, limit: usize) -> bool {
        let is_free = self.in_use < limit;
        self.in_use += usize::from(is_free);
        is_free
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Whether there is nobody.
    pub(super) fn is_idle(&self) -> bool {
        self.in_use == 0 && self.length == 0
    }

    /// Waits. When the receiver hears, the place is taken.
    pub(super) fn join(&mut self, caller: &Caller, ticket: u64) -> oneshot::Receiver<()> {
        let (place, hears) = oneshot::channel();
        if !self.waiting.contains_key(caller) {
            self.turns.push_back(caller.clone());
        }
        self.waiting.entry(caller.clone()).or_default().push_back(Waiter { ticket, place });
        self.length += 1;
        hears
    }

    /// Waits no more. `false`: it did not, since it has been given a place, which is to be given back.
    pub(super) fn give_up(&mut self, caller: &Caller, ticket: u64) -> bool {
        let Some(waiters) = self.waiting.get_mut(caller) else { return false };
        let before = waiters.len();
        waiters.retain(|waiter| waiter.ticket != ticket);
        let has_waited = waiters.len() < before;
        if waiters.is_empty() {
            self.waiting.remove(caller);
            self.turns.retain(|other| other != caller);
        }
        self.length -= usize::from(has_waited);
        has_waited
    }

    /// Gives a place back: to whoever is next, if somebody waits.
    pub(super) fn leave(&mut self) {
        while let Some(waiter) = self.next() {
            if waiter.place.send(()).is_ok() {
                return;
            }
        }
        self.in_use = self.in_use.saturating_sub(1);
    }

    fn next(&mut self) -> Option<Waiter> {
        let caller = self.turns.pop_front()?;
        let waiters = self.waiting.get_mut(&caller)?;
        let waiter = waiters.pop_front();
        if waiters.is_empty() {
            self.waiting.remove(&caller);
        } else {
            self.turns.push_back(caller);
        }
        self.length -= usize::from(waiter.is_some());
        waiter
    }
}
