use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{CallerError, DownstreamFault, DownstreamName, Error, Factory, SessionProfile};
use tokio::{sync::watch, time::Instant};

use crate::{
    Health, RestartBudget,
    breaker::{Admission, Breaker, Cooldown, Failure, Refusal},
    health,
    jitter::Jitter,
    restarts::{Leave, Restarts, Start},
    verdict::reason,
};

/// When a downstream that cannot be opened is left alone.
#[derive(Debug, Clone)]
pub struct SupervisorConfig {
    /// How many failures in a row; 0 takes the default, 5.
    pub max_consecutive_failures: u32,
    /// How long it is then left alone. `None` or zero begins with 1 s and doubles with each failed probe
    /// up to 15 s, each up to a quarter shorter by chance, so that a server which is back is used again
    /// within 16 s.
    pub broken_cooldown: Option<Duration>,
    /// For what is started rather than reached: how many starts may come to nothing. While it is not known
    /// whether starting is of use, creations go one at a time and the others wait for what comes of it.
    /// `None` means no such limit.
    pub restarts: Option<RestartBudget>,
}

impl Default for SupervisorConfig {
    fn default() -> Self {
        Self { max_consecutive_failures: 5, broken_cooldown: None, restarts: None }
    }
}

impl SupervisorConfig {
    pub(crate) fn limit_or_default(limit: u32) -> u32 {
        match limit {
            0 => Self::default().max_consecutive_failures,
            limit => limit,
        }
    }
}

/// A factory that stops calling its delegate once that has failed too often. Safe for concurrent
/// use; while healthy, creations run side by side.
#[derive(Debug)]
pub struct SupervisedFactory<F> {
    delegate: F,
    supervision: Arc<Supervision>,
}

impl<F: Factory> SupervisedFactory<F> {
    /// Supervises `delegate`, which opens sessions to the downstream `name`.
    pub fn new(name: DownstreamName, delegate: F, config: &SupervisorConfig) -> Self {
        Self::reporting_to(Health::off(name.clone()), name, delegate, config)
    }

    pub(crate) fn reporting_to(
        health: Arc<Health>,
        name: DownstreamName,
        delegate: F,
        config: &SupervisorConfig,
    ) -> Self {
        let limit = SupervisorConfig::limit_or_default(config.max_consecutive_failures);
        let cooldown = Cooldown::from_setting(config.broken_cooldown);
        let restarts = config.restarts.filter(|budget| budget.limit > 0);
        let state = State {
            breaker: Breaker::new(limit, cooldown, Jitter::random(), Instant::now()),
            restarts: restarts.map(|budget| Restarts::new(budget, Jitter::random())),
            usual: None,
            overdue: 0,
            broken: None,
        };
        let supervision =
            Supervision { name, health, state: Mutex::new(state), changed: watch::Sender::new(()) };
        Self { delegate, supervision: Arc::new(supervision) }
    }

    /// Creates a session; whoever uses it says what comes of it.
    pub(crate) async fn start(&self, profile: &SessionProfile) -> Result<(F::Session, Started), Error> {
        let mut attempt = self.supervision.admit().await?;
        let begun = Instant::now();
        let created = self.create_in_time(profile, &mut attempt).await;
        match &created {
            Ok(_) => attempt.succeeded(begun.elapsed()),
            Err(Error::Caller(CallerError::Cancelled)) => {}
            // One caller without credentials must not take the downstream from those who have some.
            Err(error) if lacks_credentials(error, profile) => {}
            Err(error) => attempt.failed(error),
        }
        let started = Started { supervision: self.supervision.clone(), start: attempt.start };
        created.map(|session| (session, started))
    }

    /// Gives up a creation that takes far longer than the last one did, so that the next can find a server
    /// that is back. Long before that it is overdue, and those who wait for it are told.
    async fn create_in_time(
        &self,
        profile: &SessionProfile,
        attempt: &mut Attempt,
    ) -> Result<F::Session, Error> {
        let create = self.delegate.create(profile);
        let Some(patience) = self.supervision.patience() else { return create.await };
        let mut create = std::pin::pin!(create);
        if let Ok(created) = tokio::time::timeout(patience.overdue, &mut create).await {
            return created;
        }
        attempt.is_overdue(patience);
        tokio::time::timeout(patience.rest, create).await.unwrap_or_else(|_| {
            let reason = format!("no session within {:?}, far longer than it took before", patience.in_all());
            Err(DownstreamFault::Handshake { reason }.before(&self.supervision.name))
        })
    }
}

