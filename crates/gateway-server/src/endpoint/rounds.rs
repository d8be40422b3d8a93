//! Questions to clients of 2026-07-28 (protocol.md §13): the answer to a request says what is missing, and the same
//! request with the answers goes on where it was. What it goes on with is sealed and kept by the client.

use std::{borrow::Cow, collections::BTreeSet, time::SystemTime};

use gateway_domain::{
    Ability, Asker, Call, CallerError, ClientCapabilities, DownstreamFault, Error, FollowUp, InputRequired,
    InternalError, JsonKind, Outcome, Params, PeerError, Question, RawJson, RawObject, SessionKey, State,
    Subject,
};
use gateway_protocol::{RequestId, Revision, code, meta};

use super::{
    Answer, Visit,
    answer::{answered, extended},
    failed,
    interview::{MOST_QUESTIONS, NO_QUESTION, TOO_MANY_QUESTIONS, is_shown},
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
            Subject::Task { id, act, .. } => call.target = task::target(visit, id, *act, round.has_tasks())?,
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
        let requests = error.visits()?;
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

    /// The answer that asks, if the client can be asked this; else nothing waits for it any more.
    fn ask(&self, visit: &Visit, id: &RequestId, required: InputRequired) -> Result<Answer, Error> {
        let InputRequired { asker, requests, state } = required;
        let opened = Opened { asker, state };
        let answer = self.question(visit, id, requests.as_ref(), &opened);
        if answer.is_err() {
            visit.abandon(&opened.state);
        }
        answer
    }

    fn question(
        &self,
        visit: &Visit,
        id: &RequestId,
        requests: Option<&RawObject>,
        opened: &Opened,
    ) -> Result<Answer, Error> {
        let asked = match requests {
            Some(requests) => {
                let questions = self.questions(requests, opened.asker.as_ref())?;
                let is_labelled = visit.rules.config.label_questions && visit.view.downstream().is_none();
                let label = opened.asker.as_ref().filter(|asker| is_labelled && is_shown(asker));
                format!(r#","inputRequests":{}"#, shown(requests, &questions, label))
            }
            None => String::new(),
        };
        let lasts = visit.rules.config.limits.question_time;
        let state = visit.rules.seal.state(opened, &self.binding(visit), SystemTime::now(), lasts)?;
        let object =
            format!(r#"{{"resultType":"input_required"{asked},"requestState":{}}}"#, RawJson::string(&state));
        let object = RawJson::parse(object).map_err(|_| InternalError { what: "a question is no JSON" })?;
        Ok(extended(id, object, &visit.rules.config.identity))
    }

    /// What is asked by key, if the client has declared that it can be asked all this (protocol.md §13).
    fn questions(
        &self,
        requests: &RawObject,
        asker: Option<&Asker>,
    ) -> Result<Vec<(String, Question)>, Error> {
        if requests.iter().nth(MOST_QUESTIONS).is_some() {
            return Err(nonsense(asker, TOO_MANY_QUESTIONS));
        }
        let read = |(key, request): (Cow<'_, str>, _)| Some((key.into_owned(), Question::read(request)?));
        let questions: Option<Vec<_>> = requests.iter().map(read).collect();
        let questions = questions.ok_or_else(|| nonsense(asker, NO_QUESTION))?;
        let lacking = questions.iter().filter_map(|(_, question)| question.lacking(&self.capabilities));
        match required(&lacking.collect()) {
            Some(required) => Err(missing(&required).into()),
            None => Ok(questions),
        }
    }
}

/// What a client would have to declare, written as it would; `None`: it has declared all.
fn required(lacking: &BTreeSet<Ability>) -> Option<String> {
    let mut members = Vec::new();
    if lacking.contains(&Ability::Roots) {
        members.push(r#""roots":{}"#.to_owned());
    }
    let uses_tools = lacking.contains(&Ability::SamplingWithTools);
    if uses_tools || lacking.contains(&Ability::Sampling) {
        members.push(format!(r#""sampling":{}"#, if uses_tools { r#"{"tools":{}}"# } else { "{}" }));
    }
    let modes = [(Ability::Forms, r#""form":{}"#), (Ability::Urls, r#""url":{}"#)];
    let modes: Vec<_> =
        modes.into_iter().filter(|(mode, _)| lacking.contains(mode)).map(|(_, it)| it).collect();
    if !modes.is_empty() {
        members.push(format!(r#""elicitation":{{{}}}"#, modes.join(",")));
    }
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
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
pub(super) fn accepted(responses: &RawObject) -> Result<(), CallerError> {
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
fn shown(requests: &RawObject, questions: &[(String, Question)], label: Option<&Asker>) -> RawJson {
    let elicitations = questions.iter().filter(|(_, question)| question.is_elicitation());
    let shown = elicitations.fold(requests.edit(), |edit, (key, question)| {
        let plain = question.params().edit().remove("elicitationId");
        let plain =
            if plain.is_unchanged() { question.clone() } else { question.with_params(&plain.finish()) };
        let shown = label.map_or_else(|| plain.clone(), |asker| plain.labelled(asker));
        if shown == *question { edit } else { edit.set(key, shown.request().raw().as_bytes()) }
    });
    shown.finish()
}
