//! The task that looks whether the source has changed, and whether an API that could not be reached is back.

use std::{sync::Weak, time::Duration};

use tokio::time::{Instant, sleep};

use super::api::{Api, Reloaded};

/// Between two looks, where sources are not looked at.
const PERIOD: Duration = Duration::from_secs(1);
/// Between two attempts to reach an API, or to read a source that could not be had: doubled with each that fails.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
const LONGEST_READING_PAUSE: Duration = Duration::from_secs(60);

/// Looks again and again; ends with the API. `read` is what the source said of itself when it was read.
pub(super) async fn watch(api: Weak<Api>, read: Option<u64>) {
    let mut change = Change::new(read);
    let mut recovery = Recovery { next: Instant::now(), pause: FIRST_PAUSE };
    loop {
        let Some(period) = api.upgrade().map(|api| api.config.watch.unwrap_or(PERIOD)) else { return };
        sleep(period).await;
        let Some(api) = api.upgrade() else { return };
        let is_asked = api.take_asked();
        if is_asked || change.retry.is_some() || api.config.watch.is_some() {
            let stamp = api.config.source.stamp().await;
            if change.is_due(stamp, Instant::now()) || is_asked {
                change.read = stamp;
                change.note(&api.reload().await, Instant::now());
            }
        }
        recovery.look(&api).await;
    }
}

/// Whether a source has changed and is at rest again: one that is just being written is no use.
struct Change {
    /// At the last reading.
    read: Option<u64>,
    /// At the last look.
    seen: Option<u64>,
    /// When to try again what could not be had.
    retry: Option<Instant>,
    pause: Duration,
}

impl Change {
    fn new(read: Option<u64>) -> Self {
        Self { read, seen: read, retry: None, pause: FIRST_PAUSE }
    }

    /// Whether to read the source, whose stamp this is now. One that is gone is no change.
    fn is_due(&mut self, stamp: Option<u64>, now: Instant) -> bool {
        let is_at_rest = self.seen == stamp;
        self.seen = stamp;
        let is_retry = self.retry.is_some_and(|retry| now >= retry);
        let is_gone = stamp.is_none() && self.read.is_some();
        if is_gone || !is_at_rest || (stamp == self.read && !is_retry) {
            return false;
        }
        self.read = stamp;
        true
    }

    /// What came of reading it.
    fn note(&mut self, reloaded: &Reloaded, now: Instant) {
        if let Reloaded::Read { stamp } = reloaded {
            (self.read, self.seen) = (*stamp, *stamp);
        }
        if let Reloaded::Unreadable = reloaded {
            self.retry = Some(now + self.pause);
            self.pause = (self.pause * 2).min(LONGEST_READING_PAUSE);
        } else {
            (self.retry, self.pause) = (None, FIRST_PAUSE);
        }
    }
}

/// When an API that cannot be reached is tried again.
struct Recovery {
    next: Instant,
    pause: Duration,
}

impl Recovery {
    async fn look(&mut self, api: &Api) {
        let reachability = api.reachability();
        let is_down = reachability.is_down();
        if !is_down {
            self.pause = FIRST_PAUSE;
        }
        let is_due = is_down && Instant::now() >= self.next;
        if reachability.take_wish() || is_due {
            api.reach().await;
            self.next = Instant::now() + self.pause;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_once_it_is_at_rest() {
        let (mut change, now) = (Change::new(Some(1)), Instant::now());
        let rows = [
            (Some(1), false, "as it was"),
            (Some(2), false, "just changed"),
            (Some(3), false, "still changing"),
            (Some(3), true, "at rest"),
            (Some(3), false, "read"),
            (None, false, "gone"),
            (None, false, "still gone"),
            (Some(3), false, "back"),
            (Some(3), false, "and the same"),
            (Some(1), false, "another again"),
            (Some(1), true, "as it was before"),
        ];
        for (stamp, expected, what) in rows {
            assert_eq!(change.is_due(stamp, now), expected, "{what}");
        }
    }

    #[test]
    fn what_could_not_be_had_is_tried_again_ever_more_rarely() {
        let (mut change, start) = (Change::new(Some(1)), Instant::now());
        change.is_due(Some(2), start);
        let mut tried = Vec::new();
        for second in 0..250 {
            let now = start + Duration::from_secs(second);
            if change.is_due(Some(2), now) {
                tried.push(second);
                change.note(&Reloaded::Unreadable, now);
            }
        }
        assert_eq!(tried, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
        change.note(&Reloaded::Read { stamp: Some(3) }, start);
        assert!(!change.is_due(Some(3), start + Duration::from_secs(900)));
    }
}
