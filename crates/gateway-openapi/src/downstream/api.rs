use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use gateway_domain::{DownstreamFault, DownstreamObserver, ListKind};
use tokio::{runtime::Handle, task::AbortHandle};

use super::{ApiConfig, loaded::Loaded};
use crate::{
    engine::{AuditEvent, AuditFunc, CallError, ClientError},
    source::SourceError,
};

/// What all sessions of one API share.
pub(super) struct Api {
    pub(super) config: ApiConfig,
    observer: Arc<dyn DownstreamObserver>,
    current: Mutex<Option<Arc<Loaded>>>,
    /// One reading at a time.
    reading: tokio::sync::Mutex<()>,
    reachability: Arc<Reachability>,
    /// The task that looks for changes; it ends with the API.
    watch: Mutex<Option<AbortHandle>>,
    /// Somebody wants the source to be read again, changed or not.
    is_asked: AtomicBool,
}

/// Whether the API answers, as far as is known.
pub(super) struct Reachability {
    observer: Arc<dyn DownstreamObserver>,
    /// Why it cannot be reached, since the last attempt.
    trouble: Mutex<Option<String>>,
    /// Somebody wants to know whether it can.
    is_wanted: AtomicBool,
}

impl Api {
    pub(super) fn new(config: ApiConfig, observer: Arc<dyn DownstreamObserver>) -> Self {
        let reachability = Reachability {
            observer: observer.clone(),
            trouble: Mutex::new(None),
            // Nothing is known yet.
            is_wanted: AtomicBool::new(true),
        };
        Self {
            config,
            observer,
            current: Mutex::new(None),
            reading: tokio::sync::Mutex::new(()),
            reachability: Arc::new(reachability),
            watch: Mutex::new(None),
            is_asked: AtomicBool::new(false),
        }
    }

    pub(super) fn current(&self) -> Option<Arc<Loaded>> {
        locked(&self.current).clone()
    }

    pub(super) fn reachability(&self) -> &Reachability {
        &self.reachability
    }

    /// What the source says, read if it has not been. Cancel-safe.
    pub(super) async fn load(&self) -> Result<Arc<Loaded>, DownstreamFault> {
        if let Some(loaded) = self.current() {
            return Ok(loaded);
        }
        let _turn = self.reading.lock().await;
        if let Some(loaded) = self.current() {
            return Ok(loaded);
        }
        let loaded = Arc::new(self.read().await?);
        self.tell(&loaded);
        *locked(&self.current) = Some(loaded.clone());
        Ok(loaded)
    }

    /// Reads the source again. What was read before stays if that comes to nothing.
    pub(super) async fn reload(&self) {
        let _turn = self.reading.lock().await;
        match self.read().await {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                self.tell(&loaded);
                *locked(&self.current) = Some(loaded);
                self.observer.list_changed(ListKind::Tools);
            }
            Err(fault) => {
                let downstream = &self.config.name;
                tracing::error!(%downstream, "the description of the API has changed and is not used: it {fault}");
            }
        }
    }

    /// Reading and building may take a second of work, so they are done where nobody else waits for it.
    async fn read(&self) -> Result<Loaded, DownstreamFault> {
        let stamp = self.config.source.stamp().await;
        let (config, audit) = (self.config.clone(), self.auditor());
        let runtime = Handle::current();
        let read = tokio::task::spawn_blocking(move || {
            let listing = runtime.block_on(config.source.load()).map_err(unread)?;
            let unusable = |reason: super::loaded::Unusable| handshake(reason.to_string());
            Loaded::new(listing, stamp, &config, audit).map_err(unusable)
        });
        read.await.unwrap_or_else(|_| {
            Err(handshake("reading its description panicked; please report it".to_owned()))
        })
    }

    fn tell(&self, loaded: &Loaded) {
        let (downstream, report) = (&self.config.name, loaded.report());
        let (taken, skipped) = (report.taken.len(), report.skipped.len());
        tracing::info!(%downstream, taken, skipped, "description of the API read");
        for note in &report.notes {
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

    /// Has the source read again, soon. Not if it has never been: whoever comes first does that.
    pub(super) fn ask(&self) {
        self.is_asked.store(self.current().is_some(), Ordering::Relaxed);
    }

    pub(super) fn take_asked(&self) -> bool {
        self.is_asked.swap(false, Ordering::Relaxed)
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
    /// Why the API cannot be reached, as far as is known.
    pub(super) fn trouble(&self) -> Option<String> {
        locked(&self.trouble).clone()
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
        let trouble = error.map(|error| error.reason.clone());
        let before = std::mem::replace(&mut *locked(&self.trouble), trouble);
        if before.is_some() != error.is_some() {
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

fn unread(error: SourceError) -> DownstreamFault {
    match error {
        SourceError::Unreadable { .. } => DownstreamFault::Unreachable { reason: error.to_string() },
        SourceError::Invalid { .. } | SourceError::TooLarge { .. } => handshake(error.to_string()),
    }
}

fn handshake(reason: String) -> DownstreamFault {
    DownstreamFault::Handshake { reason }
}

/// Every critical section is one assignment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
