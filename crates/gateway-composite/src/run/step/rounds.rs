use std::time::Duration;

use gateway_domain::{Asker, ClientCapabilities, FollowUp, InputRequired, ParkId, RawJson, RawObject, State};
use tokio::time::sleep;

use super::call::ToolCall;
use crate::{error::StepError, run::shared::Shared};

/// How often one call may ask.
const MOST_ROUNDS: u32 = 16;
/// How much it may ask at once.
const MOST_QUESTIONS: usize = 16;
/// How long a call that is only to be made again waits for that, and how much longer the next time.
const PACE: Duration = Duration::from_millis(250);
const SLOWEST_PACE: Duration = Duration::from_secs(8);

/// What one call of a step asks the client for (protocol.md §13).
pub(super) struct Rounds<'a> {
    call: &'a ToolCall<'a>,
    left: u32,
    pace: Duration,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(call: &'a ToolCall<'a>) -> Self {
        Self { call, left: MOST_ROUNDS, pace: PACE }
    }

    /// Has the client answer what is required, and gives what the call goes on with. Cancel-safe: dropping the future
    /// takes the questions back.
    ///
    /// # Errors
    /// It asks too much or too often, or for what this client cannot be asked.
    pub(super) async fn answer(&mut self, required: InputRequired) -> Result<FollowUp, StepError> {
        let InputRequired { asker, requests, state } = required;
        let parked = Parked::of(self.call.shared, &state);
        let asker = asker.ok_or(StepError::Internal)?;
        self.left = self.left.checked_sub(1).ok_or_else(|| self.call.useless("asks too often"))?;
        let responses = match requests.filter(|requests| !requests.is_empty()) {
            Some(requests) => self.ask(&asker, &requests).await?,
            None => {
                sleep(self.pace).await;
                self.pace = (self.pace * 2).min(SLOWEST_PACE);
                RawObject::empty()
            }
        };
        // Nothing waits for a refusal: without what was asked for, the call would only come to the same again.
        if matches!(state, State::Afresh) && !is_accepted(&responses) {
            return Err(StepError::Declined);
        }
        parked.resume();
        Ok(FollowUp { asker, state, responses })
    }

    async fn ask(&self, asker: &Asker, requests: &RawObject) -> Result<RawObject, StepError> {
        if requests.len() > MOST_QUESTIONS {
            return Err(self.call.useless("asks too much at once"));
        }
        let exchange = self.call.shared.exchange();
        let can = exchange.here();
        let mut labelled = requests.edit();
        for (key, request) in requests.iter() {
            let request = RawObject::try_from(request).ok();
            let request =
                request.ok_or_else(|| self.call.useless("asks with something that is no request"))?;
            if let Some(reason) = obstacle(&can, &request) {
                return Err(self.call.useless(reason));
            }
            if let Some(request) = self.labelled(asker, &request) {
                labelled = labelled.set(&key, request.as_bytes());
            }
        }
        let labelled = RawObject::try_from(labelled.finish()).unwrap_or_else(|_| requests.clone());
        self.call.shared.ask(&self.call.label, &labelled).await
    }

    /// The question with its asker in front of what the user reads, since to the client the workflow asks.
    fn labelled(&self, asker: &Asker, request: &RawObject) -> Option<RawJson> {
        if !self.call.shared.config.label_questions || request.get_text("method").as_deref() != Some(ELICIT) {
            return None;
        }
        let params = request.get_object("params")?;
        let message = RawJson::string(&format!("[{asker}] {}", params.get_text("message")?));
        let params = params.edit().set("message", message.as_bytes()).finish();
        Some(request.edit().set("params", params.as_bytes()).finish())
    }
}

/// A call that waits for its follow-up in the registry's keeping. Dropped without one, it is given up there at once
/// rather than when its time is over.
struct Parked<'a> {
    shared: &'a Shared,
    park: Option<ParkId>,
}

impl<'a> Parked<'a> {
    fn of(shared: &'a Shared, state: &State) -> Self {
        let park = match state {
            State::Parked(park) => Some(park.clone()),
            State::None | State::Own(_) | State::Waiting(_) | State::Afresh => None,
        };
        Self { shared, park }
    }

    /// The follow-up is on its way.
    fn resume(mut self) {
        self.park = None;
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        if let Some(park) = &self.park {
            self.shared.abandon(park);
        }
    }
}

pub(super) const ELICIT: &str = "elicitation/create";

/// Why a client cannot be asked this; `None`: it can.
fn obstacle(can: &ClientCapabilities, request: &RawObject) -> Option<&'static str> {
    let params = request.get_object("params").unwrap_or_default();
    let (can, reason) = match request.get_text("method").as_deref() {
        Some(ELICIT) if params.get_text("mode").as_deref() == Some("url") => {
            (can.elicits_urls(), "sends the user to a URL, and the client has not declared that it can")
        }
        Some(ELICIT) => (can.elicits_forms(), "asks the user, and the client has not declared that it can"),
        Some("sampling/createMessage") if params.contains("tools") || params.contains("toolChoice") => {
            (can.samples_with_tools(), "asks for sampling with tools, which the client has not declared")
        }
        Some("sampling/createMessage") => {
            (can.samples(), "asks for sampling, which the client has not declared")
        }
        Some("roots/list") => (can.has_roots(), "asks for roots, which the client has not declared"),
        _ => (false, "asks what no client is asked"),
    };
    (!can).then_some(reason)
}

/// Whether nobody said no.
fn is_accepted(responses: &RawObject) -> bool {
    responses.iter().all(|(_, answer)| {
        let action = RawObject::try_from(answer).ok().and_then(|answer| answer.get_text("action"));
        action.is_none_or(|action| action == "accept")
    })
}
