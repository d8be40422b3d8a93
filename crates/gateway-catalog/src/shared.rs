use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use gateway_aggregate::{Listing, build};
use gateway_domain::{Catalog, CatalogEntry, DownstreamName, Error, InternalError, OfferedTool, Tool, View};
use tokio::{sync::watch, time::Instant};

use crate::{
    CatalogConfig, Listings, Source, cache::Cache, private::Routes, tracked::Tracked, view::ListView,
};

/// What all who use the catalogue, and all who keep it fresh, have in common.
pub(crate) struct Shared {
    pub(crate) config: CatalogConfig,
    pub(crate) listings: Arc<dyn Listings>,
    pub(crate) cache: Cache,
    pub(crate) routes: Routes,
    /// In the order of their names. Changed by one at a time.
    sources: ArcSwap<Vec<Arc<Tracked>>>,
    snapshot: ArcSwap<Snapshot>,
    /// One rebuild at a time; readers never wait for it.
    rebuilding: Mutex<()>,
    /// Counts refreshes that have ended, for those who wait for one.
    pub(crate) progress: watch::Sender<Progress>,
    closed: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    refreshes: u64,
    /// When a downstream last became ready.
    pub(crate) last_ready: Option<Instant>,
}

/// What is offered at one moment. Swapped whole.
struct Snapshot {
    all: Arc<ListView>,
    each: HashMap<DownstreamName, Arc<ListView>>,
    /// Above the generation of any view that is gone: one that appears begins there, so that whoever has
    /// missed that it was gone sees a change all the same, also if it shows nothing yet.
    floor: u64,
}

impl Shared {
    pub(crate) fn new(
        config: CatalogConfig,
        listings: Arc<dyn Listings>,
        cache: Cache,
        sources: Vec<Source>,
    ) -> Self {
        let mut sources: Vec<_> = sources.into_iter().map(|source| Arc::new(Tracked::new(source))).collect();
        sources.sort_by(|a, b| a.source.name.cmp(&b.source.name));
        let empty = || Arc::new(ListView::new(0, Catalog::default(), HashMap::new(), config.page_size));
        let enabled = sources.iter().filter(|tracked| tracked.source.enabled);
        let each = enabled.map(|tracked| (tracked.source.name.clone(), empty())).collect();
        Self {
            snapshot: ArcSwap::from_pointee(Snapshot { all: empty(), each, floor: 0 }),
            sources: ArcSwap::from_pointee(sources),
            routes: Routes::new(config.private_lists, config.private_ttl),
            rebuilding: Mutex::new(()),
            progress: watch::Sender::new(Progress { refreshes: 0, last_ready: None }),
            closed: AtomicBool::new(false),
            config,
            listings,
            cache,
        }
    }

    pub(crate) fn sources(&self) -> arc_swap::Guard<Arc<Vec<Arc<Tracked>>>> {
        self.sources.load()
    }

    pub(crate) fn source(&self, name: &DownstreamName) -> Option<Arc<Tracked>> {
        let sources = self.sources.load();
        let place = sources.binary_search_by(|tracked| tracked.source.name.cmp(name)).ok()?;
        sources.get(place).cloned()
    }

    /// Puts `new` in the place of what has its name, or takes that away, and shows the difference. The caller
    /// sees to it that nobody else does so meanwhile.
    pub(crate) fn replace(&self, name: &DownstreamName, new: Option<Arc<Tracked>>) {
        let (old, mut sources): (Vec<_>, Vec<_>) =
            self.sources.load().iter().cloned().partition(|tracked| tracked.source.name == *name);
        sources.extend(new);
        sources.sort_by(|a, b| a.source.name.cmp(&b.source.name));
        self.sources.store(Arc::new(sources));
        self.routes.forget(name);
        self.rebuild_or_report();
        old.iter().for_each(|old| old.retire());
        self.wake();
    }

