//! Requests of 2026-07-28: each stands alone (protocol.md §5.4).

use std::borrow::Cow;

use gateway_domain::{Era, SessionKey};
use gateway_protocol::{
    Notification, Request, Revision,
    era::envelope_version,
    headers::{self, Field},
    meta::RequestMeta,
    method,
};
use http::HeaderMap;

use super::{
    Answer, Reply, Visit, failed,
    list::list,
    panicked,
    request::{self, Manner, stoppable},
};
use crate::{
    field::field,
    in_flight::{CatchUnwind, Entry, Panicked},
    listen,
    rescue::Refusal,
};

/// Methods of the revisions with sessions, or of their core tasks, which this one does not have.
const REMOVED: [&str; 10] = [
    method::INITIALIZE,
    method::PING,
    method::SET_LEVEL,
    method::SUBSCRIBE,
    method::UNSUBSCRIBE,
    method::TASKS_RESULT,
    method::TASKS_LIST,
    method::ROOTS_LIST,
    method::ELICIT,
    method::SAMPLE,
];

/// Answers a request whose envelope names a modern or unknown revision. `headers` are those that repeat
/// the body, on the face that has them; with `entry` the request can be cancelled by its id.
pub(crate) async fn answer(
    visit: &Visit,
    request: Request,
    headers: Option<&HeaderMap>,
    entry: Option<Entry>,
) -> Reply {
    let meta = match check(&request, headers) {
        Ok(meta) => meta,
        Err(refusal) => return refused(visit, &request, &refusal).into(),
    };
    let edge = &visit.edge;
    let manner = manner(visit, &meta, headers);
    if let Err(refusal) = visit.check_scopes(&request, Some(&manner.key)) {
        return refused(visit, &request, &refusal).into();
    }
    if request.method == method::LISTEN {
        return match listen::modern(visit, &request, &manner, entry) {
            Ok(stream) => Reply::Conversation(stream),
            Err(answer) => answer.into(),
        };
    }
    let permit = match edge.load.admit(&visit.principal, &visit.rules.config.limits) {
        Ok(permit) => permit,
        Err(refusal) => return refused(visit, &request, &refusal).into(),
    };
    if request.method == method::DISCOVER {
        return stoppable(&request.id, entry, discover(visit, &request)).await.holding(permit).into();
    }
    if let Some(kind) = method::list_of(&request.method) {
        let work = async {
            match gate(visit, &request.method).await {
                Some(refusal) => refused(visit, &request, &refusal),
                None => list(visit, &request, kind, &manner).await,
            }
        };
        return stoppable(&request.id, entry, work).await.holding(permit).into();
    }
    if let Some(refusal) = gate(visit, &request.method).await {
        return refused(visit, &request, &refusal).into();
    }
    let method = request.method.clone();
    match request::call(visit, request, &manner, permit, entry) {
        Ok(call) => call.reply().await,
        Err(answer) => {
            edge.answered(&method, Era::Modern, &answer);
            answer.into()
        }
    }
}

async fn discover(visit: &Visit, request: &Request) -> Answer {
    let offer = visit
        .edge
        .in_time(CatchUnwind(visit.edge.ports.directory.offer_to(&visit.view, &visit.caller)))
        .await;
    let answer = match offer {
        None => Refusal::ShuttingDown.answer(Era::Modern, Some(&request.id)),
        Some(Err(Panicked)) => failed(&panicked("what is offered"), &request.id),
        Some(Ok(offer)) => Answer::result(&request.id, visit.rules.rendered.discover(&offer).as_bytes()),
    };
    visit.edge.answered(method::DISCOVER, Era::Modern, &answer);
    answer
}

/// Whether a method is behind a capability that nobody offers (protocol.md §9.2). Calls of tools are not held up for
/// that: what nobody offers is an unknown tool.
async fn gate(visit: &Visit, method: &str) -> Option<Refusal> {
    let capability = match method {
        method::PROMPTS_LIST | method::PROMPTS_GET => "prompts",
        method::RESOURCES_LIST | method::TEMPLATES_LIST | method::RESOURCES_READ => "resources",
        method::COMPLETE => "completions",
        _ => return None,
    };
    let offer = visit
        .edge
        .in_time(CatchUnwind(visit.edge.ports.directory.offer_to(&visit.view, &visit.caller)))
        .await;
    match offer {
        Some(Ok(offer)) if !offer.capabilities.contains(capability) => Some(Refusal::UnknownMethod),
        _ => None,
    }
}

fn manner<'a>(visit: &Visit, meta: &RequestMeta, headers: Option<&'a HeaderMap>) -> Manner<'a> {
    let capabilities = meta.capabilities.canonical(&visit.rules.config.extensions);
    let caller = visit.principal.caller.clone();
    Manner {
        revision: Revision::NEWEST_MODERN,
        key: SessionKey::Modern { caller, capabilities: capabilities.clone() },
        capabilities,
        declared: meta.capabilities.clone(),
        log_level: meta.log_level,
        mirrored: headers,
        session: None,
        client: None,
    }
}

/// Takes a notification over HTTP. Modern clients cancel by closing and have nothing else to tell, so only
/// the headers are looked at: they need not be there, but what they say must be so (protocol.md §21).
pub(crate) fn notice(notification: &Notification, headers: &HeaderMap) -> Result<(), Refusal> {
    let check = |header: &str, name: &str, body: &str| match field(headers, name) {
        Field::Absent => Ok(()),
        given => headers::check(header, given, body).map_err(Refusal::HeaderMismatch),
    };
    if let Some(version) = envelope_version(notification.params.meta.as_ref()) {
        check("MCP-Protocol-Version", headers::PROTOCOL_VERSION, &version)?;
    }
    check("Mcp-Method", headers::METHOD, &notification.method)
}

/// Steps 6 to 10.
fn check(request: &Request, headers: Option<&HeaderMap>) -> Result<RequestMeta, Refusal> {
    let meta = RequestMeta::read(request.params.meta.as_ref());
    if let Some(headers) = headers {
        let named = match &meta {
            Ok(meta) => Cow::Borrowed(meta.version.as_str()),
            Err(_) => envelope_version(request.params.meta.as_ref()).unwrap_or_default().into(),
        };
        // A revision that is no string cannot be repeated by a header; that is for `_meta` to answer for.
        if !named.is_empty() {
            let given = field(headers, headers::PROTOCOL_VERSION);
            headers::check("MCP-Protocol-Version", given, &named).map_err(Refusal::HeaderMismatch)?;
        }
    }
    let meta = meta.map_err(Refusal::Meta)?;
    if Revision::parse(&meta.version).is_none_or(|revision| revision.era() != Era::Modern) {
        return Err(Refusal::UnsupportedVersion { requested: meta.version });
    }
    if let Some(headers) = headers {
        headers::check_routing(&request.method, &request.params, |name| field(headers, name))
            .map_err(Refusal::HeaderMismatch)?;
    }
    if REMOVED.contains(&request.method.as_str()) { Err(Refusal::UnknownMethod) } else { Ok(meta) }
}

fn refused(visit: &Visit, request: &Request, refusal: &Refusal) -> Answer {
    let answer = refusal.answer(Era::Modern, Some(&request.id));
    visit.edge.answered(&request.method, Era::Modern, &answer);
    visit.refused(request, answer.kind);
    answer
}
