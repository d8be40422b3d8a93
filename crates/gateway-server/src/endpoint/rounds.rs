//! Questions to clients of 2026-07-28 (protocol.md §13): the answer to a request says what is missing, and the same
//! request with the answers goes on where it was. What it goes on with is sealed and kept by the client.

use std::time::SystemTime;

use gateway_domain::{
    Asker, Call, CallerError, ClientCapabilities, DownstreamFault, Error, FollowUp, InputRequired,
    InternalError, JsonKind, Outcome, Params, PeerError, RawJson, RawObject, SessionKey, State, Subject,
    View,
};
use gateway_protocol::{RequestId, Revision, code, convert, meta, method};

use super::{
    Answer, Visit,
    answer::{answered, extended},
    failed,
    interview::{MOST_QUESTIONS, TOO_MANY_QUESTIONS},
    request::{Manner, Unfit},
    task,
};
use crate::seal::{Binding, Opened};

/// One request of a modern client, as far as its outcome depends on it.
pub(super) struct Round {
    method: String,
    /// As they came; cheap to keep.
    params: Params,
    /// What the client can do, as it said.
    declared: ClientCapabilities,
    /// The same as downstreams are told.
    capabilities: ClientCapabilities,
}

impl Round {
    /// Reads what a request goes on with, and takes that out of its params.
    pub(super) fn begin(
        visit: &Visit,
        method: &str,
        subject: &Subject,
        manner: &Manner<'_>,
        call: &mut Call,
    ) -> Result<Self, Unfit> {
        let mut round = Self {
            method: method.to_owned(),
            params: call.params.clone(),
            declared: manner.declared.clone(),
            capabilities: manner.capabilities.clone(),
        };
        // What a task asks is answered with `tasks/update`, in the session that runs it.
        let is_task = matches!(subject, Subject::Task { .. });
        match subject {
            Subject::Task { id, act } => call.target = task::target(visit, id, *act, round.has_tasks())?,
            Subject::Tool { .. } | Subject::Prompt { .. } | Subject::Resource { .. } => {
                call.follow_up = round.follow_up(visit, &mut call.params).map_err(Unfit::Params)?;
            }
            Subject::Completion(_) | Subject::Other { .. } => {}
        }
        if !has_rounds(subject) && !is_task && round.capabilities.is_interactive() {
            round.capabilities = round.capabilities.unasked();
            call.exchange.capabilities = round.capabilities.clone();
            call.exchange.can_be_asked = false;
            if let SessionKey::Modern { capabilities, .. } = &mut call.exchange.session {
                // Not the session of what can be asked: it would be opened as of a client that cannot.
                capabilities.clone_from(&round.capabilities);
            }
        }
        Ok(round)
    }

    /// What a state of this request is bound to. Made only when there is one: it reads all the arguments.
    fn binding(&self, visit: &Visit) -> Binding {
        Binding::request(&visit.principal.caller, &visit.view, &self.method, &self.params)
    }

    fn follow_up(&self, visit: &Visit, params: &mut Params) -> Result<Option<FollowUp>, CallerError> {
        let responses = responses(&params.object)?;
        let state = match params.object.get("requestState") {
            // Answers that nobody asked for: a downstream without state reads them as its own (protocol.md §13).
            None => return Ok(None),
            Some(state) => {
                state.to_text().map(String::from).ok_or_else(|| invalid("`requestState`", "a string"))?
            }
        };
        let opened = visit.rules.seal.open_state(&state, &self.binding(visit), SystemTime::now())?;
        let edit = params.object.edit().remove("inputResponses").remove("requestState");
        params.object = RawObject::try_from(edit.finish())
            .map_err(|_| CallerError::InvalidParams { reason: "a member stands twice".to_owned() })?;
        let responses = responses.unwrap_or_else(RawObject::empty);
        match (opened.state, opened.asker) {
            // Nothing waits anywhere, so there is nothing to go on with but the call.
            (State::Afresh, _) => accepted(&responses).map(|()| None),
            (state, Some(asker)) => Ok(Some(FollowUp { asker, state, responses })),
            (_, None) => Err(CallerError::UnknownState),
        }
    }

