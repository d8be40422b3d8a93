use std::{
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use async_trait::async_trait;
use gateway_domain::{
    ClientLink, DownstreamFault, DownstreamName, DownstreamObserver, DownstreamSession, Error, Exchange,
    Factory, ListKind, ListPage, Outcome, Params, ParkedCall, PeerInfo, RawObject, Session, SessionProfile,
    State, Subject, Subscription, Updates,
};
use tokio::time::{Duration, Instant};

use crate::{
    DownstreamFactory, Health, HealthConfig, SupervisedFactory, SupervisorConfig,
    breaker::{Admission, Failure},
    supervisor::Started,
    verdict::{Verdict, reason},
};

/// Puts `factory`, which opens sessions to the downstream `name`, under supervision: creations as by
/// [`SupervisedFactory`], and what comes of every request on any session as by [`Health`]. The observer
/// hears when the downstream is found broken and when it has recovered.
///
/// The health belongs into the [`ManagedDownstream`](crate::ManagedDownstream) whose pool has the factory.
pub fn supervise<F>(
    name: DownstreamName,
    factory: F,
    supervisor: &SupervisorConfig,
    health: HealthConfig,
    observer: Arc<dyn DownstreamObserver>,
) -> (Arc<DownstreamFactory>, Arc<Health>)
where
    F: Factory<Session = Arc<dyn DownstreamSession>> + 'static,
{
    let health = Health::new(name.clone(), health, observer);
    let factory = SupervisedFactory::reporting_to(health.clone(), name.clone(), factory, supervisor);
    (Arc::new(ObservedFactory { name, factory, health: health.clone() }), health)
}

struct ObservedFactory<F> {
    name: DownstreamName,
    factory: SupervisedFactory<F>,
    health: Arc<Health>,
}

#[async_trait]
impl<F: Factory<Session = Arc<dyn DownstreamSession>>> Factory for ObservedFactory<F> {
    type Session = Arc<dyn DownstreamSession>;

    async fn create(&self, profile: &SessionProfile) -> Result<Self::Session, Error> {
        let (session, started) = self.factory.start(profile).await?;
        Ok(Observed::new(self.name.clone(), session, started, self.health.clone()))
    }

    async fn wound_up(&self) {
        self.factory.wound_up().await;
    }
}

/// A session that reports what comes of its requests.
pub(crate) struct Observed {
    name: DownstreamName,
    session: Arc<dyn DownstreamSession>,
    health: Arc<Health>,
    started: Started,
    me: Weak<Self>,
    opened: Instant,
    /// Whether it has answered anything beyond the handshake.
    has_answered: AtomicBool,
    /// The last answer, in milliseconds since it was opened.
    last_answer: AtomicU64,
    /// A request has failed and none has been answered since.
    is_doubtful: AtomicBool,
    /// That request asked for nothing but a sign of life.
    is_deaf: AtomicBool,
    /// It is among [`Health::take_doubtful`].
    is_listed: AtomicBool,
    /// It is being asked for a sign of life because a request timed out.
    is_asked: AtomicBool,
    /// Not to be used any more, since the downstream answers on others.
    is_retired: AtomicBool,
    /// How often its connection has broken; requests that were on their way together count once.
    breaks: AtomicU64,
    /// Its end has been asked for.
    is_closing: AtomicBool,
    /// Its end has been taken note of.
    is_over: AtomicBool,
}

impl Observed {
    fn new(
        name: DownstreamName,
        session: Arc<dyn DownstreamSession>,
        started: Started,
        health: Arc<Health>,
    ) -> Arc<Self> {
        let no = AtomicBool::default;
        Arc::new_cyclic(|me| Self {
            name,
            session,
            health,
            started,
            me: me.clone(),
            opened: Instant::now(),
            has_answered: no(),
            last_answer: AtomicU64::default(),
            is_doubtful: no(),
            is_deaf: no(),
            is_listed: no(),
            is_asked: no(),
            is_retired: no(),
            breaks: AtomicU64::default(),
            is_closing: no(),
            is_over: no(),
        })
    }

    /// Whether it is still in doubt, now that it is looked at.
    pub(crate) fn take_doubt(&self) -> bool {
        self.is_listed.store(false, Relaxed);
        self.is_doubtful.load(Relaxed) && self.is_open()
    }

    /// Whether it gave no sign of life when asked for one.
    pub(crate) fn is_deaf(&self) -> bool {
        self.is_deaf.load(Relaxed)
    }

    /// Has it replaced before its next use; requests that are on their way go on.
    pub(crate) fn retire(&self) {
        self.is_retired.store(true, Relaxed);
    }

    /// Has what comes of a call that waits for answers reported too.
    fn watch_over(&self, outcome: Outcome) -> Outcome {
        match (outcome, self.me.upgrade()) {
            (Outcome::InputRequired(mut asked), Some(session)) => {
                if let State::Waiting(call) = asked.state {
                    asked.state = State::Waiting(Arc::new(ObservedCall { call, session }));
                }
                Outcome::InputRequired(asked)
            }
            (outcome, _) => outcome,
        }
    }

    fn begin(&self) -> Request {
        Request { admission: self.health.generation(), breaks: self.breaks.load(Relaxed) }
    }

    /// Takes note of how a list was answered.
    async fn listed(
        &self,
        listing: impl Future<Output = Result<ListPage, Error>> + Send,
    ) -> Result<ListPage, Error> {
        let request = self.begin();
        let result = listing.await;
        match result {
            // That lists are answered says nothing about calls, which may all fail beside them.
            Ok(_) => drop(self.answered()),
            Err(_) => self.note(request, &result),
        }
        result
    }

    fn note<T>(&self, request: Request, result: &Result<T, Error>) {
        match (Verdict::of(result), result) {
            (Verdict::Alive, _) => {
                let now = self.answered();
                self.health.answered(request.admission, now);
            }
            (Verdict::Failing(failure), Err(error)) => {
                if failure != Failure::RateLimited {
                    self.doubt();
                }
                if failure == Failure::Slow {
                    self.ask();
                }
                self.health.failed(request.admission, failure, reason(error));
            }
            (Verdict::Ended, Err(error)) => {
                let reason = reason(error);
                if self.session.is_open() {
                    self.doubt();
                }
                if self.breaks(request) {
                    self.health.failed(request.admission, Failure::Hard, reason.clone());
                }
                self.ended(&reason);
            }
            _ => {}
        }
    }

    /// Asks it for a sign of life, and if there is none has it replaced: it may be the only one that hangs, its
    /// client's, among others that answer.
    fn ask(&self) {
        let Some(me) = self.me.upgrade().filter(|me| !me.is_asked.swap(true, Relaxed)) else { return };
        tokio::spawn(async move {
            let answer = me.ping().await;
            me.is_asked.store(false, Relaxed);
            if me.is_doubtful.load(Relaxed) && me.is_deaf() && !me.is_retired.swap(true, Relaxed) {
                let reason = answer.err().map(|error| reason(&error));
                tracing::warn!(downstream = %me.name, reason, "a session hangs, it is replaced");
                // It may have been the one that lists are read from.
                me.health.session_replaced();
            }
        });
    }

    /// Whether the end of a session or connection counts: once for all the requests that it takes with it,
    /// and if the session is gone, only if it was of no use. One that was is the business of whoever
    /// supervises restarts.
    fn breaks(&self, request: Request) -> bool {
        let (seen, next) = (request.breaks, request.breaks + 1);
        let is_first = self.breaks.compare_exchange(seen, next, Relaxed, Relaxed).is_ok();
        is_first
            && !self.is_closing.load(Relaxed)
            && (self.session.is_open() || !self.has_answered.load(Relaxed))
    }

    fn answered(&self) -> Instant {
        let now = Instant::now();
        self.last_answer.store(millis(now - self.opened), Relaxed);
        if !self.has_answered.load(Relaxed) && !self.has_answered.swap(true, Relaxed) {
            self.started.proved();
            self.health.something_is_answered();
        }
        if self.is_doubtful.load(Relaxed) {
            self.is_doubtful.store(false, Relaxed);
            self.is_deaf.store(false, Relaxed);
        }
        now
    }

    /// Has it looked at when the downstream is known to be well.
    pub(crate) fn doubt(&self) {
        self.is_doubtful.store(true, Relaxed);
        if !self.is_listed.swap(true, Relaxed) {
            self.health.doubt(self.me.clone());
        }
    }

    /// Whether it has answered within the interval, so that there is no need to ask.
    fn is_fresh(&self) -> bool {
        let Some(interval) = self.health.config.interval else { return false };
        let silence = millis(self.opened.elapsed()).saturating_sub(self.last_answer.load(Relaxed));
        self.has_answered.load(Relaxed) && !self.is_doubtful.load(Relaxed) && silence < millis(interval)
    }

    /// Takes note of an end that nobody asked for, if the session has ended.
    fn ended(&self, reason: &str) {
        if self.is_closing.load(Relaxed) || self.session.is_open() || self.is_over.swap(true, Relaxed) {
            return;
        }
        self.health.count_lost();
        match self.has_answered.load(Relaxed) {
            true => self.started.lost(),
            false => self.started.came_to_nothing(reason),
        }
    }
}

/// A request on its way.
#[derive(Clone, Copy)]
struct Request {
    admission: Admission,
    breaks: u64,
}

/// Why a start came to nothing where no error says it.
const SILENT: &str = "ended before it answered anything";

#[async_trait]
impl Session for Observed {
    async fn close(&self) {
        self.ended(SILENT);
        let is_first = !self.is_closing.swap(true, Relaxed) && !self.is_over.load(Relaxed);
        if is_first && self.is_doubtful.load(Relaxed) && !self.has_answered.load(Relaxed) {
            self.started.came_to_nothing("it answered nothing but the handshake");
        }
        self.session.close().await;
    }

    fn is_open(&self) -> bool {
        if self.is_retired.load(Relaxed) {
            return false;
        }
        let is_open = self.session.is_open();
        if !is_open {
            self.ended(SILENT);
        }
        is_open
    }
}

#[async_trait]
impl DownstreamSession for Observed {
    fn peer(&self) -> &PeerInfo {
        self.session.peer()
    }

    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        let request = self.begin();
        let result = self.session.call(subject, params, exchange).await;
        self.note(request, &result);
        result.map(|outcome| self.watch_over(outcome))
    }

    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        self.listed(self.session.list(list, cursor)).await
    }

    async fn list_for(
        &self,
        list: ListKind,
        cursor: Option<&str>,
        exchange: &Exchange,
    ) -> Result<ListPage, Error> {
        self.listed(self.session.list_for(list, cursor, exchange)).await
    }

    async fn subscribe(&self, uri: &str, updates: Arc<dyn Updates>) -> Result<Subscription, Error> {
        let request = self.begin();
        let result = self.session.subscribe(uri, updates).await;
        self.note(request, &result);
        result
    }

    async fn subscribe_for(
        &self,
        uri: &str,
        updates: Arc<dyn Updates>,
        exchange: &Exchange,
    ) -> Result<Subscription, Error> {
        let request = self.begin();
        let result = self.session.subscribe_for(uri, updates, exchange).await;
        self.note(request, &result);
        result
    }

    fn attend(&self, client: Weak<dyn ClientLink>) {
        self.session.attend(client);
    }

    async fn roots_changed(&self) {
        self.session.roots_changed().await;
    }

    /// Asks only if there has been no sign of life within the interval, and waits no longer than the health's
    /// timeout. What a silence means is for whoever asks.
    async fn ping(&self) -> Result<(), Error> {
        if self.is_fresh() && !self.health.knows_no_pings() {
            return Ok(());
        }
        let after = self.health.config.timeout;
        let before = self.last_answer.load(Relaxed);
        let silence = |_| match self.last_answer.load(Relaxed) {
            answer if answer == before => Err(DownstreamFault::TimedOut { after }.during(&self.name)),
            // Something else has been answered meanwhile.
            _ => Ok(()),
        };
        let result = tokio::time::timeout(after, self.session.ping()).await.unwrap_or_else(silence);
        match (Verdict::of(&result), &result) {
            (Verdict::Alive, _) => {
                self.answered();
                self.health.pings_are_answered();
            }
            (verdict, _) if verdict.is_silence(self.session.is_open()) && !self.health.ignores_pings() => {
                self.is_deaf.store(true, Relaxed);
                self.doubt();
            }
            (Verdict::Ended, Err(error)) => self.ended(&reason(error)),
            _ => {}
        }
        result
    }
}

/// A call that waits for answers in an observed session.
struct ObservedCall {
    call: Arc<dyn ParkedCall>,
    session: Arc<Observed>,
}

#[async_trait]
impl ParkedCall for ObservedCall {
    fn is_over(&self) -> bool {
        self.call.is_over()
    }

    async fn resume(&self, responses: &RawObject, exchange: &Exchange) -> Result<Outcome, Error> {
        let request = self.session.begin();
        let result = self.call.resume(responses, exchange).await;
        self.session.note(request, &result);
        result.map(|outcome| self.session.watch_over(outcome))
    }
}

impl fmt::Debug for ObservedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.ended(SILENT);
    }
}

fn millis(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}
