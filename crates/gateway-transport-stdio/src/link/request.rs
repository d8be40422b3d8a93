//! One request from its caller's side: in, waited for, and taken back.

use std::{cell::Cell, sync::Arc};

use gateway_domain::{CallerError, DownstreamFault, Error};
use gateway_protocol::{
    Response,
    client::{Limit, Patience, cancelled_params},
    method, write,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};

use super::{CallState, Link, Outgoing, Waiter};

impl Link {
    /// Asks something that is no call, and waits for the answer. Dropping the future cancels the request and leaves
    /// the others alone (R-W3); so does a timeout. The message is made once its id is known.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        patience: Patience,
        message: impl FnOnce(u64) -> Vec<u8>,
    ) -> Result<Response, Error> {
        let (mut request, mut answer) = self.begin_request(&patience, None, message).await?;
        let answered = match timeout_at(patience.until().into(), &mut answer).await {
            Ok(answered) => answered,
            // Taken out already, its answer is on the way.
            Err(_) if request.last_sign().is_none() => answer.await,
            Err(_) => return Err(request.expire(patience.limit())),
        };
        request.disarm();
        answered.unwrap_or_else(|_| Err(self.why_closed().during(&self.name)))
    }

    /// Enters a request and has it written. Dropping what this returns takes it back.
    pub(crate) async fn begin_request(
        self: &Arc<Self>,
        patience: &Patience,
        call: Option<Arc<CallState>>,
        message: impl FnOnce(u64) -> Vec<u8>,
    ) -> Result<(InFlight, Answer), Error> {
        let room = self.room(patience).await.map_err(|fault| fault.before(&self.name))?;
        let (request, answer) = self.enter(call)?;
        let mut line = message(request.id);
        line.push(b'\n');
        room.send(Outgoing { request: Some(request.id), line });
        Ok((request, answer))
    }

    /// Sends a response of ours in a call, and waits for room: the server waits for it.
    pub(crate) async fn respond(&self, patience: &Patience, mut message: Vec<u8>) -> Result<(), Error> {
        let room = self.room(patience).await.map_err(|fault| fault.during(&self.name))?;
        message.push(b'\n');
        room.send(Outgoing { request: None, line: message });
        Ok(())
    }

    /// Waits for room in the queue: there is none for long if the server has stopped reading.
    async fn room(&self, patience: &Patience) -> Result<mpsc::Permit<'_, Outgoing>, DownstreamFault> {
        if let Ok(room) = self.queue.try_reserve() {
            return Ok(room);
        }
        match timeout_at(patience.until().into(), self.queue.reserve()).await {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_)) => Err(self.why_closed()),
            Err(_) => Err(DownstreamFault::TimedOut { after: patience.limit().time() }),
        }
    }

    /// Enters a request into the table.
    pub(super) fn enter(self: &Arc<Self>, call: Option<Arc<CallState>>) -> Result<(InFlight, Answer), Error> {
        let (sender, answer) = oneshot::channel();
        let waiter =
            Waiter { answer: sender, call, last_sign: Cell::new(Instant::now()), written: Cell::new(false) };
        let mut table = self.table();
        if let Some(fault) = &table.closed {
            return Err(fault.clone().before(&self.name));
        }
        match table.pending.insert(waiter) {
            Ok(id) => Ok((InFlight { link: Arc::clone(self), id, armed: true }, answer)),
            Err(full) => Err(CallerError::Overloaded { what: WAITING, limit: full.limit }.into()),
        }
    }
}

pub(crate) type Answer = oneshot::Receiver<Result<Response, Error>>;

/// A request under way. Dropping it takes it back.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) link: Arc<Link>,
    id: u64,
    armed: bool,
}

impl InFlight {
    /// Leaves the request to its answer.
    pub(crate) fn disarm(&mut self) -> u64 {
        self.armed = false;
        self.id
    }

    /// When there was last a sign of progress; `None` if the request has been taken out of the table.
    pub(crate) fn last_sign(&self) -> Option<Instant> {
        self.link.table().pending.get(self.id).map(|waiter| waiter.last_sign.get())
    }

    /// Gives up after a time without an answer.
    pub(crate) fn expire(&mut self, limit: Limit) -> Error {
        self.armed = false;
        let refused = self.link.table().refused.clone().filter(|(next, _)| self.id < *next);
        let fault =
            refused.map_or_else(|| DownstreamFault::TimedOut { after: limit.time() }, |(_, fault)| fault);
        match self.take_back("timed out") {
            true => fault.during(&self.link.name),
            false => fault.before(&self.link.name),
        }
    }

    /// Takes the request out of the table and tells the server, if it can know of it. Returns whether it
    /// can. One that has just been answered is over anyway.
    fn take_back(&self, reason: &str) -> bool {
        let written = {
            let mut table = self.link.table();
            let Some(waiter) = table.pending.take(self.id) else { return true };
            table.taken_back |= waiter.written.get();
            waiter.written.get()
        };
        if written {
            let params = cancelled_params(self.id, reason);
            self.link.tell(write::notification(method::CANCELLED, &params));
        }
        written
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.armed {
            self.take_back("cancelled");
        }
    }
}

/// What there may not be too much of.
const WAITING: &str = "requests on one downstream session";