    /// What the outcome is to this client.
    pub(super) fn answered(
        &self,
        visit: &Visit,
        id: &RequestId,
        subject: &Subject,
        outcome: Result<Outcome, Error>,
    ) -> Answer {
        let known = match outcome {
            Ok(Outcome::InputRequired(required)) if has_rounds(subject) => self.ask(visit, id, required),
            Ok(Outcome::InputRequired(required)) => {
                visit.abandon(&required.state);
                Err(nonsense(required.asker.as_ref(), "it asks something where nothing can be answered"))
            }
            Ok(Outcome::Task(task)) => task::begun(visit, id, &task, self.has_tasks()),
            Ok(Outcome::Failed(error)) if error.code == code::URL_REQUIRED && has_rounds(subject) => {
                match self.visits(&error) {
                    Some(Ok(required)) => self.ask(visit, id, required),
                    Some(Err(missing)) => Err(missing.into()),
                    None => return self.plain(visit, id, subject, Ok(Outcome::Failed(error))),
                }
            }
            Ok(Outcome::Failed(error)) if error.code == code::MISSING_CAPABILITY => {
                match self.lacks(&error) {
                    Some(required) => Err(CallerError::MissingCapability { required }.into()),
                    None => return self.plain(visit, id, subject, Ok(Outcome::Failed(error))),
                }
            }
            outcome => return self.plain(visit, id, subject, outcome),
        };
        known.unwrap_or_else(|error| failed(&error, id))
    }

    fn plain(
        &self,
        visit: &Visit,
        id: &RequestId,
        subject: &Subject,
        outcome: Result<Outcome, Error>,
    ) -> Answer {
        answered(visit, id, subject, Revision::NEWEST_MODERN, true, outcome)
    }

    fn has_tasks(&self) -> bool {
        self.declared.extension(meta::TASKS).is_some()
    }

