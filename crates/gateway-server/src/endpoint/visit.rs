use std::{net::IpAddr, sync::Arc};

use gateway_domain::{
    Act, Caller, DoorRefusal, Error, Incoming, NAMESPACE_SEPARATOR, Params, RawObject, SessionKey, State,
    TraceContext, View,
};
use gateway_protocol::{Request, method};

use crate::{
    auth::Principal,
    edge::{Edge, Ports},
    rescue::{Refusal, rescue},
    rules::Rules,
};

/// The longest name of anything, in bytes, that is put on record of a request that is refused.
const RECORDED: usize = 256;
/// How many resources a stream of changes may name, each of which may need scopes.
const RESOURCES: usize = 10_000;

/// Who is here, and for what.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) edge: Arc<Edge>,
    /// As they were when this visit began.
    pub(crate) rules: Arc<Rules>,
    pub(crate) principal: Arc<Principal>,
    /// The same, with what this request proves about what it may do.
    pub(crate) caller: Caller,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) view: View,
    /// Whether more than the one answer can be sent.
    pub(crate) streams: bool,
    /// What came along, if anybody needs it.
    pub(crate) incoming: Option<Arc<Incoming>>,
    /// The trace that the headers name.
    pub(crate) trace: Option<TraceContext>,
}

impl Visit {
    /// Nobody will answer what was asked: what waits for that is given up.
    pub(super) fn abandon(&self, state: &State) {
        if let State::Parked(park) = state {
            self.edge.ports.sessions.abandon(park);
        }
    }

    /// The trace that a message belongs to: what its `_meta` says goes before what the headers say (SEP-414).
    pub(super) fn trace(&self, meta: Option<&RawObject>) -> Option<TraceContext> {
        let own = |meta: &RawObject| {
            let state = || meta.get_text("tracestate");
            trace(&meta.get_text("traceparent")?, state)
        };
        meta.and_then(own).or_else(|| self.trace.clone())
    }

    /// Tells that a message is refused which has not become a call.
    pub(crate) fn turned_away(&self, message: Option<(&str, &Params)>, reason: &str) {
        let name = message.and_then(|(_, params)| name(params));
        let name = name.as_deref().map(|name| &name[..name.floor_char_boundary(RECORDED)]);
        let method = message.map(|(method, _)| &method[..method.floor_char_boundary(RECORDED)]);
        record(&self.edge.ports, Some(&self.caller), self.peer, (method, name), reason);
    }

    /// As [`Self::turned_away`], of one resource of those that a stream is asked for, if it is the caller's fault.
    pub(crate) fn unwatched(&self, uri: &str, error: &Error) {
        if matches!(error, Error::Caller(_)) {
            let name = Some(&uri[..uri.floor_char_boundary(RECORDED)]);
            let of = (Some(method::LISTEN), name);
            record(&self.edge.ports, Some(&self.caller), self.peer, of, rescue(error).kind);
        }
    }

    /// As [`Self::turned_away`], of a request.
    pub(crate) fn refused(&self, request: &Request, reason: &str) {
        self.turned_away(Some((&request.method, &request.params)), reason);
    }

    /// Whether the token lacks a scope that the request needs. Who has proved itself otherwise needs none.
    ///
    /// # Errors
    /// [`Refusal::InsufficientScope`].
    pub(crate) fn check_scopes(&self, request: &Request, key: Option<&SessionKey>) -> Result<(), Refusal> {
        let Some(protected) = self.rules.protected.as_ref().filter(|_| self.caller.grants().is_some()) else {
            return Ok(());
        };
        let names = match protected.looks_at_names() {
            true => self.names(request, key),
            false => Vec::new(),
        };
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        self.check_needed(protected.needed(&self.view, Some(&request.method), &names))
    }

    /// The same for what every request on this path needs.
    ///
    /// # Errors
    /// [`Refusal::InsufficientScope`].
    pub(crate) fn check_path(&self) -> Result<(), Refusal> {
        match self.rules.protected.as_ref().filter(|_| self.caller.grants().is_some()) {
            Some(protected) => self.check_needed(protected.needed(&self.view, None, &[])),
            None => Ok(()),
        }
    }

    fn check_needed(&self, scopes: Vec<String>) -> Result<(), Refusal> {
        match scopes.iter().all(|scope| self.caller.has_scope(scope)) {
            true => Ok(()),
            false => Err(Refusal::InsufficientScope { scopes }),
        }
    }

    /// All names by which a rule may know what is asked for.
    fn names(&self, request: &Request, key: Option<&SessionKey>) -> Vec<String> {
        let mut names: Vec<_> = name(&request.params).into_iter().collect();
        if request.method == method::LISTEN {
            let filter = request.params.object.get_object("notifications");
            let listed = filter.and_then(|filter| filter.get("resourceSubscriptions")?.elements(RESOURCES));
            names.extend(listed.into_iter().flatten().filter_map(|uri| uri.to_text().map(String::from)));
        }
        if let Some(act) = act(&request.method) {
            let directory = &self.edge.ports.directory;
            let others = names.iter().flat_map(|name| directory.also_called(&self.view, act, name));
            let others: Vec<_> = others.collect();
            names.extend(others);
        }
        if request.method == method::LISTEN {
            return names;
        }
        let Some(given) = names.first().cloned() else { return names };
        if let View::Downstream(downstream) = &self.view {
            names.push(format!("{downstream}{NAMESPACE_SEPARATOR}{given}"));
        }
        if let (method::TOOLS_CALL, Some(key)) = (request.method.as_str(), key) {
            let directory = &self.edge.ports.directory;
            if let Some(offered) = directory.tool(&self.view, &self.caller, key, &given) {
                names.push(format!("{}{NAMESPACE_SEPARATOR}{}", offered.downstream, offered.tool.name()));
                names.push(format!("{}{NAMESPACE_SEPARATOR}{}", offered.downstream, offered.tool.original()));
            }
        }
        names
    }
}

/// What is done with the thing that a request of this method names.
fn act(method: &str) -> Option<Act> {
    Some(match method {
        method::TOOLS_CALL => Act::Call,
        method::PROMPTS_GET => Act::Get,
        method::RESOURCES_READ => Act::Read,
        method::SUBSCRIBE | method::UNSUBSCRIBE | method::LISTEN => Act::Subscribe,
        method::COMPLETE => Act::Complete,
        _ => return None,
    })
}

/// Puts a request on record that has not become a call.
pub(crate) fn record(
    ports: &Ports,
    caller: Option<&Caller>,
    peer: Option<IpAddr>,
    (method, name): (Option<&str>, Option<&str>),
    reason: &str,
) {
    tracing::debug!(reason, "a request is refused");
    ports.audit.refused(&DoorRefusal { caller, peer, method, name, reason });
}

/// The trace of a `traceparent`, with its `tracestate` if that is not too long.
pub(crate) fn trace(parent: &str, state: impl FnOnce() -> Option<String>) -> Option<TraceContext> {
    let parent = TraceContext::parse(parent.trim_ascii())?;
    Some(TraceContext { state: state().filter(|state| !state.is_empty() && state.len() <= STATE), ..parent })
}

/// The longest `tracestate` that is passed on, in bytes (W3C Trace Context §3.3.1.5).
const STATE: usize = 512;

/// What a request is about: a tool, a prompt, a resource, or what a completion refers to.
fn name(params: &Params) -> Option<String> {
    let of = |object: &RawObject| object.get_text("name").or_else(|| object.get_text("uri"));
    of(&params.object).or_else(|| of(&params.object.get_object("ref")?))
}
