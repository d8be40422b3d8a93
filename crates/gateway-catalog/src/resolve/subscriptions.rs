use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    Caller, CallerError, Error, Exchange, RawObject, Subject, Subscription, Subscriptions, Target, Updates,
    View,
};

use super::{Resolve, Route, owner::resource_unknown};
use crate::{
    private::For,
    words::{Said, Words},
};

#[async_trait]
impl<S: Subscriptions> Subscriptions for Resolve<S> {
    async fn subscribe(
        &self,
        target: Target,
        caller: &Caller,
        exchange: &Exchange,
        updates: Arc<dyn Updates>,
    ) -> Result<Subscription, Error> {
        let Target::Exposed { view, subject: Subject::Resource { uri } } = &target else {
            return self.inner.subscribe(target, caller, exchange, updates).await;
        };
        if let View::Downstream(name) = view {
            let known = self.catalog.shared.source(name).filter(|tracked| tracked.source.enabled);
            known.ok_or_else(|| CallerError::UnknownDownstream { name: name.to_string() })?;
            let target = Target::Downstream {
                downstream: name.clone(),
                subject: Subject::Resource { uri: uri.clone() },
            };
            return self.inner.subscribe(target, caller, exchange, updates).await;
        }
        let whose = For { view, caller, exchange };
        let route = self.resource(whose, uri, |uri| Subject::Resource { uri }).await?;
        let (downstreams, subject) = match route {
            Route::To(downstream, subject) => (vec![downstream], subject),
            Route::ToAny(downstreams, subject) => (downstreams, subject),
        };
        let Subject::Resource { uri: own } = &subject else { return Err(resource_unknown(uri)) };
        let mut refused = None;
        // One after the other: who grants it has it, as far as anybody can tell.
        for downstream in downstreams {
            let said = Said::Resource { asked: uri.clone(), own: own.clone() };
            let (shared, caller_too) = (self.catalog.shared.clone(), caller.clone());
            let words = Words { shared, caller: caller_too, downstream: downstream.clone(), said };
            let updates = Arc::new(InWords { words, inner: updates.clone() });
            let target = Target::Downstream { downstream, subject: subject.clone() };
            match self.inner.subscribe(target, caller, exchange, updates).await {
                Ok(subscription) => return Ok(subscription),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(|| resource_unknown(uri)))
    }
}

/// Tells of changes in the client's words.
struct InWords {
    words: Words,
    inner: Arc<dyn Updates>,
}

impl Updates for InWords {
    fn updated(&self, params: RawObject) {
        self.inner.updated(self.words.updated(params));
    }

    fn lost(&self) {
        self.inner.lost();
    }
}
