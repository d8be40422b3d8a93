use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use gateway_domain::{Event, Exchange, LogLevel};

use super::{KEPT_BYTES, KEPT_EVENTS};

/// Where the events of a call go: to its client while a request of the client's is open, and into keeping, bounded,
/// while the call waits for answers.
pub struct Relay(Mutex<State>);

enum State {
    Open(Box<Exchange>),
    Parked(Kept),
}

#[derive(Default)]
struct Kept {
    events: VecDeque<Event>,
    bytes: usize,
}

impl Kept {
    fn take(&mut self, event: Event) -> bool {
        let (Event::Progress(params) | Event::Log(params)) = &event;
        let bytes = self.bytes.saturating_add(params.as_str().len());
        let has_room = self.events.len() < KEPT_EVENTS && bytes <= KEPT_BYTES;
        if has_room {
            self.bytes = bytes;
            self.events.push_back(event);
        }
        has_room
    }
}

impl Relay {
    /// The events go to this exchange, as far as it wants them.
    pub fn new(exchange: &Exchange) -> Self {
        Self(Mutex::new(State::Open(Box::new(exchange.clone()))))
    }

    /// Passes an event on or keeps it. Returns whether it was taken; what is not wanted was not.
    pub fn emit(&self, event: Event) -> bool {
        match &mut *self.state() {
            State::Open(exchange) => pass(exchange, event),
            State::Parked(kept) => kept.take(event),
        }
    }

    /// Keeps events from now on.
    pub fn park(&self) {
        let mut state = self.state();
        if matches!(*state, State::Open(_)) {
            *state = State::Parked(Kept::default());
        }
    }

    /// Passes on what was kept, and from now on everything, to this exchange.
    pub fn resume(&self, exchange: &Exchange) {
        let mut state = self.state();
        // Under the lock, so that nothing overtakes.
        if let State::Parked(kept) = std::mem::replace(&mut *state, State::Open(Box::new(exchange.clone()))) {
            for event in kept.events {
                pass(exchange, event);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every critical section leaves it consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").finish_non_exhaustive()
    }
}

fn pass(exchange: &Exchange, event: Event) -> bool {
    let wanted = match &event {
        Event::Progress(_) => exchange.wants_progress,
        Event::Log(params) => {
            let level = params.get_text("level").and_then(|level| LogLevel::parse(&level));
            level.is_some_and(|level| exchange.wants_log(level))
        }
    };
    if wanted {
        exchange.events.emit(event);
    }
    wanted
}
