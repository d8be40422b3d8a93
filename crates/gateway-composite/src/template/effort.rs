use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use tokio::time::Instant;

use super::write::failed;
use crate::error::TemplateError;

/// How many expressions of one evaluation may do more than a little.
const LARGE_LIMIT: usize = 10;
/// After which time a little effort begins no further expression. Each takes about as long at most.
const LITTLE: Duration = Duration::from_millis(1);

/// What one evaluation, be it of a template, a tree or an output, may do.
#[derive(Debug)]
pub(crate) struct Effort {
    /// Of a little effort, when it is over.
    until: Option<Instant>,
    /// How many large expressions there may still be.
    large: AtomicUsize,
    is_stopped: AtomicBool,
}

impl Effort {
    /// One that holds up nobody: it ends, as stopped, where there is more to do than can be done in a poll.
    pub(crate) fn little() -> Self {
        Self {
            until: Some(Instant::now() + LITTLE),
            large: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// All that there may be.
    pub(crate) fn whole() -> Self {
        Self { until: None, large: AtomicUsize::new(LARGE_LIMIT), is_stopped: AtomicBool::new(false) }
    }

    /// Ends it before the next expression.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether what it came to says nothing.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Begins an expression.
    pub(super) fn begin(&self) -> Result<(), TemplateError> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            self.stop();
        }
        match self.is_stopped() {
            true => Err(stopped()),
            false => Ok(()),
        }
    }

    /// Goes on with an expression that does more than a little.
    pub(super) fn enlarge(&self) -> Result<(), TemplateError> {
        if self.until.is_some() {
            self.stop();
            return Err(stopped());
        }
        match self.large.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => Ok(()),
            Err(_) => Err(failed(format!(
                "there is too much to do: {LARGE_LIMIT} expressions before it do much already; share them out \
                 among steps"
            ))),
        }
    }
}

fn stopped() -> TemplateError {
    failed("it was stopped".to_owned())
}
