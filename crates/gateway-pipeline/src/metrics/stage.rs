use std::sync::Arc;

use gateway_domain::{Answering, Call, Caller, Dispatcher, Error, Notes, Outcome};
use tokio::time::Instant;

use super::calls::CallMetrics;
use crate::ending::Ending;

/// Counts every call that comes by, those too that are dropped.
///
/// Cancel-safe.
#[derive(Debug, Clone)]
pub struct Metered<D> {
    metrics: Arc<CallMetrics>,
    inner: D,
}

impl<D> Metered<D> {
    /// A stage around `inner`.
    pub fn new(metrics: Arc<CallMetrics>, inner: D) -> Self {
        Self { metrics, inner }
    }
}

impl<D: Dispatcher> Dispatcher for Metered<D> {
    /// # Errors
    /// Those of what is inside.
    fn dispatch<'a, 'b>(&'a self, call: Call) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        let mut count = Count {
            metrics: &self.metrics,
            caller: call.caller.clone(),
            notes: call.exchange.notes.clone(),
            begun: Instant::now(),
            is_counted: false,
        };
        // The call itself is not moved into one more future.
        let answer = self.inner.dispatch(call);
        Box::pin(async move {
            let result = answer.await;
            count.end(&result);
            result
        })
    }
}

/// A call that is not over. Dropped, it is counted as one that was.
struct Count<'a> {
    metrics: &'a CallMetrics,
    caller: Caller,
    notes: Arc<Notes>,
    begun: Instant,
    is_counted: bool,
}

impl Count<'_> {
    fn end(&mut self, result: &Result<Outcome, Error>) {
        self.is_counted = true;
        let found = self.notes.found();
        let ending = Ending::of(&found, result);
        self.metrics.ended(&self.caller, &self.notes, &ending, self.begun.elapsed());
    }
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        if !self.is_counted {
            let found = self.notes.found();
            let ending = Ending::unfinished(&found);
            self.metrics.ended(&self.caller, &self.notes, &ending, self.begun.elapsed());
        }
    }
}
