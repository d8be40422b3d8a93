//! The order of the stages, in one place.
//!
//! ```text
//! observed:  trace ( metrics ( audit ( … ) ) )
//! counted:   rates of callers ( … )
//! decided:   policy ( limits ( redaction ( … ) ) )
//! ```
//!
//! A call of a client is `observed(counted(resolve(decided(registry))))`, or `observed(counted(workflows))` where a run
//! is `decided(run)`; a call of a step is again the former. Each is counted once, before it is known whether there is
//! what it is for. What observes stands outside of everything that can refuse or
//! stop a call: nothing is lost to it (P-32, P-34), not even a call that the audit log has no room for. The trace comes
//! first, so that a record names the trace that begins here.

use std::{fmt, sync::Arc};

use gateway_domain::{Answering, Call, Dispatcher};
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::Instant;

use crate::{
    audit::{Audit, AuditLog},
    metrics::{CallMetrics, Metered},
    trace::{Traced, Tracer},
};

/// A dispatcher, whichever.
pub type Inner = Arc<dyn Dispatcher>;

/// Puts a stage around a dispatcher.
pub type Layer = Arc<dyn Fn(Inner) -> Inner + Send + Sync>;

/// What watches calls. Parts that are not there leave no trace in the path of a call. Clones share everything.
#[derive(Debug, Clone, Default)]
pub struct Observers {
    /// Gives each call a span.
    pub tracer: Option<Tracer>,
    /// Counts each call.
    pub metrics: Option<Arc<CallMetrics>>,
    /// Records each call.
    pub audit: Option<AuditLog>,
}

impl Observers {
    /// The same dispatcher, watched.
    pub fn observed(&self, inner: Inner) -> Inner {
        let mut stack = inner;
        if let Some(log) = &self.audit {
            stack = Arc::new(Audit::new(log.clone(), stack));
        }
        if let Some(metrics) = &self.metrics {
            stack = Arc::new(Metered::new(metrics.clone(), stack));
        }
        if let Some(tracer) = &self.tracer {
            stack = Arc::new(Traced::new(tracer.clone(), stack));
        }
        stack
    }
}

/// What decides about calls. Clones share everything.
#[derive(Clone, Default)]
pub struct Stages {
    /// Outermost first, each with the name that its time is counted under.
    layers: Vec<(&'static str, Layer)>,
    counting: Option<Layer>,
    metrics: Option<Arc<CallMetrics>>,
}

impl Stages {
    /// The stages of P-32, those that there are: who may make a call, how often, and what may be seen of it.
    pub fn new(policy: Option<Layer>, limits: Option<Layer>, redaction: Option<Layer>) -> Self {
        let named = [("policy", policy), ("limits", limits), ("redaction", redaction)];
        let layers = named.into_iter().filter_map(|(name, layer)| Some((name, layer?))).collect();
        Self { layers, counting: None, metrics: None }
    }

    /// The same stages, and one before a call is resolved.
    #[must_use]
    pub fn counting(self, layer: Option<Layer>) -> Self {
        Self { counting: layer, ..self }
    }

    /// The same stages, each timed.
    #[must_use]
    pub fn timed(self, metrics: Arc<CallMetrics>) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// The same dispatcher behind what comes before calls are resolved. It is not timed: it waits for nothing.
    pub fn counted(&self, inner: Inner) -> Inner {
        match &self.counting {
            Some(layer) => layer(inner),
            None => inner,
        }
    }

    /// The same dispatcher behind all stages; where they are timed, so is it, as `dispatch`.
    pub fn decided(&self, inner: Inner) -> Inner {
        let innermost = self.timing("dispatch", inner);
        self.layers.iter().rev().fold(innermost, |inner, (name, layer)| self.timing(name, layer(inner)))
    }

    fn timing(&self, stage: &'static str, inner: Inner) -> Inner {
        match &self.metrics {
            Some(metrics) => Arc::new(Timed { time: metrics.stage(stage), inner }),
            None => inner,
        }
    }
}

impl fmt::Debug for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.layers.iter().map(|(name, _)| name)).finish()
    }
}

/// Counts how long what is inside takes for each call that ends.
///
/// Cancel-safe: of a call that is dropped nothing is counted.
struct Timed {
    time: Histogram,
    inner: Inner,
}

impl Dispatcher for Timed {
    /// As `async fn` would be, but for the call, which is not moved into one more future.
    fn dispatch<'a, 'b>(&'a self, call: Call) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        let (begun, answer) = (Instant::now(), self.inner.dispatch(call));
        Box::pin(async move {
            let result = answer.await;
            self.time.observe(begun.elapsed().as_secs_f64());
            result
        })
    }
}

#[cfg(test)]
mod tests;