    pub(crate) fn view(&self, view: &View) -> Option<Arc<ListView>> {
        let snapshot = self.snapshot.load();
        match view {
            View::All => Some(snapshot.all.clone()),
            View::Downstream(name) => snapshot.each.get(name).cloned(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Nobody waits any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.sources.load().iter().for_each(|tracked| tracked.retire());
        self.wake();
    }

    /// Makes what a refresh brought visible, then tells those who wait.
    pub(crate) fn publish(&self, tracked: &Tracked, became_ready: bool) {
        self.rebuild_or_report();
        // Only now: whoever sees that all have settled must find their tools in the snapshot.
        self.tell(tracked, became_ready);
    }

    /// Tells those who wait that a refresh has ended.
    pub(crate) fn tell(&self, tracked: &Tracked, became_ready: bool) {
        tracked.settle();
        tracked.end();
        self.progress.send_modify(|progress| {
            progress.refreshes += 1;
            if became_ready {
                progress.last_ready = Some(Instant::now());
            }
        });
    }

    fn wake(&self) {
        self.progress.send_modify(|progress| progress.refreshes += 1);
    }

    /// Forgets every caller's list of a downstream whose list is not for everybody, and has clients told.
    pub(crate) fn forget_private(&self, tracked: &Tracked) {
        self.routes.forget(&tracked.source.name);
        {
            let _one_at_a_time = self.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
            let old = self.snapshot.load_full();
            let mut each = old.each.clone();
            if let Some(view) = each.get_mut(&tracked.source.name) {
                *view = Arc::new(view.renewed());
            }
            let all = Arc::new(old.all.renewed());
            self.snapshot.store(Arc::new(Snapshot { all, each, floor: old.floor }));
        }
        self.wake();
    }

    fn rebuild_or_report(&self) {
        if let Err(error) = self.rebuild() {
            tracing::error!(%error, "the catalogue could not be rebuilt; the last one stays");
        }
    }

    /// Builds a snapshot of what is known now and swaps it in. Views in which nothing visible changed
    /// keep their generation and their rendered pages.
    fn rebuild(&self) -> Result<(), Error> {
        let _one_at_a_time = self.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.snapshot.load_full();
        let sources = self.sources.load();
        let enabled = sources.iter().filter(|tracked| tracked.source.enabled);
        let tools: Vec<_> = enabled.map(|tracked| (&tracked.source.name, tracked.tools())).collect();
        let listings: Vec<_> = tools
            .iter()
            .map(|(name, tools)| {
                Listing::new(name.as_str(), tools.iter().map(|offered| offered.tool.clone()))
            })
            .collect();
        // `fit` has made every listing acceptable, so this is a bug if it fails.
        let catalog = build(&listings).map_err(|_| InternalError { what: "fitted listings were refused" })?;
        let all = self.next(&old.all, catalog, tools.iter().flat_map(|(_, tools)| tools), CatalogEntry::new);
        let gone = old.each.iter().filter(|(name, _)| tools.iter().all(|(kept, _)| kept != name));
        let floor = gone.map(|(_, view)| view.generation + 1).fold(old.floor, u64::max);
        let new_view = ListView::new(floor, Catalog::default(), HashMap::new(), self.config.page_size);
        let new_view = Arc::new(new_view);
        let mut each = HashMap::with_capacity(tools.len());
        for (name, tools) in &tools {
            let entries =
                tools.iter().map(|offered| CatalogEntry::unprefixed(name.as_str(), offered.tool.clone()));
            let catalog =
                Catalog::new(entries.collect()).map_err(|_| InternalError { what: "a name stands twice" })?;
            let before = old.each.get(*name).unwrap_or(&new_view);
            each.insert((*name).clone(), self.next(before, catalog, tools.iter(), CatalogEntry::unprefixed));
        }
        self.snapshot.store(Arc::new(Snapshot { all, each, floor }));
        Ok(())
    }

    fn next<'a>(
        &self,
        old: &Arc<ListView>,
        catalog: Catalog,
        tools: impl Iterator<Item = &'a Arc<OfferedTool>>,
        entry: impl Fn(&str, Tool) -> CatalogEntry,
    ) -> Arc<ListView> {
        if old.shows_the_same(&catalog) {
            return old.clone();
        }
        let named = |offered: &Arc<OfferedTool>| {
            let entry = entry(offered.downstream.as_str(), offered.tool.clone());
            (Arc::from(entry.name()), offered.clone())
        };
        let tools = tools.map(named).collect();
        Arc::new(ListView::new(old.generation + 1, catalog, tools, self.config.page_size))
    }
}
