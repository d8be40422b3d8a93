use std::{borrow::Cow, collections::BTreeSet, time::Duration};

use gateway_domain::{Asker, FollowUp, InputRequired, Question, RawJson, RawObject, State};
use tokio::time::sleep;

use super::{
    call::ToolCall,
    inquiry::{MOST_QUESTIONS, is_accepted, obstacle, url},
    parked::{Parked, Reply},
};
use crate::{error::StepError, run::members::Members};

/// How often one call may ask.
const MOST_ROUNDS: u32 = 16;
/// How many bytes its questions of one round may have: the run holds them, and shows them to the client, until they are
/// answered (C-W18).
const QUESTIONS_LIMIT: usize = 256 << 10;
/// How long a call that is only to be made again waits for that, and how much longer the next time.
const PACE: Duration = Duration::from_millis(250);
const SLOWEST_PACE: Duration = Duration::from_secs(8);

/// What one call of a step asks the client for (protocol.md §13).
pub(super) struct Rounds<'a> {
    call: &'a ToolCall<'a>,
    left: u32,
    pace: Duration,
    /// The URLs that the user has agreed to open.
    opened: BTreeSet<String>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(call: &'a ToolCall<'a>) -> Self {
        Self { call, left: MOST_ROUNDS, pace: PACE, opened: BTreeSet::new() }
    }

    /// Has the client answer what is required, and gives what the call goes on with. A user who has agreed to open a
    /// URL is not asked for it again but waited for, as long as the step may take. Cancel-safe: dropping the future
    /// takes the questions back.
    ///
    /// # Errors
    /// It asks too much or too often, or for what this client cannot be asked, or the run may not make more calls.
    pub(super) async fn answer(&mut self, required: InputRequired) -> Result<Reply<'a>, StepError> {
        let InputRequired { asker, requests, state } = required;
        let parked = Parked::of(self.call.shared, &state);
        let asker = asker.ok_or(StepError::Internal)?;
        let requests = requests.unwrap_or_default();
        let responses = match self.repeated(&requests, &state) {
            Some(responses) => {
                self.slow_down().await;
                responses
            }
            None => self.round(&asker, &requests).await?,
        };
        // Nothing waits for a refusal: without what was asked for, the call would only come to the same again.
        if matches!(state, State::Afresh) && !is_accepted(&responses) {
            return Err(StepError::Declined);
        }
        // With an answer it is a call once more; one that may not be made leaves nothing behind.
        self.call.shared.charge_call()?;
        Ok(Reply { follow_up: FollowUp { asker, state, responses }, parked })
    }

    async fn round(&mut self, asker: &Asker, requests: &RawObject) -> Result<RawObject, StepError> {
        self.left = self.left.checked_sub(1).ok_or_else(|| self.call.useless("asks too often"))?;
        if requests.is_empty() {
            self.slow_down().await;
            return Ok(RawObject::empty());
        }
        let responses = self.ask(asker, requests).await?;
        if is_accepted(&responses) {
            self.opened.extend(requests.iter().filter_map(|(_, request)| url(request)));
        }
        Ok(responses)
    }

    async fn slow_down(&mut self) {
        sleep(self.pace).await;
        self.pace = (self.pace * 2).min(SLOWEST_PACE);
    }

    /// The answers to what is only asked because the user is not done at a URL yet. A call that waits asks each thing
    /// once: what it asks again is another question.
    fn repeated(&self, requests: &RawObject, state: &State) -> Option<RawObject> {
        if matches!(state, State::Parked(_)) || requests.is_empty() {
            return None;
        }
        let is_repeated = |request| url(request).is_some_and(|url| self.opened.contains(&url));
        if !requests.iter().all(|(_, request)| is_repeated(request)) {
            return None;
        }
        let accepted = Members::new().with("action", &RawJson::string("accept")).finish().ok()?;
        let answers = requests.iter().fold(Members::new(), |all, (key, _)| all.with(&key, accepted.raw()));
        answers.finish().ok()
    }

    async fn ask(&self, asker: &Asker, requests: &RawObject) -> Result<RawObject, StepError> {
        if requests.len() > MOST_QUESTIONS {
            return Err(self.call.useless("asks too much at once"));
        }
        if requests.as_str().len() > QUESTIONS_LIMIT {
            return Err(self.call.useless("asks with more than 256 KiB at once"));
        }
        let shared = self.call.shared;
        let _held = shared.hold_bytes(requests.as_str().len())?;
        let exchange = shared.exchange();
        let can = exchange.here();
        let mut shown = requests.edit();
        let mut questions = Vec::new();
        for (key, request) in requests.iter() {
            let question = Question::read(request);
            let question = question.ok_or_else(|| self.call.useless("asks what no client is asked"))?;
            if let Some(reason) = obstacle(&can, &question) {
                return Err(self.call.useless(reason));
            }
            // To the client the workflow asks, so it is for the run to say who does.
            if shared.config.label_questions && question.is_elicitation() {
                shown = shown.set(&key, question.labelled(asker).request().raw().as_bytes());
            }
            questions.push((key, question));
        }
        // An object with members set is one.
        let shown = RawObject::try_from(shown.finish()).map_err(|_| StepError::Internal)?;
        let responses = shared.ask(&self.call.label, &shown).await?;
        let is_refused = |(key, question): &(Cow<'_, str>, Question)| {
            responses.get(key).is_some_and(|answer| question.is_refused(&answer))
        };
        match questions.iter().any(is_refused) {
            true => Err(self.call.useless("asks what the client gave no answer to")),
            false => Ok(responses),
        }
    }
}
