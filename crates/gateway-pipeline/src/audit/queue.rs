use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::slots::{Held, Slot};

/// Lines on their way to the writer. Bounded by the slots: nobody adds a line without one.
#[derive(Debug, Default)]
pub(super) struct Queue {
    inner: Mutex<Inner>,
    /// Rung when there is something to look at.
    bell: Notify,
    /// The writer need not be woken for each line: only for the first, and when so many have come together.
    flush_records: usize,
}

#[derive(Debug, Default)]
struct Inner {
    batch: Batch,
    is_closed: bool,
    reopen: bool,
}

/// Whole lines, and the places that they hold.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<u8>,
    pub(super) records: usize,
    pub(super) held: Held,
}

/// Why the writer is to do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) records: usize,
    pub(super) is_closed: bool,
    pub(super) reopen: bool,
}

/// Nothing is taken any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

impl Queue {
    pub(super) fn new(flush_records: usize) -> Self {
        Self { flush_records: flush_records.max(1), ..Self::default() }
    }

    /// Adds a line. Never waits for the writer.
    pub(super) fn push(&self, line: &[u8], slot: Slot<'_>) -> Result<(), Closed> {
        let mut inner = self.lock();
        if inner.is_closed {
            return Err(Closed);
        }
        let batch = &mut inner.batch;
        batch.lines.extend_from_slice(line);
        batch.held.add(slot);
        batch.records += 1;
        let records = batch.records;
        drop(inner);
        if records == 1 || records == self.flush_records {
            self.bell.notify_one();
        }
        Ok(())
    }

    /// Asks for the sinks to be opened again.
    pub(super) fn reopen(&self) {
        self.lock().reopen = true;
        self.bell.notify_one();
    }

    /// Takes nothing from now on.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.bell.notify_one();
    }

    pub(super) fn look(&self) -> Look {
        let inner = self.lock();
        Look { records: inner.batch.records, is_closed: inner.is_closed, reopen: inner.reopen }
    }

    /// Takes all lines.
    pub(super) fn take(&self) -> Batch {
        std::mem::take(&mut self.lock().batch)
    }

    /// Whether the sinks are to be opened again. Asked for once it is not wanted any more.
    pub(super) fn take_reopen(&self) -> bool {
        std::mem::take(&mut self.lock().reopen)
    }

    /// Waits until something has happened since the last wait; `false` if it has not by `time`. Cancel-safe.
    pub(super) async fn rung_before(&self, time: Option<Instant>) -> bool {
        match time {
            Some(time) => timeout_at(time, self.bell.notified()).await.is_ok(),
            None => {
                self.bell.notified().await;
                true
            }
        }
    }

    pub(super) fn is_full_batch(&self, look: Look) -> bool {
        look.records >= self.flush_records
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every critical section leaves it consistent.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::slots::Slots;

    #[tokio::test(start_paused = true)]
    async fn the_writer_is_rung_for_the_first_line_and_when_so_many_have_come() {
        let slots = Slots::new(16, 1.0, 1.0);
        let queue = Queue::new(3);
        let mut rung = Vec::new();
        for _ in 0..4 {
            queue.push(b"line", slots.ordinary().unwrap()).unwrap();
            rung.push(queue.rung_before(Some(Instant::now())).await);
        }
        assert_eq!(rung, [true, false, true, false]);
    }
}
