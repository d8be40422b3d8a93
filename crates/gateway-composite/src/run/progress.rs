use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use gateway_domain::{Event, RawJson, RawObject};

use super::circumstances::Circumstances;

/// What one step counts for. Loops tell whole hundredths, so that a thousand items are not a thousand messages.
const STEP: u64 = 100;

/// Tells the client how far the run is, if it wants to know (C-W19). What it is told always increases.
pub(super) struct Progress {
    circumstances: Circumstances,
    steps: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: u64,
    /// The hundredths of steps that are not done.
    parts: BTreeMap<Arc<str>, u64>,
    told: u64,
}

impl State {
    fn total(&self) -> u64 {
        self.done * STEP + self.parts.values().sum::<u64>()
    }
}

impl Progress {
    pub(super) fn new(circumstances: Circumstances, steps: usize) -> Self {
        Self { circumstances, steps, state: Mutex::default() }
    }

    /// A step is done; `how` ends the sentence.
    pub(super) fn done(&self, step: &str, how: &str) {
        self.update(&format!("step `{step}` {how}"), |state| {
            state.parts.remove(step);
            state.done += 1;
        });
    }

    /// So many items of a loop are done.
    pub(super) fn advance(&self, step: &str, done: usize, of: usize) {
        let part = (done.min(of) as u64 * STEP).checked_div(of as u64).unwrap_or(0).min(STEP - 1);
        self.update(&format!("step `{step}`: {done} of {of} items"), |state| {
            let known = state.parts.entry(step.into()).or_default();
            *known = part.max(*known);
        });
    }

    /// Told under the lock: two steps that end at once must not overtake one another. A sink never blocks.
    fn update(&self, message: &str, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let total = state.total();
        if total <= state.told {
            return;
        }
        state.told = total;
        let exchange = self.circumstances.now();
        if exchange.wants_progress
            && let Some(params) = params(total, self.steps, message)
        {
            exchange.events.emit(Event::Progress(params));
        }
    }
}

fn params(hundredths: u64, steps: usize, message: &str) -> Option<RawObject> {
    let (whole, part) = (hundredths / STEP, hundredths % STEP);
    let progress = if part == 0 { whole.to_string() } else { format!("{whole}.{part:02}") };
    let message = RawJson::string(message);
    let text = format!(r#"{{"progressToken":"","progress":{progress},"total":{steps},"message":{message}}}"#);
    RawObject::parse(text).ok()
}

#[cfg(test)]
mod tests;
