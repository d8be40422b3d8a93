//! `resources/subscribe` and `resources/unsubscribe`.

use std::sync::Arc;

use gateway_domain::{CallerError, Error, Subject, Target};
use gateway_protocol::Request;

use super::{
    Answer, Visit, failed, failed_towards, panicked,
    request::{Manner, uri},
};
use crate::{
    in_flight::{CatchUnwind, Panicked},
    rescue::Refusal,
    session::{Session, updates},
};

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
    let caller = &visit.caller;
    let work = subscriptions.subscribe(target, caller, &exchange, updates(session));
    let subscription = CatchUnwind(work).await.unwrap_or_else(|Panicked| Err(panicked("a subscription")))?;
    session.watched().keep(uri, subscription);
    Ok(())
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
