use std::sync::Arc;

use gateway_domain::{Event, EventSink, Notes, RawObject};

use super::{config::Direction, live::LiveRedactor, redactor::Redacted};

/// Redacts what a downstream says while a call runs, and counts it with the call.
pub(super) struct RedactedEvents {
    pub(super) redactor: Arc<LiveRedactor>,
    pub(super) notes: Arc<Notes>,
    pub(super) inner: Arc<dyn EventSink>,
}

impl EventSink for RedactedEvents {
    fn emit(&self, event: Event) {
        let now = self.redactor.current();
        let redact = |params: RawObject| {
            let Some(redactor) = now.of_results() else { return params };
            let Redacted { value, count } = redactor.redact_object(&params, Direction::Results);
            self.notes.redacted(count);
            value
        };
        self.inner.emit(match event {
            Event::Progress(params) => Event::Progress(redact(params)),
            Event::Log(params) => Event::Log(redact(params)),
        });
    }
}
