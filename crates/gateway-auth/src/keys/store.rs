use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};

use super::{KeySet, Source, schedule::Schedule, set::SetError, source::Document};
use crate::reason::Failure;

/// Unknown names make for one reading in this time.
const DEMAND_EVERY: Duration = Duration::from_secs(30);

/// The current keys of an issuer, and what keeps them current.
///
/// Whoever checks a token reads them without waiting. Only [`KeyStore::run`] reads the source, one reading at a time.
pub(crate) struct KeyStore {
    source: Source,
    /// How long keys are used without new ones.
    keep: Duration,
    loaded: ArcSwapOption<Loaded>,
    demand: Mutex<Demand>,
    wanted: Notify,
    /// Told after each reading: whether there have ever been good keys.
    finished: watch::Sender<bool>,
    fetches: AtomicU64,
    failures: AtomicU64,
    /// Signatures that were checked with one of the keys.
    checks: AtomicU64,
    /// So that an outage is told once, and its end.
    is_failing: AtomicBool,
}

/// The keys of one reading.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) set: Arc<KeySet>,
    /// Changes whenever the document does.
    pub(crate) generation: u64,
    document: Bytes,
    at: Instant,
}

/// Who asked for a reading because of a name that is not known.
#[derive(Debug, Default)]
struct Demand {
    last: Option<Instant>,
    /// The reading has not finished.
    is_pending: bool,
}

/// For the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) age: Option<Duration>,
    pub(crate) fetches: u64,
    pub(crate) checks: u64,
    pub(crate) failures: u64,
}

impl KeyStore {
    /// Without keys until [`Self::run`] has read some.
    pub(crate) fn new(source: Source, keep: Duration) -> Self {
        Self {
            source,
            keep,
            loaded: ArcSwapOption::empty(),
            demand: Mutex::default(),
            wanted: Notify::new(),
            finished: watch::Sender::default(),
            fetches: AtomicU64::new(0),
            checks: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
        }
    }

    /// The keys, unless there are none or they are too old.
    pub(crate) fn current(&self) -> Result<Arc<Loaded>, Failure> {
        let issuer = &self.source.issuer;
        let Some(loaded) = self.loaded.load_full() else {
            return Err(Failure::Unknown(format!("the keys of {issuer} have not been read yet")));
        };
        if loaded.at.elapsed() > self.keep {
            let keep = self.keep;
            return Err(Failure::Unknown(format!("no new keys of {issuer} could be read for {keep:?}")));
        }
        Ok(loaded)
    }

    /// A name is not known: has the keys read again, unless that was done for the same reason shortly before, and waits
    /// for it. Whether there is anything to look at again. Cancel-safe; bounded by the time of a reading.
    pub(crate) async fn renewed(&self) -> bool {
        let mut finished = self.finished.subscribe();
        if !self.demand(Instant::now()) {
            return false;
        }
        timeout(Source::TIME, finished.changed()).await.is_ok_and(|changed| changed.is_ok())
    }

    /// Waits for the first good keys. Cancel-safe.
    pub(crate) async fn ready(&self) {
        let mut finished = self.finished.subscribe();
        // The sender lives as long as `self`.
        let _ = finished.wait_for(|has_keys| *has_keys).await;
    }

    /// Whether there have ever been good keys.
    pub(crate) fn is_ready(&self) -> bool {
        *self.finished.borrow()
    }

    /// Counts a signature that is checked with one of the keys.
    pub(crate) fn count_check(&self) {
        self.checks.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn figures(&self) -> Figures {
        Figures {
            age: self.loaded.load().as_ref().map(|loaded| loaded.at.elapsed()),
            fetches: self.fetches.load(Ordering::Relaxed),
            checks: self.checks.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
        }
    }

    /// Reads the keys, now and again, for ever.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut schedule = Schedule::new(self.source.pause());
        loop {
            let pause = match self.read().await {
                Ok(max_age) => {
                    self.recovered();
                    schedule.succeeded(max_age)
                }
                Err(reason) => {
                    self.failed(&reason);
                    schedule.failed(self.is_ready())
                }
            };
            self.finish();
            tokio::select! {
                () = sleep(pause) => {}
                () = self.wanted.notified() => {}
            }
        }
    }

    fn recovered(&self) {
        if self.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!(issuer = %self.source.issuer, "an issuer's keys can be read again");
        }
    }

    fn failed(&self, reason: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(issuer = %self.source.issuer, %reason, "an issuer's keys cannot be read");
        }
    }

    async fn read(&self) -> Result<Option<Duration>, String> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        let reading = timeout(Source::TIME, self.source.read()).await;
        let Document { body, max_age } = reading.map_err(|_| "reading them took too long".to_owned())??;
        self.put(body).map_err(|error| error.to_string())?;
        Ok(max_age)
    }

    fn put(&self, document: Bytes) -> Result<(), SetError> {
        let at = Instant::now();
        let before = self.loaded.load_full();
        let loaded = match before {
            Some(before) if before.document == document => {
                Loaded { set: Arc::clone(&before.set), generation: before.generation, document, at }
            }
            before => {
                let set = Arc::new(KeySet::parse(document.clone())?);
                let generation = before.map_or(0, |before| before.generation + 1);
                tracing::info!(issuer = %self.source.issuer, "an issuer's keys have changed");
                Loaded { set, generation, document, at }
            }
        };
        self.loaded.store(Some(Arc::new(loaded)));
        Ok(())
    }

    /// Whether a reading is on its way, or begins now.
    fn demand(&self, now: Instant) -> bool {
        let mut demand = self.demand.lock().unwrap_or_else(PoisonError::into_inner);
        if demand.is_pending {
            return true;
        }
        if demand.last.is_some_and(|last| now.duration_since(last) < DEMAND_EVERY) {
            return false;
        }
        *demand = Demand { last: Some(now), is_pending: true };
        self.wanted.notify_one();
        true
    }

    fn finish(&self) {
        self.demand.lock().unwrap_or_else(PoisonError::into_inner).is_pending = false;
        self.finished.send_replace(self.loaded.load().is_some());
    }
}

impl fmt::Debug for KeyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyStore").field("issuer", &self.source.issuer).finish_non_exhaustive()
    }
}
