//! What is said on one stream of a session. It is kept for a while, so that a client whose connection broke goes on
//! where it stood (protocol.md §4.5).

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use prometheus_client::metrics::counter::Counter;
use tokio::sync::Notify;

use crate::{config::Limits, endpoint::Payload};

/// How many messages may wait for a reader before their maker does.
const WAITING: usize = 8;
/// A message of more bytes than this is not kept once it has been read.
const LARGE: usize = 64 << 10;

/// What all journals of an edge share.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    /// Bytes that are kept in all.
    bytes: AtomicUsize,
    /// Messages that went before anybody read them.
    dropped: Counter<u64, AtomicU64>,
}

impl Shelf {
    pub(crate) fn new(dropped: Counter<u64, AtomicU64>) -> Arc<Self> {
        Arc::new(Self { bytes: AtomicUsize::new(0), dropped })
    }

    /// Counts a message that nobody will read.
    pub(crate) fn drop_one(&self) {
        if self.dropped.inc() == 0 {
            tracing::warn!("a message to a client was dropped; see gateway_events_dropped_total for more");
        }
    }
}

/// How much a journal keeps.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    events: usize,
    bytes: usize,
    total: usize,
    shelf: Arc<Shelf>,
}

impl Bounds {
    pub(crate) fn new(limits: &Limits, shelf: &Arc<Shelf>) -> Self {
        Self {
            events: limits.replay_events,
            bytes: limits.replay_bytes,
            total: limits.replay_total_bytes,
            shelf: shelf.clone(),
        }
    }
}

/// One stream.
#[derive(Debug)]
pub(crate) struct Journal {
    stream: u64,
    bounds: Bounds,
    state: Mutex<State>,
    /// Told when the reader has read, or has gone.
    read: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// In the order of their numbers.
    events: VecDeque<Event>,
    bytes: usize,
    /// The number of the event that was said last; the first has 1.
    last: u64,
    /// The number of the last one that was given to a reader.
    given: u64,
    /// Who reads now. There is one at a time: another one takes the place.
    reader: Option<u64>,
    readers: u64,
    waker: Option<Waker>,
    over: bool,
}

#[derive(Debug)]
struct Event {
    number: u64,
    message: Payload,
}

/// Names an event, and with it its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) stream: u64,
    pub(crate) number: u64,
}

impl EventId {
    /// Reads what [`Display`](std::fmt::Display) writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (stream, number) = text.split_once('-')?;
        Some(Self { stream: stream.parse().ok()?, number: number.parse().ok()? })
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

impl Journal {
    pub(crate) fn new(stream: u64, bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { stream, bounds, state: Mutex::default(), read: Notify::new() })
    }

    pub(crate) fn stream(&self) -> u64 {
        self.stream
    }

    /// Says one message, whoever reads it.
    pub(crate) fn push(&self, message: Payload) {
        let mut state = self.state();
        if state.over {
            return;
        }
        state.last += 1;
        let number = state.last;
        self.count(&mut state, message.len(), true);
        state.events.push_back(Event { number, message });
        self.trim(&mut state);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// As [`Self::push`], if anybody has ever read; else the message is counted as lost.
    pub(crate) fn tell(&self, message: Payload) {
        if self.state().readers == 0 {
            return self.bounds.shelf.drop_one();
        }
        self.push(message);
    }

    /// As [`Self::push`], when the reader is not far behind.
    pub(crate) async fn say(&self, message: Payload) {
        loop {
            let mut read = pin!(self.read.notified());
            // Before the look, so that no reading between it and the wait is missed.
            read.as_mut().enable();
            if !self.lags() {
                return self.push(message);
            }
            read.await;
        }
    }

    /// Nothing more will be said.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.over = true;
        let waker = state.waker.take();
        drop(state);
        self.read.notify_waiters();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether nothing more will be said.
    pub(crate) fn is_over(&self) -> bool {
        self.state().over
    }

    /// Whether somebody reads now.
    pub(crate) fn is_read(&self) -> bool {
        self.state().reader.is_some()
    }

    /// The number of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.state().last
    }

    /// Reads what comes after the event of this number, instead of whoever does now.
    pub(crate) fn read_after(self: &Arc<Self>, number: u64) -> Reader {
        let mut state = self.state();
        state.readers += 1;
        let serial = state.readers;
        state.reader = Some(serial);
        let before = state.waker.take();
        drop(state);
        self.read.notify_waiters();
        before.into_iter().for_each(Waker::wake);
        Reader { journal: self.clone(), serial, given: number }
    }

