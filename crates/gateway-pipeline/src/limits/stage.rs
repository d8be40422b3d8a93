use std::{future, sync::Arc};

use async_trait::async_trait;
use gateway_domain::{Answering, Call, Dispatcher, Error, Outcome};

use super::shared::Limits;

/// Keeps callers within their own rates. It stands before anything is looked up for a call, so that names which nobody
/// has, or which the caller may not know of, count as others do: guessing is bounded. [`Limited`] does the rest.
///
/// Cancel-safe: it waits for nothing.
#[derive(Debug)]
pub struct Counted<D> {
    limits: Arc<Limits>,
    inner: D,
}

impl<D> Counted<D> {
    /// The stage around `inner`.
    pub fn new(limits: Arc<Limits>, inner: D) -> Self {
        Self { limits, inner }
    }
}

impl<D: Dispatcher> Dispatcher for Counted<D> {
    /// # Errors
    /// [`CallerError::RateLimited`](gateway_domain::CallerError::RateLimited), and those of what is inside.
    fn dispatch<'a, 'b>(&'a self, call: Call) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        // What passes costs no future of its own.
        match self.limits.count(&call) {
            Ok(()) => self.inner.dispatch(call),
            Err(refusal) => Box::pin(future::ready(Err(refusal.into()))),
        }
    }
}

/// Keeps calls within the limits of what they are for, and how many there are at once. Rates of callers are not looked
/// at here, but by [`Counted`], which each call passes before. A stage around any dispatcher, which hears of no call that is refused.
///
/// Cancel-safe: who gives up leaves every line, and gives every place back.
#[derive(Debug)]
pub struct Limited<D> {
    limits: Arc<Limits>,
    inner: D,
}

impl<D> Limited<D> {
    /// The stage around `inner`.
    pub fn new(limits: Arc<Limits>, inner: D) -> Self {
        Self { limits, inner }
    }
}

#[async_trait]
impl<D: Dispatcher> Dispatcher for Limited<D> {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        // Held until there is an answer.
        let _leave = self.limits.admit(&call).await?;
        self.inner.dispatch(call).await
    }
}
