use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use super::compile::Compiled;

/// How much text of schemas there may be of which the compiled form is kept, in bytes. It takes about 25 times as much
/// memory, so a gateway with thousands of tools spends 50 MiB on it, and compiles schemas anew that were not used for
/// long.
const BYTES: usize = 2 << 20;

static KEPT: Mutex<Kept<Compiled>> = Mutex::new(Kept { entries: VecDeque::new(), bytes: 0 });

/// What is counted for each schema besides its text: a compiled schema has a size of its own.
const EACH: usize = 2 << 10;

/// Keeps what was compiled of a schema of so many bytes, and is used now, for as long as there is room.
pub(super) fn keep(compiled: &Arc<Compiled>, bytes: usize) {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(compiled), EACH + bytes, BYTES);
}

/// The entries that were used last, for the whole process: it is the memory of the process that is bounded.
#[derive(Debug)]
struct Kept<T> {
    /// The one that was not used for longest first, each with its size.
    entries: VecDeque<(Arc<T>, usize)>,
    bytes: usize,
}

impl<T> Kept<T> {
    fn push(&mut self, entry: Arc<T>, bytes: usize, limit: usize) {
        match self.entries.iter().position(|(known, _)| Arc::ptr_eq(known, &entry)) {
            Some(at) => drop(self.entries.remove(at)),
            None => self.bytes += bytes,
        }
        self.entries.push_back((entry, bytes));
        while self.bytes > limit && self.entries.len() > 1 {
            let oldest = self.entries.pop_front().map_or(0, |(_, bytes)| bytes);
            self.bytes -= oldest;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        sync::{Arc, Weak},
    };

    use super::Kept;

    #[test]
    fn the_oldest_go_when_there_is_no_room() {
        let mut kept = Kept { entries: VecDeque::new(), bytes: 0 };
        let mut push = |bytes| {
            let entry = Arc::new(());
            kept.push(Arc::clone(&entry), bytes, 10);
            Arc::downgrade(&entry)
        };
        let entries: Vec<Weak<()>> = [4, 4, 4, 1].map(&mut push).into();
        let lives =
            |entries: &[Weak<()>]| entries.iter().map(|it| it.upgrade().is_some()).collect::<Vec<_>>();
        assert_eq!(lives(&entries), [false, true, true, true]);
        let large = push(100);
        assert_eq!(lives(&entries), [false; 4]);
        assert!(large.upgrade().is_some());
    }

    #[test]
    fn what_is_used_stays() {
        let mut kept = Kept { entries: VecDeque::new(), bytes: 0 };
        let (used, unused) = (Arc::new(()), Arc::new(()));
        for entry in [&used, &unused, &used, &Arc::new(())] {
            kept.push(Arc::clone(entry), 4, 10);
        }
        assert_eq!((Arc::strong_count(&used), Arc::strong_count(&unused), kept.bytes), (2, 1, 8));
    }
}
