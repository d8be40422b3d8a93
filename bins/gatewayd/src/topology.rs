//! The downstreams behind a running gateway: one is added, changed or removed, and the others do not notice.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use gateway_catalog::{LiveCatalog, Pins, Signal, Source};
use gateway_composite::LiveWorkflows;
use gateway_domain::DownstreamName;
use gateway_egress::Fetch;
use gateway_openapi::downstream::{Report, Reports};
use gateway_pipeline::redaction::LiveRedactor;
use gateway_registry::{ManagedDownstream, Manager};
use gateway_transport_stdio::lifeline::Lifeline;
use tokio::task::JoinSet;

use crate::{
    config,
    decisions::Decisions,
    downstream::{self, Besides},
    lifeline,
    pages::Connections,
    reload::Change,
};

/// What downstreams are made with besides their configuration.
pub(crate) struct Parts {
    /// Makes requests of the gateway's own.
    fetch: Arc<dyn Fetch>,
    /// Learns what downstreams are proved with.
    redactor: Arc<LiveRedactor>,
    /// Through which each downstream that is there tells the catalogue about itself.
    signals: Mutex<HashMap<DownstreamName, Arc<Signal>>>,
    /// Of each downstream that is an API, what became of its operations.
    reports: Mutex<HashMap<DownstreamName, Reports>>,
    /// The pages where users get tokens for some of them.
    pub(crate) connections: Arc<Connections>,
    /// Started with the first child process there is.
    lifeline: Mutex<Option<Arc<Lifeline>>>,
}

impl Parts {
    pub(crate) fn new(fetch: Arc<dyn Fetch>, redactor: Arc<LiveRedactor>) -> Self {
        Self {
            fetch,
            redactor,
            signals: Mutex::default(),
            reports: Mutex::default(),
            connections: Arc::default(),
            lifeline: Mutex::default(),
        }
    }

    /// The downstream, ready to be started, and the source of its list; the first only if it is enabled.
    pub(crate) fn make(
        &self,
        config: &config::Config,
        downstream: &config::Downstream,
    ) -> anyhow::Result<(Option<ManagedDownstream>, Source)> {
        let signal = Arc::new(Signal::new());
        let managed = downstream.enabled.then(|| {
            let lifeline = matches!(downstream.reach, config::Reach::Command(_)).then(|| self.lifeline());
            let (lifeline, outside) = (lifeline.flatten(), (&self.fetch, &self.redactor));
            downstream::manage(config, downstream, signal.clone(), lifeline, outside)
        });
        let (managed, besides) = managed.transpose()?.unzip();
        self.note(&downstream.name, besides.unwrap_or_default());
        Ok((managed, downstream::source(downstream, signal)))
    }

    fn note(&self, name: &DownstreamName, besides: Besides) {
        let Besides { reports, per_user } = besides;
        self.connections.set(name, per_user);
        // Every critical section is one operation on the map.
        let mut all = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        match reports {
            Some(reports) => drop(all.insert(name.clone(), reports)),
            None => drop(all.remove(name)),
        }
    }

    /// Takes note of the signal that a source has from now on.
    pub(crate) fn keep(&self, source: &Source) {
        self.signals().insert(source.name.clone(), source.signal.clone());
    }

    /// Another source for the downstream that is there.
    fn relist(&self, downstream: &config::Downstream) -> Source {
        let signal = self.signals().get(&downstream.name).cloned().unwrap_or_default();
        downstream::source(downstream, signal)
    }

    fn lifeline(&self) -> Option<Arc<Lifeline>> {
        let mut lifeline = self.lifeline.lock().unwrap_or_else(PoisonError::into_inner);
        if lifeline.is_none() {
            *lifeline = lifeline::start();
        }
        lifeline.clone()
    }

    fn signals(&self) -> std::sync::MutexGuard<'_, HashMap<DownstreamName, Arc<Signal>>> {
        // Every critical section is one operation on the map.
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What runs, with what it is made of. Clones share it.
#[derive(Clone)]
pub(crate) struct Topology {
    pub(crate) manager: Manager,
    pub(crate) catalog: LiveCatalog,
    pub(crate) workflows: LiveWorkflows,
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) pins: Pins,
    parts: Arc<Parts>,
}

