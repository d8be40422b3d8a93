//! What callers, reader and writer of one process share: the requests under way and the way out.

use std::{
    cell::Cell,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use gateway_domain::{
    ClientCapabilities, ClientLink, DownstreamFault, DownstreamName, Era, Error, Event, RawObject,
};
use gateway_protocol::{
    RequestId, Response, Revision,
    client::{Pending, Unreadable},
    write,
};
use tokio::{
    sync::{
        Semaphore,
        mpsc::{self, error::TrySendError},
        oneshot, watch,
    },
    time::Instant,
};

use self::listener::Listener;
pub(crate) use self::{
    call::CallState,
    listener::Said,
    request::{Answer, InFlight},
};
use crate::{StdioConfig, watching::Watching};

mod asked;
mod call;
mod listener;
mod request;

/// A message on its way to the writer.
pub(crate) struct Outgoing {
    /// The request it is, if it is one.
    pub(crate) request: Option<u64>,
    /// The message with its line end.
    pub(crate) line: Vec<u8>,
}

/// Who waits for an answer.
struct Waiter {
    answer: oneshot::Sender<Result<Response, Error>>,
    /// Of a call: where its events go, and what the server asks meanwhile.
    call: Option<Arc<CallState>>,
    /// When there was last a sign of it.
    last_sign: Cell<Instant>,
    /// Whether the writer has begun with it; before that it cannot have been carried out.
    written: Cell<bool>,
}

struct Table {
    pending: Pending<Waiter>,
    /// Why nothing can be asked any more.
    closed: Option<DownstreamFault>,
    /// Whether a session has been opened over this process.
    opened: bool,
    /// Requests before this one waited when an answer was refused that could be for any of them, and why.
    refused: Option<(u64, DownstreamFault)>,
    /// A request was taken back that the server may still answer.
    taken_back: bool,
    /// The requests that change events come under: one, and for a moment its successor.
    listeners: Vec<Listener>,
}

/// One process's connection.
pub(crate) struct Link {
    pub(crate) name: DownstreamName,
    /// The negotiated revision, once there is one.
    pub(crate) revision: OnceLock<Revision>,
    /// The resources that are watched.
    pub(crate) watching: Arc<Watching>,
    /// What was declared to the server.
    declared: OnceLock<ClientCapabilities>,
    /// Whose session it is.
    client: watch::Sender<Option<std::sync::Weak<dyn ClientLink>>>,
    /// How many questions outside any call are being answered.
    outside: Arc<Semaphore>,
    table: Mutex<Table>,
    queue: mpsc::Sender<Outgoing>,
    line_limit: usize,
    dropped: AtomicU64,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Link {
    /// A connection, and the end of its queue that the writer takes from.
    pub(crate) fn new(name: DownstreamName, config: &StdioConfig) -> (Arc<Self>, mpsc::Receiver<Outgoing>) {
        let (queue, outgoing) = mpsc::channel(config.write_queue.max(1));
        let pending = Pending::new(config.max_pending);
        let table = Table {
            pending,
            closed: None,
            opened: false,
            refused: None,
            taken_back: false,
            listeners: Vec::new(),
        };
        let link = Self {
            name,
            revision: OnceLock::new(),
            watching: Arc::default(),
            declared: OnceLock::new(),
            client: watch::Sender::new(None),
            outside: Arc::new(Semaphore::new(asked::OUTSIDE)),
            table: Mutex::new(table),
            queue,
            line_limit: config.max_line_bytes,
            dropped: AtomicU64::new(0),
        };
        (Arc::new(link), outgoing)
    }

    /// Sends a request of an opening. Its id is to be given back with [`Link::forget`] if no answer came:
    /// an opening's requests are never cancelled (protocol.md §2.7).
    pub(crate) fn post(
        self: &Arc<Self>,
        method: &'static str,
        params: &[u8],
    ) -> Result<(u64, Answer), Error> {
        let (mut request, answer) = self.enter(None)?;
        let id = request.disarm();
        self.send(Outgoing { request: Some(id), line: request_line(id, method, params) });
        Ok((id, answer))
    }

    /// Gives up a request without telling the server.
    pub(crate) fn forget(&self, id: u64) {
        drop(self.table().pending.take(id));
    }

    /// Sends a notification or a response, if there is room.
    pub(crate) fn tell(&self, mut message: Vec<u8>) {
        message.push(b'\n');
        self.send(Outgoing { request: None, line: message });
    }

    /// Marks requests as being written, and takes those out that nobody waits for any more.
    pub(crate) fn begin(&self, batch: &mut Vec<Outgoing>) {
        let table = self.table();
        batch.retain(|outgoing| {
            let Some(id) = outgoing.request else { return true };
            let waiter = table.pending.get(id);
            if let Some(waiter) = waiter {
                waiter.written.set(true);
            }
            waiter.is_some()
        });
    }

    /// Hands a response to who waits for it.
    pub(crate) fn answered(&self, response: Response) {
        let id = response.id.as_ref().and_then(RequestId::to_number);
        let waiter = id.and_then(|id| self.table().pending.take(id));
        let Some(waiter) = waiter else {
            if !id.is_some_and(|id| self.listener_answered(id, &response.answer)) {
                self.drop_one("an answer that nobody waits for");
            }
            return;
        };
        // Whoever gave up a moment ago does not mind.
        drop(waiter.answer.send(Ok(response)));
    }

    /// Passes progress on to the call it belongs to; nothing passes after the answer.
    pub(crate) fn progress(&self, params: RawObject) {
        let token = params.get("progressToken").and_then(|token| token.to_integer());
        let call = {
            let table = self.table();
            let waiter = token.and_then(|token| table.pending.get(token.try_into().ok()?));
            waiter.and_then(|waiter| {
                waiter.last_sign.set(Instant::now());
                waiter.call.clone()
            })
        };
        if !call.is_some_and(|call| call.relay.emit(Event::Progress(params))) {
            self.drop_one("progress that nobody asked for");
        }
    }

    /// Takes note of a line that was too long to be read.
    pub(crate) fn overlong(&self, line: Unreadable) {
        self.refused(line, DownstreamFault::TooLarge { limit: self.line_limit });
        self.drop_one("a line longer than the limit");
    }

    /// Takes note of a message that could not be taken. Nobody waits for what is no answer. The request
    /// that an answer names fails at once; so does one that waits alone, if it is certain that the answer is
    /// for no earlier one. Of several, those stay that are answered, and the one that is not learns at its
    /// timeout that it was this. Returns whether a request has failed.
    pub(crate) fn refused(&self, message: Unreadable, fault: DownstreamFault) -> bool {
        let failed = {
            let mut table = self.table();
            match message {
                Unreadable::Other => None,
                Unreadable::Answer(Some(id)) => table.pending.take(id),
                Unreadable::Answer(None) if table.pending.len() == 1 && !table.taken_back => {
                    table.pending.drain().next()
                }
                Unreadable::Answer(None) => {
                    table.refused = Some((table.pending.fresh(), fault.clone()));
                    None
                }
            }
        };
        let known = failed.is_some();
        if let Some(waiter) = failed {
            drop(waiter.answer.send(Err(fault.during(&self.name))));
        }
        known
    }

    /// Lets nothing more be asked; the first reason counts. What is under way goes on.
    pub(crate) fn close(&self, fault: DownstreamFault) {
        self.table().closed.get_or_insert(fault);
    }

    /// Fails everything that still waits. Returns whether there was a session and nobody had closed it. Of two
    /// reasons for an end that nobody asked for, the later knows more.
    pub(crate) fn fail(&self, fault: DownstreamFault) -> bool {
        let (waiters, fault, lost) = {
            let mut table = self.table();
            table.closed.take_if(|closed| matches!(closed, DownstreamFault::Ended { .. }));
            let lost = table.opened && table.closed.is_none();
            let fault = table.closed.get_or_insert(fault).clone();
            (table.pending.drain().collect::<Vec<_>>(), fault, lost)
        };
        for waiter in waiters {
            let fault = fault.clone();
            let error =
                if waiter.written.get() { fault.during(&self.name) } else { fault.before(&self.name) };
            drop(waiter.answer.send(Err(error)));
        }
        self.watching.end();
        lost
    }

    /// A session has been opened; from now on its loss is news.
    ///
    /// # Errors
    /// The process has ended meanwhile.
    pub(crate) fn opened(&self, revision: Revision, declared: &ClientCapabilities) -> Result<(), Error> {
        let mut table = self.table();
        if let Some(fault) = &table.closed {
            return Err(fault.clone().before(&self.name));
        }
        table.opened = true;
        drop(table);
        self.declared.get_or_init(|| declared.clone());
        self.revision.get_or_init(|| revision);
        Ok(())
    }

    pub(crate) fn has_session(&self) -> bool {
        self.table().opened
    }

    pub(crate) fn is_open(&self) -> bool {
        self.table().closed.is_none()
    }

    /// How many messages have been dropped, for whatever reason.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Counts something that was dropped; the first time it is worth a warning, unless the end has come: then
    /// it is what an end costs, and why it has come is told elsewhere.
    pub(crate) fn drop_one(&self, what: &str) {
        if self.dropped.fetch_add(1, Ordering::Relaxed) == 0 && self.is_open() {
            tracing::warn!(downstream = %self.name, "dropped {what}; further ones are only counted");
        } else {
            tracing::debug!(downstream = %self.name, "dropped {what}");
        }
    }

    /// Counts something that nobody was meant to hear.
    pub(crate) fn drop_quietly(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// The era that is spoken.
    pub(crate) fn era(&self) -> Era {
        self.revision.get().map_or(Era::Legacy, |revision| revision.era())
    }

    fn send(&self, outgoing: Outgoing) {
        match self.queue.try_send(outgoing) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.drop_one("a message for a server that does not read"),
            // The writer has ended, and with it the session.
            Err(TrySendError::Closed(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(downstream = %self.name, "dropped a message for a server that is ending");
            }
        }
    }

    pub(crate) fn why_closed(&self) -> DownstreamFault {
        self.table().closed.clone().unwrap_or(DownstreamFault::Closed)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // No code that can panic runs under the lock.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn request_line(id: u64, method: &str, params: &[u8]) -> Vec<u8> {
    let mut line = write::request(&RequestId::from(id), method, params);
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests;
