use std::{
    borrow::Cow,
    sync::{Arc, atomic::Ordering},
};

use gateway_domain::{
    Call, CallerError, DownstreamError, DownstreamFault, Error, Exchange, Execution, FollowUp, InputRequired,
    InternalError, Outcome, Params, ParkId, RawObject, State, Subject, Target,
};

use crate::{
    commons::{ClientId, Commons},
    downstream::{Downstream, Link},
    parks::Park,
    shelf::Owner,
    tasks,
};

/// A call with the downstream it is for.
pub(crate) struct Errand<'a> {
    pub(crate) downstream: Arc<Downstream>,
    pub(crate) exchange: &'a Exchange,
    pub(crate) commons: &'a Arc<Commons>,
    subject: &'a Subject,
    call: &'a Call,
    /// With the answers, where they travel in them.
    params: Cow<'a, Params>,
}

impl<'a> Errand<'a> {
    /// Finds the downstream of a call, and refuses it while that is broken (P-47).
    pub(crate) fn find(call: &'a Call, commons: &'a Arc<Commons>) -> Result<Self, Error> {
        let errand = Self::find_broken(call, commons)?;
        errand.downstream.health.admits()?;
        Ok(errand)
    }

    /// The same, be it broken.
    fn find_broken(call: &'a Call, commons: &'a Arc<Commons>) -> Result<Self, Error> {
        let Target::Downstream { downstream, subject } = &call.target else {
            return Err(InternalError { what: "an unresolved name reached the registry" }.into());
        };
        let downstream = commons.find(downstream)?;
        let follow_up = call.follow_up.as_ref();
        if follow_up.is_some_and(|follow_up| follow_up.asker.downstream() != Some(&downstream.name)) {
            return Err(CallerError::UnknownState.into());
        }
        let params = params_with_answers(call)?;
        Ok(Self { downstream, exchange: &call.exchange, commons, subject, call, params })
    }

    /// Tries it once on `link`, which `client` has if it is anybody's own. A call that ends with questions of a
    /// legacy session is parked there.
    pub(crate) async fn attempt_on(&self, link: Link, client: Option<ClientId>) -> Attempt {
        let called = tasks::call(self, &link, client);
        let mut result = tokio::select! {
            biased;
            result = called => result,
            // Not every session ends its calls when it is closed.
            () = self.downstream.pool.closing() => {
                Err(DownstreamFault::Closed.during(&self.downstream.name))
            }
        };
        let mut may_try_again = false;
        if let Err(Error::Downstream(error)) = &mut result {
            let closed = self.say_if_closed(error);
            may_try_again = error.execution == Execution::NotStarted && (closed || !link.session().is_open());
        }
        let was_idle = matches!(&link, Link::Taken(pooled) if pooled.was_idle());
        let result = self.settle(result, link, client);
        Attempt { result, may_try_again, was_idle }
    }

    /// Goes on with a parked call, once.
    async fn resume(&self, id: &ParkId) -> Result<Outcome, Error> {
        let Park { call, client, lease, .. } = self.commons.parks.take(id, &self.owner())?;
        let link = lease.wake();
        let none = RawObject::empty();
        let responses = self.call.follow_up.as_ref().map_or(&none, |follow_up| &follow_up.responses);
        let mut result = tokio::select! {
            biased;
            result = call.resume(responses, self.exchange) => result,
            () = self.downstream.pool.closing() => {
                Err(DownstreamFault::Closed.during(&self.downstream.name))
            }
        };
        if let Err(Error::Downstream(error)) = &mut result {
            self.say_if_closed(error);
            // It has been running since before it was parked.
            error.execution = Execution::Possible;
        }
        self.settle(result, link, client)
    }

    /// Ends the use of `link`, or keeps it with a call that waits there.
    fn settle(
        &self,
        result: Result<Outcome, Error>,
        link: Link,
        client: Option<ClientId>,
    ) -> Result<Outcome, Error> {
        if let Some(held) = link.held().filter(|held| !held.session().is_open()) {
            // However many calls failed on it, once.
            tokio::spawn(held.kept().clone().end());
        }
        match result?.of(&self.downstream.name) {
            Outcome::InputRequired(InputRequired { asker, requests, state: State::Waiting(call) }) => {
                let state = State::Parked(self.park(Park {
                    call,
                    downstream: self.downstream.clone(),
                    client,
                    lease: link.rest(),
                })?);
                Ok(Outcome::InputRequired(InputRequired { asker, requests, state }))
            }
            outcome => Ok(outcome),
        }
    }

    fn park(&self, park: Park) -> Result<ParkId, Error> {
        let (id, is_given_up) = self.commons.parks.put(self.owner(), park)?;
        if self.downstream.is_closed() {
            // Nobody else gives up what was parked after the end.
            self.commons.parks.abandon(&id);
            return Err(DownstreamFault::Closed.during(&self.downstream.name));
        }
        if is_given_up {
            // Whoever took the session away has been here already.
            self.commons.parks.abandon(&id);
            let reason = "the session was closed while the call went on".into();
            return Err(DownstreamFault::Ended { reason }.during(&self.downstream.name));
        }
        Ok(id)
    }

