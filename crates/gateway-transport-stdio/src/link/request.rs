//! One request from its caller's side: in, waited for, and taken back.

use std::{cell::Cell, sync::Arc, time::Duration};

use gateway_domain::{CallerError, DownstreamFault, Error, EventSink};
use gateway_protocol::{Response, method, write};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout, timeout_at},
};

use super::{Link, Outgoing, Waiter, later};

/// How long to wait for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Since the request, or the last progress.
    pub(crate) quiet: Duration,
    /// In all.
    pub(crate) total: Duration,
}

impl Link {
    /// Asks and waits for the answer. Dropping the future cancels the request and leaves the others alone
    /// (R-W3); so does a timeout. The message is made once its id is known.
    pub(crate) async fn ask(
        &self,
        patience: Patience,
        events: Option<Arc<dyn EventSink>>,
        message: impl FnOnce(u64) -> Vec<u8>,
    ) -> Result<Response, Error> {
        let begun = Instant::now();
        let end = later(begun, patience.total);
        let room = self.room(patience.quiet.min(patience.total)).await?;
        let (request, mut answer) = self.enter(events)?;
        let mut line = message(request.id);
        line.push(b'\n');
        room.send(Outgoing { request: Some(request.id), line });
        let mut deadline = end.min(later(begun, patience.quiet));
        loop {
            match timeout_at(deadline, &mut answer).await {
                Ok(answered) => {
                    request.disarm();
                    return answered.unwrap_or_else(|_| Err(self.why_closed().during(&self.name)));
                }
                Err(_) => match request.extended(end, patience.quiet) {
                    Some(later) => deadline = later,
                    None => {
                        let in_all = deadline >= end;
                        return Err(request.expire(if in_all { patience.total } else { patience.quiet }));
                    }
                },
            }
        }
    }

    /// Waits for room in the queue: there is none for long if the server has stopped reading.
    async fn room(&self, wait: Duration) -> Result<mpsc::Permit<'_, Outgoing>, Error> {
        if let Ok(room) = self.queue.try_reserve() {
            return Ok(room);
        }
        match timeout(wait, self.queue.reserve()).await {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_)) => Err(self.why_closed().before(&self.name)),
            Err(_) => Err(DownstreamFault::TimedOut { after: wait }.before(&self.name)),
        }
    }

    /// Enters a request into the table.
    pub(super) fn enter(&self, events: Option<Arc<dyn EventSink>>) -> Result<(InFlight<'_>, Answer), Error> {
        let (sender, answer) = oneshot::channel();
        let waiter = Waiter {
            answer: sender,
            events,
            last_sign: Cell::new(Instant::now()),
            written: Cell::new(false),
        };
        let mut table = self.table();
        if let Some(fault) = &table.closed {
            return Err(fault.clone().before(&self.name));
        }
        match table.pending.insert(waiter) {
            Ok(id) => Ok((InFlight { link: self, id, armed: true }, answer)),
            Err(full) => Err(CallerError::Overloaded { what: WAITING, limit: full.limit }.into()),
        }
    }
}

pub(crate) type Answer = oneshot::Receiver<Result<Response, Error>>;

/// A request under way. Dropping it takes it back.
pub(super) struct InFlight<'a> {
    link: &'a Link,
    id: u64,
    armed: bool,
}

impl InFlight<'_> {
    /// Leaves the request to its answer.
    pub(super) fn disarm(mut self) -> u64 {
        self.armed = false;
        self.id
    }

    /// Until when to wait on because of progress; `None` if there was none in time.
    fn extended(&self, end: Instant, quiet: Duration) -> Option<Instant> {
        let table = self.link.table();
        // Just answered: one more look.
        let Some(waiter) = table.pending.get(self.id) else { return Some(end) };
        let until = end.min(later(waiter.last_sign.get(), quiet));
        (until > Instant::now()).then_some(until)
    }

    /// Gives up after a time without an answer.
    fn expire(mut self, after: Duration) -> Error {
        self.armed = false;
        let overlong = self.id < self.link.table().overlong;
        let fault = if overlong {
            DownstreamFault::TooLarge { limit: self.link.line_limit }
        } else {
            DownstreamFault::TimedOut { after }
        };
        match self.take_back("timed out") {
            true => fault.during(&self.link.name),
            false => fault.before(&self.link.name),
        }
    }

    /// Takes the request out of the table and tells the server, if it can know of it. Returns whether it
    /// can. One that has just been answered is over anyway.
    fn take_back(&self, reason: &str) -> bool {
        let Some(waiter) = self.link.table().pending.take(self.id) else { return true };
        let written = waiter.written.get();
        if written {
            let params = format!(r#"{{"requestId":{},"reason":"{reason}"}}"#, self.id);
            self.link.tell(write::notification(method::CANCELLED, params.as_bytes()));
        }
        written
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.take_back("cancelled");
        }
    }
}

/// What there may not be too much of.
const WAITING: &str = "requests on one downstream session";
