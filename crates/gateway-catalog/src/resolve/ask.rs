use std::sync::Arc;

use gateway_domain::{
    Call, Dispatcher, DownstreamName, Error, Exchange, InputRequired, InternalError, Outcome, PeerError,
    Reference, Sessions, Silent, State, Subject, Target,
};
use gateway_protocol::code;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::{Resolve, owner::resource_unknown};
use crate::words::{Said, Words};

/// What has come of asking several.
#[derive(Default)]
struct Answers {
    /// A read that succeeded without contents, which is how some servers say that there is no such resource.
    empty: Option<(DownstreamName, Outcome)>,
    /// The first that failed otherwise than by not having it.
    failed: Option<Result<Outcome, Error>>,
}

/// An answer until somebody has it. One that nobody wants may have left a call that waits.
struct Unclaimed<D: Sessions> {
    inner: Arc<D>,
    answer: Option<Result<Outcome, Error>>,
}

impl<D: Sessions> Unclaimed<D> {
    fn claim(mut self) -> Result<Outcome, Error> {
        self.answer
            .take()
            .unwrap_or_else(|| Err(InternalError { what: "an answer was claimed twice" }.into()))
    }
}

impl<D: Sessions> Drop for Unclaimed<D> {
    fn drop(&mut self) {
        if let Some(Ok(outcome)) = &self.answer {
            abandon(&*self.inner, outcome);
        }
    }
}

/// Nobody goes on with what waits.
pub(super) fn abandon(sessions: &impl Sessions, outcome: &Outcome) {
    if let Outcome::InputRequired(InputRequired { state: State::Parked(park), .. }) = outcome {
        sessions.abandon(park);
    }
}

impl<D: Dispatcher + Sessions + 'static> Resolve<D> {
    /// Asks all who may have a resource; the first who has it answers, in the words of the client.
    pub(super) async fn ask(
        &self,
        candidates: Vec<DownstreamName>,
        own: Subject,
        call: &Call,
    ) -> Result<Outcome, Error> {
        Ok(match self.first(candidates, &own, call).await? {
            (Some(downstream), outcome) => self.found(call, downstream, &own, outcome),
            (None, failed) => failed,
        })
    }

    /// Asks all who may have a resource, some at a time; the first who has it answers, and the others are
    /// cancelled. Nothing but the answer is passed on: progress of several would be nobody's.
    pub(super) async fn first(
        &self,
        candidates: Vec<DownstreamName>,
        own: &Subject,
        call: &Call,
    ) -> Result<(Option<DownstreamName>, Outcome), Error> {
        let (Subject::Resource { uri } | Subject::Completion(Reference::Resource(uri))) = own else {
            return Err(InternalError { what: "several were to be asked for what is no resource" }.into());
        };
        let mut waiting = candidates.into_iter();
        let (mut asked, mut answers) = (JoinSet::new(), Answers::default());
        loop {
            let room = self.catalog.shared.config.asked_at_once.max(1).saturating_sub(asked.len());
            for downstream in waiting.by_ref().take(room) {
                let (inner, call) = (self.inner.clone(), quietly(call, &downstream, own));
                let asking = async move {
                    let answer = Some(inner.dispatch(call).await);
                    (downstream, Unclaimed { inner, answer })
                };
                asked.spawn(asking.in_current_span());
            }
            match asked.join_next().await {
                None => break,
                // A panic has been reported by its hook.
                Some(Err(_)) => {
                    answers.fail(Err(InternalError { what: "reading a resource panicked" }.into()))
                }
                Some(Ok((downstream, answer))) => {
                    if let Some((downstream, outcome)) = answers.take(downstream, answer.claim()) {
                        return Ok((Some(downstream), outcome));
                    }
                }
            }
        }
        match answers {
            Answers { empty: Some((downstream, outcome)), .. } => Ok((Some(downstream), outcome)),
            Answers { failed: Some(failed), .. } => failed.map(|failed| (None, failed)),
            Answers { .. } => Err(resource_unknown(uri)),
        }
    }

    fn found(&self, call: &Call, downstream: DownstreamName, own: &Subject, outcome: Outcome) -> Outcome {
        let Subject::Resource { uri } = own else { return outcome };
        let (shared, caller) = (self.catalog.shared.clone(), call.caller.clone());
        shared.links.remember(&caller, uri, &downstream);
        call.exchange.notes.resolved(&downstream);
        let said = Said::Resource { asked: uri.clone(), own: uri.clone() };
        Words::new(shared, caller, downstream, said).put(outcome)
    }
}

impl Answers {
    /// Gives the answer back if it is that of one who has the resource.
    fn take(
        &mut self,
        downstream: DownstreamName,
        answer: Result<Outcome, Error>,
    ) -> Option<(DownstreamName, Outcome)> {
        match answer {
            Ok(Outcome::Failed(error)) if is_not_found(&error) => {}
            Ok(failed @ Outcome::Failed(_)) => self.fail(Ok(failed)),
            Err(error) => self.fail(Err(error)),
            Ok(outcome) if is_empty(&outcome) => {
                self.empty.get_or_insert((downstream, outcome));
            }
            Ok(outcome) => return Some((downstream, outcome)),
        }
        None
    }

    fn fail(&mut self, failed: Result<Outcome, Error>) {
        self.failed.get_or_insert(failed);
    }
}

fn is_not_found(error: &PeerError) -> bool {
    [code::INVALID_PARAMS, code::RESOURCE_NOT_FOUND, code::METHOD_NOT_FOUND].contains(&error.code)
}

pub(super) fn is_empty(outcome: &Outcome) -> bool {
    let Outcome::Complete(result) = outcome else { return false };
    result
        .get("contents")
        .and_then(|contents| contents.elements(1))
        .is_some_and(|contents| contents.is_empty())
}

fn quietly(call: &Call, downstream: &DownstreamName, own: &Subject) -> Call {
    let exchange = Exchange { wants_progress: false, events: Arc::new(Silent), ..call.exchange.clone() };
    let target = Target::Downstream { downstream: downstream.clone(), subject: own.clone() };
    Call { target, exchange, ..call.clone() }
}
