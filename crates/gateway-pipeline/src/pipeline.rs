//! The order of the stages, in one place.
//!
//! ```text
//! observed:  trace ( metrics ( audit ( … ) ) )
//! decided:   policy ( limits ( redaction ( … ) ) )
//! ```
//!
//! A call of a client is `observed(resolve(decided(registry)))`, or `observed(workflows)` where a run is
//! `decided(run)`; a call of a step is again the former. What observes stands outside of everything that can refuse or
//! stop a call: nothing is lost to it (P-32, P-34), not even a call that the audit log has no room for. The trace comes
//! first, so that a record names the trace that begins here.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use gateway_domain::{Call, Dispatcher, Error, Outcome};
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

/// What decides about calls, outermost first: each with the name that its time is noted under. Clones share everything.
#[derive(Clone, Default)]
pub struct Stages(Vec<(&'static str, Layer)>);

impl Stages {
    /// The stages of P-32, those that there are: who may make a call, how often, and what may be seen of it.
    pub fn new(policy: Option<Layer>, limits: Option<Layer>, redaction: Option<Layer>) -> Self {
        let named = [("policy", policy), ("limits", limits), ("redaction", redaction)];
        Self(named.into_iter().filter_map(|(name, layer)| Some((name, layer?))).collect())
    }

    /// The same dispatcher behind all stages, each timed, and itself as `dispatch`.
    pub fn decided(&self, inner: Inner) -> Inner {
        let innermost: Inner = Arc::new(Timed::new("dispatch", inner));
        self.0.iter().rev().fold(innermost, |inner, (name, layer)| Arc::new(Timed::new(name, layer(inner))))
    }
}

impl fmt::Debug for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Notes how long what is inside takes for each call that ends.
///
/// Cancel-safe: of a call that is dropped nothing is noted.
#[derive(Debug, Clone)]
pub struct Timed<D> {
    stage: &'static str,
    inner: D,
}

impl<D> Timed<D> {
    /// A stage around `inner` that notes its time under this name.
    pub fn new(stage: &'static str, inner: D) -> Self {
        Self { stage, inner }
    }
}

#[async_trait]
impl<D: Dispatcher> Dispatcher for Timed<D> {
    /// # Errors
    /// Those of what is inside.
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let (notes, begun) = (call.exchange.notes.clone(), Instant::now());
        let result = self.inner.dispatch(call).await;
        notes.spent(self.stage, begun.elapsed());
        result
    }
}

#[cfg(test)]
mod tests;
