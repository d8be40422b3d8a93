//! Requests that one downstream answers, the same in both eras but for what wraps them.

use std::{sync::Arc, time::Duration};

use gateway_domain::{
    Asker, Call, CallerError, ClientCapabilities, ClientLink, Era, Error, Exchange, FollowUp, JsonKind,
    LogLevel, Outcome, Params, RawObject, Reference, SessionKey, State, Subject, Target, TaskAct,
};
use gateway_protocol::{Request, RequestId, Revision, headers, meta, method};
use http::HeaderMap;
use tokio::time::sleep;

use super::{
    Answer, Conversation, Reply, Visit, answer::answered, conversation::Speaker, events::Events, failed,
    failed_towards, interview::Interview, panicked, rounds::Round,
};
use crate::{
    field::field,
    in_flight::{Boxed, CatchUnwind, Entry, Panicked, Permit, Stopped, caught},
    rescue::{Refusal, rescue},
    session::Session,
};

/// The longest name of a tool or prompt, in bytes (security.md §3.3).
const NAME_LIMIT: usize = 256;
/// The longest URI or task id, in bytes.
const URI_LIMIT: usize = 8 << 10;

/// How a client asks, by era and face.
pub(crate) struct Manner<'a> {
    /// The revision that is spoken with it.
    pub(crate) revision: Revision,
    pub(crate) key: SessionKey,
    /// What it can do here and now, in their canonical form.
    pub(crate) capabilities: ClientCapabilities,
    /// The same as it said it.
    pub(crate) declared: ClientCapabilities,
    /// The lowest level of log messages the client asked for.
    pub(crate) log_level: Option<LogLevel>,
    /// The headers that repeat arguments, on the face that has them.
    pub(crate) mirrored: Option<&'a HeaderMap>,
    /// Its session, in which it can be asked something.
    pub(crate) session: Option<Arc<Session>>,
    /// The same as downstreams may use it outside any call.
    pub(crate) client: Option<Arc<dyn ClientLink>>,
}

impl Manner<'_> {
    pub(crate) fn era(&self) -> Era {
        self.revision.era()
    }

    /// The exchange of a request whose client wants the answer only.
    pub(crate) fn exchange(&self, visit: &Visit, params: &Params) -> Exchange {
        Exchange {
            era: self.era(),
            session: self.key.clone(),
            capabilities: self.capabilities.clone(),
            can_be_asked: self.era() == Era::Modern || visit.streams,
            wants_progress: false,
            log_level: None,
            run: None,
            events: visit.edge.silent.clone(),
            client: self.client.clone(),
            incoming: visit.incoming.clone(),
            trace: visit.trace(params.meta.as_ref()),
            notes: Arc::default(),
        }
    }
}

/// A call under way: its answer, and what happens meanwhile.
pub(crate) struct InProgress {
    pub(crate) answer: Boxed<Answer>,
    events: Option<Events>,
}

/// Checks a request and makes it a call. Nothing runs before the answer is polled. With `entry` it can be cancelled
/// by its id.
///
/// # Errors
/// The answer to a request that does not become a call.
pub(crate) fn call(
    visit: &Visit,
    request: Request,
    manner: &Manner<'_>,
    permit: Permit,
    entry: Option<Entry>,
) -> Result<InProgress, Box<Answer>> {
    let Request { id, method, params } = request;
    let unfit = |unfit, params: &Params| Box::new(turned_away(visit, manner, (&id, &method, params), unfit));
    let subject = check(visit, &method, &params, manner).map_err(|error| unfit(error, &params))?;
    let token = meta::progress_token(params.meta.as_ref()).filter(|_| visit.streams);
    let log_level = manner.log_level.filter(|_| visit.streams);
    let wants_progress = token.is_some();
    let asks = manner.session.as_ref().filter(|_| visit.streams);
    let (sink, mut events) = match wants_progress || log_level.is_some() || asks.is_some() {
        true => {
            let (sink, events) = Events::new(visit, token, log_level, manner.era());
            (sink, Some(events))
        }
        false => (visit.edge.silent.clone(), None),
    };
    let interview = asks.zip(events.as_mut()).map(|(session, events)| Interview::new(visit, session, events));
    let exchange = Exchange { wants_progress, log_level, events: sink, ..manner.exchange(visit, &params) };
    let mut call = Call {
        target: Target::Exposed { view: visit.view.clone(), subject: subject.clone() },
        params,
        follow_up: None,
        origin: None,
        caller: visit.caller.clone(),
        exchange,
    };
    let round = match manner.era() {
        Era::Modern => {
            let begun = Round::begin(visit, &method, &subject, manner, &mut call);
            Some(begun.map_err(|error| unfit(error, &call.params))?)
        }
        Era::Legacy => None,
    };
    let (visit, revision) = (visit.clone(), manner.revision);
    let opens_urls = manner.capabilities.elicits_urls();
    let answer = async move {
        let work = async {
            let outcome = run(&visit, call, interview).await;
            let answer = match &round {
                Some(round) => round.answered(&visit, &id, &subject, outcome),
                None => answered(&visit, &id, &subject, revision, opens_urls, outcome),
            };
            visit.edge.answered(&method, revision.era(), &answer);
            answer
        };
        let work = visit.edge.in_time(work);
        let done = match entry {
            Some(entry) => entry.run(work).await,
            None => Ok(work.await),
        };
        let unfinished = match done {
            Ok(Some(answer)) => return answer.holding(permit),
            Err(Stopped::Cancelled) => return failed(&CallerError::Cancelled.into(), &id),
            Ok(None) => Refusal::ShuttingDown.answer(revision.era(), Some(&id)),
            Err(Stopped::Ended) => ended(&id),
        };
        visit.edge.answered(&method, revision.era(), &unfinished);
        unfinished
    };
    Ok(InProgress { answer: Box::pin(answer), events })
}

