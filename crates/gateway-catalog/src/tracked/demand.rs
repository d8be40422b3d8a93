//! Refreshes that are wanted before their time, by those who ask for a list and by flushes.

use std::time::Duration;

use tokio::time::Instant;

use super::{READ_BY_ITSELF, Tracked};

/// What is wanted of the refresh that comes next, and of the one under way.
#[derive(Default)]
pub(super) struct Demands {
    next: Option<Demand>,
    under_way: Option<Demand>,
    is_under_way: bool,
    /// Whether the store is to forget the list before the next refresh.
    forget: bool,
    /// Whether there will be no refresh any more.
    is_over: bool,
}

#[derive(Clone, Copy)]
struct Demand {
    since: Instant,
    /// Whether those who ask for the list wait for it.
    is_waited_for: bool,
}

impl Demands {
    /// Whether a flush waits for the next refresh.
    pub(super) fn is_flushed(&self) -> bool {
        self.forget
    }
}

impl Tracked {
    /// Has the list read again if somebody who asks for it should not be content with it: it is old and not
    /// read by itself, or it was empty a while ago (G-8, G-9). However many ask, it is read once (G-W4), and
    /// not before its time where that has failed.
    pub(crate) fn ask(&self, now: Instant) {
        let mut listed = self.state();
        let is_well = listed.is_usable() && listed.failure.is_none();
        if !is_well || listed.demands.next.is_some() || listed.demands.is_over {
            return;
        }
        let is_due = match listed.empty {
            Some(empty) => now >= empty.again,
            None => listed.ttl < READ_BY_ITSELF && listed.is_old(now),
        };
        if !is_due {
            return;
        }
        let demand = Demand { since: now, is_waited_for: listed.empty.is_some() && listed.tools.is_empty() };
        if listed.demands.is_under_way {
            // It answers this demand too.
            let under_way = listed.demands.under_way.get_or_insert(demand);
            under_way.is_waited_for |= demand.is_waited_for;
            return;
        }
        listed.demands.next = Some(demand);
        self.wake.notify_one();
    }

    /// Has the list read again whatever it is, by a refresh that begins from now on (G-11). Whether there
    /// was one.
    pub(crate) fn flush(&self, now: Instant) -> bool {
        let mut listed = self.state();
        (listed.outdated, listed.empty_is_news) = (true, true);
        listed.demands.forget = true;
        // Where there is no list yet, that of another attempt is waited for as the first one is.
        let is_waited_for = listed.read_at.is_some();
        listed.demands.next = Some(Demand { since: now, is_waited_for });
        self.wake.notify_one();
        is_waited_for
    }

    /// Until when whoever asks for the list waits for a refresh that was wanted. Nobody waits longer than the
    /// budget after it was.
    pub(crate) fn awaited(&self, budget: Duration, now: Instant) -> Option<Instant> {
        let listed = self.state();
        if listed.demands.is_over {
            return None;
        }
        let demands = [listed.demands.next, listed.demands.under_way];
        let waited_for = demands.into_iter().flatten().filter(|demand| demand.is_waited_for);
        waited_for.map(|demand| demand.since + budget).filter(|until| *until > now).max()
    }

    /// Nobody waits for it any more: it is not in the catalogue, or the catalogue is closed.
    pub(crate) fn retire(&self) {
        self.state().demands.is_over = true;
        self.settle();
    }

    /// Waits until a refresh is wanted. Cancel-safe.
    pub(crate) async fn wanted(&self) {
        while self.state().demands.next.is_none() {
            self.wake.notified().await;
        }
    }

    /// A refresh begins: it answers what was wanted until now. Whether the store forgets the list first.
    pub(crate) fn begin(&self) -> bool {
        let demands = &mut self.state().demands;
        demands.under_way = demands.next.take();
        demands.is_under_way = true;
        std::mem::take(&mut demands.forget)
    }

    /// The refresh has ended, well or not, and what it brought is visible.
    pub(crate) fn end(&self) {
        let mut listed = self.state();
        listed.is_known |= listed.failure.is_none();
        (listed.demands.under_way, listed.demands.is_under_way) = (None, false);
    }
}
