use std::{borrow::Cow, fmt, sync::Arc, time::SystemTime};

use async_trait::async_trait;
use gateway_domain::{
    Call, Caller, Dispatcher, DownstreamName, Error, Notes, Origin, Outcome, Subject, TraceContext,
};
use tokio::time::Instant;

use super::{
    ids::{self, Ids},
    span::{Span, SpanSink, cut},
};
use crate::{
    ending::{Ending, Purpose, subject},
    redaction::LiveRedactor,
};

/// Makes spans of calls. Clones share everything.
#[derive(Clone)]
pub struct Tracer {
    ids: Arc<dyn Ids>,
    sink: Arc<dyn SpanSink>,
    /// Traces whose low half is below this are recorded, if they begin here.
    threshold: u128,
    redactor: Option<Arc<LiveRedactor>>,
}

impl Tracer {
    /// A tracer that hands spans to `sink`, those of every trace that begins here and of those that come with a request
    /// and are recorded. Without anybody who takes spans there should be no tracer: what a client began then goes
    /// through as it came.
    pub fn new(ids: Arc<dyn Ids>, sink: Arc<dyn SpanSink>) -> Self {
        Self { ids, sink, threshold: 1 << 64, redactor: None }
    }

    /// The same that records only a share, from 0 to 1, of the traces that begin here.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of 2^64, which a u128 has room for"
    )]
    pub fn with_ratio(self, ratio: f64) -> Self {
        Self { threshold: (ratio.clamp(0.0, 1.0) * 2_f64.powi(64)) as u128, ..self }
    }

    /// The same in whose spans stands nothing that this redactor finds.
    #[must_use]
    pub fn hiding(self, redactor: Arc<LiveRedactor>) -> Self {
        Self { redactor: Some(redactor), ..self }
    }

    fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.redactor {
            Some(redactor) => redactor.current().redactor.redact_text(text),
            None => text.into(),
        }
    }

    /// The context of a new span in the trace that a request came with, or in a new one.
    fn child(&self, parent: Option<&TraceContext>) -> Option<TraceContext> {
        if let Some(parent) = parent {
            return Some(TraceContext { span_id: ids::span(&*self.ids)?, ..parent.clone() });
        }
        let (trace_id, span_id) = ids::both(&*self.ids)?;
        let is_recorded = trace_id & u128::from(u64::MAX) < self.threshold;
        Some(TraceContext { trace_id, span_id, flags: is_recorded.into(), state: None })
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").finish_non_exhaustive()
    }
}

/// Gives every call a span, those too that are dropped; what lies below is called in its context.
///
/// Cancel-safe.
#[derive(Debug, Clone)]
pub struct Traced<D> {
    tracer: Tracer,
    inner: D,
}

impl<D> Traced<D> {
    /// A stage around `inner`.
    pub fn new(tracer: Tracer, inner: D) -> Self {
        Self { tracer, inner }
    }
}

#[async_trait]
impl<D: Dispatcher> Dispatcher for Traced<D> {
    /// # Errors
    /// Those of what is inside.
    async fn dispatch(&self, mut call: Call) -> Result<Outcome, Error> {
        let parent = call.exchange.trace.as_ref();
        let Some(context) = self.tracer.child(parent) else {
            return self.inner.dispatch(call).await;
        };
        let parent = parent.map(|parent| parent.span_id);
        call.exchange.trace = Some(context.clone());
        let mut open = context.is_sampled().then(|| OpenSpan::new(&self.tracer, context, parent, &call));
        let result = self.inner.dispatch(call).await;
        if let Some(open) = &mut open {
            open.end(&result);
        }
        result
    }
}

/// The span of a call that is not over. Dropped, it says that the call was.
struct OpenSpan<'a> {
    tracer: &'a Tracer,
    about: Option<About>,
}

struct About {
    context: TraceContext,
    parent: Option<u64>,
    start: SystemTime,
    begun: Instant,
    caller: Caller,
    subject: Subject,
    origin: Option<Origin>,
    notes: Arc<Notes>,
}

impl<'a> OpenSpan<'a> {
    fn new(tracer: &'a Tracer, context: TraceContext, parent: Option<u64>, call: &Call) -> Self {
        let about = About {
            context,
            parent,
            start: SystemTime::now(),
            begun: Instant::now(),
            caller: call.caller.clone(),
            subject: subject(&call.target).clone(),
            origin: call.origin.clone(),
            notes: call.exchange.notes.clone(),
        };
        Self { tracer, about: Some(about) }
    }

    fn end(&mut self, result: &Result<Outcome, Error>) {
        if let Some(about) = self.about.take() {
            let found = about.notes.found();
            self.tracer.sink.ended(about.span(self.tracer, &Ending::of(&found, result)));
        }
    }
}

impl Drop for OpenSpan<'_> {
    fn drop(&mut self) {
        if let Some(about) = self.about.take() {
            let found = about.notes.found();
            self.tracer.sink.ended(about.span(self.tracer, &Ending::unfinished(&found)));
        }
    }
}

impl About {
    fn span(&self, tracer: &Tracer, ending: &Ending<'_>) -> Span {
        let Purpose { method, name } = Purpose::of(&self.subject);
        // Before anything is cut, so that no part of a secret is left.
        let (method, name) = (tracer.hide(method), name.map(|name| tracer.hide(name)));
        let (method, name) = (&*method, name.as_deref());
        // What is not allowed may be any text.
        let label = match name.filter(|_| ending.decision.is_allowed()) {
            Some(name) => format!("{method} {}", cut(name)),
            None => cut(method).to_owned(),
        };
        let mut span = Span {
            context: self.context.clone(),
            parent: self.parent,
            name: label,
            start: self.start,
            duration: self.begun.elapsed(),
            attributes: Vec::with_capacity(10),
            is_error: ending.error.is_some(),
        };
        span.attribute("mcp.method.name", Some(method));
        span.attribute(kind(&self.subject), name);
        span.attribute("gateway.client", Some(&tracer.hide(&self.caller.to_string())));
        span.attribute("gateway.downstream", ending.downstream.as_deref().map(DownstreamName::as_str));
        span.attribute("gateway.decision", Some(ending.decision.code()));
        if let Some(Origin { workflow, run, step }) = &self.origin {
            span.attribute("gateway.workflow", Some(workflow));
            span.attribute("gateway.run", Some(run));
            span.attribute("gateway.step", Some(step));
        }
        span.attribute("error.type", ending.error);
        span
    }
}

/// What the name of a subject is called in a span.
fn kind(subject: &Subject) -> &'static str {
    match subject {
        Subject::Tool { .. } => "gen_ai.tool.name",
        Subject::Prompt { .. } => "gen_ai.prompt.name",
        Subject::Resource { .. } => "mcp.resource.uri",
        Subject::Completion(_) | Subject::Task { .. } | Subject::Other { .. } => "gateway.name",
    }
}