/// The answer to a request that does not become a call, which is told of.
fn turned_away(
    visit: &Visit,
    manner: &Manner<'_>,
    (id, method, params): (&RequestId, &str, &Params),
    unfit: Unfit,
) -> Answer {
    let answer = match unfit {
        Unfit::Params(error) => failed_towards(&error.into(), manner.era(), id),
        Unfit::Header(refusal) => refusal.answer(manner.era(), Some(id)),
    };
    visit.turned_away(Some((method, params)), answer.kind);
    answer
}

/// Makes the call, and goes on with it as long as its client has answers for what it asks.
async fn run(visit: &Visit, mut call: Call, interview: Option<Interview>) -> Result<Outcome, Error> {
    let Some(mut interview) = interview else { return dispatch(visit, call).await };
    let mut waiting = None;
    loop {
        let outcome = dispatch(visit, call.clone()).await;
        // Held until here: a follow-up that failed on its way has taken nothing up.
        drop(waiting.take());
        match outcome? {
            Outcome::InputRequired(required) => {
                let asked = Waiting { visit, state: required.state.clone() };
                let asker = required.asker.clone();
                // Boxed, since few calls come here and all would have to make room for it.
                let answered = Box::pin(interview.answer(required));
                call.follow_up = Some(tokio::select! {
                    biased;
                    answered = answered => answered?,
                    // What is open is taken back from the client.
                    follow_up = asked.over(asker) => follow_up,
                });
                // Each round has a record of its own.
                call.exchange.notes = Arc::default();
                waiting = Some(asked);
            }
            done => return Ok(done),
        }
    }
}

/// A call that is parked while its client is asked. When it is not taken up again, because the client refuses, takes
/// too long or has cancelled, it is given up downstream too; one that was is not there to be given up any more.
struct Waiting<'a> {
    visit: &'a Visit,
    state: State,
}

impl Waiting<'_> {
    /// Waits until no answer is waited for any more, as when the downstream has answered or ended meanwhile; then the
    /// call is taken up without any.
    async fn over(&self, asker: Option<Asker>) -> FollowUp {
        let (State::Parked(park), Some(asker)) = (&self.state, asker) else {
            return std::future::pending().await;
        };
        while !self.visit.edge.ports.sessions.is_over(park) {
            sleep(LOOK).await;
        }
        FollowUp { asker, state: self.state.clone(), responses: RawObject::empty() }
    }
}

/// How often is looked whether a call still waits for its client: at the pace of people.
const LOOK: Duration = Duration::from_millis(100);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.visit.abandon(&self.state);
    }
}

async fn dispatch(visit: &Visit, call: Call) -> Result<Outcome, Error> {
    // Some stages decide before there is anything to wait for.
    let outcome = match caught(|| visit.edge.ports.dispatcher.dispatch(call)) {
        Ok(answer) => CatchUnwind(answer).await,
        Err(panicked) => Err(panicked),
    };
    outcome.unwrap_or_else(|Panicked| Err(panicked("a call")))
}

