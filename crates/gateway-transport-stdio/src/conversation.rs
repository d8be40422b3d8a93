//! A call from its caller's side: the answer, the questions on the way to it, and the wait for their answers.

use std::{fmt, sync::Arc, time::Duration};

use gateway_domain::{DownstreamFault, Error, Exchange, InputRequired, Outcome, RawObject, State};
use gateway_protocol::{
    Response,
    client::{
        Patience, outcome,
        questions::{GATHER, Owner},
    },
};
use tokio::{
    sync::oneshot::error::RecvError,
    time::{Instant, sleep_until, timeout},
};

use crate::{
    link::{Answer, CallState, InFlight, Link},
    parked::Parked,
    turns::{Turn, Turns},
};

/// How long a call may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Without a sign of progress.
    pub(crate) quiet: Duration,
    /// In all, not counting the time that it waits for answers.
    pub(crate) total: Duration,
}

/// A call under way. Dropping it takes it back, after what the server asked was given up.
pub(crate) struct Conversation {
    call: Arc<CallState>,
    request: InFlight,
    answer: Answer,
    limits: Limits,
    turns: Arc<Turns>,
    /// Its turn, while it runs on a session that takes one call at a time.
    turn: Option<Turn>,
}

impl Conversation {
    /// Begins a call.
    pub(crate) async fn begin(
        link: &Arc<Link>,
        (limits, turns): (Limits, &Arc<Turns>),
        call: CallState,
        exchange: &Exchange,
        message: impl FnOnce(u64) -> Vec<u8>,
    ) -> Result<Self, Error> {
        let patience = Patience::new(Instant::now().into(), limits.quiet, limits.total);
        let turn = match call.takes_turn {
            true => {
                let turn = turns.take(exchange.era, &patience).await;
                let turn = turn.map_err(|none| none.of(&link.name))?;
                if turn.is_some() {
                    turns.clear_the_way(link, &call.owner).await;
                }
                turn
            }
            false => None,
        };
        let call = Arc::new(call);
        let (request, answer) = link.begin_request(&patience, Some(Arc::clone(&call)), message).await?;
        Ok(Self { call, request, answer, limits, turns: Arc::clone(turns), turn })
    }

    /// Waits for the end of the call, or for questions.
    pub(crate) async fn go_on(mut self) -> Result<Outcome, Error> {
        let began = Instant::now();
        let mut patience = Patience::new(began.into(), self.limits.quiet, self.limits.total);
        loop {
            tokio::select! {
                biased;
                answer = &mut self.answer => return self.ended(answer),
                () = self.call.asked() => {
                    if let Ok(answer) = timeout(GATHER, &mut self.answer).await {
                        return self.ended(answer);
                    }
                    if let Some(requests) = self.call.park() {
                        self.limits.total = self.limits.total.saturating_sub(began.elapsed());
                        return Ok(self.park(requests));
                    }
                }
                () = sleep_until(patience.until().into()) => {
                    if let Some(sign) = self.request.last_sign() {
                        patience.extend(sign.into());
                        if let Some(expired) = patience.expired(Instant::now().into()) {
                            self.give_up();
                            return Err(self.request.expire(expired));
                        }
                    } else {
                        // Taken out already, its answer is on the way.
                        let answer = (&mut self.answer).await;
                        return self.ended(answer);
                    }
                }
            }
        }
    }

    /// Leaves the call to wait for answers, and its turn to others.
    fn park(mut self, requests: RawObject) -> Outcome {
        self.turn = None;
        let turns = Arc::clone(&self.turns);
        let parked = Arc::new(Parked::new(self));
        turns.remember(&parked);
        let state = State::Waiting(parked);
        Outcome::InputRequired(InputRequired { asker: None, requests: Some(requests), state })
    }

    /// Gives the server its answers and goes on. They come first in any case: another call may wait for them, even
    /// if this one has ended. For the same reason no turn is waited for; a free one keeps others from beginning.
    pub(crate) async fn resume(
        mut self,
        responses: &RawObject,
        exchange: &Exchange,
    ) -> Result<Outcome, Error> {
        self.call.resume(exchange);
        let told = self.answer_server(responses).await;
        if let Ok(answer) = self.answer.try_recv() {
            return self.ended(Ok(answer));
        }
        told?;
        self.turn = self.turns.take_free(exchange.era).filter(|_| self.call.takes_turn);
        match self.call.park() {
            Some(missing) => Ok(self.park(missing)),
            None => self.go_on().await,
        }
    }

    /// Whether it waits together with the calls of this owner, however long those take: they are of one run.
    pub(crate) fn is_beside(&self, owner: &Owner) -> bool {
        owner.is_of_run() && self.call.owner.asks_with(owner)
    }

    /// Whether the answer is there, or nothing is asked any more.
    pub(crate) fn is_over(&self) -> bool {
        !self.answer.is_empty() || self.answer.is_terminated() || self.call.questions().is_empty()
    }

    async fn answer_server(&self, responses: &RawObject) -> Result<(), Error> {
        let patience = Patience::fixed(Instant::now().into(), self.limits.quiet);
        let messages = self.call.questions().answer(responses);
        for message in messages {
            self.request.link.respond(&patience, message).await?;
        }
        Ok(())
    }

    fn ended(&mut self, answer: Result<Result<Response, Error>, RecvError>) -> Result<Outcome, Error> {
        self.request.disarm();
        let link = &self.request.link;
        // They were not about this call, it seems.
        let open = self.call.questions().drain();
        open.for_each(|question| link.hand_over(question, &self.call));
        let response = answer.unwrap_or_else(|_| Err(link.why_closed().during(&link.name)))?;
        outcome(link.era(), response.answer)
            .map_err(|error| DownstreamFault::Nonsense { reason: error.reason }.during(&link.name))
    }

    /// Says that what is open will not be answered.
    fn give_up(&self) {
        let open = self.call.questions().drain();
        open.for_each(|question| self.request.link.tell(question.abandoned()));
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("request", &self.request).finish_non_exhaustive()
    }
}
