use std::collections::HashMap;

/// Requests that wait for an answer on one connection: fresh ids out, answers matched in. An id is
/// never used twice, and serves as the request's progress token too (protocol.md §20.2).
#[derive(Debug)]
pub struct Pending<T> {
    next: u64,
    /// At most `limit` entries.
    waiting: HashMap<u64, T>,
    limit: usize,
}

/// As many requests wait as may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{limit} requests are waiting already")]
pub struct Full {
    /// The limit in force.
    pub limit: usize,
}

impl<T> Pending<T> {
    /// A table for at most `limit` requests at once.
    pub fn new(limit: usize) -> Self {
        Self { next: 1, waiting: HashMap::new(), limit }
    }

    /// Enters a request and returns its id.
    ///
    /// # Errors
    /// [`Full`].
    pub fn insert(&mut self, waiter: T) -> Result<u64, Full> {
        if self.waiting.len() >= self.limit {
            return Err(Full { limit: self.limit });
        }
        let id = self.fresh();
        self.waiting.insert(id, waiter);
        Ok(id)
    }

    /// An id that no request has had.
    pub fn fresh(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }

    /// Takes out the request that an answer is for; `None` for an id that is not waited for (any more).
    pub fn take(&mut self, id: u64) -> Option<T> {
        self.waiting.remove(&id)
    }

    /// Looks at a waiting request, as for its progress.
    pub fn get(&self, id: u64) -> Option<&T> {
        self.waiting.get(&id)
    }

    /// All that wait, with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.waiting.iter().map(|(id, waiter)| (*id, waiter))
    }

    /// Takes out all requests, as when the connection ends.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        std::mem::take(&mut self.waiting).into_values()
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_table_is_bounded() {
        let mut pending = Pending::new(2);
        let first = pending.insert('a').unwrap();
        pending.insert('b').unwrap();
        assert_eq!(pending.insert('c'), Err(Full { limit: 2 }));
        assert_eq!(pending.take(first), Some('a'));
        assert_eq!(pending.take(first), None, "a second answer has nowhere to go");
        assert!(pending.insert('c').is_ok());
    }

    proptest! {
        #[test]
        fn every_answer_finds_its_own_request(order in prop::collection::vec(any::<prop::sample::Index>(), 1..40)) {
            let mut pending = Pending::new(1000);
            let mut ids: Vec<_> = (0..order.len()).map(|n| (pending.insert(n).unwrap(), n)).collect();
            for index in order {
                let (id, request) = ids.swap_remove(index.index(ids.len()));
                prop_assert_eq!(pending.take(id), Some(request));
            }
            prop_assert!(pending.is_empty());
        }
    }
}
