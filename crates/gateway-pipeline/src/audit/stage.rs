use std::{borrow::Cow, sync::Arc};

use gateway_domain::{
    Answering, Call, Caller, CallerError, Dispatcher, DownstreamName, Error, Notes, Origin, Outcome, Subject,
};
use tokio::time::Instant;

use super::{
    log::{AuditLog, Unrecordable},
    record::Record,
    slots::Slot,
};
use crate::ending::{Ending, Purpose, addressed, subject};

/// Records every call that comes by, whatever becomes of it: one record each, of those too that are dropped or whose
/// answering panics (P-34).
///
/// Cancel-safe: a call that is dropped has a record that says `cancelled`.
#[derive(Debug, Clone)]
pub struct Audit<D> {
    log: AuditLog,
    inner: D,
}

impl<D> Audit<D> {
    /// A stage around `inner` that records in `log`.
    pub fn new(log: AuditLog, inner: D) -> Self {
        Self { log, inner }
    }
}

impl<D: Dispatcher> Dispatcher for Audit<D> {
    /// # Errors
    /// Those of what is inside. [`CallerError::Unrecorded`] if there was no place for a record, and then the call was
    /// not made; or if the log was closed before a security record was handed over.
    fn dispatch<'a, 'b>(&'a self, call: Call) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        let mut open = OpenRecord::new(&self.log, &call);
        open.slot = self.log.reserve_now();
        if open.slot.is_none() {
            return Box::pin(self.dispatch_later(open, call));
        }
        // The call itself is not moved into one more future.
        let answer = self.inner.dispatch(call);
        Box::pin(async move { open.recorded(answer.await).await })
    }
}

impl<D: Dispatcher> Audit<D> {
    /// Waits for a place first.
    async fn dispatch_later(&self, mut open: OpenRecord<'_>, call: Call) -> Result<Outcome, Error> {
        match self.log.reserve().await {
            Ok(slot) => open.slot = Some(slot),
            Err(Unrecordable) => {
                open.is_settled = true;
                return Err(CallerError::Unrecorded { executed: false }.into());
            }
        }
        let result = self.inner.dispatch(call).await;
        open.recorded(result).await
    }
}

/// The record of a call that is not over. Dropped, it says that the call was.
struct OpenRecord<'a> {
    log: &'a AuditLog,
    about: About,
    /// For the record, should it be one of security.
    slot: Option<Slot<'a>>,
    is_settled: bool,
}

impl<'a> OpenRecord<'a> {
    fn new(log: &'a AuditLog, call: &Call) -> Self {
        Self { log, about: About::new(call), slot: None, is_settled: false }
    }

    /// What is answered once it is recorded.
    async fn recorded(mut self, result: Result<Outcome, Error>) -> Result<Outcome, Error> {
        match self.settle(&result).await {
            Ok(()) => result,
            Err(executed) => Err(CallerError::Unrecorded { executed }.into()),
        }
    }

    /// Records how the call ended. Fails, with whether it may have been executed, if a record is missing that must not
    /// be.
    async fn settle(&mut self, result: &Result<Outcome, Error>) -> Result<(), bool> {
        let found = self.about.notes.found();
        let ending = Ending::of(&found, result);
        let client = client(&self.about.caller);
        let record = self.about.record(&client, &ending);
        if record.is_security() {
            self.is_settled = true;
            let kept = self.log.keep(&record, self.slot.take());
            return kept.map_err(|Unrecordable| ending.may_have_run);
        }
        // Should it be dropped while it waits: what was answered was allowed.
        self.about.notes.decided(ending.decision);
        let room = match self.slot.take_if(|slot| slot.is_ordinary()) {
            Some(slot) => Some(slot),
            None => self.log.room().await,
        };
        self.is_settled = true;
        self.log.offer(&record, room);
        Ok(())
    }
}

impl Drop for OpenRecord<'_> {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        let found = self.about.notes.found();
        let ending = Ending::unfinished(&found);
        let client = client(&self.about.caller);
        let record = self.about.record(&client, &ending);
        if record.is_security() {
            // Nobody is there to be told; without a place, which it still waited for, it is counted.
            let _ = self.log.keep(&record, self.slot.take());
        } else {
            let own = self.slot.take_if(|slot| slot.is_ordinary());
            self.log.offer(&record, own.or_else(|| self.log.room_now()));
        }
    }
}

/// What is recorded of a call apart from its end.
struct About {
    begun: Instant,
    caller: Caller,
    subject: Subject,
    addressed: Option<DownstreamName>,
    origin: Option<Origin>,
    trace_id: Option<u128>,
    notes: Arc<Notes>,
}

impl About {
    fn new(call: &Call) -> Self {
        Self {
            begun: Instant::now(),
            caller: call.caller.clone(),
            subject: subject(&call.target).clone(),
            addressed: addressed(&call.target).cloned(),
            origin: call.origin.clone(),
            trace_id: call.exchange.trace.as_ref().map(|trace| trace.trace_id),
            notes: call.exchange.notes.clone(),
        }
    }

    fn record<'a>(&'a self, client: &'a str, ending: &'a Ending<'_>) -> Record<'a> {
        let Purpose { method, name } = Purpose::of(&self.subject);
        let downstream = ending.downstream.as_deref().or(self.addressed.as_ref());
        Record {
            client: Some(client),
            name,
            decision: ending.decision,
            latency: self.begun.elapsed(),
            is_broken: ending.is_broken,
            redactions: self.notes.redactions(),
            truncated: self.notes.is_truncated(),
            error: ending.error,
            method: Some(method),
            downstream: downstream.map(DownstreamName::as_str),
            origin: self.origin.as_ref(),
            trace_id: self.trace_id,
            peer: None,
        }
    }
}

fn client(caller: &Caller) -> Cow<'_, str> {
    caller.client_name().map_or_else(|| caller.to_string().into(), Cow::Borrowed)
}
