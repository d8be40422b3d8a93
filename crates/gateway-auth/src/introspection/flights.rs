use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OnceCell;

use crate::remembered::TokenHash;

/// Questions on their way, each asked once however many want to know.
#[derive(Debug)]
pub(super) struct Flights<T> {
    limit: usize,
    under_way: Mutex<HashMap<TokenHash, Seats<T>>>,
}

#[derive(Debug)]
struct Seats<T> {
    outcome: Arc<OnceCell<T>>,
    taken: usize,
}

/// A seat in one flight; who leaves last ends it.
#[derive(Debug)]
pub(super) struct Seat<'a, T> {
    flights: &'a Flights<T>,
    hash: TokenHash,
    outcome: Arc<OnceCell<T>>,
}

impl<T: Clone> Flights<T> {
    /// At most `limit` at once, those that wait for a place included.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, under_way: Mutex::default() }
    }

    /// Takes a seat; `None` if there are too many flights.
    pub(super) fn board(&self, hash: TokenHash) -> Option<Seat<'_, T>> {
        let mut under_way = self.lock();
        let is_full = under_way.len() >= self.limit;
        let seats = match under_way.entry(hash) {
            Entry::Occupied(flight) => flight.into_mut(),
            Entry::Vacant(_) if is_full => return None,
            Entry::Vacant(place) => place.insert(Seats { outcome: Arc::default(), taken: 0 }),
        };
        seats.taken += 1;
        Some(Seat { flights: self, hash, outcome: Arc::clone(&seats.outcome) })
    }
}

impl<T> Flights<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<TokenHash, Seats<T>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Seat<'_, T> {
    /// The outcome; `ask` is run by one of those who wait, and by the next one if that one is cancelled.
    pub(super) async fn outcome<F: Future<Output = T>>(&self, ask: impl FnOnce() -> F) -> T {
        self.outcome.get_or_init(ask).await.clone()
    }
}

impl<T> Drop for Seat<'_, T> {
    fn drop(&mut self) {
        let mut under_way = self.flights.lock();
        if let Entry::Occupied(mut flight) = under_way.entry(self.hash) {
            flight.get_mut().taken -= 1;
            if flight.get().taken == 0 {
                flight.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u8) -> TokenHash {
        TokenHash::of("i", &number.to_string())
    }

    #[tokio::test]
    async fn one_asks_and_all_know_until_the_last_has_left() {
        let flights = Flights::new(2);
        let (first, second) = (flights.board(hash(1)).unwrap(), flights.board(hash(1)).unwrap());
        assert_eq!(first.outcome(|| async { 1 }).await, 1);
        drop(first);
        assert_eq!(second.outcome(|| async { 2 }).await, 1);
        drop(second);
        assert!(flights.lock().is_empty());
        assert_eq!(flights.board(hash(1)).unwrap().outcome(|| async { 3 }).await, 3);
    }

    #[tokio::test]
    async fn beyond_the_limit_nobody_new_gets_in_but_those_who_wait_for_the_same() {
        let flights = Flights::<u8>::new(2);
        let seats = [1, 2, 1].map(|number| flights.board(hash(number)).unwrap());
        assert!(flights.board(hash(3)).is_none());
        drop(seats);
        assert!(flights.board(hash(3)).is_some());
    }

    #[tokio::test]
    async fn the_next_one_asks_if_the_first_gives_up() {
        let flights = Flights::new(2);
        let (first, second) = (flights.board(hash(1)).unwrap(), flights.board(hash(1)).unwrap());
        tokio::select! {
            biased;
            _ = first.outcome(std::future::pending) => unreachable!(),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(second.outcome(|| async { 2 }).await, 2);
    }
}
