//! `resources/subscribe` and `resources/unsubscribe`.

use std::{sync::Arc, time::Duration};

use gateway_domain::{CallerError, Error, Subject, Target};
use gateway_protocol::Request;
use tokio::time::{Instant, timeout_at};

use super::{
    Answer, Visit, failed, failed_towards, panicked,
    request::{Manner, uri},
};
use crate::{
    edge::Edge,
    in_flight::{CatchUnwind, Panicked},
    rescue::Refusal,
    session::{Grant, Session, updates},
};

/// How long all that a session watches may take to be granted again.
const AGAIN: Duration = Duration::from_secs(10);

/// Watches a resource for a session. One that is watched already is so.
pub(super) async fn subscribe(
    visit: &Visit,
    session: &Arc<Session>,
    manner: &Manner<'_>,
    request: &Request,
) -> Answer {
    let watched = visit.edge.in_time(watch(visit, session, manner, request)).await;
    match watched {
        None => Refusal::ShuttingDown.answer(manner.era(), Some(&request.id)),
        Some(Ok(())) => Answer::result(&request.id, b"{}"),
        Some(Err(error)) => {
            let answer = failed_towards(&error, manner.era(), &request.id);
            if matches!(error, Error::Caller(_)) {
                visit.refused(request, answer.kind);
            }
            answer
        }
    }
}

async fn watch(
    visit: &Visit,
    session: &Arc<Session>,
    manner: &Manner<'_>,
    request: &Request,
) -> Result<(), Error> {
    let uri = uri(&request.params)?;
    if session.watched().has(&uri) {
        return Ok(());
    }
    let limit = visit.rules.config.limits.subscriptions_per_session;
    if session.watched().count() >= limit {
        return Err(CallerError::Overloaded { what: "watched resources", limit }.into());
    }
    let target =
        Target::Exposed { view: visit.view.clone(), subject: Subject::Resource { uri: uri.clone() } };
    let (subscriptions, exchange) =
        (&visit.edge.ports.subscriptions, manner.exchange(visit, &request.params));
    let (caller, ruling) = (&visit.caller, *visit.edge.rulings.borrow());
    let work = subscriptions.subscribe(target, caller, &exchange, updates(session));
    let subscription = CatchUnwind(work).await.unwrap_or_else(|Panicked| Err(panicked("a subscription")))?;
    session.watched().keep(uri, Grant { subscription, caller: caller.clone(), exchange });
    if *visit.edge.rulings.borrow() != ruling {
        tokio::spawn(ask_again(visit.edge.clone(), session.clone()));
    }
    Ok(())
}

/// Asks for all that a session watches by the rules as they are now, and lets go of what is not granted. What a
/// downstream has no answer to now was found allowed, and stays. Dropping the future leaves the rest as it is.
pub(crate) async fn ask_again(edge: Arc<Edge>, session: Arc<Session>) {
    let until = Instant::now() + AGAIN;
    for (uri, caller, exchange) in session.watched().asked() {
        let subject = Subject::Resource { uri: uri.clone() };
        let target = Target::Exposed { view: session.view().clone(), subject };
        let subscribing = edge.ports.subscriptions.subscribe(target, &caller, &exchange, updates(&session));
        match timeout_at(until, CatchUnwind(subscribing)).await {
            Ok(Ok(Ok(subscription))) => session.watched().renew(&uri, subscription),
            Ok(Ok(Err(Error::Downstream(_)))) => {}
            _ => {
                tracing::info!(%caller, "a resource is watched no longer: the rules have changed");
                session.watched().leave(&uri);
            }
        }
    }
}

/// Watches a resource no longer. One that is not watched is so already.
pub(super) fn unsubscribe(visit: &Visit, session: &Session, request: &Request) -> Answer {
    match uri(&request.params) {
        Ok(uri) => {
            session.watched().leave(&uri);
            Answer::result(&request.id, b"{}")
        }
        Err(error) => {
            let answer = failed(&error.into(), &request.id);
            visit.refused(request, answer.kind);
            answer
        }
    }
}
