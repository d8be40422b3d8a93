use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::{sync::watch, time::timeout};

use super::{
    config::{AuditConfig, Overflow},
    counts::{AuditCounts, Counters},
    queue::Queue,
    record::Record,
    sink::Sink,
    slots::{Slot, Slots},
    writer::Writer,
};
use crate::redaction::LiveRedactor;

/// An audit log: request tasks hand over records, one task writes them (P-58). Clones share it; when the last one is
/// dropped, what was handed over is still written as long as the runtime lives.
///
/// [`Self::hiding`] keeps secrets out of it, which a client may well put into a name or a URI.
#[derive(Clone)]
pub struct AuditLog {
    handle: Arc<Handle>,
    redactor: Option<Arc<LiveRedactor>>,
}

/// Ends the writer when nobody can hand over anything any more.
struct Handle(Arc<Shared>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What request tasks and the writer share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) queue: Queue,
    pub(super) slots: Slots,
    pub(super) counters: Counters,
    overflow: Overflow,
    security_wait: Duration,
    close_wait: Duration,
    /// Whether the writer has ended.
    pub(super) ended: watch::Sender<bool>,
}

impl Shared {
    /// Nothing is taken any more; who waits for a place gets none.
    fn close(&self) {
        self.queue.close();
        self.slots.close();
    }
}

/// A security record could not be kept: there is no room, or the log is closed (P-W10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unrecordable;

impl AuditLog {
    /// Starts a log that writes every record to each of `sinks`, in this order. A record is written when all of them
    /// have it: one that hangs holds up the others. A sink that fails is tried again with what it does not have yet,
    /// so that an error of the disk does to calls what a full queue does, and loses nothing while there is room.
    ///
    /// # Panics
    /// Outside a tokio runtime with time.
    pub fn start(config: &AuditConfig, sinks: Vec<Box<dyn Sink>>) -> Self {
        let shared = Arc::new(Shared {
            queue: Queue::new(config.flush_records),
            slots: Slots::new(config.queue, config.high_water, config.door_share),
            counters: Counters::default(),
            overflow: config.overflow,
            security_wait: config.security_wait,
            close_wait: config.close_wait,
            ended: watch::Sender::new(false),
        });
        tokio::spawn(Writer::new(shared.clone(), config, sinks).run());
        Self { handle: Arc::new(Handle(shared)), redactor: None }
    }

    /// The same log, in whose records stands nothing that this redactor finds, be it one that results are not redacted
    /// with. For records of this value and its clones.
    #[must_use]
    pub fn hiding(self, redactor: Arc<LiveRedactor>) -> Self {
        Self { redactor: Some(redactor), ..self }
    }

    /// What became of the records so far.
    pub fn counts(&self) -> AuditCounts {
        self.shared().counters.read()
    }

    /// Has the sinks opened again before the next record is written: somebody has moved the files away. Files that
    /// were moved are noticed without this too, within the fsync interval.
    pub fn reopen(&self) {
        self.shared().queue.reopen();
    }

    /// Takes no more records, and waits until those that were taken are written and durable, as long as
    /// [`AuditConfig::close_wait`] at most (P-63). Idempotent. Cancel-safe: dropping the future gives up the wait alone.
    pub async fn close(&self) {
        self.shared().close();
        let mut ended = self.shared().ended.subscribe();
        // The sender is in `self`.
        if timeout(self.shared().close_wait, ended.wait_for(|ended| *ended)).await.is_err() {
            tracing::error!("the sinks of the audit log take too long; records may not have been written");
        }
    }

    /// A place for the record that a call will need, if there is one.
    pub(super) fn reserve_now(&self) -> Option<Slot<'_>> {
        self.shared().slots.any()
    }

    /// The same, waited for as long as a security record may wait. Cancel-safe.
    pub(super) async fn reserve(&self) -> Result<Slot<'_>, Unrecordable> {
        let place = self.shared().slots.any_within(self.shared().security_wait).await;
        place.ok_or_else(|| self.unrecordable())
    }

    /// A place for a record of success. `None`: it is shed. Cancel-safe.
    pub(super) async fn room(&self) -> Option<Slot<'_>> {
        let slots = &self.shared().slots;
        match (slots.ordinary(), self.shared().overflow) {
            (None, Overflow::Block(wait)) => slots.ordinary_within(wait).await,
            (slot, _) => slot,
        }
    }

    /// The same without waiting.
    pub(super) fn room_now(&self) -> Option<Slot<'_>> {
        self.shared().slots.ordinary()
    }

    /// A place for the record of a refusal at the door, now or not at all.
    pub(super) fn room_at_door(&self) -> Option<Slot<'_>> {
        self.shared().slots.at_door()
    }

    /// Hands over a security record.
    pub(super) fn keep(&self, record: &Record<'_>, slot: Option<Slot<'_>>) -> Result<(), Unrecordable> {
        let kept = slot.map(|slot| self.push(record, slot));
        kept.filter(|is_kept| *is_kept).map(drop).ok_or_else(|| self.unrecordable())
    }

    /// Hands over a record of success, or drops it.
    pub(super) fn offer(&self, record: &Record<'_>, slot: Option<Slot<'_>>) {
        if !slot.is_some_and(|slot| self.push(record, slot)) {
            self.shared().counters.shed();
        }
    }

    fn push(&self, record: &Record<'_>, slot: Slot<'_>) -> bool {
        let line = self.shown(record, |record| record.line(SystemTime::now()));
        self.shared().queue.push(line.as_bytes(), slot).is_ok()
    }

    /// Tells `look` the record without secrets. They are looked for before texts are cut, so that no part of one is left.
    fn shown<T>(&self, record: &Record<'_>, look: impl FnOnce(&Record<'_>) -> T) -> T {
        let Some(redactor) = &self.redactor else { return look(record) };
        let now = redactor.current();
        let hide = |text: Option<_>| text.map(|text| now.redactor.redact_text(text));
        let [client, name, error, method] =
            [record.client, record.name, record.error, record.method].map(hide);
        let [client, name, error, method] = [&client, &name, &error, &method].map(Option::as_deref);
        look(&Record { client, name, error, method, ..*record })
    }

    fn unrecordable(&self) -> Unrecordable {
        self.shared().counters.unrecordable();
        Unrecordable
    }

    fn shared(&self) -> &Shared {
        &self.handle.0
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AuditLog").field(&self.counts()).finish()
    }
}
