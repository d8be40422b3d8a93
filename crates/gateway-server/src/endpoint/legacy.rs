//! Requests and notifications of the revisions with sessions.

use std::{future::Future, sync::Arc};

use gateway_domain::{CallerError, Era, LogLevel, Offer, RawJson, RawObject, Sessions};
use gateway_protocol::{EnvelopeError, Message, Notification, Request, RequestId, Revision, convert, method};
use tokio::task::JoinSet;
use tracing::Instrument;

use super::{
    Answer, Payload, Reply, Visit, failed,
    list::list,
    panicked,
    request::{self, Manner, stoppable},
    watch,
};
use crate::{
    in_flight::{CatchUnwind, Detached, Entry, Panicked, Permit},
    rescue::Refusal,
    session::{Client, Session},
};

/// What an `initialize` request says about its client, and the revision it is answered with.
///
/// # Errors
/// The answer to a request that is no handshake.
pub(crate) fn negotiate(visit: &Visit, request: &Request) -> Result<Client, Box<Answer>> {
    let params = &request.params.object;
    let declared = match params.get("capabilities") {
        None => Some(RawObject::empty()),
        Some(declared) => RawObject::try_from(declared).ok(),
    };
    let reason = match (params.get_text("protocolVersion"), declared) {
        (None, _) => "`protocolVersion` is not a string",
        (_, None) => "`capabilities` is not an object",
        (Some(date), Some(declared)) => {
            let extensions = &visit.rules.config.extensions;
            return Ok(Client::new(Revision::negotiate(&date), &declared, extensions));
        }
    };
    let answer = failed(&CallerError::InvalidParams { reason: reason.to_owned() }.into(), &request.id);
    visit.edge.answered(method::INITIALIZE, Era::Legacy, &answer);
    visit.refused(request, answer.kind);
    Err(answer.into())
}

/// The result of a handshake.
pub(crate) async fn welcome(visit: &Visit, id: &RequestId, revision: Revision) -> Answer {
    let offer = visit
        .edge
        .in_time(CatchUnwind(visit.edge.ports.directory.offer_to(&visit.view, &visit.caller)))
        .await;
    let answer = match offer {
        None => Refusal::ShuttingDown.answer(Era::Legacy, Some(id)),
        Some(Err(Panicked)) => failed(&panicked("what is offered"), id),
        Some(Ok(offer)) => Answer::result(id, greeting(visit, revision, &offer).as_bytes()),
    };
    visit.edge.answered(method::INITIALIZE, Era::Legacy, &answer);
    answer
}

fn greeting(visit: &Visit, revision: Revision, offer: &Offer) -> String {
    let rendered = &visit.rules.rendered;
    let offered = RawObject::try_from(rendered.capabilities(offer)).unwrap_or_default();
    let capabilities = convert::legacy::of_server(revision, &offered);
    let (identity, instructions) = (visit.rules.config.identity.as_str(), rendered.instructions(offer));
    format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{capabilities},"serverInfo":{identity}{instructions}}}"#
    )
}

/// Answers a request of a session. A call can be cancelled by its id from now on, not only from when the
/// future is first polled; with `survives` it goes on when the reply is dropped.
pub(crate) fn answer(
    visit: Visit,
    session: Arc<Session>,
    request: Request,
    survives: bool,
) -> impl Future<Output = Reply> + Send + 'static {
    let entry = (request.method != method::PING).then(|| session.calls().enter(&request.id)).transpose();
    async move {
        match entry {
            Ok(entry) => serve(&visit, &session, request, survives, entry).await,
            Err(refusal) => refused(&visit, &request, &refusal).into(),
        }
    }
}

/// Methods of the revision without sessions, and of tasks, which are not offered in these.
const NOT_OFFERED: [&str; 7] = [
    method::DISCOVER,
    method::LISTEN,
    method::TASKS_GET,
    method::TASKS_UPDATE,
    method::TASKS_CANCEL,
    method::TASKS_RESULT,
    method::TASKS_LIST,
];

