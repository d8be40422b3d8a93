use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    config::AuditConfig,
    log::Shared,
    queue::{Batch, Look},
    sink::Sink,
};

/// A buffer keeps no more memory than this for later, in bytes.
const SPARE_LIMIT: usize = 1_048_576;

/// The task that owns the sinks (P-58).
pub(super) struct Writer {
    shared: Arc<Shared>,
    outlets: Vec<Outlet>,
    flush_interval: Duration,
    fsync_interval: Duration,
    retry_interval: Duration,
    /// When what was written is to be made durable; `None`: it is.
    sync_due: Option<Instant>,
    /// Whether writing, and keeping what was written, fail: each is told of once.
    writing: Episode,
    keeping: Episode,
}

/// A sink, and what it does not have yet of the batch at hand.
struct Outlet {
    sink: Box<dyn Sink>,
    rest: Vec<u8>,
}

/// Tells that the writer has ended, however it does.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.ended.send_replace(true);
    }
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, config: &AuditConfig, sinks: Vec<Box<dyn Sink>>) -> Self {
        Self {
            shared,
            outlets: sinks.into_iter().map(|sink| Outlet { sink, rest: Vec::new() }).collect(),
            flush_interval: config.flush_interval,
            fsync_interval: config.fsync_interval,
            retry_interval: config.retry_interval,
            sync_due: None,
            writing: Episode::new(
                "the audit log cannot be written; it is tried again",
                "the audit log is written again",
            ),
            keeping: Episode::new(
                "the audit log is not sure to be kept, or not where it should be; it is tried again",
                "the audit log is kept again",
            ),
        }
    }

    /// Writes until the log is closed and nothing is left.
    pub(super) async fn run(mut self) {
        let _ended = Ended(self.shared.clone());
        loop {
            let look = self.gather().await;
            self.reopen_if_asked().await;
            let batch = self.shared.queue.take();
            if batch.records > 0 {
                self.write(batch).await;
            } else if look.is_closed {
                break;
            }
            if self.sync_due.is_some_and(|due| due <= Instant::now()) {
                self.sync().await;
            }
        }
        self.sync().await;
    }

    /// Waits for a record, and then a little for others to be written with; or for anything else that there is to do.
    async fn gather(&mut self) -> Look {
        let mut look = self.shared.queue.look();
        while look.records == 0 && !look.is_closed && !look.reopen {
            if !self.shared.queue.rung_before(self.sync_due).await {
                self.sync().await;
            }
            look = self.shared.queue.look();
        }
        let until = Some(Instant::now() + self.flush_interval);
        while !(look.is_closed || look.reopen || self.shared.queue.is_full_batch(look)) {
            if !self.shared.queue.rung_before(until).await {
                break;
            }
            look = self.shared.queue.look();
        }
        look
    }

    /// Writes a batch to every sink, again and again where one fails, until the log is closed.
    async fn write(&mut self, batch: Batch) {
        let Batch { lines, records, held } = batch;
        for outlet in &mut self.outlets {
            outlet.rest.extend_from_slice(&lines);
        }
        let mut is_closed = self.shared.queue.look().is_closed;
        while !self.write_rest().await {
            if is_closed {
                self.shared.counters.lost(records);
                self.outlets.iter_mut().for_each(|outlet| outlet.rest.clear());
                self.shared.slots.release(held);
                return;
            }
            is_closed = pause(&self.shared, self.retry_interval).await;
            self.reopen_if_asked().await;
        }
        self.sync_due.get_or_insert_with(|| Instant::now() + self.fsync_interval);
        self.shared.counters.wrote(records);
        self.shared.slots.release(held);
        self.shared.counters.recovered();
    }

    /// Whether every sink has everything.
    async fn write_rest(&mut self) -> bool {
        let mut failure = None;
        let mut is_done = true;
        for outlet in self.outlets.iter_mut().filter(|outlet| !outlet.rest.is_empty()) {
            if let Err(error) = outlet.sink.write(&mut outlet.rest).await {
                self.shared.counters.sink_failed();
                failure = Some(error);
            }
            is_done &= outlet.rest.is_empty();
            outlet.rest.shrink_to(SPARE_LIMIT);
        }
        self.writing.judge(failure.as_ref());
        is_done
    }

    async fn sync(&mut self) {
        self.sync_due = None;
        let mut failure = None;
        for outlet in &mut self.outlets {
            if let Err(error) = outlet.sink.sync().await {
                self.shared.counters.sink_failed();
                failure = Some(error);
            }
        }
        if failure.is_some() {
            self.sync_due = Some(Instant::now() + self.fsync_interval);
        }
        self.keeping.judge(failure.as_ref());
    }

    async fn reopen_if_asked(&mut self) {
        if !self.shared.queue.take_reopen() {
            return;
        }
        for outlet in &mut self.outlets {
            if let Err(error) = outlet.sink.reopen().await {
                self.shared.counters.sink_failed();
                tracing::error!(%error, "the audit log cannot be opened again; the old file is written on");
            }
        }
    }
}

/// Something that fails for a while.
struct Episode {
    begins: &'static str,
    ends: &'static str,
    is_failing: bool,
}

impl Episode {
    fn new(begins: &'static str, ends: &'static str) -> Self {
        Self { begins, ends, is_failing: false }
    }

    /// Logs the first failure and the end of failures.
    fn judge(&mut self, failure: Option<&std::io::Error>) {
        match failure {
            Some(error) if !self.is_failing => tracing::error!(%error, "{}", self.begins),
            None if self.is_failing => tracing::info!("{}", self.ends),
            _ => {}
        }
        self.is_failing = failure.is_some();
    }
}

/// Waits until a sink that failed is to be tried again. Whether the log is closed meanwhile.
async fn pause(shared: &Shared, time: Duration) -> bool {
    let until = Some(Instant::now() + time);
    loop {
        let Look { is_closed, reopen, .. } = shared.queue.look();
        if is_closed || reopen || !shared.queue.rung_before(until).await {
            return is_closed;
        }
    }
}
