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
    Answer, Reply, Visit,
    list::list,
    request::{self, Manner},
};
use crate::{field::field, in_flight::Entry, listen, rescue::Refusal};

/// Methods of the revisions with sessions, or of their core tasks, which this one does not have.
const REMOVED: [&str; 8] = [
    method::INITIALIZE,
    method::PING,
    method::SET_LEVEL,
    method::SUBSCRIBE,
    method::UNSUBSCRIBE,
    method::TASKS_RESULT,
    method::TASKS_LIST,
    method::ROOTS_LIST,
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
    if request.method == method::LISTEN {
        return match listen::modern(visit, &request, entry) {
            Ok(stream) => Reply::Conversation(stream),
            Err(answer) => answer.into(),
        };
    }
    let permit = match edge.load.admit(&visit.principal, &visit.rules.config.limits) {
        Ok(permit) => permit,
        Err(refusal) => return refused(visit, &request, &refusal).into(),
    };
    if request.method == method::DISCOVER {
        let answer = Answer::result(&request.id, visit.rules.rendered.discover.as_bytes());
        edge.answered(method::DISCOVER, Era::Modern, &answer);
        return answer.into();
    }
    let manner = manner(visit, &meta, headers);
    if let Some(kind) = method::list_of(&request.method) {
        return list(visit, &request, kind, &manner).await.holding(permit).into();
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

fn manner<'a>(visit: &Visit, meta: &RequestMeta, headers: Option<&'a HeaderMap>) -> Manner<'a> {
    let capabilities = meta.capabilities.canonical(&visit.rules.config.extensions);
    let caller = visit.principal.caller.clone();
    Manner {
        revision: Revision::NEWEST_MODERN,
        key: SessionKey::Modern { caller, capabilities: capabilities.clone() },
        capabilities,
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
    answer
}