/// How long a creation may take where it is known how long one takes.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Until nobody is let wait for it any more.
    overdue: Duration,
    /// From then until it is given up.
    rest: Duration,
}

impl Patience {
    /// A server that is back is used within the longest cooldown; no creation that hangs may delay that.
    const LONGEST: Duration = Duration::from_secs(15);

    /// `usual` is how long the last one took, `least` how long a sign of life may take.
    fn after(usual: Duration, least: Duration) -> Self {
        let overdue = least.max(usual.saturating_mul(2));
        let in_all = Self::LONGEST.max(usual.saturating_mul(4)).max(overdue);
        Self { overdue, rest: in_all - overdue }
    }

    fn in_all(self) -> Duration {
        self.overdue + self.rest
    }
}

#[async_trait]
impl<F: Factory> Factory for SupervisedFactory<F> {
    type Session = F::Session;

    async fn create(&self, profile: &SessionProfile) -> Result<F::Session, Error> {
        let (session, started) = self.start(profile).await?;
        // Nobody will say more about it.
        started.proved();
        Ok(session)
    }

    async fn wound_up(&self) {
        self.delegate.wound_up().await;
    }
}

/// Whether a session was not opened because of who asked for it.
fn lacks_credentials(error: &Error, profile: &SessionProfile) -> bool {
    let Error::Downstream(error) = error else { return false };
    match error.fault {
        DownstreamFault::Credentials { .. } | DownstreamFault::CallerCredentials { .. } => true,
        DownstreamFault::Unauthorized { .. } => profile.incoming.is_some(),
        _ => false,
    }
}

/// Decides when sessions to one downstream are opened.
#[derive(Debug)]
struct Supervision {
    name: DownstreamName,
    health: Arc<Health>,
    state: Mutex<State>,
    /// Wakes those who wait for what comes of a start.
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    breaker: Breaker,
    restarts: Option<Restarts>,
    /// How long the last creation took that brought a session.
    usual: Option<Duration>,
    /// How many creations take much longer than that.
    overdue: usize,
    /// Why the downstream was last left alone, until it has proved that it can be used.
    broken: Option<String>,
}

impl State {
    fn check(&self, now: Instant) -> Leave {
        let by_restarts = self.restarts.as_ref().map_or(Leave::Granted, |restarts| restarts.check(now));
        match (by_restarts, self.breaker.check(now)) {
            (Leave::Wait(until), _) => Leave::Wait(until),
            (Leave::Granted, Ok(())) => Leave::Granted,
            (Leave::Refused(refusal), Ok(())) | (Leave::Granted, Err(refusal)) => Leave::Refused(refusal),
            (Leave::Refused(one), Err(other)) => {
                Leave::Refused(if one.retry_in > other.retry_in { one } else { other })
            }
        }
    }

    /// Why the downstream is left alone now, if it is.
    fn refuses(&self) -> Option<String> {
        if self.breaker.is_refusing() {
            return Some(self.breaker.refusal(Instant::now()).reason);
        }
        if self.overdue > 0 {
            return Some(health::OVERDUE.to_owned());
        }
        let spaced = self.restarts.as_ref().filter(|restarts| restarts.is_spaced());
        spaced.map(|restarts| restarts.reason().to_owned())
    }
}

impl Supervision {
    /// Waits, if need be, for what comes of somebody else's start. Cancel-safe.
    async fn admit(self: &Arc<Self>) -> Result<Attempt, Error> {
        let mut changed = self.changed.subscribe();
        loop {
            // Its sender is in `self`, so waiting does not fail but by the time.
            match self.try_admit()? {
                Ok(attempt) => return Ok(attempt),
                Err(None) => drop(changed.changed().await),
                Err(Some(until)) => drop(tokio::time::timeout_at(until, changed.changed()).await),
            }
        }
    }

