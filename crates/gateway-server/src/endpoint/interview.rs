//! Questions to a client that has a session: a call that needs answers asks for them here (design §1).

use std::{collections::HashMap, sync::Arc, time::Duration};

use gateway_domain::{
    Asker, CallerError, ClientCapabilities, DownstreamFault, Error, FollowUp, InputRequired, InternalError,
    RawJson, RawObject, State, View,
};
use gateway_protocol::{Answer, convert, method};
use tokio::time::{Instant, sleep};

use super::{Visit, events::Events};
use crate::session::{Session, Voice, new_name};

/// How long a call that is only to be made again waits for that, and how much longer the next time.
const PACE: Duration = Duration::from_millis(250);
const SLOWEST_PACE: Duration = Duration::from_secs(8);
/// How many questions one round may have, of whatever era the client is.
pub(super) const MOST_QUESTIONS: usize = 16;
pub(super) const TOO_MANY_QUESTIONS: &str = "it asks too much at once";
/// Whatever is configured.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How much sooner than the call that is parked for it a round is over, at most.
const MARGIN: Duration = Duration::from_secs(10);

/// Asks one client on behalf of one call.
pub(crate) struct Interview {
    session: Arc<Session>,
    /// `None` for a client that can be asked nothing.
    voice: Option<Voice>,
    rounds: usize,
    /// How long one round may take.
    time: Duration,
    /// When the last one has to be over.
    until: Instant,
    /// Whether the user is told which downstream asks.
    labels: bool,
    pace: Duration,
    /// The URLs that the user has agreed to open, and since when.
    opened: HashMap<String, Instant>,
}

/// An answer, and whether the client was asked for it just now.
struct Heard {
    answer: RawObject,
    is_new: bool,
}

impl Interview {
    /// An interview with the client of this session. Its questions go where the call's events go.
    pub(crate) fn new(visit: &Visit, session: &Arc<Session>, events: &mut Events) -> Self {
        let config = &visit.rules.config;
        let (rounds, time) = (config.limits.question_rounds, config.limits.question_time);
        let all = time.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX)).min(LONGEST);
        let is_interactive = session.capabilities().is_interactive();
        Self {
            session: session.clone(),
            voice: is_interactive.then(|| Voice::Call(events.questions())),
            rounds,
            time: time - MARGIN.min(time / 20),
            until: Instant::now() + all,
            labels: config.label_questions && visit.view == View::All,
            pace: PACE,
            opened: HashMap::new(),
        }
    }

    /// Asks what is required, one question after the other, and gives the answers for the next round.
    ///
    /// # Errors
    /// [`CallerError::Unanswered`], and whatever else keeps the call from going on.
    pub(crate) async fn answer(&mut self, required: InputRequired) -> Result<FollowUp, Error> {
        let InputRequired { asker, requests, state } = required;
        let asker = asker.ok_or(InternalError { what: "nobody knows who asked for input" })?;
        let asks = requests.as_ref().is_some_and(|requests| !requests.is_empty());
        if requests.iter().flat_map(RawObject::iter).nth(MOST_QUESTIONS).is_some() {
            return Err(nonsense(&asker, TOO_MANY_QUESTIONS));
        }
        let now = Instant::now();
        if now >= self.until {
            return Err(unanswered("the call asks for too long".to_owned()));
        }
        let until = self.until.min(now + self.time);
        let is_parked = matches!(state, State::Parked(_));
        let (mut responses, mut is_new) = (RawObject::empty(), !asks);
        for (key, request) in requests.iter().flat_map(RawObject::iter) {
            let heard = self.one(&asker, request, is_parked, until).await?;
            is_new |= heard.is_new;
            responses = with(&responses, &key, heard.answer.raw());
        }
        if is_new {
            let left = self.rounds.checked_sub(1);
            self.rounds = left.ok_or_else(|| unanswered("the call asks too often".to_owned()))?;
        }
        // With nothing new to say, an answer at once would be asked for again at once.
        if !asks || !is_new {
            sleep(self.pace).await;
            self.pace = (self.pace * 2).min(SLOWEST_PACE);
        }
        Ok(FollowUp { asker, state, responses })
    }

    async fn one(
        &mut self,
        asker: &Asker,
        request: RawJson,
        is_parked: bool,
        until: Instant,
    ) -> Result<Heard, Error> {
        let request = RawObject::try_from(request).ok();
        let method = request.as_ref().and_then(|request| request.get_text("method"));
        let Some((request, method)) = request.zip(method) else {
            return Err(nonsense(asker, "it asks for input with something that is no request"));
        };
        let params = request.get_object("params").unwrap_or_else(RawObject::empty);
        if let Some(missing) = missing(self.session.capabilities(), &method, &params) {
            return Err(unanswered(format!("it has not declared {missing}, which `{method}` needs")));
        }
        let url = params.get_text("url").filter(|_| is_by_url(&params));
        // A call that waits asks each thing once: what it asks again is another question.
        let repeated = url.as_ref().filter(|_| !is_parked).and_then(|url| self.opened.get(url));
        if let Some(since) = repeated {
            // The user has agreed and is at it; what comes of that the downstream learns elsewhere.
            if since.elapsed() >= self.time {
                return Err(unanswered("what it was to do at a URL took too long".to_owned()));
            }
            return Ok(Heard { answer: accepted(), is_new: false });
        }
        let answer = self.ask(asker, &method, params, until).await?;
        if let Some(url) = url.filter(|_| answer.get_text("action").as_deref() == Some("accept")) {
            self.opened.insert(url, Instant::now());
        }
        Ok(Heard { answer, is_new: true })
    }

    async fn ask(
        &self,
        asker: &Asker,
        method: &str,
        params: RawObject,
        until: Instant,
    ) -> Result<RawObject, Error> {
        let Some(voice) = &self.voice else {
            return Err(unanswered(format!("`{method}` cannot be put to it")));
        };
        let elicits = method == method::ELICIT;
        let labelled = if elicits && self.labels { labelled(asker, &params) } else { params };
        let name = || new_name().unwrap_or_default();
        let params = match convert::legacy::question(self.session.revision(), method, &labelled, name) {
            Ok(params) => params,
            Err(reason) if elicits => {
                tracing::info!(%asker, %reason, "a question is not put to a client");
                return Ok(cancelled());
            }
            Err(reason) => return Err(unanswered(format!("`{method}` cannot be put to it: {reason}"))),
        };
        let asked = self.session.questions().ask(voice, method, params.as_bytes(), until);
        match asked.await {
            Ok(Answer::Result(result)) => Ok(result),
            // Whoever wants to know what the user says can go on without; a model's or a host's answer cannot be
            // made up.
            Ok(Answer::Error(error)) if elicits => {
                tracing::info!(%asker, code = error.code, "a client refuses an elicitation");
                Ok(cancelled())
            }
            Ok(Answer::Error(error)) => Err(unanswered(format!(
                "it refused `{method}` with code {}: {}",
                error.code,
                error.message()
            ))),
            Err(reason) => Err(unanswered(format!("`{method}`: {reason}"))),
        }
    }
}

