//! Requests and notifications of the revisions with sessions.

use std::{future::Future, sync::Arc};

use gateway_domain::{CallerError, ClientCapabilities, Era, JsonKind, Offer, RawJson};
use gateway_protocol::{EnvelopeError, Message, Notification, Request, RequestId, Revision, method};
use tokio::task::JoinSet;

use super::{
    Answer, Payload, Reply, Visit,
    list::list,
    request::{self, Manner},
};
use crate::{
    in_flight::{Detached, Entry},
    rescue::{Refusal, rescue},
    session::Session,
};

/// The revision that an `initialize` request is answered with.
///
/// # Errors
/// The answer to a request that is no handshake.
pub(crate) fn negotiate(visit: &Visit, request: &Request) -> Result<Revision, Answer> {
    let params = &request.params.object;
    let reason = match params.get_text("protocolVersion") {
        None => "`protocolVersion` is not a string",
        Some(_) if params.get("capabilities").is_some_and(|value| value.kind() != JsonKind::Object) => {
            "`capabilities` is not an object"
        }
        Some(date) => return Ok(Revision::negotiate(&date)),
    };
    let answer =
        rescue(&CallerError::InvalidParams { reason: reason.to_owned() }.into()).answer(Some(&request.id));
    visit.edge.answered(method::INITIALIZE, Era::Legacy, &answer);
    Err(answer)
}

/// The result of a handshake.
pub(crate) fn welcome(visit: &Visit, id: &RequestId, revision: Revision) -> Answer {
    let identity = visit.rules.config.identity.as_str();
    let instructions = visit.rules.rendered.instructions(&Offer::default());
    let text = format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{identity}{instructions}}}"#
    );
    let answer = Answer::result(id, text.as_bytes());
    visit.edge.answered(method::INITIALIZE, Era::Legacy, &answer);
    answer
}

/// Answers a request of a session. A call can be cancelled by its id from now on, not only from when the
/// future is first polled; with `survives` it goes on when the reply is dropped.
pub(crate) fn answer(
    visit: Visit,
    session: Arc<Session>,
    request: Request,
    survives: bool,
) -> impl Future<Output = Reply> + Send + 'static {
    let is_call = request.method != method::PING && method::list_of(&request.method).is_none();
    let entry = is_call.then(|| session.calls().enter(&request.id)).transpose();
    async move {
        match entry {
            Ok(entry) => serve(&visit, &session, request, survives, entry).await,
            Err(refusal) => refused(&visit, &request, &refusal).into(),
        }
    }
}

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
    let permit = match edge.load.admit(&visit.principal, &visit.rules.config.limits) {
        Ok(permit) => permit,
        Err(refusal) => return refused(visit, &request, &refusal).into(),
    };
    let manner = manner(session);
    if let Some(kind) = method::list_of(&request.method) {
        return list(visit, &request, kind, &manner).await.holding(permit).into();
    }
    let method = request.method.clone();
    match request::call(visit, request, &manner, permit, entry) {
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

fn manner(session: &Arc<Session>) -> Manner<'static> {
    Manner {
        revision: session.revision(),
        key: session.key(),
        capabilities: ClientCapabilities::none(),
        declared: ClientCapabilities::none(),
        log_level: None,
        mirrored: None,
        session: Some(session.clone()),
        client: None,
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
                running.spawn(async move {
                    match answering.await {
                        Reply::Message(answer) => Some((place, answer)),
                        // A visit without streams has no conversations.
                        Reply::Conversation(_) => None,
                    }
                });
            }
            Ok(Message::Notification(notification)) => notice(session, &notification),
            Ok(Message::Response(_)) => {}
            Err(error) => {
                let id = error.id.clone();
                let answer = Refusal::Envelope(error).answer(Era::Legacy, id.as_ref());
                visit.edge.metrics.refused(answer.kind);
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
pub(crate) fn notice(session: &Session, notification: &Notification) {
    match notification.method.as_str() {
        method::INITIALIZED => session.initialize(),
        method::CANCELLED => {
            if let Some(id) = cancelled(notification) {
                session.calls().cancel(&id);
            }
        }
        // What a client tells about itself matters to interactive features only.
        _ => {}
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
    answer
}
