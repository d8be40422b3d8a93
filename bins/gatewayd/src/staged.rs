//! What answers calls behind stages, while sessions and subscriptions go past them.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    Call, Caller, Dispatcher, Error, Exchange, Outcome, ParkId, SessionKey, Sessions, Subscription,
    Subscriptions, Target, Updates,
};
use gateway_registry::Manager;

/// The registry, whose calls come by stages.
pub(crate) struct Staged {
    calls: Arc<dyn Dispatcher>,
    manager: Manager,
}

impl Staged {
    pub(crate) fn new(calls: Arc<dyn Dispatcher>, manager: Manager) -> Self {
        Self { calls, manager }
    }
}

#[async_trait]
impl Dispatcher for Staged {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        self.calls.dispatch(call).await
    }
}

#[async_trait]
impl Sessions for Staged {
    async fn end(&self, key: &SessionKey) {
        self.manager.end(key).await;
    }

    async fn end_caller(&self, caller: &Caller) {
        self.manager.end_caller(caller).await;
    }

    fn abandon(&self, park: &ParkId) {
        self.manager.abandon(park);
    }

    fn is_over(&self, park: &ParkId) -> bool {
        self.manager.is_over(park)
    }

    async fn roots_changed(&self, key: &SessionKey) {
        self.manager.roots_changed(key).await;
    }
}

#[async_trait]
impl Subscriptions for Staged {
    async fn subscribe(
        &self,
        target: Target,
        caller: &Caller,
        exchange: &Exchange,
        updates: Arc<dyn Updates>,
    ) -> Result<Subscription, Error> {
        self.manager.subscribe(target, caller, exchange, updates).await
    }
}
