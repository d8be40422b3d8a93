//! `tools/list` and `tools/call`, the same in both eras but for what wraps them.

use gateway_domain::{
    Call, CallerError, DownstreamFault, Era, Error, Exchange, InternalError, JsonKind, ListKind, LogLevel,
    Params, RawObject, SessionKey, Subject, Target,
};
use gateway_protocol::{Request, RequestId, headers, meta, method};
use http::HeaderMap;

use super::{
    Answer, Conversation, Reply, Visit,
    answer::{finished, legacy_result, modern_result, peer_error},
    conversation::Speaker,
    events::Events,
};
use crate::{
    field::field,
    in_flight::{Boxed, CatchUnwind, Entry, Panicked, Permit, Stopped},
    rescue::{Refusal, rescue},
};

/// The longest name of a tool, in bytes (security.md §3.3).
const NAME_LIMIT: usize = 256;

/// A page of tools, for the client that holds the session of this key.
pub(crate) async fn list(visit: &Visit, request: &Request, era: Era, key: SessionKey) -> Answer {
    let id = &request.id;
    let page = match cursor(&request.params) {
        Ok(cursor) => {
            let directory = &visit.edge.ports.directory;
            let exchange = Exchange {
                era,
                session: key,
                capabilities: visit.edge.no_capabilities.clone(),
                wants_progress: false,
                log_level: None,
                events: visit.edge.silent.clone(),
                client: None,
            };
            let caller = &visit.principal.caller;
            let tools = directory.list(ListKind::Tools, &visit.view, caller, &exchange, cursor.as_deref());
            let page = visit.edge.in_time(CatchUnwind(tools)).await;
            page.map(|page| page.unwrap_or_else(|Panicked| Err(panicked("tools/list"))))
        }
        Err(error) => Some(Err(error.into())),
    };
    let answer = match page {
        None => Refusal::ShuttingDown.answer(era, Some(id)),
        Some(Ok(page)) => {
            let tail = visit.rules.rendered.list_tail(era, &page);
            Answer::tools(id, &page.items, page.next_cursor.as_deref(), &tail)
        }
        Some(Err(error)) => failed(&error, id),
    };
    visit.edge.answered(method::TOOLS_LIST, era, &answer);
    answer
}

/// How a call is made, by era and face.
pub(crate) struct Manner<'a> {
    pub(crate) era: Era,
    pub(crate) key: SessionKey,
    /// The lowest level of log messages the client asked for.
    pub(crate) log_level: Option<LogLevel>,
    /// The headers that repeat arguments, on the face that has them.
    pub(crate) mirrored: Option<&'a HeaderMap>,
}

/// A call under way: its answer, and what happens meanwhile.
pub(crate) struct InProgress {
    pub(crate) answer: Boxed<Answer>,
    events: Option<Events>,
}

/// Checks a call and makes it. Nothing runs before the answer is polled. With `entry` it can be cancelled by
/// its id.
///
/// # Errors
/// The answer to a request that does not become a call.
pub(crate) fn call(
    visit: &Visit,
    request: Request,
    manner: &Manner<'_>,
    permit: Permit,
    entry: Option<Entry>,
) -> Result<InProgress, Answer> {
    let Request { id, params, .. } = request;
    let name = check(visit, &params, manner).map_err(|unfit| match unfit {
        Unfit::Params(error) => failed(&error.into(), &id),
        Unfit::Header(refusal) => refusal.answer(manner.era, Some(&id)),
    })?;
    let token = meta::progress_token(params.meta.as_ref()).filter(|_| visit.streams);
    let log_level = manner.log_level.filter(|_| visit.streams);
    let wants_progress = token.is_some();
    let (sink, events) = match wants_progress || log_level.is_some() {
        true => Events::new(visit, token, log_level),
        false => (visit.edge.silent.clone(), None),
    };
    let call = Call {
        target: Target::Exposed { view: visit.view.clone(), subject: Subject::tool(&name) },
        params,
        follow_up: None,
        caller: visit.principal.caller.clone(),
        exchange: Exchange {
            era: manner.era,
            session: manner.key.clone(),
            capabilities: visit.edge.no_capabilities.clone(),
            wants_progress,
            log_level,
            events: sink,
            client: None,
        },
    };
    let (visit, era) = (visit.clone(), manner.era);
    let answer = async move {
        let work = visit.edge.in_time(run(&visit, id.clone(), call));
        let done = match entry {
            Some(entry) => entry.run(work).await,
            None => Ok(work.await),
        };
        let unfinished = match done {
            Ok(Some(answer)) => return answer.holding(permit),
            Err(Stopped::Cancelled) => return failed(&CallerError::Cancelled.into(), &id),
            Ok(None) => Refusal::ShuttingDown.answer(era, Some(&id)),
            Err(Stopped::Ended) => ended(&id),
        };
        visit.edge.answered(method::TOOLS_CALL, era, &unfinished);
        unfinished
    };
    Ok(InProgress { answer: Box::pin(answer), events })
}

/// The answer to a call whose session has ended before it did.
fn ended(id: &RequestId) -> Answer {
    let mut verdict = rescue(&CallerError::SessionClosed.into());
    verdict.may_have_executed = true;
    verdict.answer(Some(id))
}

