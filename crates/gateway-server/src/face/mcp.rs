use std::{sync::Arc, time::Duration};

use gateway_domain::{Era, View};
use gateway_protocol::{
    EnvelopeError, Incoming as Body, Message, Request as Rpc, Revision,
    era::{Facts, Kind, Verdict, classify, envelope_version},
    headers::{self, Field},
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::{
    Denied, Face, Refusing,
    accept::Accept,
    empty, events,
    identity::{Head, Identified, traced},
    message,
};
use crate::{
    body::{Held, ResponseBody, Resumption, Source, read},
    endpoint::{Answer, Conversation, Reply, Visit, legacy, modern},
    field::field,
    listen::{self, Opened},
    metrics::label,
    rescue::Refusal,
    rules::Rules,
    session::{EventId, Reader, Session, keep},
    tls::Peer,
};

/// A modern path takes POST only; the others are for sessions (protocol.md §7.1).
const NO_SUCH_METHOD: Refusal = Refusal::MethodNotAllowed { allow: "GET, POST, DELETE" };
/// The others, of a client that names none.
const NO_SESSION_NAMED: Refusal = Refusal::SessionNotNamed { allow: "GET, POST, DELETE" };

/// The event that a client has read last.
const LAST_EVENT: &str = "last-event-id";

/// How long a client that ends its session waits for what it held downstream.
const DELETE_TIME: Duration = Duration::from_secs(5);

impl Face {
    /// A request to a path that takes messages.
    pub(super) async fn messages(
        &self,
        rules: Arc<Rules>,
        view: View,
        request: Request<Incoming>,
        peer: Peer,
    ) -> Refusing {
        let head = Head { headers: request.headers(), query: request.uri().query(), peer };
        let Identified { principal, caller, incoming } = self.identify(&rules, &view, head).await?;
        let (accept, trace) = (Accept::of(request.headers()), traced(request.headers()));
        let (edge, streams, peer) = (self.edge.clone(), accept.events, Some(peer.addr));
        let visit = Visit { edge, rules, principal, caller, peer, view, streams, incoming, trace };
        let answered = serve(&visit, accept, request).await;
        answered.map_err(|refusal| Denied { caller: Some(Box::new(visit.caller)), ..refusal.into() })
    }
}

type Served = Result<Response<ResponseBody>, Refusal>;

async fn serve(visit: &Visit, accept: Accept, request: Request<Incoming>) -> Served {
    if !visit.edge.ports.directory.may_visit(&visit.view, &visit.caller) {
        return Err(Refusal::NoSuchPath);
    }
    visit.check_path()?;
    match *request.method() {
        Method::POST => post(visit, accept, request).await,
        Method::GET => get(visit, request.headers()),
        Method::DELETE => delete(visit, request.headers()).await,
        _ => Err(NO_SUCH_METHOD),
    }
}

async fn post(visit: &Visit, accept: Accept, request: Request<Incoming>) -> Served {
    let (head, body) = request.into_parts();
    check_media(&head.headers)?;
    if !accept.json && !accept.events {
        return Err(Refusal::NotAcceptable);
    }
    let limits = &visit.rules.config.limits;
    let (text, room) = read(&visit.edge, limits, limits.body_bytes, body).await?;
    let mut held = Held::new(room);
    let reply = match Body::parse(text) {
        Ok(Body::Single(message)) => single(visit, message, &head.headers, &mut held).await,
        Ok(Body::Batch(messages)) => batch(visit, messages, &head.headers).await,
        Err(error) => Posted::Refused(refused(visit, error)),
    };
    Ok(match reply {
        Posted::Accepted => empty(StatusCode::ACCEPTED),
        Posted::Refused(answer) => message(&visit.rules, &visit.view, answer),
        Posted::Welcome(answer, session) => {
            let mut response = answered(visit, accept, answer);
            if let Ok(id) = HeaderValue::from_str(session.id()) {
                response.headers_mut().insert(headers::SESSION, id);
            }
            response
        }
        Posted::Reply(Reply::Message(answer)) => answered(visit, accept, answer),
        Posted::Reply(Reply::Conversation(conversation)) => events(visit, Source::Told(conversation), held),
        Posted::Kept(source) => events(visit, source, held),
    })
}

/// What becomes of a POST.
enum Posted {
    /// Nothing is to be said.
    Accepted,
    Refused(Answer),
    /// A handshake, and the session it opened.
    Welcome(Answer, Arc<Session>),
    Reply(Reply),
    /// A conversation that outlasts its connection.
    Kept(Source),
}

fn refused(visit: &Visit, error: EnvelopeError) -> Answer {
    let id = error.id.clone();
    let answer = Refusal::Envelope(error).answer(Era::Modern, id.as_ref());
    visit.edge.metrics.refused(answer.kind);
    visit.turned_away(None, answer.kind);
    answer
}

/// One message as the client takes it. Errors with a status of their own are always JSON.
fn answered(visit: &Visit, accept: Accept, answer: Answer) -> Response<ResponseBody> {
    if accept.json || answer.status != StatusCode::OK {
        return message(&visit.rules, &visit.view, answer);
    }
    let conversation = Conversation::new(|speaker| async move {
        speaker.say(answer.payload).await;
    });
    events(visit, Source::Told(conversation), Held::default())
}

async fn single(visit: &Visit, message: Message, headers: &HeaderMap, held: &mut Held) -> Posted {
    if let Message::Request(Rpc { method, .. }) = &message {
        tracing::Span::current().record("method", label(method));
    }
    let (verdict, envelope) = verdict(&message, headers);
    let refusal = match verdict {
        Verdict::Modern => match message {
            Message::Request(request) => {
                return Posted::Reply(modern::answer(visit, request, Some(headers), None).await);
            }
            Message::Notification(ref notification) => match modern::notice(notification, headers) {
                Ok(()) => return Posted::Accepted,
                Err(refusal) => refusal,
            },
            Message::Response(_) => return Posted::Accepted,
        },
        Verdict::Handshake => match message {
            Message::Request(request) => return handshake(visit, &request).await,
            Message::Notification(_) | Message::Response(_) => return Posted::Accepted,
        },
        Verdict::Legacy if matches!(message, Message::Response(_)) && is_modern(headers) => {
            Refusal::ClientResponse
        }
        Verdict::Legacy => match session(visit, headers) {
            Ok(session) => {
                held.keep(session.enter());
                return in_session(visit, &session, message).await;
            }
            Err(refusal) => refusal,
        },
        Verdict::EnvelopeMissing => Refusal::EnvelopeMissing,
        Verdict::HeaderMismatch => Refusal::VersionMismatch,
        Verdict::EnvelopeUnusable => Refusal::UnsupportedVersion { requested: envelope.unwrap_or_default() },
    };
    let era = if verdict == Verdict::Legacy { Era::Legacy } else { Era::Modern };
    let request = match &message {
        Message::Request(request) => Some(request),
        Message::Notification(_) | Message::Response(_) => None,
    };
    Posted::Refused(refuse(visit, era, &refusal, request))
}

/// How a message is to be served, and the revision its envelope names.
fn verdict(message: &Message, headers: &HeaderMap) -> (Verdict, Option<String>) {
    let meta = match message {
        Message::Request(request) => request.params.meta.as_ref(),
        Message::Notification(notification) => notification.params.meta.as_ref(),
        Message::Response(_) => None,
    };
    let envelope = envelope_version(meta);
    let version = match field(headers, headers::PROTOCOL_VERSION) {
        Field::Once(value) => std::str::from_utf8(value).ok().map(str::trim_ascii),
        Field::Absent | Field::Repeated => None,
    };
    let verdict = classify(Facts {
        kind: Kind::of(message),
        envelope_version: envelope.as_deref(),
        header_version: version,
        has_session: headers.contains_key(headers::SESSION),
    });
    (verdict, envelope)
}

/// The answer to a message that is not served.
fn refuse(visit: &Visit, era: Era, refusal: &Refusal, request: Option<&Rpc>) -> Answer {
    let answer = refusal.answer(era, request.map(|request| &request.id));
    match request {
        Some(request) => {
            visit.edge.answered(&request.method, era, &answer);
            visit.refused(request, answer.kind);
        }
        None => {
            visit.edge.metrics.refused(answer.kind);
            visit.turned_away(None, answer.kind);
        }
    }
    answer
}

async fn handshake(visit: &Visit, request: &Rpc) -> Posted {
    if let Err(refusal) = visit.check_scopes(request, None) {
        return Posted::Refused(refuse(visit, Era::Legacy, &refusal, Some(request)));
    }
    let client = match legacy::negotiate(visit, request) {
        Ok(client) => client,
        Err(answer) => return Posted::Reply(answer.into()),
    };
    let (edge, revision) = (&visit.edge, client.revision);
    // Before there is a session, which would be in use meanwhile and left behind by a client that goes.
    let welcome = legacy::welcome(visit, &request.id, revision).await;
    if welcome.kind != "ok" {
        return Posted::Reply(welcome.into());
    }
    match edge.sessions.open(&visit.principal, &visit.view, client) {
        Ok((session, evicted)) => {
            session.begins_with(edge.ports.directory.generations_to(&visit.view, &visit.caller));
            if let Some(evicted) = evicted {
                drop(edge.let_go(evicted));
            }
            Posted::Welcome(welcome, session)
        }
        Err(refusal) => Posted::Refused(refuse(visit, Era::Legacy, &refusal, Some(request))),
    }
}

async fn in_session(visit: &Visit, session: &Arc<Session>, message: Message) -> Posted {
    match message {
        Message::Request(request) => {
            let survives = survives(visit);
            match legacy::answer(visit.clone(), session.clone(), request, survives).await {
                Reply::Conversation(conversation) if survives => {
                    let reader = keep(&visit.edge, session, conversation);
                    Posted::Kept(kept(visit, session, reader))
                }
                reply => Posted::Reply(reply),
            }
        }
        Message::Notification(notification) => {
            legacy::notice(visit, session, &notification);
            Posted::Accepted
        }
        Message::Response(response) => {
            session.questions().answer(response);
            Posted::Accepted
        }
    }
}

/// A stream that its client can go on with.
fn kept(visit: &Visit, session: &Session, reader: Reader) -> Source {
    let retry = Some(visit.rules.config.limits.retry);
    let primes = session.revision() >= Revision::V2025_11_25;
    Source::Kept(reader, Resumption { retry, primes })
}

async fn batch(visit: &Visit, messages: Vec<Result<Message, EnvelopeError>>, headers: &HeaderMap) -> Posted {
    let refusal = match session(visit, headers) {
        _ if is_modern(headers) => Refusal::Batch("2026-07-28 has no arrays of messages"),
        Ok(session) if session.revision().has_batches() => {
            let _in_use = session.enter();
            return match legacy::batch(visit, &session, messages, survives(visit)).await {
                Some(payload) => Posted::Reply(Answer::ok(payload).into()),
                None => Posted::Accepted,
            };
        }
        Ok(_) => Refusal::Batch("this revision has no arrays of messages"),
        // To a client without any session an array is simply no message.
        Err(Refusal::SessionMissing) => Refusal::Batch("an array, where one message is expected"),
        Err(refusal) => refusal,
    };
    Posted::Refused(refuse(visit, Era::Legacy, &refusal, None))
}

/// The legacy session a request names, once its version header is no obstacle.
fn session(visit: &Visit, headers: &HeaderMap) -> Result<Arc<Session>, Refusal> {
    let legacy = |value| revision(value).is_some_and(|revision| revision.era() == Era::Legacy);
    match field(headers, headers::PROTOCOL_VERSION) {
        Field::Absent => {}
        Field::Once(value) if legacy(value) => {}
        Field::Once(_) | Field::Repeated => return Err(Refusal::LegacyVersion),
    }
    let id = match field(headers, headers::SESSION) {
        Field::Absent => return Err(Refusal::SessionMissing),
        Field::Once(value) => std::str::from_utf8(value).unwrap_or_default(),
        Field::Repeated => "",
    };
    visit.edge.sessions.find(id, &visit.principal, &visit.view).ok_or(Refusal::SessionUnknown)
}

fn revision(header: &[u8]) -> Option<Revision> {
    std::str::from_utf8(header).ok().and_then(|date| Revision::parse(date.trim_ascii()))
}

/// The session of a GET or DELETE; without one there is no such method (protocol.md §7.1).
fn named_session(visit: &Visit, headers: &HeaderMap) -> Result<Arc<Session>, Refusal> {
    if is_modern(headers) {
        return Err(NO_SUCH_METHOD);
    }
    if !headers.contains_key(headers::SESSION) {
        return Err(NO_SESSION_NAMED);
    }
    session(visit, headers)
}

/// Whether the version header names a revision without sessions.
fn is_modern(headers: &HeaderMap) -> bool {
    match field(headers, headers::PROTOCOL_VERSION) {
        Field::Once(value) => revision(value).is_some_and(|revision| revision.era() == Era::Modern),
        Field::Absent | Field::Repeated => false,
    }
}

fn get(visit: &Visit, headers: &HeaderMap) -> Served {
    let session = named_session(visit, headers)?;
    if !visit.streams {
        return Err(Refusal::NotAcceptable);
    }
    let after = match field(headers, LAST_EVENT) {
        Field::Absent => None,
        Field::Once(id) => {
            let id = std::str::from_utf8(id).ok().and_then(EventId::parse);
            Some(id.ok_or(Refusal::EventUnknown)?)
        }
        Field::Repeated => return Err(Refusal::EventUnknown),
    };
    if let Some(id) = after.filter(|id| id.stream > 0) {
        let journal = session.kept().find(id.stream).ok_or(Refusal::EventUnknown)?;
        if id.number > journal.last() {
            return Err(Refusal::EventUnknown);
        }
        let Opened { reader, held } = listen::resumed(visit, &session, journal, id.number);
        return Ok(events(visit, kept(visit, &session, reader), Held::stream(held)));
    }
    // What was never said nobody has read: no reason to end the stream that is read.
    if after.is_some_and(|id| id.number > session.outbox().last()) {
        return Err(Refusal::EventUnknown);
    }
    let Opened { reader, held } = listen::legacy(visit, &session, after.map(|id| id.number))?;
    Ok(events(visit, kept(visit, &session, reader), Held::stream(held)))
}

async fn delete(visit: &Visit, headers: &HeaderMap) -> Served {
    let session = named_session(visit, headers)?;
    if visit.edge.sessions.remove(&session) {
        // It goes on to its end although nobody may wait so long.
        let _ = timeout(DELETE_TIME, visit.edge.let_go(session)).await;
    }
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Only what a page cannot send without asking first (security.md §2.1).
fn check_media(headers: &HeaderMap) -> Result<(), Refusal> {
    let json = match field(headers, header::CONTENT_TYPE.as_str()) {
        Field::Once(value) => {
            let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
            essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
        }
        Field::Absent | Field::Repeated => false,
    };
    let plain = match field(headers, header::CONTENT_ENCODING.as_str()) {
        Field::Absent => true,
        Field::Once(value) => value.eq_ignore_ascii_case(b"identity"),
        Field::Repeated => false,
    };
    if json && plain { Ok(()) } else { Err(Refusal::MediaType) }
}

/// Whether a legacy call goes on when its connection is gone.
fn survives(visit: &Visit) -> bool {
    !visit.rules.config.cancel_on_disconnect
}
