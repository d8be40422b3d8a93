//! Questions to a client that has a session: a call that needs answers asks for them here (design §1).

use std::{collections::HashMap, sync::Arc, time::Duration};

use gateway_domain::{
    Asker, CallerError, DownstreamFault, Error, FollowUp, InputRequired, InternalError, Question, RawJson,
    RawObject, State,
};
use gateway_protocol::{Answer, convert};
use tokio::time::{Instant, sleep};

use super::{Visit, events::Events, rounds};
use crate::session::{Session, Unheard, Voice, new_name};

/// How long a call that is only to be made again waits for that, and how much longer the next time.
const PACE: Duration = Duration::from_millis(250);
const SLOWEST_PACE: Duration = Duration::from_secs(8);
/// How many questions one round may have, of whatever era the client is.
pub(super) const MOST_QUESTIONS: usize = 16;
pub(super) const TOO_MANY_QUESTIONS: &str = "it asks too much at once";
pub(super) const NO_QUESTION: &str = "it asks what no client is asked";
/// Whatever is configured.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How much sooner than the call that is parked for it a round is over, at most.
const MARGIN: Duration = Duration::from_secs(10);

/// Asks one client on behalf of one call.
pub(crate) struct Interview {
    session: Arc<Session>,
    /// `None` for a client that can be asked nothing.
    voice: Option<Voice>,
    /// How many more there may be, of a workflow in a row that come to nothing new.
    left: usize,
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

/// What came of a question.
enum Heard {
    Said(RawObject),
    /// The user has agreed before; the client was not asked again.
    Before(RawObject),
    /// There is no answer, and there will be none.
    Nothing(String),
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
            left: rounds,
            rounds,
            time: time - MARGIN.min(time / 20),
            until: Instant::now() + all,
            labels: config.label_questions && visit.view.downstream().is_none(),
            pace: PACE,
            opened: HashMap::new(),
        }
    }

    /// Asks what is required, one question after the other, and gives the answers for the next round.
    ///
    /// A downstream's call ends when the client has no answer. A workflow has handlers for that: it is given a
    /// [`Question::refusal`] instead, and what there was no time left to ask it asks again.
    ///
    /// # Errors
    /// [`CallerError::Unanswered`], and whatever else keeps the call from going on.
    pub(crate) async fn answer(&mut self, required: InputRequired) -> Result<FollowUp, Error> {
        let InputRequired { asker, requests, state } = required;
        let asker = asker.ok_or(InternalError { what: "nobody knows who asked for input" })?;
        let requests = requests.unwrap_or_default();
        let asks = !requests.is_empty();
        if requests.iter().nth(MOST_QUESTIONS).is_some() {
            return Err(nonsense(&asker, TOO_MANY_QUESTIONS));
        }
        let until = self.round(&asker)?;
        let is_parked = matches!(state, State::Parked(_));
        let (mut responses, mut is_new) = (RawObject::empty(), !asks);
        for (key, request) in requests.iter() {
            if has_handlers(&asker) && is_new && Instant::now() >= until {
                break;
            }
            let answer = match self.one(&asker, request, is_parked, until).await? {
                Heard::Before(answer) => answer,
                heard => {
                    is_new = true;
                    said(&asker, heard)?
                }
            };
            responses = with(&responses, &key, answer.raw());
        }
        if let (State::Afresh, Asker::Downstream(_)) = (&state, &asker) {
            // A call that is made anew without the visit only asks for it again.
            rounds::accepted(&responses)?;
        }
        self.count(&asker, asks, is_new)?;
        // With nothing new to say, an answer at once would be asked for again at once.
        if !asks || !is_new {
            sleep(self.pace).await;
            self.pace = (self.pace * 2).min(SLOWEST_PACE);
        }
        Ok(FollowUp { asker, state, responses })
    }

    /// When the round that begins now is over. How long a workflow asks in all is bounded by its own time.
    fn round(&self, asker: &Asker) -> Result<Instant, Error> {
        let now = Instant::now();
        match asker {
            Asker::Workflow(_) => Ok(now + self.time),
            Asker::Downstream(_) if now >= self.until => {
                Err(unanswered("the call asks for too long".to_owned()))
            }
            Asker::Downstream(_) => Ok(self.until.min(now + self.time)),
        }
    }

    /// Takes note of a round. How often a workflow gets on by asking is bounded by its steps.
    fn count(&mut self, asker: &Asker, asks: bool, is_new: bool) -> Result<(), Error> {
        match asker {
            Asker::Workflow(_) if asks && is_new => self.left = self.rounds,
            Asker::Downstream(_) if !is_new => {}
            Asker::Workflow(_) | Asker::Downstream(_) => {
                let left = self.left.checked_sub(1);
                self.left = left.ok_or_else(|| unanswered("the call asks too often".to_owned()))?;
            }
        }
        Ok(())
    }

    async fn one(
        &mut self,
        asker: &Asker,
        request: RawJson,
        is_parked: bool,
        until: Instant,
    ) -> Result<Heard, Error> {
        let question = Question::read(request).ok_or_else(|| nonsense(asker, NO_QUESTION))?;
        if let Some(missing) = question.lacking(self.session.capabilities()) {
            let method = question.method();
            return Ok(Heard::Nothing(format!("it has not declared {missing}, which `{method}` needs")));
        }
        let url = question.url();
        // A call that waits asks each thing once: what it asks again is another question.
        let repeated = url.as_ref().filter(|_| !is_parked).and_then(|url| self.opened.get(url));
        if let Some(since) = repeated {
            // The user has agreed and is at it; what comes of that the downstream learns elsewhere.
            return Ok(match since.elapsed() >= self.time {
                true => Heard::Nothing("what it was to do at a URL took too long".to_owned()),
                false => Heard::Before(accepted()),
            });
        }
        let heard = self.ask(asker, &question, until).await?;
        if let (Some(url), Heard::Said(answer)) = (url, &heard)
            && answer.get_text("action").as_deref() == Some("accept")
        {
            self.opened.insert(url, Instant::now());
        }
        Ok(heard)
    }

    async fn ask(&self, asker: &Asker, question: &Question, until: Instant) -> Result<Heard, Error> {
        let (method, elicits) = (question.method(), question.is_elicitation());
        let nothing = |reason: String| Ok(Heard::Nothing(reason));
        let Some(voice) = &self.voice else { return nothing(format!("`{method}` cannot be put to it")) };
        let labelled = (self.labels && is_shown(asker)).then(|| question.labelled(asker));
        let params = labelled.as_ref().unwrap_or(question).params();
        let name = || new_name().unwrap_or_default();
        let params = match convert::legacy::question(self.session.revision(), method, params, name) {
            Ok(params) => params,
            Err(reason) if elicits => {
                tracing::info!(%asker, %reason, "a question is not put to a client");
                return Ok(Heard::Said(Question::refusal()));
            }
            Err(reason) => return nothing(format!("`{method}` cannot be put to it: {reason}")),
        };
        let object = RawObject::try_from(params.clone()).ok();
        if let Some(id) = object.and_then(|params| params.get_text("elicitationId")) {
            self.session.sends_to_visit(id);
        }
        let asked = self.session.questions().ask(voice, method, params.as_bytes(), until);
        match asked.await {
            Ok(Answer::Result(result)) => Ok(Heard::Said(result)),
            // Whoever wants to know what the user says can go on without; a model's or a host's answer cannot be
            // made up.
            Ok(Answer::Error(error)) if elicits => {
                tracing::info!(%asker, code = error.code, "a client refuses an elicitation");
                Ok(Heard::Said(Question::refusal()))
            }
            Ok(Answer::Error(error)) => {
                nothing(format!("it refused `{method}` with code {}: {}", error.code, error.message()))
            }
            Err(reason @ Unheard::Late) => nothing(format!("`{method}`: {reason}")),
            // Nobody is there who would hear what comes of the call.
            Err(reason @ (Unheard::Gone | Unheard::Ended)) => {
                Err(unanswered(format!("`{method}`: {reason}")))
            }
        }
    }
}

/// The answer, or what stands in its place.
fn said(asker: &Asker, heard: Heard) -> Result<RawObject, Error> {
    match heard {
        Heard::Said(answer) | Heard::Before(answer) => Ok(answer),
        Heard::Nothing(reason) if has_handlers(asker) => {
            tracing::info!(%asker, %reason, "a workflow gets no answer from a client");
            Ok(Question::refusal())
        }
        Heard::Nothing(reason) => Err(unanswered(reason)),
    }
}

/// Whether whoever asks knows what to do without an answer.
fn has_handlers(asker: &Asker) -> bool {
    matches!(asker, Asker::Workflow(_))
}

/// Whether it is for the edge to show who asks. A workflow does that itself: it asks in its own name and in those of
/// downstreams.
pub(super) fn is_shown(asker: &Asker) -> bool {
    matches!(asker, Asker::Downstream(_))
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

fn with(object: &RawObject, key: &str, value: &RawJson) -> RawObject {
    // An object with a member set is one.
    RawObject::try_from(object.edit().set(key, value.as_bytes()).finish())
        .unwrap_or_else(|_| RawObject::empty())
}

fn accepted() -> RawObject {
    with(&RawObject::empty(), "action", &RawJson::string("accept"))
}