impl InProgress {
    /// The answer alone if nothing happens before it, else everything in order.
    pub(crate) async fn reply(mut self) -> Reply {
        let Some(mut events) = self.events.take() else { return self.answer.await.into() };
        let (first, answer) = tokio::select! {
            biased;
            Some(first) = events.next() => (Some(first), None),
            // What happened in the same moment was before the answer.
            answer = &mut self.answer => (events.take(), Some(answer)),
        };
        match (first, answer) {
            (None, Some(answer)) => answer.into(),
            (first, answer) => Reply::Conversation(Conversation::new(|speaker| async move {
                if let Some(first) = first {
                    speaker.say(first).await;
                }
                tell(speaker, events, answer, self.answer).await;
            })),
        }
    }
}

/// Passes events on while the call runs, then the answer; nothing after it.
async fn tell(speaker: Speaker, mut events: Events, answer: Option<Answer>, mut rest: Boxed<Answer>) {
    let answer = match answer {
        Some(answer) => answer,
        None => loop {
            tokio::select! {
                biased;
                Some(message) = events.next() => {
                    speaker.say(message).await;
                }
                answer = &mut rest => break answer,
            }
        },
    };
    while let Some(message) = events.take() {
        speaker.say(message).await;
    }
    if !answer.is_cancelled() {
        speaker.say(answer.payload).await;
    }
}

async fn run(visit: &Visit, id: RequestId, call: Call) -> Answer {
    let era = call.exchange.era;
    let Target::Exposed { subject: Subject::Tool { name, .. }, .. } = &call.target else {
        return failed(&panicked("a call"), &id);
    };
    let (name, session) = (name.clone(), call.exchange.session.clone());
    let outcome = CatchUnwind(visit.edge.ports.dispatcher.dispatch(call)).await;
    let outcome = outcome.unwrap_or_else(|Panicked| Err(panicked("tools/call")));
    let answer = match outcome.as_ref().map(finished) {
        Ok(Some(Ok(result))) if era == Era::Modern => {
            modern_result(&id, result, &visit.rules.config.identity)
        }
        Ok(Some(Ok(result))) => legacy_result(&id, result),
        Ok(Some(Err(error))) => peer_error(&id, error, era == Era::Modern),
        Ok(None) => failed(&input_required(visit, &session, &name), &id),
        Err(error) => failed(error, &id),
    };
    visit.edge.answered(method::TOOLS_CALL, era, &answer);
    answer
}

fn input_required(visit: &Visit, session: &SessionKey, name: &str) -> Error {
    match visit.edge.ports.directory.tool(&visit.view, &visit.principal.caller, session, name) {
        Some(tool) => DownstreamFault::InputRequired.during(&tool.downstream),
        None => InternalError { what: "a call of an unknown tool asked for input" }.into(),
    }
}

pub(crate) fn failed(error: &Error, id: &RequestId) -> Answer {
    match error {
        Error::Caller(_) => {}
        // That it is left alone was logged once; this is each of those who try all the same.
        Error::Downstream(downstream) if matches!(downstream.fault, DownstreamFault::Broken { .. }) => {
            tracing::debug!(%error, "a request failed")
        }
        Error::Downstream(_) | Error::Operator(_) | Error::Unlisted(_) => {
            tracing::info!(%error, "a request failed")
        }
        Error::Internal(_) => tracing::error!(%error, "a request failed"),
    }
    rescue(error).answer(Some(id))
}

fn panicked(what: &'static str) -> Error {
    InternalError { what }.into()
}

enum Unfit {
    Params(CallerError),
    Header(Refusal),
}

/// The name of the tool, if the params are those of a call.
fn check(visit: &Visit, params: &Params, manner: &Manner<'_>) -> Result<String, Unfit> {
    let invalid = |reason: &str| Unfit::Params(CallerError::InvalidParams { reason: reason.to_owned() });
    let name = params.object.get_text("name").ok_or_else(|| invalid("`name` is not a string"))?;
    if name.len() > NAME_LIMIT {
        return Err(invalid("`name` is longer than 256 bytes"));
    }
    let arguments = params.object.get("arguments");
    if arguments.as_ref().is_some_and(|arguments| arguments.kind() != JsonKind::Object) {
        return Err(invalid("`arguments` is not an object"));
    }
    let Some(headers) = manner.mirrored else { return Ok(name) };
    let directory = &visit.edge.ports.directory;
    let tool = directory.tool(&visit.view, &visit.principal.caller, &manner.key, &name);
    if let Some(tool) = tool.filter(|tool| !tool.headers.is_empty()) {
        let arguments = match arguments.map(RawObject::try_from) {
            Some(Ok(arguments)) => Some(arguments),
            Some(Err(_)) => return Err(invalid("`arguments` names a member twice")),
            None => None,
        };
        headers::check_params(&tool.headers, arguments.as_ref(), |name| field(headers, name))
            .map_err(|mismatch| Unfit::Header(Refusal::HeaderMismatch(mismatch)))?;
    }
    Ok(name)
}

fn cursor(params: &Params) -> Result<Option<String>, CallerError> {
    match params.object.get("cursor") {
        // Some clients write out what they leave open.
        None => Ok(None),
        Some(cursor) if cursor.kind() == JsonKind::Null => Ok(None),
        Some(cursor) => {
            let text = cursor.to_text().map(|text| Some(text.into_owned()));
            text.ok_or_else(|| CallerError::InvalidParams { reason: "`cursor` is not a string".to_owned() })
        }
    }
}

#[cfg(test)]
mod tests;
