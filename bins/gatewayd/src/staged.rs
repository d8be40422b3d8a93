//! What answers calls behind stages, while sessions and subscriptions go past them.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    Answering, Call, Caller, Dispatcher, Error, Exchange, ParkId, SessionKey, Sessions, Subscription,
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

impl Dispatcher for Staged {
    fn dispatch<'a, 'b>(&'a self, call: Call) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        self.calls.dispatch(call)
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