/// What a workflow asks is checked before it does.
fn nonsense(asker: &Asker, reason: &str) -> Error {
    match asker {
        Asker::Downstream(name) => DownstreamFault::Nonsense { reason: reason.to_owned() }.during(name),
        Asker::Workflow(_) => InternalError { what: "a workflow asks what cannot be asked" }.into(),
    }
}

fn unanswered(reason: String) -> Error {
    CallerError::Unanswered { reason }.into()
}

/// What a client would have to have declared to be asked this, if it has not.
fn missing(client: &ClientCapabilities, method: &str, params: &RawObject) -> Option<&'static str> {
    let (has, what) = match method {
        method::ELICIT if is_by_url(params) => (client.elicits_urls(), "elicitation by URL"),
        method::ELICIT => (client.elicits_forms(), "elicitation"),
        method::SAMPLE if params.contains("tools") => (client.samples_with_tools(), "sampling with tools"),
        method::SAMPLE => (client.samples(), "sampling"),
        method::ROOTS_LIST => (client.has_roots(), "roots"),
        _ => (false, "such a question"),
    };
    (!has).then_some(what)
}

fn is_by_url(params: &RawObject) -> bool {
    params.get_text("mode").as_deref() == Some("url")
}

fn labelled(asker: &Asker, params: &RawObject) -> RawObject {
    let message = params.get_text("message").unwrap_or_default();
    let message = RawJson::string(&format!("[{asker}] {message}"));
    edited(params.edit().set("message", message.as_bytes()).finish())
}

fn with(object: &RawObject, key: &str, value: &RawJson) -> RawObject {
    edited(object.edit().set(key, value.as_bytes()).finish())
}

/// An object with a member set is one.
fn edited(object: RawJson) -> RawObject {
    RawObject::try_from(object).unwrap_or_else(|_| RawObject::empty())
}

fn accepted() -> RawObject {
    action("accept")
}

fn cancelled() -> RawObject {
    action("cancel")
}

fn action(action: &str) -> RawObject {
    with(&RawObject::empty(), "action", &RawJson::string(action))
}
