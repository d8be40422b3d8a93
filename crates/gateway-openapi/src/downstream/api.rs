use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gateway_domain::{DownstreamFault, DownstreamObserver, ListKind};
use tokio::{
    runtime::Handle,
    sync::OwnedMutexGuard,
    task::{AbortHandle, JoinError},
    time::timeout,
};

use super::{ApiConfig, loaded::Loaded};
use crate::{
    engine::{AuditEvent, AuditFunc, CallError, ClientError},
    ir::Listing,
    source::{Source, SourceError},
};

/// How long anybody waits for a source to be read, and how long reading it may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// What all sessions of one API share.
pub(super) struct Api {
    pub(super) config: ApiConfig,
    observer: Arc<dyn DownstreamObserver>,
    current: Mutex<Option<Arc<Loaded>>>,
    /// One reading at a time: held until it has really ended, also when nobody waits for it any more.
    reading: Arc<tokio::sync::Mutex<()>>,
    reachability: Arc<Reachability>,
    /// Somebody wants the source to be read again, changed or not.
    is_asked: AtomicBool,
    /// The task that looks for changes; it ends with the API.
    watch: Mutex<Option<AbortHandle>>,
}

/// Whether the API answers, as far as is known.
pub(super) struct Reachability {
    observer: Arc<dyn DownstreamObserver>,
    known: Mutex<Known>,
    /// Somebody wants to know whether it can.
    is_wanted: AtomicBool,
}

#[derive(Default)]
struct Known {
    /// Whether it can be reached, or why not, since the last attempt; `None` before the end of the first one.
    reached: Option<Result<(), String>>,
    /// Somebody was told that nothing is known.
    is_ignorance_shown: bool,
}

/// What came of reading a source again.
pub(super) enum Reloaded {
    /// It is in use.
    Read { stamp: Option<u64> },
    /// It is not, and will not be as long as it stays as it is.
    Unusable,
    /// It could not be had this time.
    Unreadable,
}

impl Api {
    pub(super) fn new(config: ApiConfig, observer: Arc<dyn DownstreamObserver>) -> Self {
        let reachability = Reachability {
            observer: observer.clone(),
            known: Mutex::default(),
            // Nothing is known yet.
            is_wanted: AtomicBool::new(true),
        };
        Self {
            config,
            observer,
            current: Mutex::new(None),
            reading: Arc::default(),
            reachability: Arc::new(reachability),
            is_asked: AtomicBool::new(false),
            watch: Mutex::new(None),
        }
    }

    pub(super) fn current(&self) -> Option<Arc<Loaded>> {
        locked(&self.current).clone()
    }

    pub(super) fn reachability(&self) -> &Reachability {
        &self.reachability
    }

    /// What the source says, read if it has not been. Cancel-safe.
    pub(super) async fn load(self: &Arc<Self>) -> Result<Arc<Loaded>, DownstreamFault> {
        if let Some(loaded) = self.current() {
            return Ok(loaded);
        }
        let loading = async {
            let turn = self.reading.clone().lock_owned().await;
            match self.current() {
                Some(loaded) => Ok(loaded),
                None => self.renew(turn).await,
            }
        };
        timeout(DEADLINE, loading).await.unwrap_or_else(|_| Err(late()))
    }

    /// Has the source read again, soon. Nothing if it has never been: that is done by whoever comes first.
    pub(super) fn ask(&self) {
        self.is_asked.store(self.current().is_some(), Ordering::Relaxed);
    }

    pub(super) fn take_asked(&self) -> bool {
        self.is_asked.swap(false, Ordering::Relaxed)
    }

    /// Reads the source again. What was read before stays if that comes to nothing.
    pub(super) async fn reload(self: &Arc<Self>) -> Reloaded {
        let loading = async { self.renew(self.reading.clone().lock_owned().await).await };
        match timeout(DEADLINE, loading).await.unwrap_or_else(|_| Err(late())) {
            Ok(loaded) => {
                self.observer.list_changed(ListKind::Tools);
                Reloaded::Read { stamp: loaded.stamp }
            }
            Err(fault) => {
                let downstream = &self.config.name;
                tracing::error!(%downstream, "the new description of the API is not used: it {fault}");
                match fault {
                    DownstreamFault::Unreachable { .. } => Reloaded::Unreadable,
                    _ => Reloaded::Unusable,
                }
            }
        }
    }

    /// Reads the source in a task of its own, which keeps the turn and what it has read when nobody waits any more.
    async fn renew(self: &Arc<Self>, turn: OwnedMutexGuard<()>) -> Result<Arc<Loaded>, DownstreamFault> {
        let api = Arc::clone(self);
        let reading = tokio::spawn(async move {
            let loaded = Arc::new(api.read().await?);
            api.tell(&loaded);
            *locked(&api.current) = Some(loaded.clone());
            drop(turn);
            Ok(loaded)
        });
        reading.await.unwrap_or_else(panicked)
    }