async fn serve(
    visit: &Visit,
    session: &Arc<Session>,
    request: Request,
    survives: bool,
    entry: Option<Entry>,
) -> Reply {
    let edge = &visit.edge;
    if request.method == method::PING {
        let answer = Answer::result(&request.id, b"{}");
        edge.answered(method::PING, Era::Legacy, &answer);
        return answer.into();
    }
    // Clients that send their first request right behind the notification may see it overtake.
    session.initialize();
    if NOT_OFFERED.contains(&request.method.as_str()) {
        return refused(visit, &request, &Refusal::UnknownMethod).into();
    }
    let permit = match edge.load.admit(&visit.principal, &visit.rules.config.limits) {
        Ok(permit) => permit,
        Err(refusal) => return refused(visit, &request, &refusal).into(),
    };
    let manner = manner(session);
    if let Err(refusal) = visit.check_scopes(&request, Some(&manner.key)) {
        return refused(visit, &request, &refusal).into();
    }
    if let Some(kind) = method::list_of(&request.method) {
        let work = list(visit, &request, kind, &manner);
        return stoppable(&request.id, entry, work).await.holding(permit).into();
    }
    let answer = match request.method.as_str() {
        method::SET_LEVEL => set_level(visit, session, &request),
        method::SUBSCRIBE => {
            let work = watch::subscribe(visit, session, &manner, &request);
            stoppable(&request.id, entry, work).await
        }
        method::UNSUBSCRIBE => watch::unsubscribe(visit, session, &request),
        _ => return call(visit, session, request, survives, &manner, permit, entry).await,
    };
    edge.answered(&request.method, Era::Legacy, &answer);
    answer.into()
}

async fn call(
    visit: &Visit,
    session: &Arc<Session>,
    request: Request,
    survives: bool,
    manner: &Manner<'_>,
    permit: Permit,
    entry: Option<Entry>,
) -> Reply {
    let edge = &visit.edge;
    let method = request.method.clone();
    match request::call(visit, request, manner, permit, entry) {
        Ok(mut call) => {
            if survives {
                let in_use = session.enter();
                let work = call.answer;
                let work = Box::pin(async move {
                    let answer = work.await;
                    drop(in_use);
                    answer
                });
                call.answer = Box::pin(Detached::new(work, edge.phase.subscribe()));
            }
            call.reply().await
        }
        Err(answer) => {
            edge.answered(&method, Era::Legacy, &answer);
            answer.into()
        }
    }
}

fn set_level(visit: &Visit, session: &Session, request: &Request) -> Answer {
    let level = request.params.object.get_text("level").and_then(|name| LogLevel::parse(&name));
    let Some(level) = level else {
        let reason = "`level` is no log level".to_owned();
        let answer = failed(&CallerError::InvalidParams { reason }.into(), &request.id);
        visit.refused(request, answer.kind);
        return answer;
    };
    session.set_log_level(level);
    Answer::result(&request.id, b"{}")
}

fn manner(session: &Arc<Session>) -> Manner<'static> {
    Manner {
        revision: session.revision(),
        key: session.key(),
        capabilities: session.capabilities().clone(),
        declared: session.capabilities().clone(),
        log_level: session.log_level(),
        mirrored: None,
        session: Some(session.clone()),
        client: Some(session.clone()),
    }
}

