use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{OauthError, random::unguessable, store::Owner};

/// Invitations to the connect page: one for each owner that has to authorize, good until that is done. Who is asked
/// again meanwhile is shown the same page.
pub(crate) struct Tickets {
    limit: usize,
    time: Duration,
    tickets: Mutex<HashMap<String, Ticket>>,
}

struct Ticket {
    owner: Owner,
    issued: Instant,
    failures: u32,
}

/// Wrong proofs that a ticket survives.
const MOST_FAILURES: u32 = 5;

impl Tickets {
    pub(crate) fn new(limit: usize, time: Duration) -> Self {
        Self { limit, time, tickets: Mutex::default() }
    }

    /// The owner's ticket, the one that it has if it has one.
    pub(crate) fn issue(&self, owner: Owner, now: Instant) -> Result<String, OauthError> {
        let mut tickets = self.good(now);
        if let Some((name, _)) = tickets.iter().find(|(_, ticket)| ticket.owner == owner) {
            return Ok(name.clone());
        }
        if tickets.len() >= self.limit {
            return Err(OauthError::Busy);
        }
        let name = unguessable()?;
        tickets.insert(name.clone(), Ticket { owner, issued: now, failures: 0 });
        Ok(name)
    }

    pub(crate) fn is_good(&self, name: &str, now: Instant) -> bool {
        self.good(now).contains_key(name)
    }

    /// Lets whoever has proved to be `prover` in, if the ticket is theirs. It stands a few wrong proofs.
    pub(crate) fn admit(&self, name: &str, prover: Option<&Owner>, now: Instant) -> Option<Owner> {
        let mut tickets = self.good(now);
        let ticket = tickets.get_mut(name)?;
        if prover == Some(&ticket.owner) {
            return Some(ticket.owner.clone());
        }
        ticket.failures += 1;
        if ticket.failures >= MOST_FAILURES {
            tickets.remove(name);
        }
        None
    }

    /// The authorization is done.
    pub(crate) fn close(&self, name: &str) {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    fn good(&self, now: Instant) -> MutexGuard<'_, HashMap<String, Ticket>> {
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, ticket| now < ticket.issued + self.time);
        tickets
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(600);

    fn owner(name: &str) -> Owner {
        Owner::Client(name.into())
    }

    #[test]
    fn a_ticket_is_its_owners_and_good_until_it_is_done() {
        let (tickets, start) = (Tickets::new(9, TIME), Instant::now());
        let (ann, bob) = (owner("ann"), owner("bob"));
        let name = tickets.issue(ann.clone(), start).unwrap();
        assert_eq!(tickets.issue(ann.clone(), start).unwrap(), name, "one for each owner");
        assert_ne!(tickets.issue(bob.clone(), start).unwrap(), name);
        assert_eq!(tickets.admit(&name, Some(&bob), start), None);
        assert_eq!(tickets.admit(&name, None, start), None);
        assert!(tickets.is_good(&name, start));
        assert_eq!(tickets.admit(&name, Some(&ann), start), Some(ann.clone()));
        assert_eq!(tickets.issue(ann.clone(), start).unwrap(), name, "while it is under way too");
        assert_eq!(tickets.admit(&name, Some(&ann), start), Some(ann.clone()));
        tickets.close(&name);
        assert_eq!(tickets.admit(&name, Some(&ann), start), None);
        assert!(!tickets.is_good(&name, start));
        assert_ne!(tickets.issue(ann, start).unwrap(), name);
    }

    #[test]
    fn a_ticket_ends_in_time_and_after_wrong_proofs() {
        let (tickets, start) = (Tickets::new(9, TIME), Instant::now());
        let ann = owner("ann");
        let name = tickets.issue(ann.clone(), start).unwrap();
        for failures in 1..=MOST_FAILURES {
            tickets.admit(&name, None, start);
            assert_eq!(tickets.is_good(&name, start), failures < MOST_FAILURES);
        }
        let name = tickets.issue(ann.clone(), start).unwrap();
        assert_eq!(tickets.admit(&name, Some(&ann), start + TIME), None);
    }

    #[test]
    fn there_are_few_tickets() {
        let (tickets, start) = (Tickets::new(1, TIME), Instant::now());
        tickets.issue(owner("ann"), start).unwrap();
        assert_eq!(tickets.issue(owner("bob"), start), Err(OauthError::Busy));
        tickets.issue(owner("bob"), start + TIME).unwrap();
    }
}
