use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    Act, Call, Caller, CallerError, Decision, Dispatcher, DownstreamFault, DownstreamName, Error, Exchange,
    Notes, Outcome, Params, RawObject, Sessions, Silent, Subject, Subscription, Subscriptions, Target,
    Updates, View,
};
use tokio::time::Instant;

use super::{
    Resolve,
    admit::admitted,
    ask::{abandon, is_empty},
    owner::{Whose, resource_unknown},
};
use crate::{
    private::For,
    words::{Said, Words},
};

#[async_trait]
impl<S: Subscriptions + Dispatcher + Sessions + 'static> Subscriptions for Resolve<S> {
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
            let whose = For { view, caller, exchange, origin: None };
            let decision = self.decide_uri(whose, Act::Subscribe, name, uri);
            if !admitted(whose, name, decision) {
                return Err(resource_unknown(uri));
            }
            let (downstream, subject) = (name.clone(), Subject::Resource { uri: uri.clone() });
            self.check_scopes(whose, Act::Subscribe, (std::slice::from_ref(name), &subject), Some(uri))?;
            let target = Target::Downstream { downstream, subject };
            return self.inner.subscribe(target, caller, exchange, updates).await;
        }
        let whose = For { view, caller, exchange, origin: None };
        let until = Instant::now() + self.catalog.shared.config.subscribe_timeout;
        let (downstreams, own) = self.watchable(whose, uri, until).await?;
        exchange.notes.decided(Decision::Allowed);
        let subject = Subject::Resource { uri: own.clone() };
        self.check_scopes(whose, Act::Subscribe, (&downstreams, &subject), Some(uri))?;
        let mut refused = None;
        // One after the other: who grants it has it, as far as anybody can tell.
        for downstream in downstreams {
            let said = Said::Resource { asked: uri.clone(), own: own.clone() };
            let (shared, caller_too) = (self.catalog.shared.clone(), caller.clone());
            let words = Words::new(shared, caller_too, downstream.clone(), said);
            let updates = Arc::new(InWords { words, inner: updates.clone() });
            let subject = Subject::Resource { uri: own.clone() };
            let target = Target::Downstream { downstream: downstream.clone(), subject };
            let subscribing = self.inner.subscribe(target, caller, exchange, updates);
            match tokio::time::timeout_at(until, subscribing).await {
                Ok(Ok(subscription)) => {
                    admitted(whose, &downstream, Decision::Allowed);
                    return Ok(subscription);
                }
                Ok(Err(error)) => refused = refused.or(Some(error)),
                Err(_) => return Err(refused.unwrap_or_else(|| self.late(&downstream))),
            }
        }
        Err(refused.unwrap_or_else(|| resource_unknown(uri)))
    }
}

impl<S: Dispatcher + Sessions + 'static> Resolve<S> {
    /// Who may be asked to watch a resource, and by what own URI: whoever lists it, has a template for it or has shown
    /// it to this caller. If there is none, whoever it can be read from: many servers grant whatever they are asked for.
    async fn watchable(
        &self,
        whose: For<'_>,
        uri: &Arc<str>,
        until: Instant,
    ) -> Result<(Vec<DownstreamName>, Arc<str>), Error> {
        let candidates = match self.find(whose, Act::Subscribe, uri).await {
            Whose::Of(downstream, own) => return Ok((vec![downstream], own)),
            Whose::OneOf(candidates) => self.who_can_watch(candidates),
            Whose::Nobodys => {
                let candidates = self.who_can_watch(self.candidates(whose, Act::Subscribe, uri));
                let Some(first) = candidates.first().cloned() else {
                    self.note_hidden(whose, Act::Subscribe, uri);
                    return Err(resource_unknown(uri));
                };
                let own = Subject::Resource { uri: uri.clone() };
                self.check_scopes(whose, Act::Subscribe, (&candidates, &own), Some(uri))?;
                let reading = self.who_can_read(whose, uri, candidates);
                let found = tokio::time::timeout_at(until, reading).await;
                let found = found.unwrap_or_else(|_| Err(self.late(&first)));
                if let Err(Error::Caller(CallerError::UnknownResource { .. })) = &found {
                    self.note_hidden(whose, Act::Subscribe, uri);
                }
                vec![found?]
            }
        };
        if candidates.is_empty() {
            return Err(CallerError::UnknownMethod { method: "resources/subscribe".into() }.into());
        }
        Ok((candidates, uri.clone()))
    }

    fn who_can_watch(&self, candidates: Vec<DownstreamName>) -> Vec<DownstreamName> {
        let can = |name: &DownstreamName| {
            self.catalog.shared.source(name).is_some_and(|tracked| tracked.may_be_watched())
        };
        candidates.into_iter().filter(can).collect()
    }

    async fn who_can_read(
        &self,
        whose: For<'_>,
        uri: &Arc<str>,
        candidates: Vec<DownstreamName>,
    ) -> Result<DownstreamName, Error> {
        let own = Subject::Resource { uri: uri.clone() };
        // A call of its own, with notes of its own.
        let notes: Arc<Notes> = Arc::default();
        let exchange = Exchange {
            wants_progress: false,
            events: Arc::new(Silent),
            notes: notes.clone(),
            ..whose.exchange.clone()
        };
        let call = Call {
            target: Target::Exposed { view: whose.view.clone(), subject: own.clone() },
            params: Params::empty(),
            follow_up: None,
            origin: None,
            caller: whose.caller.clone(),
            exchange,
        };
        let (downstream, outcome) = match &self.reader {
            Some(reader) => {
                let outcome = reader.dispatch(call).await?;
                let found = notes.found().downstream;
                (found.filter(|downstream| candidates.contains(downstream)), outcome)
            }
            None => self.first(candidates, &own, &call).await?,
        };
        abandon(&*self.inner, &outcome);
        let is_there = matches!(outcome, Outcome::Complete(_)) && !is_empty(&outcome);
        downstream.filter(|_| is_there).ok_or_else(|| resource_unknown(uri))
    }

    fn late(&self, downstream: &DownstreamName) -> Error {
        DownstreamFault::TimedOut { after: self.catalog.shared.config.subscribe_timeout }.during(downstream)
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