/// Answers the messages of an array, each by itself, in the order they stand there. `None` if none of them
/// wants an answer (protocol.md §2.2). Calls can be cancelled from now on, by what follows them in the array
/// too (§20.4).
pub(crate) fn batch(
    visit: &Visit,
    session: &Arc<Session>,
    messages: Vec<Result<Message, EnvelopeError>>,
    survives: bool,
) -> impl Future<Output = Option<Payload>> + Send + 'static {
    let visit = Visit { streams: false, ..visit.clone() };
    let mut answers = Vec::new();
    let mut running = JoinSet::new();
    for (place, message) in messages.into_iter().enumerate() {
        match message {
            Ok(Message::Request(request)) if request.method == method::INITIALIZE => {
                let refusal = Refusal::Batch("initialize may not stand in an array");
                answers.push((place, refused(&visit, &request, &refusal)));
            }
            Ok(Message::Request(request)) => {
                let answering = answer(visit.clone(), session.clone(), request, survives);
                let answering = async move {
                    match answering.await {
                        Reply::Message(answer) => Some((place, answer)),
                        // A visit without streams has no conversations.
                        Reply::Conversation(_) => None,
                    }
                };
                running.spawn(answering.in_current_span());
            }
            Ok(Message::Notification(notification)) => notice(&visit, session, &notification),
            Ok(Message::Response(response)) => session.questions().answer(response),
            Err(error) => {
                let id = error.id.clone();
                let answer = Refusal::Envelope(error).answer(Era::Legacy, id.as_ref());
                visit.edge.metrics.refused(answer.kind);
                visit.turned_away(None, answer.kind);
                answers.push((place, answer));
            }
        }
    }
    async move {
        while let Some(done) = running.join_next().await {
            answers.extend(done.ok().flatten());
        }
        answers.sort_by_key(|(place, _)| *place);
        (!answers.is_empty()).then(|| array(answers))
    }
}

/// One message of many answers, which keeps what they hold.
fn array(answers: Vec<(usize, Answer)>) -> Payload {
    let size = answers.iter().map(|(_, answer)| answer.payload.len() + 1).sum::<usize>();
    let (mut out, mut held) = (Vec::with_capacity(1 + size), Vec::new());
    for (_, mut answer) in answers {
        out.push(if out.is_empty() { b'[' } else { b',' });
        answer.payload.0.iter().for_each(|part| out.extend_from_slice(part));
        if answer.is_large() {
            held.extend(answer.payload.last().map(std::mem::take));
        }
    }
    out.push(b']');
    let array = Payload::from(out);
    if held.is_empty() { array } else { array.keeping(held) }
}

/// Takes a notification of a session.
pub(crate) fn notice(visit: &Visit, session: &Arc<Session>, notification: &Notification) {
    match notification.method.as_str() {
        method::INITIALIZED => session.initialize(),
        method::CANCELLED => {
            if let Some(id) = cancelled(notification) {
                session.calls().cancel(&id);
            }
        }
        method::ROOTS_LIST_CHANGED => roots_changed(visit, session),
        // Progress of what a client was asked has nobody to go to.
        _ => {}
    }
}

/// Has it passed on that a client's roots are others, if the client said that it would say so.
fn roots_changed(visit: &Visit, session: &Arc<Session>) {
    if session.tells_of_roots() && session.forget_roots() {
        drop(tokio::spawn(tell_of_roots(visit.edge.ports.sessions.clone(), session.clone())));
    }
}

/// Passes on that the roots are others, and once more if they have changed meanwhile, however often.
async fn tell_of_roots(sessions: Arc<dyn Sessions>, session: Arc<Session>) {
    let (mut ended, key) = (session.ended(), session.key());
    loop {
        let seen = session.roots_untold();
        tokio::select! {
            _ = CatchUnwind(sessions.roots_changed(&key)) => {}
            _ = ended.wait_for(|ended| *ended) => return,
        }
        if session.roots_told(seen) {
            return;
        }
    }
}

/// The id of the request that a `notifications/cancelled` is about.
pub(crate) fn cancelled(notification: &Notification) -> Option<RequestId> {
    let id: RawJson = notification.params.object.get("requestId")?;
    RequestId::new(id)
}

fn refused(visit: &Visit, request: &Request, refusal: &Refusal) -> Answer {
    let answer = refusal.answer(Era::Legacy, Some(&request.id));
    visit.edge.answered(&request.method, Era::Legacy, &answer);
    visit.refused(request, answer.kind);
    answer
}