    /// The session in which the task goes on that this is about, if it is about one that is known.
    pub(crate) fn session_of_task(&self) -> Option<(ClientId, Link)> {
        let Subject::Task { id, .. } = self.subject else { return None };
        let (client, held) = self.commons.tasks.session_of(&self.owner(), id)?;
        Some((client, Link::Held(held)))
    }

    /// What a failure to get a session comes to. If the downstream was replaced meanwhile, there is another.
    pub(crate) fn not_begun(&self, mut error: Error) -> Attempt {
        let mut may_try_again = false;
        if let Error::Downstream(error) = &mut error {
            may_try_again = self.say_if_closed(error);
            if matches!(error.fault, DownstreamFault::Exhausted { .. }) {
                self.downstream.exhausted.fetch_add(1, Ordering::Relaxed);
            }
        }
        Attempt { result: Err(error), may_try_again, was_idle: false }
    }

    /// Says of a lost session that the gateway itself has closed it, where that is so.
    fn say_if_closed(&self, error: &mut DownstreamError) -> bool {
        use DownstreamFault::{Closed, Ended, Unreachable};
        let closed =
            matches!(error.fault, Closed | Ended { .. } | Unreachable { .. }) && self.downstream.is_closed();
        if closed {
            error.fault = Closed;
        }
        closed
    }

    pub(crate) fn subject(&self) -> &Subject {
        self.subject
    }

    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// Whose what is kept of this call is.
    pub(crate) fn owner(&self) -> Owner {
        Owner {
            caller: self.call.caller.clone(),
            key: self.exchange.session.clone(),
            downstream: self.downstream.identity(),
        }
    }

    /// Whether it goes on with what only a modern downstream can have asked.
    pub(crate) fn is_modern_follow_up(&self) -> bool {
        let state = self.call.follow_up.as_ref().map(|follow_up| &follow_up.state);
        let is_task = matches!(self.subject, Subject::Task { .. });
        !is_task && matches!(state, Some(State::Own(_) | State::None))
    }
}

impl Commons {
    /// Goes on with a parked call. Broken or not: its session may well be the one that works.
    pub(crate) async fn resume(self: &Arc<Self>, call: &Call, park: &ParkId) -> Result<Outcome, Error> {
        Errand::find_broken(call, self)?.resume(park).await
    }
}

/// Sends the user of a client that can do that to a page, where all that a call lacked is that somebody went there.
pub fn or_visit(made: Result<Outcome, Error>, call: &Call) -> Result<Outcome, Error> {
    if let Err(Error::Downstream(error)) = &made
        && let DownstreamFault::Credentials { visit: Some(visit), .. } = &error.fault
        && error.execution == Execution::NotStarted
        && call.exchange.here().elicits_urls()
    {
        return Ok(Outcome::InputRequired(visit.question()).of(&error.downstream));
    }
    made
}

/// The parked call that a call goes on with, if it does.
pub(crate) fn parked(call: &Call) -> Option<&ParkId> {
    match &call.follow_up {
        Some(FollowUp { state: State::Parked(park), .. }) => Some(park),
        _ => None,
    }
}

/// The params a call is made with: a modern downstream finds the answers in them, and its own state byte for byte
/// or none if it gave none (protocol.md §13).
fn params_with_answers(call: &Call) -> Result<Cow<'_, Params>, Error> {
    let Some(FollowUp { state, responses, .. }) = &call.follow_up else {
        return Ok(Cow::Borrowed(&call.params));
    };
    // Where nothing was asked there is nothing to say.
    let edit = match responses.is_empty() {
        true => call.params.object.edit().remove("inputResponses"),
        false => call.params.object.edit().set("inputResponses", responses.as_str()),
    };
    let object = match state {
        State::None => edit.remove("requestState"),
        State::Own(own) => edit.set("requestState", own.as_str()),
        State::Afresh | State::Parked(_) => return Ok(Cow::Borrowed(&call.params)),
        // Only between a transport and here.
        State::Waiting(_) => return Err(CallerError::UnknownState.into()),
    };
    let spliced = RawObject::try_from(object.finish());
    let object = spliced.map_err(|_| InternalError { what: "answers made params invalid" })?;
    Ok(Cow::Owned(Params { object, meta: call.params.meta.clone() }))
}

/// How one try of a call ended.
pub(crate) struct Attempt {
    pub(crate) result: Result<Outcome, Error>,
    /// At most once: only what provably never ran is tried again, once, when its session has ended or
    /// its downstream has been replaced.
    pub(crate) may_try_again: bool,
    /// Whether its session had been idle in the pool, which anybody may take from.
    pub(crate) was_idle: bool,
}

impl Attempt {
    /// What the second try came to. If its session has ended too, the error says so (G-31).
    pub(crate) fn last(self) -> Result<Outcome, Error> {
        let mut result = self.result;
        if self.may_try_again
            && let Err(Error::Downstream(error)) = &mut result
            && let DownstreamFault::Ended { reason } = &mut error.fault
        {
            *reason = format!("the session could not be re-established: {reason}");
        }
        result
    }
}

/// Where a call waits, if it does.
pub(crate) fn waits_in(result: &Result<Outcome, Error>) -> Option<&ParkId> {
    match result {
        Ok(Outcome::InputRequired(InputRequired { state: State::Parked(park), .. })) => Some(park),
        _ => None,
    }
}
