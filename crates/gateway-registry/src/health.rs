use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use gateway_domain::{DownstreamFault, DownstreamName, DownstreamObserver, Error, ListKind, SessionCounts};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use crate::{
    SupervisorConfig,
    breaker::{Admission, Breaker, Cooldown, Failure},
    jitter::Jitter,
    observed::Observed,
};

/// When a downstream counts as broken because its calls fail, and how it is found out that it does not.
#[derive(Debug, Clone)]
pub struct HealthConfig {
    /// How often a session that has answered nothing is asked for a sign of life. Default 30 s; `None` or
    /// zero asks only after a request that timed out.
    pub interval: Option<Duration>,
    /// How long to wait for a sign of life. Zero takes the default, 5 s.
    pub timeout: Duration,
    /// How many calls may fail in a row; 0 takes the default, 5 (P-44).
    pub max_consecutive_failures: u32,
    /// How long calls are then refused before the next probe; see [`SupervisorConfig::broken_cooldown`].
    pub broken_cooldown: Option<Duration>,
}

impl Default for HealthConfig {
    fn default() -> Self {
        Self {
            interval: Some(Duration::from_secs(30)),
            timeout: Duration::from_secs(5),
            max_consecutive_failures: 5,
            broken_cooldown: None,
        }
    }
}

impl HealthConfig {
    fn or_defaults(self) -> Self {
        Self {
            interval: self.interval.filter(|interval| !interval.is_zero()),
            timeout: if self.timeout.is_zero() { Self::default().timeout } else { self.timeout },
            ..self
        }
    }
}

/// What is known about one downstream from all its sessions: whether its calls are answered, and what became
/// of its sessions.
///
/// While it is broken, calls are refused at once and never used to find out more (P-47); a task of the
/// downstream's own does that, with new sessions.
pub struct Health {
    name: DownstreamName,
    pub(crate) config: HealthConfig,
    observer: Option<Arc<dyn DownstreamObserver>>,
    calls: Mutex<Breaker>,
    /// What a call needs to know of `calls`: its generation, twice, and one more while it refuses.
    gate: AtomicU64,
    /// Tells the task that probes of a change.
    pub(crate) changed: Notify,
    is_over: AtomicBool,
    /// Whether anything has ever been answered.
    has_answered: AtomicBool,
    /// Whether a sign of life that was asked for has ever come.
    answers_pings: AtomicBool,
    /// It has answered other things and not the first ping: the absence of a sign of life says nothing.
    ignores_pings: AtomicBool,
    /// Sessions with a request that failed and none that was answered since.
    doubtful: Mutex<Vec<Weak<Observed>>>,
    told: Mutex<Told>,
    /// While opening a session takes much longer than it did before: until when at most.
    overdue: watch::Sender<Option<Instant>>,
    counters: Counters,
}

/// What the observer has been told: whether the downstream is broken, by opening sessions or by calls.
#[derive(Default)]
struct Told {
    connecting: bool,
    calls: bool,
}

#[derive(Default)]
struct Counters {
    failed: AtomicU64,
    lost: AtomicU64,
    broken: AtomicU64,
    unanswered_pings: AtomicU64,
}

impl Health {
    /// The health of the downstream `name`; `observer` hears when it is found broken and when it recovers.
    pub fn new(
        name: DownstreamName,
        config: HealthConfig,
        observer: Arc<dyn DownstreamObserver>,
    ) -> Arc<Self> {
        Arc::new(Self::with(name, config, Some(observer)))
    }

    /// For a downstream whose sessions nobody watches: it is never broken.
    pub fn off(name: DownstreamName) -> Arc<Self> {
        Arc::new(Self::with(name, HealthConfig::default(), None))
    }

    fn with(
        name: DownstreamName,
        config: HealthConfig,
        observer: Option<Arc<dyn DownstreamObserver>>,
    ) -> Self {
        let config = config.or_defaults();
        let limit = SupervisorConfig::limit_or_default(config.max_consecutive_failures);
        let cooldown = Cooldown::from_setting(config.broken_cooldown);
        let calls = Breaker::new(limit, cooldown, Jitter::random(), Instant::now());
        Self {
            name,
            config,
            observer,
            calls: Mutex::new(calls),
            gate: AtomicU64::default(),
            changed: Notify::new(),
            is_over: AtomicBool::default(),
            has_answered: AtomicBool::default(),
            answers_pings: AtomicBool::default(),
            ignores_pings: AtomicBool::default(),
            doubtful: Mutex::default(),
            told: Mutex::default(),
            overdue: watch::Sender::new(None),
            counters: Counters::default(),
        }
    }

