use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use gateway_domain::{
    ClientCapabilities, DownstreamFault, Event, Exchange, Incoming, LogLevel, RawObject, Subject,
};
use gateway_protocol::{
    RequestId,
    client::{
        Patience,
        questions::{Attribution, Candidate, Owner, Question, Questions, Relay, may_ask},
    },
};
use tokio::{sync::Notify, time::Instant};

use crate::{HttpConfig, failure::Failure};

/// The calls of a legacy session that are under way, those that wait for answers too. Each has a future that
/// drives it or a park that the registry keeps, so there are no more of them than of those.
#[derive(Default)]
pub(crate) struct Calls(Mutex<BTreeMap<u64, Arc<OpenCall>>>);

impl Calls {
    /// Enters a call; [`Self::end`] takes it out.
    pub(crate) fn begin(
        &self,
        id: u64,
        subject: &Subject,
        exchange: &Exchange,
        config: &HttpConfig,
    ) -> Arc<OpenCall> {
        let call = Arc::new(OpenCall::new(id, subject, exchange, config));
        self.locked().insert(id, Arc::clone(&call));
        call
    }

    pub(crate) fn end(&self, id: u64) {
        self.locked().remove(&id);
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<OpenCall>> {
        self.locked().get(&id).cloned()
    }

    /// The call `among` these that something belongs to which no stream ties to one, by this rule.
    pub(crate) fn attributed(
        &self,
        among: impl Fn(&OpenCall) -> bool,
        rule: impl FnOnce(Vec<Candidate<'_>>) -> Attribution,
    ) -> (Attribution, Option<Arc<OpenCall>>) {
        let calls = self.locked();
        let known = calls.values().filter(|call| among(call)).map(|call| (call.id, call.standing()));
        let known: Vec<_> = known.collect();
        let candidates =
            known.iter().map(|(call, (owner, parked))| Candidate { call: *call, owner, parked: *parked });
        let verdict = rule(candidates.collect());
        match verdict {
            Attribution::Call(id) => (verdict, calls.get(&id).cloned()),
            Attribution::Nobody | Attribution::Unclear => (verdict, None),
        }
    }

    /// Takes back a question that the server no longer wants answered.
    pub(crate) fn withdraw(&self, question: &RequestId) {
        for call in self.locked().values() {
            call.state().questions.withdraw(question);
        }
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<OpenCall>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of one call of a legacy session: where its events go, what the server asks in it, how long it is
/// waited for.
pub(crate) struct OpenCall {
    pub(crate) id: u64,
    /// Whether the server may ask something on its behalf.
    pub(crate) may_ask: bool,
    relay: Relay,
    /// What came with the request that it was begun for.
    incoming: Option<Arc<Incoming>>,
    state: Mutex<State>,
    /// The server has asked something.
    pub(crate) asked: Notify,
    told: AtomicUsize,
    /// How many events there was no room for while it was parked.
    lost: AtomicUsize,
    limit: usize,
}

struct State {
    owner: Owner,
    capabilities: ClientCapabilities,
    patience: Patience,
    /// Since when it waits for answers.
    parked: Option<Instant>,
    questions: Questions,
    /// Nobody will answer anything any more.
    over: bool,
}

impl OpenCall {
    fn new(id: u64, subject: &Subject, exchange: &Exchange, config: &HttpConfig) -> Self {
        let state = State {
            owner: Owner::of(exchange),
            capabilities: exchange.here().into_owned(),
            patience: Patience::new(Instant::now().into(), config.call_timeout, config.max_call_time),
            parked: None,
            questions: Questions::default(),
            over: false,
        };
        Self {
            id,
            may_ask: may_ask(subject),
            relay: Relay::new(exchange),
            incoming: exchange.incoming.clone(),
            state: Mutex::new(state),
            asked: Notify::new(),
            told: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            limit: config.max_notifications,
        }
    }

    pub(crate) fn incoming(&self) -> Option<Arc<Incoming>> {
        self.incoming.clone()
    }

    /// Whose call it is, and whether it waits for answers.
    pub(crate) fn standing(&self) -> (Owner, bool) {
        let state = self.state();
        (state.owner.clone(), state.parked.is_some())
    }

    /// Passes on a sign of progress, which is one even if no more of them are passed on.
    pub(crate) fn progress(&self, params: RawObject) {
        self.state().patience.extend(Instant::now().into());
        self.tell(Event::Progress(params));
    }

    pub(crate) fn log(&self, params: RawObject) {
        self.tell(Event::Log(params));
    }

    fn tell(&self, event: Event) {
        let told = self.told.fetch_add(1, Ordering::Relaxed);
        if told < self.limit {
            let taken = self.relay.emit(event);
            // One that is not wanted is not lost.
            if !taken && self.state().parked.is_some() && self.lost.fetch_add(1, Ordering::Relaxed) == 0 {
                tracing::warn!(
                    "a call that waits for answers has too many notifications; the others are dropped"
                );
            }
        } else if told == self.limit {
            let limit = self.limit;
            tracing::warn!(limit, "a call has too many notifications; the others are dropped");
        }
    }

    /// Takes a question of the server's.
    ///
    /// # Errors
    /// The message that turns it down.
    pub(crate) fn ask(&self, question: Question) -> Result<(), Vec<u8>> {
        let mut state = self.state();
        if state.over {
            return Err(question.abandoned());
        }
        // The session may have declared more than this client can do.
        if let Some(refusal) = question.refused_by(&state.capabilities) {
            return Err(refusal);
        }
        state.questions.add(question)?;
        self.asked.notify_one();
        Ok(())
    }

    pub(crate) fn has_questions(&self) -> bool {
        !self.state().questions.is_empty()
    }

    /// Until when to wait for it, as far as is known now.
    pub(crate) fn until(&self) -> Instant {
        self.state().patience.until().into()
    }

    /// What it comes to if it has been waited for too long.
    pub(crate) fn overdue(&self) -> Option<Failure> {
        let limit = self.state().patience.expired(Instant::now().into())?;
        Some(Failure::during(DownstreamFault::TimedOut { after: limit.time() }))
    }

    /// From now on it waits for answers to these.
    pub(crate) fn park(&self) -> Option<RawObject> {
        self.relay.park();
        let mut state = self.state();
        state.parked = Some(Instant::now());
        state.questions.requests()
    }

    /// It goes on for this exchange; gives what is to be sent to the server.
    pub(crate) fn resume(&self, responses: &RawObject, exchange: &Exchange) -> Vec<Vec<u8>> {
        self.relay.resume(exchange);
        let mut state = self.state();
        if let Some(since) = state.parked.take() {
            state.patience.discount(since.elapsed());
        }
        state.owner = Owner::of(exchange);
        state.capabilities = exchange.here().into_owned();
        let answers = state.questions.answer(responses);
        if !state.questions.is_empty() {
            self.asked.notify_one();
        }
        answers
    }

    /// It is over; gives what the server asked in it that is still open.
    pub(crate) fn give_up(&self) -> Vec<Question> {
        let mut state = self.state();
        state.over = true;
        state.questions.drain().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a log message's params name a level that this exchange wants.
pub(crate) fn wants(exchange: &Exchange, log: &RawObject) -> bool {
    let level = log.get_text("level").and_then(|level| LogLevel::parse(&level));
    level.is_some_and(|level| exchange.wants_log(level))
}