    /// Ends this reader, if it still reads.
    pub(crate) fn dismiss(&self, serial: u64) {
        let mut state = self.state();
        if state.reader != Some(serial) {
            return;
        }
        state.reader = None;
        let waker = state.waker.take();
        drop(state);
        self.read.notify_waiters();
        waker.into_iter().for_each(Waker::wake);
    }

    fn lags(&self) -> bool {
        let state = self.state();
        let waiting = usize::try_from(state.last - state.given.min(state.last)).unwrap_or(usize::MAX);
        state.reader.is_some() && !state.over && waiting >= WAITING
    }

    /// Lets go of the oldest events beyond what may be kept, but never of the last: that is the answer.
    fn trim(&self, state: &mut State) {
        let Bounds { events, bytes, total, shelf } = &self.bounds;
        while state.events.len() > 1
            && (state.events.len() > *events
                || state.bytes > *bytes
                || shelf.bytes.load(Ordering::Acquire) > *total)
        {
            let Some(oldest) = state.events.pop_front() else { return };
            self.count(state, oldest.message.len(), false);
            if oldest.number > state.given {
                shelf.drop_one();
            }
        }
    }

    /// Lets go of what was read, the last too, while all journals together keep more than they may.
    fn release(&self, state: &mut State) {
        let Bounds { total, shelf, .. } = &self.bounds;
        while shelf.bytes.load(Ordering::Acquire) > *total
            && let Some(oldest) = state.events.pop_front_if(|oldest| oldest.number <= state.given)
        {
            self.count(state, oldest.message.len(), false);
        }
    }

