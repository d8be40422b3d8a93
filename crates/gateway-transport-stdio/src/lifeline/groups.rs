use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The process groups there are. What a watcher is told is the difference to what it has been told before:
/// so nothing queues up if it is slow, and a new one is told everything.
#[derive(Default)]
pub(super) struct Groups {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// Each with a number of its own, by which a group that has got another's id is told from it.
    alive: Told,
    started: u64,
    closing: bool,
}

/// What a watcher knows.
pub(super) type Told = BTreeMap<u32, u64>;

impl Groups {
    pub(super) fn started(&self, group: u32) {
        let mut state = self.state();
        state.started += 1;
        let number = state.started;
        state.alive.insert(group, number);
        drop(state);
        self.changed.notify_one();
    }

    pub(super) fn ended(&self, group: u32) {
        self.state().alive.remove(&group);
        self.changed.notify_one();
    }

    pub(super) fn close(&self) {
        self.state().closing = true;
        self.changed.notify_one();
    }

    pub(super) fn is_closing(&self) -> bool {
        self.state().closing
    }

    /// Waits until there may be news. For one waiter. Cancel-safe.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until the lifeline is closed. For the same waiter. Cancel-safe.
    pub(super) async fn closed(&self) {
        while !self.is_closing() {
            self.changed().await;
        }
    }

    /// The lines that make what was told true again.
    pub(super) fn news(&self, told: &mut Told) -> String {
        let mut lines = String::new();
        let alive = self.state().alive.clone();
        for (group, number) in &*told {
            if alive.get(group) != Some(number) {
                line(&mut lines, '-', *group);
            }
        }
        for (group, number) in &alive {
            if told.get(group) != Some(number) {
                line(&mut lines, '+', *group);
            }
        }
        *told = alive;
        lines
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(lines: &mut String, fact: char, group: u32) {
    // Writing to a string does not fail.
    let _ = writeln!(lines, "{fact} {group}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_is_told_what_has_changed_and_a_new_one_everything() {
        let (groups, mut told) = (Groups::default(), Told::new());
        groups.started(7);
        groups.started(8);
        assert_eq!(groups.news(&mut told), "+ 7\n+ 8\n");
        assert_eq!(groups.news(&mut told), "");
        groups.ended(7);
        groups.started(9);
        assert_eq!(groups.news(&mut told), "- 7\n+ 9\n");
        groups.ended(8);
        groups.started(8);
        assert_eq!(groups.news(&mut told), "- 8\n+ 8\n", "another group with the same number");
        assert_eq!(groups.news(&mut Told::new()), "+ 8\n+ 9\n");
    }
}