    /// Reading and building may take a second of work, so they are done where nobody else waits for it.
    async fn read(&self) -> Result<Loaded, DownstreamFault> {
        let (config, audit, before) = (self.config.clone(), self.auditor(), self.current());
        let runtime = Handle::current();
        let read = tokio::task::spawn_blocking(move || {
            let reading = async { timeout(DEADLINE, settled(&*config.source)).await };
            let read = runtime.block_on(reading).map_err(|_| late())?;
            let (listing, stamp) = read.map_err(unread)?;
            let unusable = |reason: super::loaded::Unusable| handshake(reason.to_string());
            Loaded::new(listing, stamp, &config, audit, before.as_deref()).map_err(unusable)
        });
        read.await.unwrap_or_else(panicked)
    }

    fn tell(&self, loaded: &Loaded) {
        let (downstream, report) = (&self.config.name, loaded.report());
        let (taken, skipped) = (report.taken.len(), report.skipped.len());
        tracing::info!(%downstream, taken, skipped, "description of the API read");
        for note in loaded.warnings() {
            tracing::warn!(%downstream, note, "about the description of the API");
        }
    }

    /// Hears of each call before whoever else does.
    fn auditor(&self) -> impl FnOnce(Option<AuditFunc>) -> AuditFunc + use<> {
        let reachability = Arc::clone(&self.reachability);
        move |others| {
            Arc::new(move |event: &AuditEvent| {
                reachability.note_call(event);
                if let Some(others) = &others {
                    others(event);
                }
            })
        }
    }

    /// Keeps the task that `start` starts, if there is none yet.
    pub(super) fn watch_with(&self, start: impl FnOnce() -> AbortHandle) {
        locked(&self.watch).get_or_insert_with(start);
    }

    /// Scheme, host and port, for the operator.
    pub(super) fn place(&self) -> String {
        let uri = self.config.executor.base.uri();
        let host = uri.authority().map_or("", http::uri::Authority::as_str);
        format!("{}://{host}", uri.scheme_str().unwrap_or_default())
    }

    /// Looks whether the API can be reached, and tells.
    pub(super) async fn reach(&self) {
        let reached = self.config.executor.client.reach().await;
        self.reachability.note(reached.err().as_ref());
    }
}

impl Reachability {
    /// Whether the API cannot be reached, as far as is known.
    pub(super) fn is_down(&self) -> bool {
        matches!(locked(&self.known).reached, Some(Err(_)))
    }

    /// Whether the API can be reached, or why not, for somebody to see; `None`: nothing is known yet.
    pub(super) fn show(&self) -> Option<Result<(), String>> {
        let mut known = locked(&self.known);
        known.is_ignorance_shown |= known.reached.is_none();
        known.reached.clone()
    }

    /// Has it looked whether the API can be reached, soon.
    pub(super) fn want(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    pub(super) fn take_wish(&self) -> bool {
        self.is_wanted.swap(false, Ordering::Relaxed)
    }

    /// A call that was answered, or that found nobody, tells as much as looking does.
    fn note_call(&self, event: &AuditEvent) {
        match &event.error {
            Some(CallError::Upstream(error)) if error.is_unsent => self.note(Some(error)),
            None if event.status != 0 => self.note(None),
            _ => {}
        }
    }

    fn note(&self, error: Option<&ClientError>) {
        let reached = error.map_or(Ok(()), |error| Err(error.reason.clone()));
        let is_news = {
            let mut known = locked(&self.known);
            let before = known.reached.replace(reached);
            match before {
                Some(before) => before.is_err() != error.is_some(),
                None => known.is_ignorance_shown || error.is_some(),
            }
        };
        if is_news {
            // What is remarked on the list is another thing now.
            self.observer.list_changed(ListKind::Tools);
        }
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        if let Some(watch) = locked(&self.watch).take() {
            watch.abort();
        }
    }
}

/// What a source says, and its stamp from then on. A source may know only after reading on what else it depends, and
/// may change meanwhile: where the stamp is another afterwards, it is read once more. Whatever changes during that shows
/// at the next look.
async fn settled(source: &dyn Source) -> Result<(Listing, Option<u64>), SourceError> {
    let before = source.stamp().await;
    let listing = source.load().await?;
    let stamp = source.stamp().await;
    let listing = if stamp == before { listing } else { source.load().await? };
    Ok((listing, stamp))
}

fn late() -> DownstreamFault {
    let reason = format!("its description could not be read within {DEADLINE:?}");
    DownstreamFault::Unreachable { reason }
}

fn panicked<T>(_: JoinError) -> Result<T, DownstreamFault> {
    Err(handshake("reading its description panicked; please report it".to_owned()))
}

fn unread(error: SourceError) -> DownstreamFault {
    match error {
        SourceError::Unreadable { .. } => DownstreamFault::Unreachable { reason: error.to_string() },
        SourceError::Invalid { .. } | SourceError::TooLarge { .. } => handshake(error.to_string()),
    }
}

fn handshake(reason: String) -> DownstreamFault {
    DownstreamFault::Handshake { reason }
}

/// Every critical section is a few assignments.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
