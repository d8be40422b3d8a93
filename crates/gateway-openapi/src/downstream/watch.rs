//! The task that looks whether the source has changed, and whether an API that could not be reached is back.

use std::{sync::Weak, time::Duration};

use tokio::time::{Instant, sleep};

use super::api::Api;

/// Between two looks, where sources are not looked at.
const PERIOD: Duration = Duration::from_secs(1);
/// Between two attempts to reach an API: doubled with each that fails.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Looks again and again; ends with the API. `read` is what the source said of itself when it was read.
pub(super) async fn watch(api: Weak<Api>, read: Option<u64>) {
    let mut change = Change { read, seen: read };
    let mut recovery = Recovery { next: Instant::now(), pause: FIRST_PAUSE };
    loop {
        let Some(period) = api.upgrade().map(|api| api.config.watch.unwrap_or(PERIOD)) else { return };
        sleep(period).await;
        let Some(api) = api.upgrade() else { return };
        let is_watched = api.config.watch.is_some();
        if api.take_asked() || (is_watched && change.is_due(api.config.source.stamp().await)) {
            api.reload().await;
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
}

impl Change {
    /// Whether to read the source, whose stamp this is now. One that is gone is no change.
    fn is_due(&mut self, now: Option<u64>) -> bool {
        let is_at_rest = self.seen == now;
        self.seen = now;
        if now.is_none() || now == self.read || !is_at_rest {
            return false;
        }
        self.read = now;
        true
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
        let is_down = reachability.trouble().is_some();
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
        let mut change = Change { read: Some(1), seen: Some(1) };
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
            assert_eq!(change.is_due(stamp), expected, "{what}");
        }
    }
}
