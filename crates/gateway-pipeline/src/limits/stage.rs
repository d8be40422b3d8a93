use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{Call, Dispatcher, Error, Outcome};

use super::shared::Limits;

/// Keeps calls within limits. A stage around any dispatcher, which hears of no call that is refused.
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