/// One change, prepared so far that it cannot fail.
pub(crate) enum Step {
    Start(ManagedDownstream, Source),
    Relist(Source),
    Stop(Source),
    Remove(DownstreamName),
}

impl Topology {
    pub(crate) fn new(
        manager: Manager,
        catalog: LiveCatalog,
        workflows: LiveWorkflows,
        parts: Parts,
        decisions: Arc<Decisions>,
        pins: Pins,
    ) -> Self {
        Self { manager, catalog, workflows, decisions, pins, parts: Arc::new(parts) }
    }

    /// The pages where users get tokens of their own.
    pub(crate) fn connections(&self) -> Arc<Connections> {
        self.parts.connections.clone()
    }

    /// What became of the operations of an API; `None` for any other downstream, or one that was not read yet.
    pub(crate) fn report(&self, name: &DownstreamName) -> Option<Arc<Report>> {
        let reports = self.parts.reports.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        reports?.last()
    }

    /// Has the descriptions of all APIs that have been read read again, in their own time.
    pub(crate) fn reread(&self) {
        let reports = self.parts.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.values().for_each(Reports::reread);
    }

    /// Makes everything that the changes need, of which nothing runs yet.
    ///
    /// # Errors
    /// What a downstream's transport does not accept.
    pub(crate) fn prepare(
        &self,
        config: &config::Config,
        changes: impl Iterator<Item = Change>,
    ) -> anyhow::Result<Vec<Step>> {
        let step = |change| {
            Ok(match change {
                Change::Start(downstream) => match self.parts.make(config, &downstream)? {
                    (Some(managed), source) => Step::Start(managed, source),
                    (None, source) => Step::Relist(source),
                },
                Change::Relist(downstream) => Step::Relist(self.parts.relist(&downstream)),
                Change::Stop(downstream) => Step::Stop(self.parts.relist(&downstream)),
                Change::Remove(name) => Step::Remove(name),
            })
        };
        changes.map(step).collect()
    }

    /// Takes the changes on, side by side. What they end may still be ending when this returns: a server that
    /// is slow to end holds up no later change. Dropping the future leaves some undone.
    pub(crate) async fn apply(&self, steps: Vec<Step>) {
        let mut running = JoinSet::new();
        for step in steps {
            let topology = self.clone();
            running.spawn(async move { topology.take(step).await });
        }
        while let Some(done) = running.join_next().await {
            if let Err(error) = done {
                tracing::error!(%error, "changing a downstream failed");
            }
        }
    }

    async fn take(&self, step: Step) {
        match step {
            Step::Start(managed, source) => {
                let name = source.name.clone();
                // The registry knows the new one at once, and starts it when the one before has ended.
                if let Some(Err(error)) = begin(self.manager.insert(managed)).await {
                    tracing::error!(downstream = %name, %error, "cannot be started");
                }
                // Its list is waited for from now on: who went on reading the old one's would only see it end.
                self.relist(source).await;
            }
            Step::Relist(source) => self.relist(source).await,
            Step::Stop(source) => {
                let name = source.name.clone();
                // Nobody is offered its tools while it ends.
                self.relist(source).await;
                begin(self.manager.remove(&name)).await;
            }
            Step::Remove(name) => {
                self.catalog.remove(&name).await;
                begin(self.manager.remove(&name)).await;
                self.parts.signals().remove(&name);
                self.parts.note(&name, Besides::default());
            }
        }
    }

    async fn relist(&self, source: Source) {
        self.parts.keep(&source);
        self.catalog.insert(source).await;
    }

    /// Ends everything in order, side by side (P-W19).
    pub(crate) async fn close(&self) {
        // Runs first: what they have called is cancelled while there are sessions to do so in.
        self.workflows.close().await;
        self.catalog.close().await;
        self.manager.close().await;
        let lifeline = self.parts.lifeline.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(lifeline) = lifeline {
            lifeline.close().await;
        }
    }
}

/// Has the registry begin a change, which makes it known to everybody, and leaves the rest of it to the
/// registry, whose end waits for that; `None` if there is a rest.
async fn begin<T>(change: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = change => Some(done),
        () = std::future::ready(()) => None,
    }
}