    /// An attempt, or until when to wait for another's outcome.
    fn try_admit(self: &Arc<Self>) -> Result<Result<Attempt, Option<Instant>>, Error> {
        let now = Instant::now();
        let mut state = self.state();
        let refused = |refusal: Refusal| {
            DownstreamFault::Broken { retry_in: refusal.retry_in, reason: refusal.reason }.before(&self.name)
        };
        match state.check(now) {
            Leave::Wait(until) => return Ok(Err(until)),
            Leave::Refused(refusal) => return Err(refused(refusal)),
            Leave::Granted => {}
        }
        let admission = state.breaker.admit(now).map_err(refused)?;
        let start = state.restarts.as_mut().map(|restarts| restarts.begin(now));
        Ok(Ok(Attempt { supervision: self.clone(), admission: Some(admission), start, is_overdue: false }))
    }

    /// Changes the state, tells of it and wakes who waits for it.
    fn change(&self, change: impl FnOnce(&mut State, Instant)) {
        let mut state = self.state();
        change(&mut state, Instant::now());
        if let Some(reason) = state.refuses() {
            state.broken = Some(reason);
        }
        // Under the lock, so that it is told in the order in which it happens.
        self.health.connecting(state.broken.clone());
        drop(state);
        self.changed.send_replace(());
    }

    /// `None` while it is not known how long a creation takes, or nobody watches.
    fn patience(&self) -> Option<Patience> {
        let usual = self.state().usual.filter(|_| self.health.is_on())?;
        Some(Patience::after(usual, self.health.config.timeout))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is consistent between any two methods of its parts.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A creation in progress. Dropped without an outcome, as when its caller gives up, it counts for
/// nothing (R-W5).
struct Attempt {
    supervision: Arc<Supervision>,
    admission: Option<Admission>,
    start: Option<Start>,
    is_overdue: bool,
}

impl Attempt {
    /// Nobody is let wait for it any more.
    fn is_overdue(&mut self, patience: Patience) {
        self.is_overdue = true;
        self.supervision.change(|state, _| state.overdue += 1);
        self.supervision.health.overdue_for(Some(patience.rest));
    }

    fn succeeded(&mut self, took: Duration) {
        if let Some(admission) = self.admission.take() {
            self.end(|state, now| {
                (state.usual, state.broken) = (Some(took), None);
                state.breaker.succeeded(admission, now);
            });
        }
    }

    fn failed(&mut self, error: &Error) {
        let Some(admission) = self.admission.take() else { return };
        let reason = reason(error);
        self.supervision.health.count_failed();
        self.end(|state, now| {
            if let (Some(restarts), Some(start)) = (&mut state.restarts, self.start) {
                restarts.came_to_nothing(start, reason.clone());
            }
            state.breaker.failed(admission, Failure::Hard, reason, now);
        });
    }

    fn end(&self, outcome: impl FnOnce(&mut State, Instant)) {
        self.supervision.change(|state, now| {
            if self.is_overdue {
                state.overdue -= 1;
                if state.overdue == 0 {
                    self.supervision.health.overdue_for(None);
                }
            }
            if let (Some(restarts), Some(start)) = (&mut state.restarts, self.start) {
                restarts.ended(start);
            }
            outcome(state, now);
        });
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            self.end(|state, now| {
                if let (Some(restarts), Some(start)) = (&mut state.restarts, self.start) {
                    restarts.abandoned(start);
                }
                state.breaker.abandoned(admission, now);
            });
        }
    }
}

/// A session that has been created, for those who see what comes of it.
#[derive(Debug)]
pub(crate) struct Started {
    supervision: Arc<Supervision>,
    /// `None` where restarts are not limited.
    start: Option<Start>,
}

impl Started {
    /// It has answered something beyond the handshake, for the first time.
    pub(crate) fn proved(&self) {
        let Some(start) = self.start else { return };
        self.supervision.change(|state, _| {
            state.broken = None;
            if let Some(restarts) = &mut state.restarts {
                restarts.proved(start);
            }
        });
    }

    /// It has ended before it answered anything.
    pub(crate) fn came_to_nothing(&self, reason: &str) {
        self.change(|restarts, start| restarts.came_to_nothing(start, reason.to_owned()));
    }

    /// It has ended unasked after it had answered.
    pub(crate) fn lost(&self) {
        self.change(|restarts, _| restarts.lost(Instant::now()));
    }

    fn change(&self, change: impl FnOnce(&mut Restarts, Start)) {
        let Some(start) = self.start else { return };
        self.supervision.change(|state, _| {
            if let Some(restarts) = &mut state.restarts {
                change(restarts, start);
            }
        });
    }
}