    /// `failed`, `lost`, `broken` and `unanswered_pings`; the pool knows the rest.
    pub fn counts(&self) -> SessionCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { failed, lost, broken, unanswered_pings } = &self.counters;
        SessionCounts {
            failed: read(failed),
            lost: read(lost),
            broken: read(broken),
            unanswered_pings: read(unanswered_pings),
            ..SessionCounts::default()
        }
    }

    /// Whether calls may go to the downstream now.
    pub(crate) fn admits(&self) -> Result<(), Error> {
        if self.gate.load(Ordering::Acquire) & 1 == 0 {
            return Ok(());
        }
        let refusal = self.calls().refusal(Instant::now());
        Err(DownstreamFault::Broken { retry_in: refusal.retry_in, reason: refusal.reason }.before(&self.name))
    }

    /// Completes when opening a session takes much longer than it did before: whoever waits for one is then
    /// refused. Cancel-safe.
    pub(crate) async fn overdue(&self) -> Error {
        let mut overdue = self.overdue.subscribe();
        // The sender is here, so this does not fail.
        let until = match overdue.wait_for(Option::is_some).await {
            Ok(until) => until.unwrap_or_else(Instant::now),
            Err(_) => Instant::now(),
        };
        let retry_in = until.saturating_duration_since(Instant::now());
        let reason = OVERDUE.to_owned();
        DownstreamFault::Broken { retry_in, reason }.before(&self.name)
    }

    pub(crate) fn overdue_for(&self, time: Option<Duration>) {
        self.overdue.send_replace(time.map(|time| Instant::now() + time));
    }

    /// Whether somebody watches its sessions.
    pub(crate) fn is_on(&self) -> bool {
        self.observer.is_some()
    }

    /// Ends the task that probes.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// What the outcome of a request that begins now is to be reported with.
    pub(crate) fn generation(&self) -> Admission {
        Admission::Try(self.gate.load(Ordering::Acquire) >> 1)
    }

    pub(crate) fn answered(&self, request: Admission, now: Instant) {
        // Most calls; nothing that is told to others changes.
        self.calls().succeeded(request, now);
    }

    pub(crate) fn failed(&self, request: Admission, failure: Failure, reason: String) {
        self.change(|calls| calls.failed(request, failure, reason, Instant::now()));
    }

    /// When the next probe is to begin.
    pub(crate) fn probe_due(&self) -> Option<Instant> {
        self.calls().probe_due()
    }

    pub(crate) fn begin_probe(self: &Arc<Self>, now: Instant) -> Option<Probe> {
        let admission = self.calls().begin_probe(now)?;
        Some(Probe { health: self.clone(), admission: Some(admission) })
    }

    /// A sign of life did not come: begins a probe, unless one is on its way or awaited.
    pub(crate) fn unanswered(self: &Arc<Self>, reason: String, now: Instant) -> Option<Probe> {
        self.counters.unanswered_pings.fetch_add(1, Ordering::Relaxed);
        let admission = self.calls().doubt(reason, now)?;
        Some(Probe { health: self.clone(), admission: Some(admission) })
    }

    /// Notes whether opening sessions is broken, and why.
    pub(crate) fn connecting(&self, broken: Option<String>) {
        self.tell(|told| &mut told.connecting, broken);
    }

    pub(crate) fn pings_are_answered(&self) {
        if !self.answers_pings.load(Ordering::Relaxed) {
            self.answers_pings.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it answers pings is not known.
    pub(crate) fn knows_no_pings(&self) -> bool {
        !self.answers_pings.load(Ordering::Relaxed) && !self.ignores_pings()
    }

    /// It is alive and does not answer pings: there is no use in asking on an interval.
    pub(crate) fn pings_are_ignored(&self) {
        if !self.ignores_pings.swap(true, Ordering::Relaxed) {
            tracing::info!(downstream = %self.name, "it does not answer pings, which are not sent any more");
        }
    }

    /// Whether the absence of a sign of life says nothing.
    pub(crate) fn ignores_pings(&self) -> bool {
        self.ignores_pings.load(Ordering::Relaxed)
    }

    pub(crate) fn something_is_answered(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    pub(crate) fn count_failed(&self) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_lost(&self) {
        self.counters.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Another session than before tells of changes now, and may have other things on its lists (R-W20).
    pub(crate) fn session_replaced(&self) {
        let Some(observer) = &self.observer else { return };
        // The resources stand for their templates.
        for list in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
            observer.list_changed(list);
        }
    }

    /// Remembers a session to be looked at when the downstream is known to be well.
    pub(crate) fn doubt(&self, session: Weak<Observed>) {
        let mut doubtful = self.doubtful.lock().unwrap_or_else(PoisonError::into_inner);
        if doubtful.len() == doubtful.capacity() {
            // What is gone is not kept; else there are no more than there are sessions.
            doubtful.retain(|session| session.strong_count() > 0);
        }
        doubtful.push(session);
    }

    /// The sessions that have failed; some may have answered since.
    pub(crate) fn take_doubtful(&self) -> Vec<Arc<Observed>> {
        let mut doubtful = self.doubtful.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = std::mem::take(&mut *doubtful);
        drop(doubtful);
        taken.iter().filter_map(Weak::upgrade).collect()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut calls = self.calls();
        let changed = change(&mut calls);
        let refusing = calls.is_refusing();
        self.gate.store(calls.generation() << 1 | u64::from(refusing), Ordering::Release);
        // Under the lock, so that it is told in the order in which it happens.
        self.tell(|told| &mut told.calls, refusing.then(|| calls.refusal(Instant::now()).reason));
        let is_wanted = calls.probe_due().is_some();
        drop(calls);
        if is_wanted {
            self.changed.notify_one();
        }
        changed
    }

    fn tell(&self, part: impl Fn(&mut Told) -> &mut bool, broken: Option<String>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let was_broken = told.connecting || told.calls;
        let was = std::mem::replace(part(&mut told), broken.is_some());
        let is_broken = told.connecting || told.calls;
        if let (false, Some(reason)) = (was, &broken) {
            self.counters.broken.fetch_add(1, Ordering::Relaxed);
            if !was_broken && let Some(observer) = &self.observer {
                tracing::warn!(downstream = %self.name, reason, "downstream not used until a probe succeeds");
                observer.broken(reason);
            }
        }
        if was_broken
            && !is_broken
            && let Some(observer) = &self.observer
        {
            tracing::info!(downstream = %self.name, "downstream can be used again");
            observer.recovered();
        }
    }

    fn calls(&self) -> MutexGuard<'_, Breaker> {
        // It is consistent between any two of its methods.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("name", &self.name)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// Why callers are refused who would have to wait for a creation that is overdue.
pub(crate) const OVERDUE: &str = "a session takes much longer to open than before";

/// A probe on its way. Dropped without an outcome it counts for nothing (R-W4).
pub(crate) struct Probe {
    health: Arc<Health>,
    admission: Option<Admission>,
}

impl Probe {
    /// Whether calls are refused until its outcome is known.
    pub(crate) fn is_refusing(&self) -> bool {
        self.health.gate.load(Ordering::Acquire) & 1 == 1
    }

    pub(crate) fn passed(mut self) {
        if let Some(admission) = self.admission.take() {
            self.health.change(|calls| calls.verified(admission, Instant::now()));
        }
    }

    /// The next follows after the cooldown, and not before `not_before`.
    pub(crate) fn failed(mut self, reason: String, not_before: Instant) {
        if let Some(admission) = self.admission.take() {
            self.health.change(|calls| {
                calls.failed(admission, Failure::Hard, reason, Instant::now());
                calls.put_off(not_before);
            });
        }
    }

    /// It said nothing about the downstream.
    pub(crate) fn put_off(mut self, time: Instant) {
        if let Some(admission) = self.admission.take() {
            self.health.change(|calls| {
                calls.abandoned(admission, Instant::now());
                calls.put_off(time);
            });
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            self.health.change(|calls| calls.abandoned(admission, Instant::now()));
        }
    }
}
