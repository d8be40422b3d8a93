//! What is being answered: how much of it there may be, and how it ends before its time.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use gateway_protocol::RequestId;
use tokio::{
    runtime::Handle,
    sync::{oneshot, watch},
};
use tracing::Instrument as _;

use crate::{
    auth::{Principal, take},
    config::Limits,
    edge::Phase,
    rescue::Refusal,
};

pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How many requests are in flight in all.
#[derive(Debug, Default)]
pub(crate) struct Load(AtomicUsize);

impl Load {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// Admits one more request of a caller.
    ///
    /// # Errors
    /// [`Refusal::CallerBusy`] or [`Refusal::Busy`].
    pub(crate) fn admit(
        self: &Arc<Self>,
        principal: &Arc<Principal>,
        limits: &Limits,
    ) -> Result<Permit, Refusal> {
        if !take(&principal.in_flight, principal.limit(limits.in_flight_per_caller)) {
            return Err(Refusal::CallerBusy);
        }
        if !take(&self.0, limits.in_flight) {
            principal.in_flight.fetch_sub(1, Ordering::AcqRel);
            return Err(Refusal::Busy);
        }
        Ok(Permit { load: self.clone(), principal: principal.clone() })
    }
}

/// A place among the requests in flight, free again when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    load: Arc<Load>,
    principal: Arc<Principal>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.load.0.fetch_sub(1, Ordering::AcqRel);
        self.principal.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

/// How many are being shown a page.
#[derive(Debug, Default)]
pub(crate) struct Visitors(AtomicUsize);

impl Visitors {
    /// Admits one more, until what is returned is dropped.
    ///
    /// # Errors
    /// [`Refusal::Busy`].
    pub(crate) fn admit(&self, limit: usize) -> Result<Visiting<'_>, Refusal> {
        if take(&self.0, limit) { Ok(Visiting(&self.0)) } else { Err(Refusal::Busy) }
    }
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Visiting<'a>(&'a AtomicUsize);

impl Drop for Visiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The calls of one session or stdio client that can be cancelled by their id. Two may have the same id:
/// each is answered on its own POST, and a cancellation means both.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    running: Mutex<State>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<Running>,
    /// No call begins any more.
    ended: bool,
}

#[derive(Debug)]
struct Running {
    serial: u64,
    id: RequestId,
    /// Dropped to cancel.
    stop: oneshot::Sender<Stopped>,
}

/// Why a call is over before it has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Its client asked for that, and waits for no answer.
    Cancelled,
    /// All calls of its session are. The client still waits.
    Ended,
}

impl Calls {
    /// Registers a call for as long as the entry lives.
    ///
    /// # Errors
    /// [`Refusal::SessionUnknown`] after [`Self::end`]: a call that found its session just before must not
    /// bring it back to life downstream.
    pub(crate) fn enter(self: &Arc<Self>, id: &RequestId) -> Result<Entry, Refusal> {
        let (stop, stopped) = oneshot::channel();
        let serial = self.next.fetch_add(1, Ordering::Relaxed);
        let ended = self.with(|state| {
            if !state.ended {
                state.calls.push(Running { serial, id: id.clone(), stop });
            }
            state.ended
        });
        if ended {
            return Err(Refusal::SessionUnknown);
        }
        Ok(Entry { calls: self.clone(), serial, stopped })
    }

    /// Cancels the calls of this id. Unknown ids are fine: the answer may have crossed the cancellation.
    pub(crate) fn cancel(&self, id: &RequestId) {
        self.with(|state| state.calls.retain(|call| call.id != *id));
    }

    /// Stops all calls and lets none begin.
    pub(crate) fn end(&self) {
        let ended = State { calls: Vec::new(), ended: true };
        for call in self.with(|state| std::mem::replace(state, ended)).calls {
            // One that has finished meanwhile hears nothing.
            let _ = call.stop.send(Stopped::Ended);
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.running.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A registered call.
#[derive(Debug)]
pub(crate) struct Entry {
    calls: Arc<Calls>,
    serial: u64,
    stopped: oneshot::Receiver<Stopped>,
}

impl Entry {
    /// What `work` gives, or why it was stopped.
    pub(crate) async fn run<T>(mut self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        tokio::select! {
            biased;
            stopped = &mut self.stopped => Err(stopped.unwrap_or(Stopped::Cancelled)),
            done = work => Ok(done),
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.calls.with(|state| state.calls.retain(|call| call.serial != self.serial));
    }
}

/// A future whose panic is an outcome: a request is answered whatever happens behind the edge.
pub(crate) struct CatchUnwind<F>(pub(crate) F);

/// Something behind the edge panicked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Panicked;

impl<F: Future + Unpin> Future for CatchUnwind<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // After a panic the future is not polled again, so nothing sees a state it left broken.
        match caught(|| Pin::new(&mut self.0).poll(cx)) {
            Ok(poll) => poll.map(Ok),
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}

/// The same for work that is done at once, which nothing sees the rest of.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}

/// A future that goes on by itself when it is dropped unfinished: a legacy client that is gone has not
/// cancelled anything (protocol.md §20.12 no. 5). It ends with the gateway at the latest.
pub(crate) struct Detached<T: Send + 'static> {
    work: Option<Boxed<T>>,
    phase: watch::Receiver<Phase>,
}

impl<T: Send + 'static> Detached<T> {
    pub(crate) fn new(work: Boxed<T>, phase: watch::Receiver<Phase>) -> Self {
        Self { work: Some(work), phase }
    }
}

impl<T: Send + 'static> Future for Detached<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let done = std::task::ready!(work.as_mut().poll(cx));
        self.work = None;
        Poll::Ready(done)
    }
}

impl<T: Send + 'static> Drop for Detached<T> {
    fn drop(&mut self) {
        let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) else { return };
        let mut phase = self.phase.clone();
        let work = async move {
            tokio::select! {
                _ = work => {}
                _ = phase.wait_for(|phase| *phase == Phase::Closed) => {}
            }
        };
        // What drops it is dropped within the span of the request.
        drop(runtime.spawn(work.in_current_span()));
    }
}