    /// The questions of a downstream that fails the call for want of a visit to a URL; `None` if it names none.
    fn visits(&self, error: &PeerError) -> Option<Result<InputRequired, CallerError>> {
        let requests = convert::modern::url_questions(error)?;
        if !self.declared.elicits_urls() {
            return Some(Err(missing(r#"{"elicitation":{"url":{}}}"#)));
        }
        Some(Ok(InputRequired { asker: None, requests: Some(requests), state: State::Afresh }))
    }

    /// What the client itself has not declared of what a downstream asks for. What it has, and the gateway did not
    /// pass on, is not for it to mend.
    fn lacks(&self, error: &PeerError) -> Option<RawJson> {
        let required = error.raw.get_object("data")?.get_object("requiredCapabilities")?;
        let lacks = required.iter().any(|(name, wanted)| match &*name {
            "elicitation" => {
                let wanted = RawObject::try_from(wanted).unwrap_or_default();
                let url = wanted.contains("url") && !self.declared.elicits_urls();
                let form = (wanted.is_empty() || wanted.contains("form")) && !self.declared.elicits_forms();
                url || form
            }
            "sampling" => {
                let tools = RawObject::try_from(wanted).is_ok_and(|wanted| wanted.contains("tools"));
                !self.declared.samples() || (tools && !self.declared.samples_with_tools())
            }
            "roots" => !self.declared.has_roots(),
            "extensions" => {
                let wanted = RawObject::try_from(wanted).unwrap_or_default();
                wanted.iter().any(|(id, _)| self.declared.extension(&id).is_none())
            }
            _ => false,
        });
        lacks.then(|| required.raw().clone())
    }

    /// The answer that asks, if the client can be asked this.
    fn ask(&self, visit: &Visit, id: &RequestId, required: InputRequired) -> Result<Answer, Error> {
        let InputRequired { asker, requests, state } = required;
        let asked = match &requests {
            Some(requests) => {
                if let Err(error) = self.check(requests, asker.as_ref()) {
                    visit.abandon(&state);
                    return Err(error);
                }
                let is_labelled = visit.rules.config.label_questions && matches!(visit.view, View::All);
                let label = asker.as_ref().filter(|_| is_labelled).map(Asker::to_string);
                let questions = shown(requests, label.as_deref());
                format!(r#","inputRequests":{questions}"#)
            }
            None => String::new(),
        };
        let lasts = visit.rules.config.limits.question_time;
        let opened = Opened { asker, state };
        let state = visit.rules.seal.state(&opened, &self.binding(visit), SystemTime::now(), lasts)?;
        let object =
            format!(r#"{{"resultType":"input_required"{asked},"requestState":{}}}"#, RawJson::string(&state));
        let object = RawJson::parse(object).map_err(|_| InternalError { what: "a question is no JSON" })?;
        Ok(extended(id, object, &visit.rules.config.identity))
    }

    /// Whether the client has declared that it can be asked all this (protocol.md §13).
    fn check(&self, requests: &RawObject, asker: Option<&Asker>) -> Result<(), Error> {
        if requests.iter().nth(MOST_QUESTIONS).is_some() {
            return Err(nonsense(asker, TOO_MANY_QUESTIONS));
        }
        let can = &self.capabilities;
        let (mut roots, mut sampling, mut tools, mut form, mut url) = (false, false, false, false, false);
        for (_, question) in requests.iter() {
            let question = RawObject::try_from(question).unwrap_or_default();
            let params = question.get_object("params").unwrap_or_default();
            match question.get_text("method").as_deref() {
                Some(method::ROOTS_LIST) => roots |= !can.has_roots(),
                Some(method::SAMPLE) => {
                    sampling |= !can.samples();
                    let uses = params.contains("tools") || params.contains("toolChoice");
                    tools |= uses && !can.samples_with_tools();
                }
                Some(method::ELICIT) if params.get_text("mode").as_deref() == Some("url") => {
                    url |= !can.elicits_urls();
                }
                Some(method::ELICIT) => form |= !can.elicits_forms(),
                _ => return Err(nonsense(asker, "it asks what no client is asked")),
            }
        }
        let mut lacking = Vec::new();
        if roots {
            lacking.push(r#""roots":{}"#.to_owned());
        }
        if sampling || tools {
            lacking.push(format!(r#""sampling":{}"#, if tools { r#"{"tools":{}}"# } else { "{}" }));
        }
        if form || url {
            let modes = [(form, r#""form":{}"#), (url, r#""url":{}"#)];
            let modes: Vec<_> = modes.into_iter().filter(|(lacks, _)| *lacks).map(|(_, mode)| mode).collect();
            lacking.push(format!(r#""elicitation":{{{}}}"#, modes.join(",")));
        }
        if lacking.is_empty() { Ok(()) } else { Err(missing(&format!("{{{}}}", lacking.join(","))).into()) }
    }
}

fn missing(required: &str) -> CallerError {
    let required = RawJson::parse(required.to_owned()).unwrap_or_else(|_| RawJson::string(required));
    CallerError::MissingCapability { required }
}

/// Whether what is asked during such a request can be answered with the same request again.
fn has_rounds(subject: &Subject) -> bool {
    matches!(subject, Subject::Tool { .. } | Subject::Prompt { .. } | Subject::Resource { .. })
}

fn nonsense(asker: Option<&Asker>, reason: &str) -> Error {
    match asker.and_then(Asker::downstream) {
        Some(name) => DownstreamFault::Nonsense { reason: reason.into() }.during(name),
        None => InternalError { what: "a question of nobody" }.into(),
    }
}

fn invalid(member: &str, what: &str) -> CallerError {
    CallerError::InvalidParams { reason: format!("{member} is not {what}") }
}

/// `inputResponses`, if they can be answers.
fn responses(params: &RawObject) -> Result<Option<RawObject>, CallerError> {
    let Some(responses) = params.get("inputResponses") else { return Ok(None) };
    let responses = RawObject::try_from(responses).map_err(|_| invalid("`inputResponses`", "an object"))?;
    if responses.iter().any(|(_, answer)| answer.kind() != JsonKind::Object) {
        return Err(invalid("a member of `inputResponses`", "an object"));
    }
    Ok(Some(responses))
}

/// Whether nobody said no.
fn accepted(responses: &RawObject) -> Result<(), CallerError> {
    let refused = |answer: RawJson| {
        let action = RawObject::try_from(answer).ok().and_then(|answer| answer.get_text("action"));
        action.is_some_and(|action| action != "accept")
    };
    match responses.iter().any(|(_, answer)| refused(answer)) {
        true => Err(CallerError::Unanswered { reason: "the user did not open the URL".to_owned() }),
        false => Ok(()),
    }
}

/// The questions as this era has them, with who asks in front of what a user reads.
fn shown(requests: &RawObject, label: Option<&str>) -> RawJson {
    let mut edit = requests.edit();
    for (key, question) in requests.iter() {
        let Ok(question) = RawObject::try_from(question) else { continue };
        let Some(params) = question.get_object("params") else { continue };
        if question.get_text("method").as_deref() != Some(method::ELICIT) {
            continue;
        }
        let mut changed = params.edit().remove("elicitationId");
        if let (Some(label), Some(message)) = (label, params.get_text("message")) {
            changed = changed.set("message", RawJson::string(&format!("[{label}] {message}")).as_bytes());
        }
        if !changed.is_unchanged() {
            let question = question.edit().set("params", changed.finish().as_bytes()).finish();
            edit = edit.set(&key, question.as_bytes());
        }
    }
    edit.finish()
}