/// What is answered, unless the client takes the request back or its session ends.
pub(super) async fn stoppable(
    id: &RequestId,
    entry: Option<Entry>,
    work: impl Future<Output = Answer>,
) -> Answer {
    let Some(entry) = entry else { return work.await };
    match entry.run(work).await {
        Ok(answer) => answer,
        Err(Stopped::Cancelled) => failed(&CallerError::Cancelled.into(), id),
        Err(Stopped::Ended) => ended(id),
    }
}

/// The answer to a call whose session has ended before it did.
pub(super) fn ended(id: &RequestId) -> Answer {
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

/// Why a request does not become a call.
pub(super) enum Unfit {
    Params(CallerError),
    Header(Refusal),
}

/// What a request is about, if its params are those of its method.
fn check(visit: &Visit, method: &str, params: &Params, manner: &Manner<'_>) -> Result<Subject, Unfit> {
    let subject = subject(method, params).map_err(Unfit::Params)?;
    if let (Subject::Other { .. }, None) = (&subject, visit.view.downstream()) {
        return Err(Unfit::Header(Refusal::UnknownMethod));
    }
    if let Subject::Tool { name, .. } = &subject {
        check_mirrored(visit, name, params, manner)?;
    }
    Ok(subject)
}

fn subject(method: &str, params: &Params) -> Result<Subject, CallerError> {
    let text = |member: &'static str, limit| text(&params.object, member, limit);
    let arguments = || match params.object.get("arguments") {
        Some(arguments) if arguments.kind() != JsonKind::Object => invalid("`arguments` is not an object"),
        _ => Ok(()),
    };
    let task = |act| Ok(Subject::Task { id: text("taskId", URI_LIMIT)?, act, tool: None });
    match method {
        method::TOOLS_CALL => {
            let name = text("name", NAME_LIMIT)?;
            arguments().map(|()| Subject::tool(&name))
        }
        method::PROMPTS_GET => {
            let name = text("name", NAME_LIMIT)?;
            arguments().map(|()| Subject::Prompt { name })
        }
        method::RESOURCES_READ => Ok(Subject::Resource { uri: uri(params)? }),
        method::COMPLETE => reference(params).map(Subject::Completion),
        method::TASKS_GET => task(TaskAct::Get),
        method::TASKS_UPDATE => task(TaskAct::Update),
        method::TASKS_CANCEL => task(TaskAct::Cancel),
        _ => Ok(Subject::Other { method: method.into() }),
    }
}

/// The resource that is asked for.
pub(super) fn uri(params: &Params) -> Result<Arc<str>, CallerError> {
    text(&params.object, "uri", URI_LIMIT)
}

fn reference(params: &Params) -> Result<Reference, CallerError> {
    let Some(reference) = params.object.get_object("ref") else { return invalid("`ref` is not an object") };
    match reference.get_text("type").as_deref() {
        Some("ref/prompt") => text(&reference, "name", NAME_LIMIT).map(Reference::Prompt),
        Some("ref/resource") => text(&reference, "uri", URI_LIMIT).map(Reference::Resource),
        _ => invalid("`ref` is neither a `ref/prompt` nor a `ref/resource`"),
    }
}

fn text(object: &RawObject, member: &str, limit: usize) -> Result<Arc<str>, CallerError> {
    match object.get_text(member) {
        None => invalid(&format!("`{member}` is not a string")),
        Some(text) if text.len() > limit => invalid(&format!("`{member}` is longer than {limit} bytes")),
        Some(text) => Ok(text.into()),
    }
}

fn invalid<T>(reason: &str) -> Result<T, CallerError> {
    Err(CallerError::InvalidParams { reason: reason.to_owned() })
}

/// Checks the headers that repeat arguments of a tool.
fn check_mirrored(visit: &Visit, name: &str, params: &Params, manner: &Manner<'_>) -> Result<(), Unfit> {
    let Some(headers) = manner.mirrored else { return Ok(()) };
    let directory = &visit.edge.ports.directory;
    let tool = directory.tool(&visit.view, &visit.caller, &manner.key, name);
    let Some(tool) = tool.filter(|tool| !tool.headers.is_empty()) else { return Ok(()) };
    let arguments = match params.object.get("arguments").map(RawObject::try_from) {
        Some(Ok(arguments)) => Some(arguments),
        Some(Err(_)) => return invalid("`arguments` names a member twice").map_err(Unfit::Params),
        None => None,
    };
    headers::check_params(&tool.headers, arguments.as_ref(), |name| field(headers, name))
        .map_err(|mismatch| Unfit::Header(Refusal::HeaderMismatch(mismatch)))
}