    fn count(&self, state: &mut State, bytes: usize, more: bool) {
        let all = &self.bounds.shelf.bytes;
        if more {
            state.bytes += bytes;
            all.fetch_add(bytes, Ordering::AcqRel);
        } else {
            state.bytes -= bytes;
            all.fetch_sub(bytes, Ordering::AcqRel);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let bytes = self.state().bytes;
        self.bounds.shelf.bytes.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// Reads a journal from some event on. Another reader of the same journal ends it.
#[derive(Debug)]
pub(crate) struct Reader {
    journal: Arc<Journal>,
    serial: u64,
    /// The number of the event it was given last.
    given: u64,
}

impl Reader {
    /// Which reader of the journal it is.
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// Where it stands.
    pub(crate) fn position(&self) -> EventId {
        EventId { stream: self.journal.stream, number: self.given }
    }

    /// The next message; [`Self::position`] names it then. `None` at the end.
    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Payload>> {
        let mut state = self.journal.state();
        if state.reader != Some(self.serial) {
            return Poll::Ready(None);
        }
        let Some(at) = state.events.iter().position(|event| event.number > self.given) else {
            if state.over {
                return Poll::Ready(None);
            }
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        self.given = state.events[at].number;
        state.given = state.given.max(self.given);
        let message = state.events[at].message.clone();
        // What a large message holds on to must not wait for a reader that may never come again.
        if message.len() > LARGE {
            state.events.remove(at);
            self.journal.count(&mut state, message.len(), false);
        }
        self.journal.release(&mut state);
        drop(state);
        self.journal.read.notify_waiters();
        Poll::Ready(Some(message))
    }

    /// As [`Self::poll_next`]. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Payload> {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.journal.state();
        if state.reader == Some(self.serial) {
            state.reader = None;
            state.waker = None;
        }
        drop(state);
        self.journal.read.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(configure: impl FnOnce(&mut Limits)) -> (Arc<Journal>, Arc<Shelf>) {
        let mut limits = Limits::default();
        configure(&mut limits);
        let shelf = Arc::new(Shelf::default());
        (Journal::new(3, Bounds::new(&limits, &shelf)), shelf)
    }

    fn message(text: &str) -> Payload {
        text.as_bytes().to_vec().into()
    }

    /// What can be read now, with the number of each.
    async fn all(reader: &mut Reader) -> Vec<(u64, String)> {
        let mut read = Vec::new();
        while let Ok(Some(message)) =
            tokio::time::timeout(std::time::Duration::from_millis(5), reader.next()).await
        {
            read.push((reader.position().number, String::from_utf8(message.0.concat()).unwrap()));
        }
        read
    }

    fn numbered(texts: &[(u64, &str)]) -> Vec<(u64, String)> {
        texts.iter().map(|(number, text)| (*number, (*text).to_owned())).collect()
    }

    #[tokio::test]
    async fn another_reader_goes_on_where_one_stood() {
        let (journal, _) = journal(|_| {});
        let mut first = journal.read_after(0);
        journal.push(message("a"));
        journal.push(message("b"));
        assert_eq!(all(&mut first).await, numbered(&[(1, "a"), (2, "b")]));
        journal.push(message("c"));
        let mut second = journal.read_after(1);
        assert!(first.next().await.is_none(), "whose place was taken");
        assert_eq!(all(&mut second).await, numbered(&[(2, "b"), (3, "c")]));
        drop(first);
        assert!(journal.is_read(), "the first to go was not the last to come");
        journal.push(message("d"));
        journal.close();
        journal.push(message("e"));
        assert_eq!(all(&mut second).await, numbered(&[(4, "d")]));
        assert!(second.next().await.is_none());
        assert_eq!(second.position(), EventId { stream: 3, number: 4 });
    }

    #[tokio::test]
    async fn what_does_not_fit_goes_but_for_the_last() {
        let (journal, shelf) = journal(|limits| (limits.replay_events, limits.replay_bytes) = (2, 10));
        for text in ["a", "b", "c", "0123456789ab"] {
            journal.push(message(text));
        }
        assert_eq!((shelf.dropped.get(), shelf.bytes.load(Ordering::Acquire)), (3, 12));
        assert_eq!(all(&mut journal.read_after(0)).await, numbered(&[(4, "0123456789ab")]));
        journal.push(message("d"));
        assert_eq!(shelf.dropped.get(), 3, "what was read is not lost");
        drop(journal);
        assert_eq!(shelf.bytes.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn all_journals_together_keep_no_more_than_they_may() {
        let (journal, shelf) = journal(|limits| limits.replay_total_bytes = 2);
        let other = Journal::new(4, journal.bounds.clone());
        other.push(message("abc"));
        journal.push(message("a"));
        journal.push(message("b"));
        assert_eq!((shelf.dropped.get(), shelf.bytes.load(Ordering::Acquire)), (1, 4));
    }

    #[tokio::test]
    async fn what_was_read_goes_when_there_is_too_much_in_all() {
        let (journal, shelf) = journal(|limits| limits.replay_total_bytes = 2);
        let other = Journal::new(4, journal.bounds.clone());
        journal.push(message("ab"));
        assert_eq!(all(&mut journal.read_after(0)).await, numbered(&[(1, "ab")]));
        assert_eq!(all(&mut journal.read_after(0)).await.len(), 1, "it is not too much yet");
        other.push(message("cde"));
        other.close();
        assert_eq!(all(&mut other.read_after(0)).await, numbered(&[(1, "cde")]));
        assert_eq!((shelf.dropped.get(), shelf.bytes.load(Ordering::Acquire)), (0, 2));
        assert!(other.read_after(0).next().await.is_none());
    }

    #[tokio::test]
    async fn a_slow_reader_slows_the_maker_and_one_that_is_gone_does_not() {
        let (journal, _) = journal(|_| {});
        let mut reader = journal.read_after(0);
        for _ in 0..WAITING {
            journal.say(message("a")).await;
        }
        {
            let mut more = pin!(journal.say(message("b")));
            let patience = std::time::Duration::from_millis(5);
            assert!(tokio::time::timeout(patience, &mut more).await.is_err());
            reader.next().await;
            more.await;
        }
        let mut more = pin!(journal.say(message("c")));
        assert!(futures_pending(&mut more).await);
        drop(reader);
        more.await;
        assert_eq!(journal.last(), WAITING as u64 + 2);
    }

    async fn futures_pending(work: &mut (impl Future<Output = ()> + Unpin)) -> bool {
        tokio::time::timeout(std::time::Duration::from_millis(5), work).await.is_err()
    }

    #[tokio::test]
    async fn a_large_message_is_not_kept_once_it_was_read() {
        let (journal, shelf) = journal(|_| {});
        let mut reader = journal.read_after(0);
        journal.push(vec![b'x'; LARGE + 1].into());
        assert!(reader.next().await.is_some());
        assert_eq!(shelf.bytes.load(Ordering::Acquire), 0);
        assert!(all(&mut journal.read_after(0)).await.is_empty());
    }

    #[test]
    fn ids_of_events_are_read_as_they_are_written() {
        let id = EventId { stream: 3, number: 17 };
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        for text in ["", "3", "3-", "-1", "3-1-1", "a-1", "99999999999999999999-1"] {
            assert_eq!(EventId::parse(text), None, "for {text:?}");
        }
    }
}
