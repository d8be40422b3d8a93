use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use gateway_domain::{Event, Exchange, LogLevel};

use super::KEPT_EVENTS;

/// Where the events of a call go: to its client while a request of the client's is open, and into keeping, bounded,
/// while the call waits for answers.
pub struct Relay(Mutex<State>);

enum State {
    Open(Exchange),
    Parked(VecDeque<Event>),
}

impl Relay {
    /// The events go to this exchange, as far as it wants them.
    pub fn new(exchange: &Exchange) -> Self {
        Self(Mutex::new(State::Open(exchange.clone())))
    }

    /// Passes an event on or keeps it. Returns whether it was taken; what is not wanted was not.
    pub fn emit(&self, event: Event) -> bool {
        match &mut *self.state() {
            State::Open(exchange) => pass(exchange, event),
            State::Parked(kept) if kept.len() < KEPT_EVENTS => {
                kept.push_back(event);
                true
            }
            State::Parked(_) => false,
        }
    }

    /// Keeps events from now on.
    pub fn park(&self) {
        let mut state = self.state();
        if matches!(*state, State::Open(_)) {
            *state = State::Parked(VecDeque::new());
        }
    }

    /// Passes on what was kept, and from now on everything, to this exchange.
    pub fn resume(&self, exchange: &Exchange) {
        let mut state = self.state();
        // Under the lock, so that nothing overtakes.
        if let State::Parked(kept) = std::mem::replace(&mut *state, State::Open(exchange.clone())) {
            for event in kept {
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
