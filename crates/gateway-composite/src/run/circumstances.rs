use std::sync::{Arc, Mutex, PoisonError};

use gateway_domain::{ClientCapabilities, Event, EventSink, Exchange, RawObject};

/// A workflow waits for its steps: none of them may become a task that goes on by itself.
const TASKS: &str = gateway_domain::TASKS_EXTENSION;

/// The circumstances of a run: those of the latest request that belongs to it. Clones share them.
#[derive(Clone)]
pub(super) struct Circumstances(Arc<Mutex<Exchange>>);

impl Circumstances {
    pub(super) fn new(exchange: Exchange) -> Self {
        Self(Arc::new(Mutex::new(exchange)))
    }

    /// Puts those of a later request in their place.
    pub(super) fn replace(&self, exchange: Exchange) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = exchange;
    }

    pub(super) fn now(&self) -> Exchange {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those of a call that a step makes. Its logs go wherever the run's go when they are written.
    pub(super) fn inner(&self) -> Exchange {
        let now = self.now();
        Exchange {
            capabilities: without_tasks(&now.capabilities),
            wants_progress: false,
            events: Arc::new(Logs(self.clone())),
            ..now
        }
    }

    /// Whether the client can be asked anything.
    pub(super) fn can_be_asked(&self) -> bool {
        self.now().here().is_interactive()
    }
}

fn without_tasks(capabilities: &ClientCapabilities) -> ClientCapabilities {
    let raw = capabilities.raw();
    let Some(extensions) = raw.get_object("extensions").filter(|extensions| extensions.contains(TASKS))
    else {
        return capabilities.clone();
    };
    let rest = extensions.edit().remove(TASKS).finish();
    let edited = raw.edit().set("extensions", rest.as_bytes()).finish();
    RawObject::try_from(edited).map_or_else(|_| ClientCapabilities::none(), ClientCapabilities::from)
}

/// Passes on logs and no progress: the run tells its own.
struct Logs(Circumstances);

impl EventSink for Logs {
    fn emit(&self, event: Event) {
        if matches!(event, Event::Log(_)) {
            self.0.now().events.emit(event);
        }
    }
}

#[cfg(test)]
mod tests;
